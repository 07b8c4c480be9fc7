"""ONNX's own tests of its operators, by the operator that each is of, and which of them are left
out, and why."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from tilewright.models.onnx.dtypes import DTYPES
from tilewright.models.onnx.operators import OPERATORS
from tilewright.models.onnx.operators.registry import OWN

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
MARKED = re.compile(r"(<!-- operators -->\n)(.*?)(<!-- /operators -->)", re.DOTALL)

#: reasons, and the tests by a part of their names
LEFT_OUT = {
    "drawn at random": [
        "training_dropout_default",
        "training_dropout_mask",
        "training_dropout",
        "bernoulli",
    ],
    "made by versions before 7": ["not_2d", "not_3d", "not_4d", "scan_sum"],
    # As ONNX Runtime and torch do, which end a row with its last element, by its own length.
    "corners by a length that is no whole number": [
        "resize_downsample_scales_linear_align_corners",
        "resize_downsample_scales_cubic_align_corners",
    ],
}
DTYPE = "float8, float4, integers of 4 and 2 bits, or strings"
#: what a device has no kernel for in float64, which raises Unsupported there
WITHOUT_FLOAT64 = {"webgpu": {"ReduceLogSumExp", "Attention"}}


@dataclass(frozen=True)
class Case:
    name: str
    model: Any
    sets: Any
    rtol: float
    atol: float

    @property
    def has_float64(self) -> bool:
        """Of elements that there are."""
        given = [host(one) for one in self.sets[0][0][:1]]
        is_empty = any(isinstance(one, np.ndarray) and one.size == 0 for one in given)
        return not is_empty and onnx.TensorProto.DOUBLE in _kinds(self.model.graph)

    def why_not(self) -> str | None:
        """Why it is left out."""
        name = self.name.removeprefix("test_")
        for reason, parts in LEFT_OUT.items():
            if any(name.startswith(part) for part in parts) and "zero_ratio" not in name:
                return reason
        return DTYPE if set(_kinds(self.model.graph)) - {*DTYPES, 0} else None


def _ops(model: Any) -> set[str]:
    found = set()

    def walk(graph: Any) -> None:
        for node in graph.node:
            found.add(node.op_type)
            for one in node.attribute:
                if one.type == onnx.AttributeProto.GRAPH:
                    walk(one.g)

    walk(model.graph)
    return found


def _element(kind: Any) -> int:
    """Of tensors, and of those in sequences and optional values."""
    which = kind.WhichOneof("value")
    inner = getattr(kind, which)
    return int(inner.elem_type) if which == "tensor_type" else _element(inner.elem_type)


def _kinds(graph: Any) -> Iterator[int]:
    for one in [*graph.input, *graph.output]:
        yield _element(one.type)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t.data_type
            if attribute.name in ("to", "output_dtype"):
                yield attribute.i


@functools.cache
def cases() -> dict[str, list[Case]]:
    """By operators that are there, with the tests of what the standard makes of them by others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = load_model_tests(kind="node")
    found = [Case(one.name, one.model, one.data_sets, one.rtol, one.atol) for one in every]
    by_name = {}
    for case in found:
        nodes = case.model.graph.node
        if len(nodes) == 1:
            by_name[case.name] = (nodes[0].domain, nodes[0].op_type)
    kept: dict[str, list[Case]] = {}
    for case in found:
        base = case.name.partition("_expanded")[0]
        key = by_name.get(base)
        if key in OPERATORS and all(("", op) in OPERATORS for op in _ops(case.model)):
            kept.setdefault(key[1], []).append(case)
    return {name: kept[name] for name in sorted(kept)}


def host(value: Any) -> Any:
    if isinstance(value, list):
        return [host(one) for one in value]
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def check(case: Case, found: Any, expected: Any) -> None:
    """By the tolerance of ONNX's own runner and steps of 16 bits; what is near 0 by the largest."""
    results = found if isinstance(found, tuple) else (found,)
    assert len(results) == len(expected), case.name
    for own, raw in zip(results, expected, strict=True):
        if isinstance(raw, list):
            assert isinstance(own, list)
            check(case, tuple(own), raw)
            continue
        wanted = np.asarray(host(raw))
        given = own.numpy()
        assert (given.shape, given.dtype) == (wanted.shape, wanted.dtype), case.name
        rtol = max(case.rtol, {"bfloat16": 2**-6, "float16": 2**-9}.get(wanted.dtype.name, 0))
        if wanted.dtype.name == "bfloat16":
            given, wanted = given.astype(np.float32), wanted.astype(np.float32)
        if wanted.dtype.kind not in "fc":
            np.testing.assert_array_equal(given, wanted, case.name)
            continue
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        np.testing.assert_allclose(
            given, wanted, rtol=rtol, atol=max(case.atol, 1e-6 * largest), err_msg=case.name
        )


# The page ----------------------------------------------------------------------------------------


def table() -> str:
    """What docs/onnx.md lists: the operators that are there, and how many of ONNX's tests of each
    run."""
    tested = cases()
    lines = ["| operator | tests | left out |", "|---|---|---|"]
    for domain, name in sorted(OPERATORS):
        if domain == OWN:
            continue
        shown = f"{domain}: {name}" if domain else name
        own = tested.get(name, []) if not domain else []
        reasons: dict[str, int] = {}
        for case in own:
            why = case.why_not()
            if why is not None:
                reasons[why] = reasons.get(why, 0) + 1
        left = ", ".join(f"{count} of {why}" for why, count in sorted(reasons.items()))
        run = len(own) - sum(reasons.values())
        lines.append(f"| `{shown}` | {run or ''} | {left} |")
    return "\n".join(lines) + "\n"


def listed() -> list[str]:
    """The operators of which the page says that tests run."""
    match = MARKED.search(PAGE.read_text(encoding="utf-8"))
    assert match is not None, "docs/onnx.md has no table of operators"
    rows = [line.split("|")[1:3] for line in match[2].splitlines()[2:]]
    return [name.strip(" `") for name, count in rows if count.strip()]
