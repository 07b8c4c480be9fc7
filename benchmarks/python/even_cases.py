"""What the families of even_speed.py share: a drawn case, its operands and sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """What lies in memory, and the view of it that is computed with, which both libraries make."""

    shape: Shape
    #: "normal", "positive" (0.1 and above), "complex", "sorted", "index" (below `below`), "places"
    #: (the same, none twice).
    kind: str = "normal"
    below: int = 0
    view: Callable[[Any, Any], Any] = lambda m, x: x


@dataclass
class Case:
    family: str
    label: str
    operands: list[Operand]
    #: Each is given its module and the operands.
    own: Callable[..., Any]
    peer: Callable[..., Any]
    moved: float  # elements that are read and written once at least
    work: float = 0.0  # operations, where they outweigh memory
    tolerance: float = 3e-5  # of float32, in parts of the largest element
    #: What is held against each other, of torch, a result and torch's operands.
    seen: Callable[..., Any] = lambda torch, result, *operands: result
    deferred: bool = False


@dataclass
class Limits:
    """Of elements that are moved, and of operations: a case has the least of one of them."""

    least: float
    most: float
    least_work: float
    most_work: float

    def divided(self, by: int) -> Limits:
        return Limits(self.least / by, self.most / by, self.least_work / by, self.most_work / by)

    def holds(self, case: Case) -> bool:
        enough = case.moved >= self.least or case.work >= self.least_work
        return enough and case.moved <= self.most and case.work <= self.most_work


ON_GPU = Limits(1 << 22, 1 << 28, 5e8, 3e11)
ON_CPU = Limits(1 << 15, 1 << 22, 1e7, 5e8)


@dataclass
class Dice:
    """Draws by a generator of NumPy."""

    random: Any
    limits: Limits = field(default_factory=lambda: ON_GPU)

    def size(self, low: int, high: int) -> int:
        """Log-uniform; half of those from 32 on are rounded to a multiple of 16."""
        drawn = math.exp(self.random.uniform(math.log(low), math.log(high + 1)))
        size = min(int(drawn), high)
        if size >= 32 and self.random.random() < 0.5:
            size = min(round(size / 16) * 16, high)
        return size

    def one(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def shape(self, axes: int, most: int | None = None) -> Shape:
        """So many axes of as many elements as the limits allow, log-uniform, in drawn parts."""
        total = self.size(int(self.limits.least / 2), int(most or self.limits.most / 2))
        cuts = sorted(self.random.uniform(0, math.log(total), axes - 1).tolist())
        ends = [0.0, *cuts, math.log(total)]
        parts = [math.exp(b - a) for a, b in pairwise(ends)]
        sizes = [max(1, int(part)) for part in parts]
        return tuple(round(n / 16) * 16 if n >= 32 and self.chance(0.5) else n for n in sizes)


def by_x(shape: Shape) -> str:
    return "x".join(map(str, shape))


Draw = Callable[[Dice], Case]


def drawn(families: dict[str, tuple[float, Draw]], dice: Dice, count: int) -> Iterator[Case]:
    """So many cases within the limits, families by their weights."""
    names = list(families)
    total = sum(weight for weight, _ in families.values())
    shares = [families[name][0] / total for name in names]
    for _ in range(count):
        name = names[int(dice.random.choice(len(names), p=shares))]
        while True:
            case = families[name][1](dice)
            if dice.limits.holds(case):
                break
        yield case
