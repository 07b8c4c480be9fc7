"""The loss of labels that are in order but at no known steps (Graves and others, 2006), and its
gradient: one launch for each step, of all samples and labels at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.array import Array
from tilewright.call_forms import kept_by_form
from tilewright.namespace.complex_math import choose
from tilewright.nn.reduced_losses import to_grad, to_reduction
from tilewright.nn.running import floats, launch, mapped, reduced, to_truth, wide_of
from tilewright.operands import INT32, invalid, read_host, shown, to_integer

if TYPE_CHECKING:
    from tilewright.nn.reduced_losses import Grad
    from tilewright.program import Value

# The logarithm of a probability that is 0, and from where on a loss is that of none.
NOTHING = -1e30
NONE = 1e29


class _Labels(NamedTuple):
    """Of samples n: their labels with blanks between, [batch, states], and what leads to them."""

    scores: Array  # of the states at each step, [steps, batch, states]
    states: Array
    skips: Array  # 1 where a state may follow that two in front of it
    steps_of: Array  # [batch]
    counts: Array  # [batch], of labels
    shape: tuple[int, int, int]  # of log_probs with a batch
    is_batched: bool
    dtype: Any


def _to_lengths(call: str, name: str, given: Any, batch: int, most: int, like: Array) -> Array:
    """As int32 [batch]; those of the host are checked."""
    if isinstance(given, Array):
        like.backend._own(call, name, given)
        found = given.reshape(-1)
        if found.dtype.kind not in "iu" or found.shape != (batch,):
            invalid(
                call,
                f"{name} is {given.dtype} of shape {given.shape}, expected {batch} integers",
            )
        return found.astype(INT32, copy=False)
    host = np.atleast_1d(read_host(call, name, given))
    if host.dtype.kind not in "iu" or host.shape != (batch,):
        invalid(call, f"{name} is {shown(given)}, expected {batch} integers")
    if host.size and not (host.min() >= 0 and host.max() <= most):
        invalid(call, f"{name} is {shown(given)}, expected 0 to {most}")
    return like.backend._upload(host.astype(INT32))


def _to_targets(call: str, targets: Any, lengths: Any, batch: int, like: Array) -> Array:
    """[batch, labels], of labels side by side where they are one after the other."""
    from tilewright.namespace.creation import asarray
    from tilewright.namespace.selection import take

    if not isinstance(targets, Array):
        host = read_host(call, "targets", targets)
        if host.dtype.kind not in "iu" and host.size:
            invalid(call, f"targets is {shown(targets)}, expected integers")
        targets = asarray(host.astype(INT32), device=like.backend)
    like.backend._own(call, "targets", targets)
    if targets.dtype.kind not in "iu":
        invalid(call, f"targets is {targets.dtype}, expected integers")
    found: Array = targets.astype(INT32, copy=False)
    if found.ndim == 2 and found.shape[0] == batch:
        return found
    if found.ndim != 1:
        invalid(call, f"targets has shape {found.shape}, expected ({batch}, labels) or one line")
    if isinstance(lengths, Array):
        invalid(call, "target_lengths is an Array, expected the host's with targets in one line")
    each = np.atleast_1d(read_host(call, "target_lengths", lengths)).astype(np.int64)
    if each.shape != (batch,) or each.min(initial=0) < 0 or each.sum() != found.size:
        invalid(
            call,
            f"target_lengths is {shown(lengths)}, expected {batch} integers whose sum is "
            f"{found.size}, the labels of targets",
        )
    starts = np.cumsum(each) - each
    places = starts[:, None] + np.arange(int(each.max(initial=0)))
    if not found.size:
        return found.reshape((batch, 0))
    return take(found, np.minimum(places, found.size - 1), axis=0)


def _labels(
    call: str, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any
) -> _Labels:
    from tilewright.namespace.creation import arange, full
    from tilewright.namespace.elementwise import where
    from tilewright.namespace.indexing import Walk
    from tilewright.namespace.manipulation import broadcast_to

    (x,) = floats(call, log_probs=log_probs)
    if x.ndim not in (2, 3):
        invalid(
            call,
            f"log_probs has shape {x.shape}, expected 3 dimensions, [steps, batch, classes], or 2 "
            "without batch",
        )
    is_batched, backend = x.ndim == 3, x.backend
    x = x if is_batched else x.reshape((x.shape[0], 1, x.shape[1]), copy=False)
    steps, batch, classes = x.shape
    if not steps or not classes or not batch:
        invalid(call, f"log_probs has shape {x.shape}, expected elements")
    nothing = to_integer(call, "blank", blank)
    if not 0 <= nothing < classes:
        invalid(call, f"blank is {nothing}, expected one of the {classes} classes")
    if not is_batched and isinstance(targets, Array) and targets.ndim == 1:
        targets = targets.reshape((1, targets.size))
    labels = _to_targets(call, targets, target_lengths, batch, x)
    steps_of = _to_lengths(call, "input_lengths", input_lengths, batch, steps, x)
    counts = _to_lengths(call, "target_lengths", target_lengths, batch, labels.shape[1], x)
    count = 2 * labels.shape[1] + 1
    states = full((batch, count), nothing, dtype=INT32, device=backend)
    if labels.size:
        numbers = arange(labels.shape[1], dtype=INT32, device=backend)
        states[:, 1::2] = where(numbers < counts.reshape((-1, 1)), labels, nothing)
    skips = full((batch, count + 2), 0.0, dtype=wide_of(x.dtype), device=backend)
    if count > 2:
        differs = (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != nothing)
        skips[:, 2:count] = differs.astype(skips.dtype)
    walk = Walk(call, x, (steps, batch, count), [x.strides[0], x.strides[1], 0])
    walk.add(broadcast_to(states, (steps, batch, count)), 3, 2, classes, x.strides[2])
    scores = walk.take().astype(skips.dtype, copy=False)
    return _Labels(
        scores, states, skips, steps_of, counts, (steps, batch, classes), is_batched, x.dtype
    )


def _joined(first: Value, second: Value, third: Value, may_skip: Value) -> Value:
    """The logarithm of a sum of probabilities."""
    third = choose(may_skip > 0, third, NOTHING)
    most = first.max(second).max(third)
    total = (first - most).exp() + (second - most).exp() + (third - most).exp()
    return most + total.log()


def _step(
    own: Value, before: Value, two_before: Value, may_skip: Value, score: Value, steps: Value,
    number: Value,
) -> Value:  # fmt: skip
    new = _joined(own, before, two_before, may_skip) + score.max(NOTHING)
    return choose(number < steps, new, own)


def _step_back(
    own: Value, behind: Value, two_behind: Value, may_skip: Value, score: Value, steps: Value,
    end: Value, number: Value,
) -> Value:  # fmt: skip
    later = _joined(own, behind, two_behind, may_skip)
    return choose(number + 1 < steps, later, end) + score.max(NOTHING)


def _spread(line: Array, shape: tuple[int, ...]) -> Array:
    """One number for each sample, as a view."""
    from tilewright.namespace.manipulation import broadcast_to

    return broadcast_to(line.reshape((-1, 1)), shape)


def _forward(of: _Labels) -> Array:
    """[steps + 1, batch, states + 2]: how likely a state and what is in front of it are, from
    before the first step on. The first two columns are states that are not there."""
    from tilewright.namespace.creation import full

    steps, batch, count = of.scores.shape
    found = full((steps + 1, batch, count + 2), NOTHING, dtype=of.scores.dtype,
                 device=of.scores.backend)  # fmt: skip
    found[0, :, 2] = 0.0
    shape = (batch, count)
    lengths = _spread(of.steps_of.astype(of.scores.dtype), shape)
    skips = of.skips[:, :count]
    for t in range(steps):
        row = found[t]
        launch(
            _step, of.scores,
            [row[:, 2:], row[:, 1:-1], row[:, :-2], skips, of.scores[t], lengths, float(t)],
            [found[t + 1][:, 2:]], shape,
        )  # fmt: skip
    return found


def _backward(of: _Labels) -> Array:
    """[steps + 1, batch, states + 2]: how likely a state and what is behind it are. The last two
    columns are states that are not there, the last row is behind the last step."""
    from tilewright.namespace.creation import arange, full
    from tilewright.namespace.elementwise import where

    steps, batch, count = of.scores.shape
    backend, wide = of.scores.backend, of.scores.dtype
    found = full((steps + 1, batch, count + 2), NOTHING, dtype=wide, device=backend)
    shape = (batch, count)
    lengths = _spread(of.steps_of.astype(wide), shape)
    numbers = arange(count, dtype=INT32, device=backend)
    last = _spread(of.counts * 2, shape)
    ends = where((numbers == last) | (numbers == last - 1), 0.0, NOTHING).astype(wide, copy=False)
    skips = of.skips[:, 2:]
    for t in reversed(range(steps)):
        row = found[t + 1]
        launch(
            _step_back, of.scores,
            [row[:, :-2], row[:, 1:-1], row[:, 2:], skips, of.scores[t], lengths, ends, float(t)],
            [found[t][:, :-2]], shape,
        )  # fmt: skip
    return found


def _loss(first: Value, second: Value) -> Value:
    most = first.max(second)
    return -(most + ((first - most).exp() + (second - most).exp()).log())


def _losses(of: _Labels, forward: Array) -> Array:
    """Of each sample, as large as 1e30 where no path has these labels."""
    from tilewright.namespace.selection import take_along_axis

    at = of.counts.reshape((-1, 1)) * 2
    ends = [take_along_axis(forward[-1], at + one, axis=1).reshape(-1) for one in (1, 2)]
    return mapped("ctc_loss", _loss, ends[0], ends)


def _whole(loss: Value, absent: Value) -> Value:
    return choose(loss > NONE, absent, loss)


def _shared(loss: Value, count: Value, absent: Value) -> Value:
    return _whole(loss, absent) / count.max(1.0)


def _over(total: Value, count: Value) -> Value:
    return total / count


@kept_by_form
def ctc_loss(
    log_probs: Array, targets: Any, input_lengths: Any, target_lengths: Any, *, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Array:  # fmt: skip
    """Minus the logarithm of how likely the labels of each sample are, whichever steps they are at,
    of log_probs [steps, batch, classes], or without batch: logarithms of probabilities, of which
    `blank` is that of no label. targets are [batch, labels], or all labels in one line. A mean is
    over the samples of each one's loss over its labels. Where no path has the labels the loss is
    infinite, or with zero_infinity 0."""
    call = "ctc_loss"
    how, zero = to_reduction(call, reduction), to_truth(call, "zero_infinity", zero_infinity)
    of = _labels(call, log_probs, targets, input_lengths, target_lengths, blank)
    losses = _losses(of, _forward(of))
    batch, absent = of.shape[1], 0.0 if zero else math.inf
    if how == "none":
        found = mapped(call, _whole, losses, [losses, absent])
        found = found if of.is_batched else found.reshape(())
    elif how == "sum":
        found = reduced("sum", _whole, losses, [losses, absent], [0])
    else:
        counts = of.counts.astype(losses.dtype)
        found = reduced(
            "sum", _shared, losses, [losses, counts, absent], [0], behind=_over,
            numbers=[float(batch)],
        )  # fmt: skip
    result: Array = found.astype(of.dtype, copy=False)
    return result


def _share(
    forward: Value, backward: Value, score: Value, loss: Value, came: Value, count: Value,
    steps: Value, number: Value, absent: Value,
) -> Value:  # fmt: skip
    """What a state has of all paths at a step, times what came."""
    part = (forward + backward - score.max(NOTHING) + loss).exp()
    part = choose(number < steps, -(part * came) / count.max(1.0), 0.0)
    return choose(loss > NONE, absent, part)


@kept_by_form
def ctc_loss_backward(
    grad: Grad, log_probs: Array, targets: Any, input_lengths: Any, target_lengths: Any, *,
    blank: int = 0, reduction: str = "mean", zero_infinity: bool = False,
) -> Array:  # fmt: skip
    """The gradient of ctc_loss() by log_probs: minus what each class has of all paths at each step,
    and NaN where the loss is infinite."""
    from tilewright.namespace.creation import arange, ones
    from tilewright.namespace.manipulation import broadcast_to

    call = "ctc_loss_backward"
    how, zero = to_reduction(call, reduction), to_truth(call, "zero_infinity", zero_infinity)
    of = _labels(call, log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, classes = of.shape
    lines = (batch,) if of.is_batched else ()
    came = to_grad(call, grad, log_probs, lines if how == "none" else ())
    wide, backend = of.scores.dtype, of.scores.backend
    forward, backward = _forward(of), _backward(of)
    shape = of.scores.shape

    def along_samples(line: Array) -> Array:
        return broadcast_to(line.astype(wide, copy=False).reshape((1, -1, 1)), shape)

    losses = along_samples(_losses(of, forward))
    counts: Any = along_samples(of.counts) if how == "mean" else None
    if counts is None:
        counts = along_samples(ones(batch, dtype=wide, device=backend))
    by_loss: Any = came if isinstance(came, float) else along_samples(came)
    if how == "mean":
        by_loss = by_loss / batch
    numbers = broadcast_to(
        arange(steps, dtype=INT32, device=backend).astype(wide).reshape((-1, 1, 1)), shape
    )
    shares = mapped(
        call, _share, of.scores,
        [
            forward[1:, :, 2:], backward[:-1, :, :-2], of.scores, losses, by_loss, counts,
            along_samples(of.steps_of), numbers, 0.0 if zero else math.nan,
        ],
    )  # fmt: skip
    own = arange(classes, dtype=INT32, device=backend)
    meets = (of.states.reshape((*of.states.shape, 1)) == own).astype(wide)
    found = (shares.transpose((1, 0, 2)) @ meets).transpose((1, 0, 2)).astype(of.dtype)
    result: Array = found if of.is_batched else found.reshape((steps, classes))
    return result
