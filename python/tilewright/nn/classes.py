"""Losses of classes: nll_loss, cross_entropy, and one_hot. Targets are indices of classes, and for
cross_entropy probabilities too."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.reduced_losses import to_grad, to_reduction
from tilewright.nn.rows import in_rows
from tilewright.nn.running import alike, floats, mapped, reduced, to_number
from tilewright.nn.softmaxes import along, log_sums
from tilewright.operands import invalid, read_host, shown, to_dtype, to_integer
from tilewright.program import Program
from tilewright.reading import default_integer

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright.array import Array
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value

INT32 = np.dtype(np.int32)


# Indices of classes ------------------------------------------------------------------------------


@cache
def _places_program(dtype: str, ignores: bool) -> Program:
    """Indices to read by, and whether each target counts: 0 for one that is ignored; and what is
    negative stays out of range, which as an index counts from the end."""
    program = Program()
    given = program.input(dtype)
    target = given if dtype in ("int32", "int64") else given.cast("int32")
    wide = str(target.dtype)
    classes = program.number(wide)
    places = choose(target < 0, target - classes, target)
    if ignores:
        ignored = program.number(wide)
        places = choose(target == ignored, 0, places)
        program.output(target != ignored)
    program.output(places)
    return program


def _read_targets(call: str, name: str, given: Any, like: Array) -> Array:
    from tilewright.array import Array

    if isinstance(given, Array):
        target: Array = given
    else:
        from tilewright.namespace.creation import asarray

        host = read_host(call, name, given)
        if host.dtype.kind not in "iu":
            invalid(call, f"{name} is {shown(given)}, expected integers, indices of classes")
        fits = default_integer(like.backend)
        target = asarray(host.astype(fits, copy=False), device=like.backend)
    like.backend._own(call, name, target)
    if target.dtype.kind not in "iu":
        invalid(call, f"{name} is {target.dtype}, expected integers, indices of classes")
    if target.dtype.kind == "u" and target.dtype.itemsize > 2:
        target = target.astype(default_integer(target.backend))
    return target


def _places(target: Array, classes: int) -> Array:
    places = target.backend._new(target.shape, _places_dtype(target))
    program = _places_program(target.stored_as, False)
    target.backend.map(program, target.shape, [target], [classes], [places])
    return places


def _places_dtype(target: Array) -> np.dtype[Any]:
    return target.dtype if target.dtype.itemsize == 8 else INT32


def _places_and_kept(target: Array, ignored: int, classes: int) -> tuple[Array, Array]:
    places = target.backend._new(target.shape, _places_dtype(target))
    kept = target.backend._new(target.shape, np.dtype(np.bool_))
    program = _places_program(target.stored_as, True)
    target.backend.map(program, target.shape, [target], [classes, ignored], [kept, places])
    return places, kept


@kept_by_form
def one_hot(x: Any, /, num_classes: int = -1, *, dtype: npt.DTypeLike | None = None) -> Array:
    """A new last axis with 1 at the place of each index, and 0 elsewhere: of the default dtype of
    integers unless one is given. Without num_classes it is one more than the largest index, for
    which the call waits. An index out of range raises, a negative one too."""
    from tilewright.namespace.creation import zeros
    from tilewright.namespace.mixed import an_array
    from tilewright.namespace.selection import put_along_axis

    call = "one_hot"
    target = _read_targets(call, "x", an_array(call, x), x)
    count = to_integer(call, "num_classes", num_classes)
    if count == -1:
        if not target.size:
            invalid(call, "x has no elements and num_classes is -1, expected a number of classes")
        count = int(target.max().item()) + 1
    if count < 1:
        invalid(call, f"num_classes is {count}, expected 1 or more, or -1")
    wanted = default_integer(x.backend) if dtype is None else to_dtype(call, dtype)
    made = zeros((*target.shape, count), dtype=wanted, device=x.backend)
    if target.size:
        places = _places(target, count)
        put_along_axis(made, places.reshape((*target.shape, 1)), 1)
    return made


class Classes:
    """Targets of an input whose axis 1 (0 of one dimension) are the classes, and their weights."""

    def __init__(
        self, call: str, input: Array, target: Any, weight: Any, ignore_index: Any
    ) -> None:
        self.call, self.input = call, input
        if input.ndim == 0:
            invalid(call, "input has no dimensions, expected at least one, of classes")
        self.axis = 1 if input.ndim > 1 else 0
        self.classes = input.shape[self.axis]
        if self.classes == 0:
            invalid(call, f"input has shape {input.shape}, expected one class at least")
        self.shape = (*input.shape[: self.axis], *input.shape[self.axis + 1 :])
        self.given = _read_targets(call, "target", target, input)
        if self.given.shape != self.shape:
            invalid(
                call,
                f"target has shape {self.given.shape}, expected {self.shape}, input's without "
                f"axis {self.axis}, or for cross_entropy probabilities of shape {input.shape}",
            )
        self.ignored = to_integer(call, "ignore_index", ignore_index)
        self.weight = None if weight is None else to_weights(call, weight, input, self.classes)

    def operands(self) -> tuple[Array, Array]:
        """The scores and targets that the trait's ops take."""
        given = self.given
        if given.dtype.itemsize < 4:
            given = given.astype(INT32)
        return self.input._contiguous(), given._contiguous()

    def options(self, how: str, smoothing: float) -> tuple[Any, ...]:
        """What these take of them besides, from the shape on."""
        weight = None if self.weight is None else self.weight._contiguous()
        return (
            self.input.shape, self.axis, self.input.stored_as,
            "int64" if self.given.dtype.itemsize == 8 else "int32", weight, self.ignored,
            smoothing, None if how == "none" else how,
        )  # fmt: skip


