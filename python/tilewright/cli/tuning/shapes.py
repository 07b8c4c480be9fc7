"""What is tuned where nothing else is asked for: ops at the sizes that programs often have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..catalog import CASES, FLOATS, Case
from ..catalog.case import by

CASES_BY_NAME = {case.name: case for case in CASES}
TUNED_DTYPES = (*FLOATS, "int8")

_SQUARES = [(n, n, n) for n in (1024, 256, 512, 2048, 4096, 1023, 2047)]
_LAYERS = [(m, n, k) for m in (128, 512, 2048) for n, k in ((4096, 4096), (11008, 4096))]
# Whose tiles of C are too few to fill a GPU, but by pieces of k.
_DEEP = [(256, 256, 8192), (4, 4096, 4096), (64, 1024, 11008)]
_HEADS = [(1, 32, 2048, 128), (1, 8, 1024, 64), (1, 16, 512, 64), (1, 32, 4096, 128)]

# By the name of a case in the catalog, as the arguments that it is built from. The first is the
# one that --quick takes.
_USUAL: dict[str, Sequence[tuple[int, ...]]] = {
    "gemm": [*_SQUARES, *_LAYERS, *_DEEP],
    "gemm.transposed": [*_SQUARES, *_LAYERS],
    "gemm.bytes": [(1024, 1024, 1024), (256, 256, 8192), (128, 4096, 4096), (4096, 4096, 4096)],
    "batched_gemm": [(32, 1024, 1024, 64), (32, 1024, 64, 1024), (64, 128, 128, 128)],
    "attention": _HEADS,
    "attention.causal": _HEADS,
    "conv2d_forward.3x3": [(16, 256, 256, 56), (16, 64, 64, 56), (16, 128, 128, 28)],
    "quantized_matmul.q4_0_rows": [(64, 1024, 1024), (16, 4096, 4096), (512, 4096, 4096)],
    "lu": [(512,), (1024,), (2048,)],
    # A panel each.
    "qr": [(512, 32), (256, 32), (1024, 32), (4096, 32)],
}


@dataclass(frozen=True)
class Shape:
    case: str
    sizes: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.case} {by(*self.sizes)} {self.dtype}"


def tuned_cases() -> list[Case]:
    return [CASES_BY_NAME[name] for name in _USUAL]


def usual_sizes(case: Case, quick: bool) -> Sequence[tuple[int, ...]]:
    sizes = _USUAL[case.name]
    return sizes[:1] if quick else sizes
