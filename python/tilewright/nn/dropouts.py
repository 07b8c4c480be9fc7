"""Dropout by the generators of tw.random, which count: what was left out is drawn again for the
gradient instead of being stored."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, mapped, to_number, to_truth, wide_of
from tilewright.operands import invalid, shown
from tilewright.random.generator import Generator
from tilewright.random.philox import Draw, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.program import Value
    from tilewright.random.philox import Stream, Words

    State = dict[str, Any]

WORDS = 4  # of a block
# Each word's operand and result, and what parameters may take.
ENOUGH = 2 * WORDS + 1


@cache
def _draw(dtype: str, picks: tuple[int, ...], is_shifted: bool) -> Draw:
    wide = "float64" if dtype == "float64" else "float32"

    def finish(words: Words, given: list[Value], is_wide: bool) -> list[Value]:
        least, scale, *others = given
        low, shift = others[:2] if is_shifted else (None, None)
        made = []
        # Of the upper 24 bits, which are as many on every device.
        for i, one in zip(picks, others[2:] if is_shifted else others, strict=True):
            kept = one.cast(wide) * scale
            is_out = (words[i] >> 8).cast("float32") < least
            if low is None or shift is None:
                made.append(choose(is_out, 0.0, kept))
            else:
                made.append(choose(is_out, low, kept + shift))
        return [one.cast(dtype) for one in made]

    numbers = ("float32", *(wide,) * (3 if is_shifted else 1))
    return Draw(WORDS, finish, numbers, (dtype,) * len(picks), picks)


def _run(backend: Backend, stream: Stream, numbers: list[float], x: Array, result: Array) -> None:
    """Of whole blocks, all words of one at once where a kernel binds that many operands."""
    most = backend.device.limits.get("max_bindings", ENOUGH)
    for picks in ((0, 1, 2, 3),) if most >= ENOUGH else ((0, 1), (2, 3)):
        run(backend, stream, _draw(x.stored_as, picks, len(numbers) > 2), numbers, result, [x])


def to_generator(call: str, rng: Any) -> Generator:
    """A Generator, which goes on, or one that is where a state says."""
    if isinstance(rng, Generator):
        return rng
    if not isinstance(rng, dict):
        invalid(call, f"rng is {shown(rng)}, expected a Generator of tw.random or a state of one")
    found = Generator(0)
    found.state = rng
    return found


def _to_share(call: str, p: Any) -> float:
    share = to_number(call, "p", p)
    if not 0 <= share <= 1:
        invalid(call, f"p is {share}, expected a number from 0 to 1")
    return share


def _plainly(share: float) -> list[float]:
    """What elements that stay are times."""
    return [1 / (1 - share) if share < 1 else 0.0]


def _dropped(
    call: str, name: str, x: Any, p: Any, training: Any, rng: Any,
    numbers_of: Callable[[float], list[float]] = _plainly,
) -> Array:  # fmt: skip
    operand = floats(call, **{name: x})[0]
    share = _to_share(call, p)
    generator = to_generator(call, rng)
    if not to_truth(call, "training", training):
        return operand
    return _drawn(operand, generator, [share * 2.0**24, *numbers_of(share)])


def _drawn(operand: Array, generator: Generator, numbers: list[float]) -> Array:
    backend, blocks = operand.backend, -(-operand.size // WORDS)
    stream = generator._next(blocks)
    line = operand._contiguous().reshape(-1)
    result = backend._new(line.shape, operand.dtype)
    whole = line.size // WORDS * WORDS
    if whole:
        _run(backend, stream, numbers, line[:whole], result[:whole])
    if whole < line.size:
        # A block of which only some words are used.
        rest = line.size - whole
        last = backend._new((WORDS,), operand.dtype)
        last[rest:] = 0
        last[:rest] = line[whole:]
        made = backend._new((WORDS,), operand.dtype)
        place = stream._replace(place=stream.place + whole // WORDS)
        _run(backend, place, numbers, last, made)
        result[whole:] = made[:rest]
    return result.reshape(operand.shape)


def dropout(x: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State) -> Array:
    """Each element with a probability of p as 0, the others over 1 - p; x itself where `training`
    is False. `rng` is a Generator, which goes on, or the state of one, which leaves out again what
    the Generator did from there on."""
    return _dropped("dropout", "x", x, p, training, rng)


def dropout_backward(
    grad: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """The gradient of dropout() by x, of the state that `rng` had before it:

    state = rng.state
    y = tw.nn.dropout(x, 0.2, rng=rng)
    by_x = tw.nn.dropout_backward(by_y, 0.2, rng=state)
    """
    return _dropped("dropout_backward", "grad", grad, p, training, rng)


# Channels -----------------------------------------------------------------------------------------


def _kept(x: Value, factor: Value) -> Value:
    return choose(factor == 0, 0.0, x * factor)


def _without_channels(
    call: str, axes: int, name: str, x: Any, p: Any, training: Any, rng: Any
) -> Array:
    from tilewright.namespace.creation import ones
    from tilewright.namespace.manipulation import broadcast_to

    operand = floats(call, **{name: x})[0]
    share = _to_share(call, p)
    generator = to_generator(call, rng)
    if operand.ndim not in (axes + 1, axes + 2):
        invalid(
            call,
            f"{name} has shape {operand.shape}, expected {axes + 2} dimensions, [batch, channels, "
            f"...], or {axes + 1} without batch",
        )
    if not to_truth(call, "training", training):
        return operand
    lead = operand.shape[:-axes]
    whole = ones(lead, dtype=wide_of(operand.dtype), device=operand.backend)
    factors = _drawn(whole, generator, [share * 2.0**24, *_plainly(share)])
    if not operand.size:
        return operand
    factors = broadcast_to(factors.reshape((*lead, *(1,) * axes)), operand.shape)
    return mapped(call, _kept, operand, [operand, factors])


def dropout1d(
    x: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """dropout() of whole channels of x [batch, channels, length], or without batch: each channel of
    each sample takes a word of the stream."""
    return _without_channels("dropout1d", 1, "x", x, p, training, rng)


def dropout2d(
    x: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """dropout1d() of x [batch, channels, height, width], or without batch."""
    return _without_channels("dropout2d", 2, "x", x, p, training, rng)


def dropout3d(
    x: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """dropout1d() of x [batch, channels, depth, height, width], or without batch."""
    return _without_channels("dropout3d", 3, "x", x, p, training, rng)


def dropout1d_backward(
    grad: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """The gradient of dropout1d() by x, of the state that `rng` had before it."""
    return _without_channels("dropout1d_backward", 1, "grad", grad, p, training, rng)


def dropout2d_backward(
    grad: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """The gradient of dropout2d() by x, of the state that `rng` had before it."""
    return _without_channels("dropout2d_backward", 2, "grad", grad, p, training, rng)


def dropout3d_backward(
    grad: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """The gradient of dropout3d() by x, of the state that `rng` had before it."""
    return _without_channels("dropout3d_backward", 3, "grad", grad, p, training, rng)


# Of self-normalising networks ---------------------------------------------------------------------

# What selu() tends to far below 0.
SELU_LEAST = -1.7580993408473766


def _shifted(share: float) -> list[float]:
    """The factor of what stays, what the others become, and what is added to what stays: mean and
    variance of selu() stay as they are."""
    if share == 1:
        return [0.0, 0.0, 0.0]
    factor = ((1 - share) * (1 + share * SELU_LEAST**2)) ** -0.5
    shift = -factor * SELU_LEAST * share
    return [factor, factor * SELU_LEAST + shift, shift]


def alpha_dropout(
    x: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """dropout() by which what selu() gives keeps its mean of 0 and its variance of 1: elements that
    are left out take what selu() tends to, and all are scaled and shifted."""
    return _dropped("alpha_dropout", "x", x, p, training, rng, _shifted)


def alpha_dropout_backward(
    grad: Array, /, p: float = 0.5, training: bool = True, *, rng: Generator | State
) -> Array:
    """The gradient of alpha_dropout() by x, of the state that `rng` had before it."""
    return _dropped(
        "alpha_dropout_backward", "grad", grad, p, training, rng, lambda share: _shifted(share)[:1]
    )