class Targets(Classes):
    """The same as places to read by."""

    def __init__(
        self, call: str, input: Array, target: Any, weight: Any, ignore_index: Any
    ) -> None:
        super().__init__(call, input, target, weight, ignore_index)
        self.places, self.kept = _places_and_kept(self.given, self.ignored, self.classes)

    def picked(self, x: Array) -> Array:
        """What x has of each target's class; an index out of range raises."""
        from tilewright.namespace.indexing import Walk

        strides = [step for i, step in enumerate(x.strides) if i != self.axis]
        walk = Walk(self.call, x, self.shape, strides)
        walk.add(self.places, len(self.shape), self.axis, self.classes, x.strides[self.axis])
        return walk.take()

    def weights(self) -> Array | float:
        """The weight of each target's class."""
        from tilewright.namespace.selection import take

        return 1.0 if self.weight is None else take(self.weight, self.places)

    def total(self, weights: Array | float) -> Array | float:
        """What a mean divides by: the weights of those that are not ignored."""
        return reduced(
            "sum", _weight_of, self.input, [self.kept, weights], range(len(self.shape)),
            shape=self.shape,
        )  # fmt: skip

    def along(self, line: Array | float) -> Any:
        """One value for each target as a view of the input's shape."""
        return line if isinstance(line, float) else along(self.input, self.axis, line)

    def grad(self, grad: Any, how: str) -> Any:
        return _spread_grad(self.call, grad, how, self.input, self.axis, self.shape)

    def meetings(self) -> tuple[Array, Array]:
        """The number of each class and that of each target, as views of the input's shape; an index
        out of range raises."""
        from tilewright.namespace.creation import arange
        from tilewright.namespace.indexing import Walk
        from tilewright.namespace.manipulation import broadcast_to

        x = self.input
        numbers = arange(self.classes, dtype=INT32, device=x.backend)
        walk = Walk(self.call, numbers, self.shape, [0] * len(self.shape))
        walk.add(self.places, len(self.shape), self.axis, self.classes, 1)
        own = numbers.reshape((-1,) + (1,) * (x.ndim - self.axis - 1))
        return broadcast_to(own, x.shape), along(x, self.axis, walk.take())


def to_weights(call: str, weight: Any, input: Array, classes: int) -> Array:
    _, weight = floats(call, input=input, weight=weight)
    if weight.shape != (classes,):
        invalid(call, f"weight has shape {weight.shape}, expected ({classes},), one for each class")
    found: Array = weight
    return found


def _weight_of(kept: Value, weight: Value) -> Value:
    return choose(kept, weight, 0.0)


def _picked_loss(kept: Value, weight: Value, x: Value) -> Value:
    return choose(kept, -(weight * x), 0.0)


def _over_total(x: Value, total: Value) -> Value:
    return x / total


