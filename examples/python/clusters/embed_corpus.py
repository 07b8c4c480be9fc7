"""Embeddings of each line of a large file, by all devices at once, with Dask.

    python embed_corpus.py LINES.txt ROWS.npy --model FOLDER [--devices webgpu:0 webgpu:1 cpu]
                           [--lines 4096]

A worker for each device loads the model once, reads its parts of the file and writes their rows to
the file of the results, so that neither texts nor rows pass through the program that starts them.
Where a worker is lost, others do its parts again. `np.load("ROWS.npy", mmap_mode="r")` opens what
was written.
"""

import argparse
import importlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright as tw
from tilewright.dask import LocalCluster

distributed: Any = importlib.import_module("distributed")


class Part(NamedTuple):
    """Lines of the file, and where they lie in it."""

    first: int
    past: int
    start: int
    end: int


def parts_of(path: Path, lines: int) -> list[Part]:
    """So many lines each; the last has what is left."""
    parts = []
    with path.open("rb") as file:
        first = start = at = line = 0
        for text in file:
            line += 1
            at += len(text)
            if line - first == lines:
                parts.append(Part(first, line, start, at))
                first, start = line, at
        if line > first:
            parts.append(Part(first, line, start, at))
    return parts


class Embedder(distributed.WorkerPlugin):  # type: ignore[misc]
    """What a worker keeps: the model, on its device."""

    name = "embedder"

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.loaded: tw.models.Encoder | None = None

    def model(self) -> tw.models.Encoder:
        if self.loaded is None:
            model = tw.models.load(self.folder, progress=False)
            if not isinstance(model, tw.models.Encoder):
                raise ValueError(f"{self.folder} has a decoder; give an encoder")
            self.loaded = model
        return self.loaded

    def teardown(self, worker: Any) -> None:
        self.loaded = None


def model_here() -> tw.models.Encoder:
    """In a worker: its model."""
    model: tw.models.Encoder = distributed.get_worker().plugins[Embedder.name].model()
    return model


def size() -> int:
    """Of an embedding."""
    return model_here().size


def embed(part: Part, lines: str, rows: str) -> tuple[int, str]:
    """In a worker: how many lines it did, and its name, which is that of its device."""
    with open(lines, "rb") as file:
        file.seek(part.start)
        texts = file.read(part.end - part.start).decode(errors="replace").split("\n")
    found = model_here().embed([text.strip() for text in texts[: part.past - part.first]])
    np.lib.format.open_memmap(rows, mode="r+")[part.first : part.past] = found.numpy()
    return len(found), distributed.get_worker().name


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lines_file", type=Path, metavar="LINES.txt")
    parser.add_argument("rows_file", type=Path, metavar="ROWS.npy")
    parser.add_argument("--model", required=True, help="a Hugging Face folder")
    parser.add_argument("--devices", nargs="+", help="all of the best kind unless given")
    parser.add_argument("--lines", type=int, default=4096, help="of a part")
    arguments = parser.parse_args()

    parts = parts_of(arguments.lines_file, max(arguments.lines, 1))
    if not parts:
        raise SystemExit(f"{arguments.lines_file} has no lines")
    folder, lines, rows = (
        str(Path(one).resolve())
        for one in (arguments.model, arguments.lines_file, arguments.rows_file)
    )
    with (
        LocalCluster(arguments.devices, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(Embedder(folder))
        shape = (parts[-1].past, client.submit(size, pure=False).result())
        np.lib.format.open_memmap(rows, mode="w+", dtype=np.float32, shape=shape).flush()
        done: dict[str, int] = {}
        work = client.map(embed, parts, lines=lines, rows=rows, pure=False)
        for future in distributed.as_completed(work):
            count, worker = future.result()
            done[worker] = done.get(worker, 0) + count
            print(f"\r{sum(done.values())} of {shape[0]} lines", end="", flush=True)
    print()
    for worker, count in sorted(done.items()):
        print(f"{worker}: {count} lines")


if __name__ == "__main__":
    main()
