"""On the CPU backend the words of tilewright.random come of one loop."""

import time
from collections.abc import Callable

import tilewright as tw

COUNT = 1 << 20


def least(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def test_words_take_less_than_a_few_ops(be: tw.Backend) -> None:
    """Op by op a word takes as long as more than a hundred of these ops; as one loop, as ten."""
    rng = tw.random.default_rng(1, device=be)
    program = tw.Program()
    x = program.input("uint32")
    value = x
    for i in range(1, 16):
        value = value ^ (x + i)
    program.output(value)
    words, result = rng.bits(COUNT), rng.bits(COUNT)
    ops = least(lambda: be.map(program, (COUNT,), [words], [], [result]))
    assert least(lambda: rng.bits(COUNT)) < ops