def _reduced_loss(
    how: str, like: Array, formula: Any, operands: list[Any], shape: tuple[int, ...],
    total: Array | float, call: str,
) -> Array:  # fmt: skip
    if how == "none":
        return mapped(call, formula, like, operands, None, shape)
    axes = range(len(shape))
    if how == "sum":
        return reduced("sum", formula, like, operands, axes, like.dtype, shape=shape)
    if isinstance(total, float):
        return reduced(
            "sum", formula, like, operands, axes, like.dtype, _over_total, [total], shape=shape
        )
    return reduced(
        "sum", formula, like, operands, axes, like.dtype, _over_total, inputs=[total], shape=shape
    )


@kept_by_form
def nll_loss(
    input: Array, target: Any, *, weight: Array | None = None, ignore_index: int = -100,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """Minus what the input, logarithms of probabilities with the classes along axis 1, has of each
    target's class, times its weight. Targets of ignore_index give 0; a mean is by the weights of
    the others. An index that is no class raises."""
    call = "nll_loss"
    how = to_reduction(call, reduction)
    (input,) = floats(call, input=input)
    targets = Targets(call, input, target, weight, ignore_index)
    weights = targets.weights()
    total = targets.total(weights) if how == "mean" else 1.0
    operands = [targets.kept, weights, targets.picked(input)]
    return _reduced_loss(how, input, _picked_loss, operands, targets.shape, total, call)


def _nll_gradient(
    grad: Value, scale: Value, own: Value, place: Value, kept: Value, weight: Value
) -> Value:
    return choose(kept & (own == place), -(grad * weight / scale), 0.0)


@kept_by_form
def nll_loss_backward(
    grad: Grad, input: Array, target: Any, *, weight: Array | None = None,
    ignore_index: int = -100, reduction: str = "mean",
) -> Array:  # fmt: skip
    """The gradient of nll_loss() by input; `grad` is that by the loss, an Array or a number."""
    call = "nll_loss_backward"
    how = to_reduction(call, reduction)
    (input,) = floats(call, input=input)
    targets = Targets(call, input, target, weight, ignore_index)
    weights = targets.weights()
    total = targets.total(weights) if how == "mean" else 1.0
    operands = [
        targets.grad(grad, how), _whole(total, input), *targets.meetings(),
        targets.along(targets.kept), targets.along(weights),
    ]  # fmt: skip
    return mapped(call, _nll_gradient, input, operands)


def _whole(x: Any, like: Array) -> Any:
    """A number, or one element as a view of a shape."""
    from tilewright.namespace.manipulation import broadcast_to

    return x if isinstance(x, float) else broadcast_to(x, like.shape)


# Cross entropy -----------------------------------------------------------------------------------


def _to_smoothing(call: str, given: Any) -> float:
    smoothing = to_number(call, "label_smoothing", given)
    if not 0 <= smoothing <= 1:
        invalid(call, f"label_smoothing is {smoothing}, expected a number from 0 to 1")
    return smoothing


def _part_loss(
    x: Value, most: Value, log: Value, part: Value, weight: Value, smoothing: Value, classes: Value
) -> Value:
    factor = weight * (part * (1 - smoothing) + smoothing / classes)
    return choose(factor == 0, 0.0, factor * (most - x + log))


def _share(part: Value, weight: Value, smoothing: Value, classes: Value) -> Value:
    return weight * (part * (1 - smoothing) + smoothing / classes)


def _class_weights(call: str, weight: Any, input: Array, axis: int, classes: int) -> Any:
    """The weights of the classes as a view of the input's shape, or 1."""
    from tilewright.namespace.manipulation import broadcast_to

    if weight is None:
        return 1.0
    found = to_weights(call, weight, input, classes)
    return broadcast_to(found.reshape((-1,) + (1,) * (input.ndim - axis - 1)), input.shape)


def _has_parts(target: Any) -> bool:
    """Whether a target is of probabilities."""
    dtype = getattr(target, "dtype", None)
    return dtype is not None and getattr(dtype, "kind", "") == "f"


class Parts:
    """Targets that are probabilities, of an input whose axis 1 (0 of one dimension) are classes."""

    def __init__(self, call: str, input: Any, target: Any, weight: Any) -> None:
        self.input, self.target = alike(call, input=input, target=target)
        if self.input.ndim == 0 or 0 in self.input.shape[:2][-1:]:
            invalid(call, f"input has shape {self.input.shape}, expected one class at least")
        self.axis = 1 if self.input.ndim > 1 else 0
        self.classes = self.input.shape[self.axis]
        self.shape = (*self.input.shape[: self.axis], *self.input.shape[self.axis + 1 :])
        self.weights = _class_weights(call, weight, self.input, self.axis, self.classes)

    def lines(self) -> list[Array]:
        return [along(self.input, self.axis, one) for one in log_sums(self.input, self.axis)]

    def count(self) -> float:
        return float(math.prod(self.shape))


@kept_by_form
def cross_entropy(
    input: Array, target: Any, *, weight: Array | None = None, ignore_index: int = -100,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Array:  # fmt: skip
    """nll_loss() of log_softmax(input), which is not stored. The target has indices of classes, or
    floats of the input's shape: the probability of each class, for which ignore_index says nothing
    and a mean is over their lines. `label_smoothing` spreads as much of each target over all
    classes."""
    call = "cross_entropy"
    how = to_reduction(call, reduction)
    smoothing = _to_smoothing(call, label_smoothing)
    (input,) = floats(call, input=input)
    if _has_parts(target):
        parts = Parts(call, input, target, weight)
        return _of_parts(how, parts, smoothing)
    targets = Classes(call, input, target, weight, ignore_index)
    losses = input.backend._new(targets.shape if how == "none" else (), input.dtype)
    if losses.size:
        input.backend.cross_entropy(*targets.operands(), losses, *targets.options(how, smoothing))
    return losses


def _of_parts(how: str, parts: Parts, smoothing: float) -> Array:
    x = parts.input
    operands = [x, *parts.lines(), parts.target, parts.weights, smoothing, float(parts.classes)]
    axes = [parts.axis] if how == "none" else range(x.ndim)
    count = parts.count() if how == "mean" else 1.0
    return reduced("sum", _part_loss, x, operands, axes, x.dtype, _over_total, [count])


def _part_scores(grad: Value, scale: Value, x: Value, *_: Value) -> Value:
    return x


def _part_scores_above(
    grad: Value, scale: Value, x: Value, part: Value, weight: Value, most: Value, *_: Value
) -> Value:
    return (x - most).exp()


def _share_of_line(
    grad: Value, scale: Value, x: Value, part: Value, weight: Value, most: Value, total: Value,
    smoothing: Value, classes: Value,
) -> Value:  # fmt: skip
    return _share(part, weight, smoothing, classes)


def _part_gradient(
    grad: Value, scale: Value, x: Value, part: Value, weight: Value, most: Value, total: Value,
    sum_: Value, smoothing: Value, classes: Value,
) -> Value:  # fmt: skip
    share = _share(part, weight, smoothing, classes)
    return ((x - most).exp() * (1 / total) * sum_ - share) * (grad / scale)


@kept_by_form
def cross_entropy_backward(
    grad: Grad, input: Array, target: Any, *, weight: Array | None = None,
    ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Array:  # fmt: skip
    """The gradient of cross_entropy() by input; `grad` is that by the loss, an Array or a
    number."""
    call = "cross_entropy_backward"
    how = to_reduction(call, reduction)
    smoothing = _to_smoothing(call, label_smoothing)
    (input,) = floats(call, input=input)
    if _has_parts(target):
        parts = Parts(call, input, target, weight)
        count = parts.count() if how == "mean" else 1.0
        operands = [
            _spread_grad(call, grad, how, input, parts.axis, parts.shape), count, input,
            parts.target, parts.weights,
        ]  # fmt: skip
        folds: list[Any] = [
            ("max", _part_scores), ("sum", _part_scores_above), ("sum", _share_of_line)
        ]  # fmt: skip
        options = [smoothing, float(parts.classes)]
        if 0 in input.shape:
            return mapped(call, _itself, input, [input])
        made, _ = in_rows(
            call, input, operands, [parts.axis], folds, _part_gradient, numbers=options
        )
        assert made is not None
        return made
    targets = Classes(call, input, target, weight, ignore_index)
    found = to_grad(call, grad, input, targets.shape if how == "none" else ())
    by = (None, found) if isinstance(found, float) else (found._contiguous(), 1.0)
    result = input.backend._new(input.shape, input.dtype)
    if result.size:
        input.backend.cross_entropy_backward(
            *targets.operands(), result, *targets.options(how, smoothing), *by
        )
    return result


def _itself(x: Value) -> Value:
    return x


def _spread_grad(
    call: str, grad: Any, how: str, like: Array, axis: int, shape: tuple[int, ...]
) -> Any:
    found = to_grad(call, grad, like, shape if how == "none" else ())
    if isinstance(found, float):
        return found
    return along(like, axis, found) if how == "none" else _whole(found, like)
