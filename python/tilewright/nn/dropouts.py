"""Dropout by the generators of tw.random, which count: what was left out is drawn again for the
gradient instead of being stored."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.namespace.complex_math import choose
from tilewright.nn.running import floats, to_number, to_truth
from tilewright.operands import invalid, shown
from tilewright.random.generator import Generator
from tilewright.random.philox import Draw, run

if TYPE_CHECKING:
    from tilewright.array import Array
    from tilewright.backend import Backend
    from tilewright.program import Value
    from tilewright.random.philox import Stream, Words

    State = dict[str, Any]

WORDS = 4  # of a block
# Each word's operand and result, and what parameters may take.
ENOUGH = 2 * WORDS + 1


@cache
def _draw(dtype: str, picks: tuple[int, ...]) -> Draw:
    wide = "float64" if dtype == "float64" else "float32"

    def finish(words: Words, given: list[Value], is_wide: bool) -> list[Value]:
        least, scale, *elements = given
        # Of the upper 24 bits, which are as many on every device.
        made = [
            choose((word >> 8).cast("float32") < least, 0.0, one.cast(wide) * scale)
            for word, one in zip((words[i] for i in picks), elements, strict=True)
        ]
        return [one.cast(dtype) for one in made]

    return Draw(WORDS, finish, ("float32", wide), (dtype,) * len(picks), picks)


def _run(backend: Backend, stream: Stream, numbers: list[float], x: Array, result: Array) -> None:
    """Of whole blocks, all words of one at once where a kernel binds that many operands."""
    most = backend.device.limits.get("max_bindings", ENOUGH)
    for picks in ((0, 1, 2, 3),) if most >= ENOUGH else ((0, 1), (2, 3)):
        run(backend, stream, _draw(x.stored_as, picks), numbers, result, [x])


def to_generator(call: str, rng: Any) -> Generator:
    """A Generator, which goes on, or one that is where a state says."""
    if isinstance(rng, Generator):
        return rng
    if not isinstance(rng, dict):
        invalid(call, f"rng is {shown(rng)}, expected a Generator of tw.random or a state of one")
    found = Generator(0)
    found.state = rng
    return found


def _dropped(call: str, name: str, x: Any, p: Any, training: Any, rng: Any) -> Array:
    operand = floats(call, **{name: x})[0]
    share = to_number(call, "p", p)
    if not 0 <= share <= 1:
        invalid(call, f"p is {share}, expected a number from 0 to 1")
    generator = to_generator(call, rng)
    if not to_truth(call, "training", training):
        return operand
    backend, blocks = operand.backend, -(-operand.size // WORDS)
    stream = generator._next(blocks)
    numbers = [share * 2.0**24, 1 / (1 - share) if share < 1 else 0.0]
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
