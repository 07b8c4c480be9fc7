"""What elements of stored tensors are: names, sizes, and which of them can be read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.quant.formats import FORMATS


class Kind(NamedTuple):
    name: str
    block: int
    """elements of a block"""
    bytes: int
    """of a block"""
    dtype: np.dtype[Any] | None = None
    """of an array of it; bfloat16 is its bits"""
    is_blocks: bool = False
    """whether tilewright.quant takes its blocks"""


def _plain(name: str, code: str) -> Kind:
    dtype = np.dtype(code)
    return Kind(name, 1, dtype.itemsize, dtype)


_PLAIN = (
    _plain("bool", "?"),
    *(_plain(f"int{8 * size}", f"<i{size}") for size in (1, 2, 4, 8)),
    *(_plain(f"uint{8 * size}", f"<u{size}") for size in (1, 2, 4, 8)),
    *(_plain(f"float{8 * size}", f"<f{size}") for size in (2, 4, 8)),
    _plain("complex64", "<c8"),
    _plain("bfloat16", "<u2"),
)  # fmt: skip

# Of safetensors; nothing here computes with them.
_SMALL_FLOATS = (
    *(
        Kind(name, 1, 1)
        for name in (
            "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz",
        )
    ),
    Kind("float6_e2m3fn", 4, 3),
    Kind("float6_e3m2fn", 4, 3),
    Kind("float4_e2m1fn", 2, 1),
)  # fmt: skip

# Of GGUF; those that tilewright.quant has are taken from there.
_OTHER_BLOCKS = (
    Kind("q4_2", 16, 10),
    Kind("q4_3", 16, 12),
    Kind("q8_1", 32, 36),
    Kind("q8_k", 256, 292),
    Kind("iq2_xxs", 256, 66),
    Kind("iq2_xs", 256, 74),
    Kind("iq3_xxs", 256, 98),
    Kind("iq1_s", 256, 50),
    Kind("iq4_nl", 32, 18),
    Kind("iq3_s", 256, 110),
    Kind("iq2_s", 256, 82),
    Kind("iq4_xs", 256, 136),
    Kind("iq1_m", 256, 56),
    Kind("q4_0_4_4", 32, 18),
    Kind("q4_0_4_8", 32, 18),
    Kind("q4_0_8_8", 32, 18),
    Kind("tq1_0", 256, 54),
    Kind("tq2_0", 256, 66),
    Kind("iq4_nl_4_4", 32, 18),
    Kind("iq4_nl_4_8", 32, 18),
    Kind("iq4_nl_8_8", 32, 18),
    Kind("nvfp4", 64, 36),
    Kind("q1_0", 128, 18),
)

_BLOCKS = tuple(Kind(one.name, one.block, one.bytes, None, True) for one in FORMATS.values())

#: every kind, by its name
KINDS = {kind.name: kind for kind in (*_PLAIN, *_SMALL_FLOATS, *_OTHER_BLOCKS, *_BLOCKS)}

#: by the names of safetensors
SAFETENSORS = {
    name: KINDS[kind]
    for name, kind in (
        ("BOOL", "bool"),
        *((f"I{bits}", f"int{bits}") for bits in (8, 16, 32, 64)),
        *((f"U{bits}", f"uint{bits}") for bits in (8, 16, 32, 64)),
        *((f"F{bits}", f"float{bits}") for bits in (16, 32, 64)),
        ("BF16", "bfloat16"),
        ("C64", "complex64"),
        ("F8_E5M2", "float8_e5m2"),
        ("F8_E4M3", "float8_e4m3fn"),
        ("F8_E8M0", "float8_e8m0fnu"),
        ("F8_E4M3FNUZ", "float8_e4m3fnuz"),
        ("F8_E5M2FNUZ", "float8_e5m2fnuz"),
        ("F6_E2M3", "float6_e2m3fn"),
        ("F6_E3M2", "float6_e3m2fn"),
        ("F4", "float4_e2m1fn"),
    )
}

#: by the numbers of ggml
GGML = {
    number: KINDS[name]
    for number, name in {
        0: "float32", 1: "float16", 2: "q4_0", 3: "q4_1", 4: "q4_2", 5: "q4_3", 6: "q5_0",
        7: "q5_1", 8: "q8_0", 9: "q8_1", 10: "q2_k", 11: "q3_k", 12: "q4_k", 13: "q5_k",
        14: "q6_k", 15: "q8_k", 16: "iq2_xxs", 17: "iq2_xs", 18: "iq3_xxs", 19: "iq1_s",
        20: "iq4_nl", 21: "iq3_s", 22: "iq2_s", 23: "iq4_xs", 24: "int8", 25: "int16",
        26: "int32", 27: "int64", 28: "float64", 29: "iq1_m", 30: "bfloat16", 31: "q4_0_4_4",
        32: "q4_0_4_8", 33: "q4_0_8_8", 34: "tq1_0", 35: "tq2_0", 36: "iq4_nl_4_4",
        37: "iq4_nl_4_8", 38: "iq4_nl_8_8", 39: "mxfp4", 40: "nvfp4", 41: "q1_0",
    }.items()
}  # fmt: skip
