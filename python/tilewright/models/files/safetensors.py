"""Files of safetensors: a header of JSON that says what is where, and bytes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from tilewright.models.files.dtypes import SAFETENSORS
from tilewright.models.files.errors import fail, shown
from tilewright.models.files.mapped import MappedFile, inside, read_small, to_path
from tilewright.models.files.tensors import (
    MOST_AXES,
    StoredTensor,
    StoredTensors,
    bytes_of,
    check_apart,
)
from tilewright.models.files.text import parse_json

# The format's own bound.
MOST_HEADER_BYTES = 100_000_000
MOST_INDEX_BYTES = 100_000_000
MOST_SHARDS = 10_000
ADAPTER = "adapter_config.json"
IS_ADAPTER = (
    f"{ADAPTER} says that it is an adapter: load it with peft, merge_and_unload() it into its "
    "model, and save_pretrained() that"
)
ONE, INDEX = "model.safetensors", "model.safetensors.index.json"


class SafetensorsTensors(StoredTensors):
    """Tensors of one or more files of safetensors, and the `metadata` that these have."""

    metadata: dict[str, str]


def open_safetensors(path: object) -> SafetensorsTensors:
    """Maps a file, the shards that an index names, or a folder with model.safetensors or
    model.safetensors.index.json. Of shards there are the tensors that the index names."""
    file = to_path(path)
    if file.is_dir():
        if (file / ONE).exists():
            file /= ONE
        elif (file / INDEX).exists():
            file /= INDEX
        else:
            fail(file, f"there is neither {ONE} nor {INDEX} in this folder{_instead(file)}")
    if file.name.endswith(".json"):
        return _open_shards(file)
    mapped = MappedFile(file)
    tensors, metadata = _read(mapped)
    return _made(str(file), tensors, [mapped], metadata)


def _instead(folder: Path) -> str:
    """What is there in their place, and what makes them of it."""
    names = sorted(one.name for one in folder.iterdir())
    parts = [one for one in names if one.endswith(".safetensors")]
    if ADAPTER in names:
        return f"; {IS_ADAPTER}"
    if parts:
        return f"; there is {parts[0]}, but not the index that says which tensors are in it"
    pickled = [one for one in names if one.endswith((".bin", ".pt", ".pth"))]
    if pickled:
        return (
            f"; there is {pickled[0]}, which holds code of Python that is not run: load it with "
            "transformers and save_pretrained() it"
        )
    return ""


def _made(
    name: str,
    tensors: dict[str, StoredTensor],
    files: list[MappedFile],
    metadata: dict[str, str],
) -> SafetensorsTensors:
    made = SafetensorsTensors(name, tensors, files)
    made.metadata = metadata
    return made


def _open_shards(index: Path) -> SafetensorsTensors:
    found = parse_json(read_small(index, MOST_INDEX_BYTES), index)
    names = found.get("weight_map") if isinstance(found, dict) else None
    if not isinstance(names, dict) or not names:
        fail(index, f"weight_map is {shown(names)}, expected an object of tensors' files")
    for name, file in names.items():
        if not isinstance(file, str):
            fail(index, f"weight_map[{shown(name)}] is {shown(file)}, expected the name of a file")
    shards = list(dict.fromkeys(names.values()))
    if len(shards) > MOST_SHARDS:
        fail(index, f"weight_map names {len(shards)} files, expected at most {MOST_SHARDS}")
    metadata: dict[str, str] = {}
    files: list[MappedFile] = []
    by_file: dict[str, dict[str, StoredTensor]] = {}
    for shard in shards:
        mapped = MappedFile(inside(index.parent, shard, index, "a file of weight_map"))
        by_file[shard], its = _read(mapped)
        files.append(mapped)
        metadata |= its
        for name in by_file[shard]:
            if names.get(name, shard) != shard:
                said = f"weight_map of {index.name} has it in {names[name]}"
                fail(mapped, f"tensor {shown(name)} is in this file, and {said}")
    tensors: dict[str, StoredTensor] = {}
    for name, shard in names.items():
        if name not in by_file[shard]:
            fail(
                index,
                f"weight_map has tensor {shown(name)} in {shard}, which has none of this name",
            )
        tensors[name] = by_file[shard][name]
    return _made(str(index), tensors, files, metadata)


def _read(file: MappedFile) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    if file.size < 8:
        fail(file, f"it has {file.size} bytes, expected 8 that say the length of its header")
    length = int.from_bytes(file.data[:8], "little")
    most = min(file.size - 8, MOST_HEADER_BYTES)
    if not 2 <= length <= most:
        what = f"its header has {length} bytes by its first 8, expected 2 to {most}"
        fail(file, f"{what}: it is cut short or not a file of safetensors")
    text = file.data[8 : 8 + length]
    if text[:1] != b"{":
        fail(file, f"its header begins with {shown(text[:1])}, expected an object of JSON")
    header = cast("dict[str, object]", parse_json(text, file))
    metadata = _metadata(file, header.pop("__metadata__", None))
    start = 8 + length
    tensors = {name: _tensor(file, name, entry, start) for name, entry in header.items()}
    check_apart(file, list(tensors.values()), is_full=True)
    held = [one for one in tensors.values() if one.nbytes]
    first = min((one.offset for one in held), default=start)
    end = max((one.offset + one.nbytes for one in held), default=start)
    if first != start or end != file.size:
        what = f"its tensors are bytes {first} to {end}, expected {start} to {file.size}"
        fail(file, f"{what}: it is cut short, or has bytes that belong to no tensor")
    return tensors, metadata


def _metadata(file: MappedFile, found: object) -> dict[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        fail(file, f"__metadata__ is {shown(found)}, expected an object of strings")
    for key, value in found.items():
        if not isinstance(value, str):
            fail(file, f"__metadata__[{shown(key)}] is {shown(value)}, expected a string")
    return found


def _tensor(file: MappedFile, name: str, entry: object, start: int) -> StoredTensor:
    where = f"tensor {shown(name)}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        fail(
            file, f"{where} is {shown(entry)}, expected an object of dtype, shape and data_offsets"
        )
    word, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    kind = SAFETENSORS.get(word) if isinstance(word, str) else None
    if kind is None:
        fail(file, f"{where} has dtype {shown(word)}, expected one of {', '.join(SAFETENSORS)}")
    if not _are_sizes(shape) or len(shape) > MOST_AXES:
        what = f"expected at most {MOST_AXES} integers from 0"
        fail(file, f"{where} has shape {_list(shape)}, {what}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        fail(file, f"{where} has data_offsets {_list(offsets)}, expected a start and an end")
    # Elements smaller than a byte are packed across axes.
    count = 1
    for size in shape:
        count *= size
    nbytes = bytes_of(file, name, kind, tuple(shape), count)
    begin, end = offsets
    if end - begin != nbytes:
        what = f"but shape {shape} of {word} takes {nbytes}"
        fail(file, f"{where} has {end - begin} bytes by its data_offsets, {what}")
    if start + end > file.size:
        what = f"the file has {file.size - start} after its header"
        fail(file, f"{where} ends at byte {end} of the data, {what}")
    return StoredTensor(name, kind.name, tuple(shape), file, start + begin, nbytes)


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(one) is int and one >= 0 for one in values)


def _list(values: object) -> str:
    short = isinstance(values, list) and len(values) <= MOST_AXES
    return f"[{', '.join(map(shown, cast('list[object]', values)))}]" if short else shown(values)
