"""The array tier: ops on Arrays, host arrays and numbers, with and without `out`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilewright as tw
from conformance import bounds, references
from conformance.workspace import raw

from .call import Fault
from .draw import Draw
from .ops.convolution import some_conv

MOST = 4000  # elements


@dataclass
class Op:
    """One op: what it is given, and what it must give."""

    name: str
    inputs: list[Any]  # NumPy arrays, or Python's numbers
    options: dict[str, Any]
    exact: Any
    tolerance: Any = 0.0
    #: of the result
    dtype: str = "float32"
    #: the operator that does the same
    operator: Callable[..., Any] | None = None
    #: inputs that the result may be written over
    in_place: tuple[int, ...] = ()
    #: inputs that are no numbers to convert, such as shapes
    as_they_are: tuple[int, ...] = ()
    given: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        words = [described(x) for x in self.given] + [
            f"{name}={described(x)}" for name, x in self.options.items()
        ]
        return f"{self.name}({', '.join(words)})"


def described(x: Any) -> str:
    if isinstance(x, tw.Array):
        return f"<Array {x.dtype} {list(x.shape)}>" if readable(x) else "<Array never initialised>"
    if isinstance(x, np.ndarray):
        return f"<{x.dtype} {list(x.shape)}>"
    return repr(x)


def elementwise_operand(draw: Draw, shape: list[int], dtype: str) -> Any:
    if draw.rarely(5):
        return draw.one_of([2, 0.5, -1, 0, 3.0, -2.75])
    return np.asarray(draw.numbers(shape, dtype))


def part_of(draw: Draw, shape: list[int]) -> list[int]:
    """A shape that broadcasts to this one; of many dimensions along some beside each other."""
    if len(shape) > 8:
        first, past = sorted(draw.integer(0, len(shape)) for _ in range(2))
        return [*shape[:first], *[1] * (past - first), *shape[past:]]
    kept = [size if draw.below(3) else 1 for size in shape]
    return kept[draw.integer(0, len(kept)) :] if draw.rarely(3) else kept


BINARY: dict[str, tuple[str, Any]] = {
    "add": ("add", lambda a, b: a + b),
    "sub": ("sub", lambda a, b: a - b),
    "mul": ("mul", lambda a, b: a * b),
    "div": ("div", lambda a, b: a / b),
    "pow": ("pow", lambda a, b: a**b),
    "maximum": ("max", None),
    "minimum": ("min", None),
}


def binary(draw: Draw) -> Op:
    name = draw.one_of(list(BINARY))
    op, operator = BINARY[name]
    dtype = draw.dtype()
    shape = draw.deep_shape(MOST) if draw.rarely(8) else draw.shape(6, MOST)
    a = elementwise_operand(draw, part_of(draw, shape), dtype)
    b = elementwise_operand(draw, part_of(draw, shape), dtype)
    if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        a = np.asarray(draw.numbers(shape, dtype))
    numbers = [np.asarray(x, dtype) for x in (a, b)]
    # Whole arrays, since NumPy takes other ways for a power that is one number.
    numbers = [x.copy() for x in np.broadcast_arrays(*numbers)]
    exact = references.BINARY[op](*numbers)
    tolerance = bounds.elementwise(op, exact, exact, draw.subnormals)
    whole = tuple(i for i, x in enumerate((a, b)) if np.shape(x) == exact.shape)
    return Op(name, [a, b], {}, exact, tolerance, dtype, operator, whole)


def unary(draw: Draw) -> Op:
    name = draw.one_of(list(references.UNARY))
    dtype = draw.dtype()
    x = np.asarray(draw.numbers(draw.any_shape(5, MOST), dtype))
    exact = references.UNARY[name](x)
    tolerance = bounds.elementwise(name, exact, x.astype(np.float64), draw.subnormals)
    operator = {"neg": lambda x: -x, "abs": abs}.get(name)
    return Op(name, [x], {}, exact, tolerance, dtype, operator, (0,))


def reduction(draw: Draw) -> Op:
    name = draw.one_of(["sum", "max", "min", "mean"])
    shape, dtype = draw.any_shape(6, MOST), draw.dtype()
    kind = draw.below(3)
    axes = [i for i in range(len(shape)) if draw.below(2)]
    axis: Any = None if kind == 0 or not axes else axes[0] if kind == 1 else tuple(axes)
    over = range(len(shape)) if axis is None else axes[:1] if kind == 1 else axes
    if name in ("max", "min"):
        shape = [max(1, size) if i in over else size for i, size in enumerate(shape)]
    if axis is not None and draw.below(2):
        axis = axis - len(shape) if kind == 1 else tuple(i - len(shape) for i in axis)
    keepdims = bool(draw.below(2))
    x = draw.with_specials(draw.normal(shape, dtype))
    count = math.prod(shape[i] for i in over)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if name == "mean":
            exact = wide.sum(axis, keepdims=keepdims) / np.float64(count)
            sizes = np.abs(wide).sum(axis, keepdims=keepdims) / np.float64(count)
        else:
            exact = getattr(wide, name)(axis, keepdims=keepdims)
            sizes = np.abs(wide).sum(axis, keepdims=keepdims)
        # Neighbouring axes are summed together, others one after another.
        tolerance = len(shape) * bounds.summation(sizes, count) if name in ("sum", "mean") else 0.0
    options = {"axis": axis, "keepdims": keepdims}
    return Op(name, [x], options, np.asarray(exact), tolerance, dtype)


def matmul(draw: Draw) -> Op:
    m, n, k = (draw.size_or_zero(40) for _ in range(3))
    dtype = draw.dtype()
    batch = draw.shape(3, 12)
    flips = [bool(draw.below(2)) for _ in "ab"]
    shapes = [[*part_of(draw, batch), m, k], [*part_of(draw, batch), k, n]]
    for i in range(2):
        if draw.rarely(6):
            shapes[i] = [k]
            flips[i] = False
    a, b = (draw.integers(shape, dtype) for shape in shapes)
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    given = [
        np.swapaxes(x, -1, -2).copy() if flip else x for x, flip in zip((a, b), flips, strict=True)
    ]
    options: dict[str, Any] = {}
    for name, flip in zip(("transpose_a", "transpose_b"), flips, strict=True):
        if flip or draw.rarely(4):
            options[name] = flip
    out_dtype = dtype
    if draw.rarely(4):
        options["alpha"] = draw.one_of([2.0, -0.5, 0.0])
        exact = exact * options["alpha"]
    if dtype == "float16" and draw.below(2):
        options["out_dtype"] = out_dtype = "float32"
    elif dtype == "float32" and draw.rarely(4):
        options["precision"] = draw.one_of(["float16", "bfloat16"])
    operator = None if options else lambda a, b: a @ b
    return Op("matmul", given, options, np.asarray(exact), 0.0, out_dtype, operator)


def softmax(draw: Draw) -> Op:
    shape, dtype = draw.any_shape(5, MOST), draw.dtype()
    axis = draw.below(len(shape))
    x = draw.normal(shape, dtype)
    exact, tolerance = np.empty(shape), np.empty(shape)
    if x.size:
        exact = references.softmax(x, axis)
        wide = x.astype(np.float64)
        tolerance = bounds.softmax(exact, 2 * (wide - wide.max(axis, keepdims=True)), shape[axis])
    return Op("softmax", [x], {"axis": axis - len(shape)}, exact, tolerance, dtype, None, (0,))


def rows_of(draw: Draw, rows: int) -> Any:
    """Indices as users have them: negative ones, in any integer type that holds them."""
    if rows == 0:
        return np.empty(draw.one_of([(0,), (2, 0)]), np.int32)
    shape = draw.shape(2, 200, 1)
    integer = draw.one_of(["int32", "int64", "int8", "uint8", "uint16", "int16", "uint64"])
    info = np.iinfo(integer)
    low, high = max(-rows, info.min), min(rows - 1, info.max)
    return draw.rng.integers(low, high, shape, endpoint=True).astype(integer)


def gather(draw: Draw) -> Op:
    shape, dtype = draw.shape(4, MOST, 1), draw.dtype()
    table = draw.normal(shape, dtype)
    indices = rows_of(draw, shape[0])
    return Op("gather", [table, indices], {}, table[indices], 0.0, dtype, as_they_are=(1,))


def scatter(draw: Draw) -> Op:
    shape, dtype = draw.shape(4, MOST, 1), draw.dtype()
    output = draw.normal(shape, dtype)
    indices = rows_of(draw, shape[0])
    source = draw.normal([*indices.shape, *shape[1:]], dtype)
    exact = output.copy()
    for at in np.ndindex(*indices.shape):
        exact[indices[at]] = source[at]
    return Op("scatter", [output, indices, source], {}, exact, 0.0, dtype, as_they_are=(1,))


def conv2d(draw: Draw) -> Op:
    conv, dtype = some_conv(draw), draw.dtype()
    x, w = draw.integers(conv.x, dtype), draw.integers(conv.w, dtype)
    exact = conv.forward(x.astype(np.float64), w.astype(np.float64))
    options: dict[str, Any] = {"groups": conv.groups}
    for name, of in (("stride", "stride"), ("padding", "pad"), ("dilation", "dilation")):
        pair = tuple(getattr(side, of) for side in (conv.height, conv.width))
        options[name] = pair[0] if pair[0] == pair[1] else pair
    return Op("conv2d", [x, w], options, exact, 0.0, dtype)


def norm(draw: Draw) -> Op:
    shape, dtype = draw.shape(3, MOST, 1), draw.dtype()
    x = draw.normal(shape, dtype)
    weight, bias = draw.normal(shape[-1], dtype), draw.normal(shape[-1], dtype)
    eps = float(np.float32(1e-5))
    exact, tolerance = np.empty(shape), np.empty(shape)
    if draw.below(2):
        if x.size:
            exact = references.rmsnorm(x, weight, eps)
            tolerance = bounds.rmsnorm(exact, shape[-1])
        return Op("rmsnorm", [x, weight], {}, exact, tolerance, dtype, None, (0,))
    if x.size:
        exact = references.layer_norm(x, weight, bias, eps)
        tolerance = bounds.layer_norm(*(a.astype(np.float64) for a in (x, weight, bias)), eps)
    return Op("layer_norm", [x, weight, bias], {}, exact, tolerance, dtype, None, (0,))


def cast(draw: Draw) -> Op:
    dtype, to = draw.one_of(["float32", "float16", "int32"]), draw.dtype()
    shape = draw.any_shape(4, MOST)
    x = draw.int32(shape) if dtype == "int32" else np.asarray(draw.numbers(shape, dtype))
    with np.errstate(over="ignore"):
        exact = x.astype(to)
    return Op("cast", [x, to], {}, exact.astype(np.float64), 0.0, to, as_they_are=(1,))


OPS = [binary, binary, unary, reduction, matmul, softmax, gather, scatter, conv2d, norm, cast]


def spelled(draw: Draw, be: tw.Backend, x: Any) -> Any:
    """An operand in one of the forms that the array tier takes."""
    if not isinstance(x, np.ndarray):
        return x
    kind = draw.below(6)
    if kind <= 2:
        return be.array(x)
    if kind == 3:
        return be.array(x.reshape(-1)).reshape(x.shape)
    if kind == 4:
        return be.from_dlpack(x) if x.size else be.array(x)
    # As NumPy has it, perhaps walked in another order.
    return np.asfortranarray(x) if x.ndim > 1 and draw.below(2) else x


def valid(be: tw.Backend, draw: Draw) -> None:
    op = draw.one_of(OPS)(draw)
    op.given = [x if i in op.as_they_are else spelled(draw, be, x) for i, x in enumerate(op.inputs)]
    draw.says(op)
    before = [np.copy(x) if isinstance(x, np.ndarray) else x for x in op.inputs]
    on_device = [x for x in op.given if isinstance(x, tw.Array)]
    written: tw.Array | None = None
    # Neighbours in the device's memory, perhaps.
    beside = [be.full(16, 7.0) for _ in range(2)]
    kind = draw.below(4)
    shape = np.shape(op.exact)
    if op.name == "scatter" and isinstance(op.given[0], tw.Array):
        written = op.given[0]
        result = be.scatter(*op.given)
        if result is not written:
            raise Fault(f"{op} gives another Array than it is given")
    elif kind == 0 and op.operator is not None and on_device:
        result = op.operator(*op.given)
    elif kind == 1:
        written = be.full(shape, math.nan, op.dtype)
        places = [op.given[i] for i in op.in_place if isinstance(op.given[i], tw.Array)]
        if places and draw.below(2) and places[0].dtype == op.dtype:
            written = places[0]
        result = getattr(be, op.name)(*op.given, **op.options, out=written)
        if result is not written:
            raise Fault(f"{op} gives another Array than out")
    else:
        result = getattr(be, op.name)(*op.given, **op.options)
    check(op, result)
    for x, was in zip(op.given, before, strict=True):
        if x is written or isinstance(x, str):
            continue
        now = x.numpy() if isinstance(x, tw.Array) else x
        if not np.array_equal(raw(np.asarray(now)), raw(np.asarray(was))):
            raise Fault(f"{op} changes an input")
    if any((x.numpy() != 7.0).any() for x in beside):
        raise Fault(f"{op} changes another Array")


def check(op: Op, result: Any) -> None:
    if not isinstance(result, tw.Array) or result.dtype != op.dtype:
        raise Fault(f"{op} gives {described(result)}, expected {op.dtype}")
    reads = [result.numpy(), np.asarray(result), np.from_dlpack(result)]
    try:
        exact = np.asarray(op.exact, np.float64)
        bounds.assert_within(reads[0], exact, op.tolerance)
    except AssertionError as error:
        raise Fault(f"{op}: {error}") from None
    for other in reads[1:]:
        np.testing.assert_array_equal(raw(other), raw(reads[0]))


# Refused ------------------------------------------------------------------------------------------


class Unreadable:
    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no array here")


def strangers(be: tw.Backend, other: tw.Backend, draw: Draw) -> list[Any]:
    return [
        None, "text", object(), Unreadable(), {}, [1, "a"], [[1], [1, 2]], 1j, 2**200,
        np.zeros(3), np.zeros(3, np.int64), np.zeros(3, bool), np.array(["a"]),
        np.zeros((2, 3, 4, 5, 6), np.float32), np.zeros(7, np.float16),
        other.zeros(3), be.zeros(3, "int32"), be.zeros((3, 0)), be.zeros((1, 2, 3, 4, 5)),
        tw.Array.__new__(tw.Array), float("nan"),
    ]  # fmt: skip


MUCH = 1 << 30  # bytes


def refused(be: tw.Backend, other: tw.Backend, draw: Draw) -> bool:
    """Whether it was: one input, option or `out` is anything. What is not refused computes, and
    nothing but an Error, a TypeError or what NumPy says of its own arrays comes back."""
    op = draw.one_of(OPS)(draw)
    op.given = [x if i in op.as_they_are else spelled(draw, be, x) for i, x in enumerate(op.inputs)]
    wrong = strangers(be, other, draw)
    options = dict(op.options)
    at = draw.below(len(op.given) + 2)
    if at < len(op.given):
        op.given[at] = draw.one_of(wrong)
    elif at == len(op.given):
        options["out"] = draw.one_of([*wrong, be.zeros((17, 3)), op.given[0]])
    elif options:
        name = draw.one_of(sorted(options))
        numbers = [-1, 0, 2**31, 2**32, 2**62, 2**63, 2**200, 1.5, math.nan, (1,), (1, 2, 3)]
        options[name] = draw.one_of([*wrong, *numbers])
    op.options = options
    draw.says(op)
    kept = [(x, x.numpy()) for x in op.given if isinstance(x, tw.Array) and readable(x)]
    try:
        getattr(be, op.name)(*op.given, **options)
    except (tw.InvalidArgument, tw.Unsupported, TypeError) as error:
        if isinstance(error, tw.Error) and not re.match(r"\w+: ", str(error)):
            raise Fault(f"{op} says: {error}") from error
    except tw.OutOfMemory as error:
        # Options may ask for results that no memory holds.
        asked = re.search(r"(\d+) bytes", str(error))
        on_the_host = "the system has no memory left" in str(error)
        if not on_the_host and (asked is None or int(asked[1]) < MUCH):
            raise Fault(f"{op} raises OutOfMemory: {error}") from error
    except Exception as error:
        raise Fault(f"{op} raises {type(error).__name__}: {error}") from error
    else:
        return False
    for x, was in kept:
        if not np.array_equal(raw(x.numpy()), raw(was)):
            raise Fault(f"{op} is refused, but changes an input")
    return True


def readable(x: tw.Array) -> bool:
    try:
        return x.backend.is_initialized
    except AttributeError:
        return False
