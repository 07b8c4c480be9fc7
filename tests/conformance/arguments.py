"""What an argument of a call of the trait may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tilewright import Backend


@dataclass(frozen=True)
class Size:
    """An integer that may not be negative, and not be zero where `positive`. `huge` values must be
    refused unless the argument has no upper end."""

    value: int
    positive: bool = False
    huge: tuple[int, ...] = (2**62, 2**63 - 1)
    #: another argument, and the value of it beside which 0 is right all the same
    unless: tuple[str, int] | None = None


@dataclass(frozen=True)
class Index:
    """An axis: negative counts from the end."""

    value: int
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """A sequence of sizes. `wrong` sequences are refused besides those that are wrong anywhere."""

    value: tuple[int, ...]
    positive: bool = False
    wrong: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Name:
    """A value of an enum, by its name."""

    value: str
    also_wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number:
    value: float
    wrong: tuple[float, ...] = ()


@dataclass(frozen=True)
class Flag:
    value: bool


@dataclass(frozen=True)
class In:
    """A buffer that the call reads, of so many bytes and not one less."""

    bytes: int


@dataclass(frozen=True)
class Out:
    """A buffer that the call writes; it may be one of those named."""

    bytes: int
    may_be: tuple[str, ...] = ()


@dataclass(frozen=True)
class Absent:
    """What the call leaves out, beside another argument of it."""

    value: None = None


@dataclass(frozen=True)
class Host:
    """A NumPy array."""

    bytes: int


Argument = Size | Index | Sizes | Name | Number | Flag | In | Out | Host | Absent
Call = dict[str, Argument]

#: Arguments that may be None, which stands for their default.
OPTIONAL = {
    "addend", "bias", "clip", "final_cell", "final_hidden", "initial_cell", "initial_hidden",
    "kv_heads", "kv_lengths", "kv_starts", "lengths", "mask", "norm_eps", "norm_weight",
    "output_dtype", "page_dtype", "page_scales", "page_size", "page_table",
    "pages", "peepholes", "places", "positions", "projected", "projection", "q_starts",
    "residual", "rotary_dim", "sum", "turns", "value_dim", "weight", "window_left", "window_right",
}  # fmt: skip

#: The same of single calls.
OPTIONAL_OF = {
    "cross_entropy": {"weights", "reduction"},
    "cross_entropy_backward": {"weights", "reduction", "grad"},
}


def may_be_none(call: str, argument: str) -> bool:
    return argument in OPTIONAL or argument in OPTIONAL_OF.get(call, ())


DTYPE = Name("float32", also_wrong=("int32", "float64"))
POSITIVE = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e39, 1e-60)

#: Of an op: calls with sizes of zero, as what these arguments are then, and whose buffers hold
#: nothing.
EmptyCalls = list[tuple[dict[str, Any], tuple[str, ...]]]


#: ops that GPUs do not have yet
ON_CPU_ALONE = {"eig"}


def lacks(be: Backend, op: str) -> bool:
    """Whether the backend raises Unsupported whatever the op is called with."""
    if be.name == "cpu":
        return False
    return op in ON_CPU_ALONE or (op == "gemm_f16" and "float16" not in be.device.features)


def positional(call: Call, buffers: Iterable[Any] = ()) -> list[Any]:
    """The valid values in the trait's order; a handle of 1 where no buffers are given."""
    given = iter(buffers)
    values: list[Any] = []
    for argument in call.values():
        if isinstance(argument, In | Out):
            values.append(next(given, 1))
        elif isinstance(argument, Host):
            values.append(np.arange(argument.bytes, dtype=np.uint8))
        else:
            values.append(argument.value)
    return values
