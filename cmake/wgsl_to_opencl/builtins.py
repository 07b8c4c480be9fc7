"""WGSL's own functions: what they take and give, and what OpenCL C calls them.

Names that begin with wgsl_ are functions of csrc/kernels/opencl/wgsl.h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import tree
from .types import (
    BOOL,
    F16,
    F32,
    FLOATS,
    I32,
    INTEGERS,
    U32,
    Atomic,
    Pointer,
    Scalar,
    Type,
    Vector,
    scalar_of,
)


@dataclass(frozen=True)
class Function:
    """`takes`: what all arguments are of, one type for all of them: "float", "integer" or "number"
    and vectors of those. `result` tells the function's type from theirs."""

    takes: str
    count: int
    c_name: str
    result: Callable[[Type], Type] = lambda type: type


def of_elements(type: Type) -> Type:
    scalar = scalar_of(type)
    assert scalar is not None
    return scalar


# The same name in both languages, on as many f32 or vectors of them.
SAME = {
    1: "exp exp2 log log2 sqrt floor ceil trunc sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh",
    2: "pow atan2",
    3: "fma",
}
FUNCTIONS: dict[str, Function] = {
    name: Function("float", count, name) for count, names in SAME.items() for name in names.split()
}
FUNCTIONS |= {
    "round": Function("float", 1, "rint"),
    "inverseSqrt": Function("float", 1, "wgsl_inverse_sqrt"),
    "fract": Function("float", 1, "wgsl_fract"),
    "mix": Function("float", 3, "wgsl_mix"),
    "step": Function("float", 2, "wgsl_step"),
    "dot": Function("number", 2, "wgsl_dot", of_elements),
    "abs": Function("number", 1, "wgsl_abs"),
    "sign": Function("number", 1, "wgsl_sign"),
    "min": Function("number", 2, "wgsl_min"),
    "max": Function("number", 2, "wgsl_max"),
    "clamp": Function("number", 3, "wgsl_clamp"),
    "dot4I8Packed": Function("integer", 2, "wgsl_dot4_int8", lambda _: I32),
    "dot4U8Packed": Function("integer", 2, "wgsl_dot4_uint8"),
    "countOneBits": Function("integer", 1, "wgsl_count_one_bits"),
    "countLeadingZeros": Function("integer", 1, "wgsl_count_leading_zeros"),
    "countTrailingZeros": Function("integer", 1, "wgsl_count_trailing_zeros"),
}
# Of f32, and plain in OpenCL C.
FLOAT_NAMES = {"abs": "fabs", "min": "fmin", "max": "fmax"}

BARRIERS = {
    "workgroupBarrier": "local_barrier()",
    "storageBarrier": "barrier(CLK_GLOBAL_MEM_FENCE)",
}
# What a place held before; the last of __opencl_atomic_fetch_....
ATOMIC_CHANGES = {
    "atomicAdd": "fetch_add",
    "atomicSub": "fetch_sub",
    "atomicMax": "fetch_max",
    "atomicMin": "fetch_min",
    "atomicAnd": "fetch_and",
    "atomicOr": "fetch_or",
    "atomicXor": "fetch_xor",
    "atomicExchange": "exchange",
}
PACKINGS: dict[str, tuple[Type, Type]] = {
    "pack2x16float": (Vector(2, F32), U32),
    "unpack2x16float": (U32, Vector(2, F32)),
}

# @builtin(...) of a kernel's parameters; the size of its workgroups goes into the last one.
INPUTS = {
    "workgroup_id": ("uint3", "WORKGROUP_ID"),
    "num_workgroups": ("uint3", "NUM_WORKGROUPS"),
    "local_invocation_id": ("uint3", "LOCAL_INVOCATION_ID"),
    "global_invocation_id": ("uint3", "GLOBAL_INVOCATION_ID"),
    "local_invocation_index": ("uint", "LOCAL_INVOCATION_INDEX"),
}


def allowed(takes: str, type: Type) -> bool:
    scalar = scalar_of(type)
    if scalar is None:
        return False
    if takes == "float":
        return scalar in (F32, Scalar("f64"))
    return scalar.name in INTEGERS or (
        takes == "number" and scalar.name in FLOATS and scalar != F16
    )


def atomic_of(type: Type) -> Scalar | None:
    """Of what a pointer to an atomic leads to."""
    if isinstance(type, Pointer) and isinstance(type.of, Atomic):
        return type.of.of
    return None


def exchange_of(of: tree.Member) -> tree.Call | None:
    """The atomicCompareExchangeWeak that a member says of whether it has exchanged."""
    call = of.of
    if of.name != "exchanged" or not isinstance(call, tree.Call):
        return None
    return call if call.name.name == "atomicCompareExchangeWeak" else None


TRUTHS = (BOOL, *(Vector(n, BOOL) for n in (2, 3, 4)))
