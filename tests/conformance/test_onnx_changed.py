"""ONNX's own tests with something changed: attributes, names, versions, shapes and what inputs say.
They run, or are refused by an error that names the file or the input."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tilewright
from tilewright import Backend
from tilewright.models import ModelError
from tilewright.models.onnx import open_onnx

from .onnx_cases import Case, cases, host

COUNT = 1200
INTEGERS = (
    0, 1, 2, 3, 4, 7, 8, -1, -2, -3, -7, 16, 100, 1000, 10**6, 1 << 31, (1 << 31) - 1, 1 << 40,
    1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 31),
)  # fmt: skip
FLOATS = (0.0, -1.0, 1e-30, 1e30, float("inf"), float("nan"), -0.5, 2.5)


@pytest.fixture
def small(be: Backend) -> Iterator[Backend]:
    """The same device with little memory."""
    with tilewright.init_backend(be.device.id, memory_limit=64 << 20) as backend:
        yield backend


def change_attribute(node: Any, draw: random.Random) -> None:
    one = draw.choice(node.attribute)
    if one.type == onnx.AttributeProto.INT:
        one.i = draw.choice(INTEGERS)
    elif one.type == onnx.AttributeProto.FLOAT:
        one.f = draw.choice(FLOATS)
    elif one.type == onnx.AttributeProto.INTS and one.ints and draw.randrange(3):
        one.ints[draw.randrange(len(one.ints))] = draw.choice(INTEGERS)
    elif one.type == onnx.AttributeProto.INTS:
        one.ints.append(draw.choice(INTEGERS))
    else:
        node.attribute.remove(one)


def change_input(value: Any, draw: random.Random) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "iu" and value.size and draw.randrange(3):
        value = value.copy()
        number = np.array(draw.choice(INTEGERS), np.int64).astype(value.dtype)
        value.reshape(-1)[draw.randrange(value.size)] = number
        return value
    ways = (value[None], value.reshape(-1), value[:0] if value.ndim else value)
    return draw.choice(ways)


def changed(case: Case, draw: random.Random) -> tuple[Any, list[Any]]:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    given = [host(one) for one in case.sets[0][0]]
    nodes = model.graph.node
    for _ in range(draw.choice((1, 1, 2, 3))):
        node = draw.choice(nodes)
        match draw.randrange(4):
            case 0 if node.attribute:
                change_attribute(node, draw)
            case 1 if node.input:
                names = [name for one in nodes for name in one.input]
                node.input[draw.randrange(len(node.input))] = draw.choice([*names, ""])
            case 2 if given:
                at = draw.randrange(len(given))
                given[at] = change_input(given[at], draw)
                for one in model.graph.input:
                    if one.type.HasField("tensor_type"):
                        one.type.tensor_type.ClearField("shape")
            case _:
                model.opset_import[0].version = draw.randrange(7, 29)
    return model, given


@pytest.mark.exhaustive
def test_changed_models(small: Backend, tmp_path: Path) -> None:
    # A loop may go round as often as it is told.
    known = [one for every in cases().values() for one in every if "oop" not in one.name]
    known = [one for one in known if "range_" not in one.name]
    path = tmp_path / "m.onnx"
    ran = refused = 0
    for number in range(COUNT):
        draw = random.Random(number)
        case = draw.choice(known)
        model, given = changed(case, draw)
        onnx.save(model, path)
        try:
            opened = open_onnx(path, small)
            for _ in range(draw.choice((1, 1, 3))):
                opened(*given)
            small.synchronize()
            ran += 1
        except ModelError as error:
            assert str(path) in str(error), case.name
            refused += 1
        except tilewright.Error as error:
            # Of a node, or of the model's inputs; an index in memory is known only by now.
            is_named = "m.onnx" in str(error) or isinstance(error, tilewright.IndexOutOfRange)
            assert is_named, f"{case.name}, number {number}: {error}"
            refused += 1
        except Exception as error:
            error.add_note(f"{case.name}, number {number}")
            raise
    assert min(ran, refused) > COUNT / 4
