"""Optimisers: SGD, Adam and AdamW, whose step is a few launches for all parameters, in place."""

from __future__ import annotations

from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import InvalidArgument
from tilewright.array import Array
from tilewright.nn.running import alike, floats, is_apart, read, to_number, to_truth, wide_of
from tilewright.operands import invalid, shown, to_integer
from tilewright.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tilewright.backend import Backend
    from tilewright.program import Value

    #: a parameter's length, what a step of it reads, and what it writes
    Group = tuple[int, list[Array], list[Array]]
    #: a formula, its options, and its numbers
    Rule = tuple[Any, tuple[bool, ...], list[float]]

__all__ = ["SGD", "Adam", "AdamW"]


@cache
def _program(
    rule: Callable[..., tuple[Value, ...]], options: tuple[bool, ...], dtype: str, states: int,
    numbers: int,
) -> Program:  # fmt: skip
    """A step of a parameter, its gradient, states and numbers, as what parameter and states become.
    16 bits have states of float32."""
    program = Program()
    wide = "float64" if dtype == "float64" else "float32"
    x, grad = read(program, dtype), read(program, dtype)
    kept = [program.input(wide) for _ in range(states)]
    given = [program.number(wide) for _ in range(numbers)]
    new, *after = rule(x, grad, kept, given, *options)
    program.output(new if wide == dtype else new.cast(dtype), *after)
    return program


def _from_zero(call: str, name: str, value: Any, below: float | None = None) -> float:
    number = to_number(call, name, value)
    if not number >= 0 or (below is not None and not number < below):
        most = "" if below is None else f" and less than {below:g}"
        invalid(call, f"{name} is {number}, expected 0 or more{most}")
    return number


class _Together(NamedTuple):
    """Parameters of a device, a dtype and a rule."""

    backend: Backend
    program: Program
    numbers: list[float]
    groups: list[Group]


class Optimizer:
    """What optimisers have in common: parameters, and states that lie beside them."""

    def __init__(self, params: Iterable[Array], states: int) -> None:
        call = type(self).__name__
        if isinstance(params, Array):
            invalid(call, "params is an Array, expected a list of Arrays; write [params]")
        try:
            self.params: list[Array] = list(params)
        except TypeError:
            invalid(call, f"params is {shown(params)}, expected Arrays")
        if not self.params:
            invalid(call, "params is empty, expected Arrays")
        for i, one in enumerate(self.params):
            floats(call, **{f"params[{i}]": one})
            for j in range(i):
                if one.backend is self.params[j].backend and one.overlaps(self.params[j]):
                    invalid(call, f"params[{i}] shares memory with params[{j}], expected its own")
        #: how many steps have been taken
        self.steps = 0
        # The steps that each parameter has missed, those that it had taken when its states began,
        # and whether both are the same for all.
        self._missed = [0] * len(self.params)
        self._began = [0] * len(self.params)
        self._is_even = True
        self.states = _zeros(self.params, states)

    @property
    def steps_of(self) -> list[int]:
        """How many steps each parameter has taken."""
        return [self.steps - missed for missed in self._missed]

    def step(self, grads: Sequence[Array | None]) -> None:
        """Moves each parameter, in place, by its gradient: `grads` has one for each, or None for
        one that stays as it is."""
        call = f"{type(self).__name__}.step"
        try:
            given = list(grads)
        except TypeError:
            invalid(call, f"grads is {shown(grads)}, expected Arrays")
        if len(given) != len(self.params):
            invalid(call, f"grads has {len(given)} Arrays, expected {len(self.params)} as params")
        is_absent = False
        for i, (x, grad) in enumerate(zip(self.params, given, strict=True)):
            if grad is None:
                is_absent = True
            elif not _is_like(grad, x):
                alike(call, **{f"params[{i}]": x, f"grads[{i}]": grad})
        self._check(call)
        for x, grad in zip(self.params, given, strict=True):
            if grad is not None:
                _core._make_writable(x, call)
        if self._is_even:
            places: Iterable[int] = repeat(self._place(0), len(given))
        else:
            places = [self._place(i) for i in range(len(given))]
        self.steps += 1
        together: dict[tuple[int, str, int], _Together] = {}
        for i, (x, grad, states, place) in enumerate(
            zip(self.params, given, self.states, places, strict=True)
        ):
            if grad is None:
                self._missed[i] += 1
                continue
            key = id(x.backend), x.stored_as, place
            own = together.get(key)
            if own is None:
                rule, options, numbers = self._rule(call, place)
                program = _program(rule, options, x.stored_as, len(states), len(numbers))
                own = together[key] = _Together(x.backend, program, numbers, [])
            if not is_apart(x, [grad]):
                grad = grad.copy()
            if x.is_contiguous and grad.is_contiguous:
                own.groups.append((x.size, [x, grad, *states], [x, *states]))
            else:
                x.backend.map(own.program, x.shape, [x, grad, *states], own.numbers, [x, *states])
        if is_absent:
            self._compare()
        for one in together.values():
            if one.groups:
                _run(*one)

    def _check(self, call: str) -> None:
        """Of the options, which may have been set between steps."""
        raise NotImplementedError

    def _compare(self) -> None:
        self._is_even = len(set(self._missed)) == len(set(self._began)) == 1

    def _place(self, i: int) -> int:
        """What parameters of one rule have in common: how many steps they have taken."""
        return self.steps - self._missed[i]

    def _rule(self, call: str, place: int) -> Rule:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() goes on from: the options, steps, and copies of the states."""
        return {
            "options": {name: getattr(self, name) for name in self._options},
            "steps": self.steps,
            "steps_of": list(self.steps_of),
            "began": list(self._began),
            "states": [[one.copy() for one in states] for states in self.states],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what state_dict() gave, of an optimiser of this kind whose parameters had
        these shapes. The states may be NumPy's arrays, as of a file."""
        call = f"{type(self).__name__}.load_state_dict"
        keys = {"options", "steps", "steps_of", "began", "states"}
        if not isinstance(state_dict, dict) or set(state_dict) != keys:
            invalid(call, f"state_dict is {shown(state_dict)}, expected what state_dict() gave")
        options, states = state_dict["options"], state_dict["states"]
        if not isinstance(options, dict) or set(options) != set(self._options):
            invalid(call, f"options is {shown(options)}, expected {', '.join(self._options)}")
        counts: dict[str, list[int]] = {}
        for name in ("steps_of", "began", "states"):
            given = state_dict[name]
            if not isinstance(given, (list, tuple)) or len(given) != len(self.params):
                invalid(call, f"{name} is {shown(given)}, expected one for each of the "
                        f"{len(self.params)} parameters")  # fmt: skip
            if name != "states":
                counts[name] = [to_integer(call, name, one) for one in given]
        steps = to_integer(call, "steps", state_dict["steps"])
        before = {name: getattr(self, name) for name in self._options}
        try:
            self._set(call, options)
            ready = [self._read(call, i, own, len(self.states[i])) for i, own in enumerate(states)]
        except Exception:
            self._set(call, before)
            raise
        for to, own in zip(self.states, ready, strict=True):
            for target, one in zip(to, own, strict=True):
                target[...] = one
        self.steps, self._began = steps, counts["began"]
        self._missed = [steps - taken for taken in counts["steps_of"]]
        self._compare()

    def _set(self, call: str, options: dict[str, Any]) -> None:
        for name, one in options.items():
            setattr(self, name, one)
        self._check(call)

    def _read(self, call: str, i: int, states: Any, count: int) -> list[Array]:
        """The states of a parameter, of which there are so many."""
        from tilewright.namespace.creation import asarray

        x = self.params[i]
        if not isinstance(states, (list, tuple)) or len(states) != count:
            invalid(call, f"states[{i}] is {shown(states)}, expected {count} Arrays")
        found = [asarray(one, device=x.backend) for one in states]
        for one in found:
            if one.shape != x.shape or one.dtype != wide_of(x.dtype):
                invalid(
                    call,
                    f"states[{i}] has {one.dtype} of shape {one.shape}, expected "
                    f"{wide_of(x.dtype)} of shape {x.shape}",
                )
        return found

    _options: tuple[str, ...] = ()


def _is_like(grad: Any, x: Array) -> bool:
    return (
        isinstance(grad, Array) and grad.backend is x.backend and grad.shape == x.shape
        and grad.dtype == x.dtype
    )  # fmt: skip


def _run(backend: Backend, program: Program, numbers: Sequence[float], groups: list[Group]) -> None:
    try:
        backend.map_many(program, groups, numbers)
    except InvalidArgument:
        # A gradient may be the parameter of another one, which is read as it was before.
        apart: list[Group] = [
            (n, [x, grad.copy(), *states], outputs) for n, (x, grad, *states), outputs in groups
        ]
        backend.map_many(program, apart, numbers)


def _zeros(params: Sequence[Array], count: int) -> list[list[Array]]:
    """So many states for each parameter. Those of a device and dtype lie in one buffer: launches
    bind only so many."""
    from tilewright.namespace.creation import zeros

    line = 64  # each starts where accesses of any width may
    room: dict[tuple[int, str], int] = {}
    places = []
    for x in params:
        key = id(x.backend), str(wide_of(x.dtype))
        at = room.get(key, 0)
        size = -(-x.size // line) * line
        places.append((key, [at + size * i for i in range(count)]))
        room[key] = at + size * count
    whole: dict[tuple[int, str], Array] = {}
    for x, (key, _) in zip(params, places, strict=True):
        if key not in whole and count:
            whole[key] = zeros(room[key], dtype=wide_of(x.dtype), device=x.backend)
    return [
        [whole[key][at : at + x.size].reshape(x.shape) for at in starts]
        for x, (key, starts) in zip(params, places, strict=True)
    ]


def _sgd(
    x: Value, grad: Value, states: list[Value], numbers: list[Value], has_momentum: bool,
    nesterov: bool, maximize: bool, is_whole: bool, has_decay: bool,
) -> tuple[Value, ...]:  # fmt: skip
    lr, momentum, taken, decay = numbers
    grad = -grad if maximize else grad
    if has_decay:
        grad = grad + x * decay
    if not has_momentum:
        return (x - lr * grad,)
    after = states[0] * momentum + (grad if is_whole else grad * taken)
    return x - lr * (grad + after * momentum if nesterov else after), after


class SGD(Optimizer):
    """Gradient descent, with torch's momentum: `lr`, `momentum`, `dampening`, `weight_decay`,
    `nesterov` and `maximize` are attributes, which may be set between steps."""

    def __init__(
        self, params: Iterable[Array], lr: float = 1e-3, *, momentum: float = 0.0,
        dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov, self.maximize = weight_decay, nesterov, maximize
        self._numbers("SGD")
        super().__init__(params, 1 if momentum else 0)

    _options = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def _numbers(self, call: str) -> tuple[float, float, float, float, bool, bool]:
        lr, momentum = (_from_zero(call, name, getattr(self, name)) for name in ("lr", "momentum"))
        decay = _from_zero(call, "weight_decay", self.weight_decay)
        dampening = to_number(call, "dampening", self.dampening)
        nesterov = to_truth(call, "nesterov", self.nesterov)
        maximize = to_truth(call, "maximize", self.maximize)
        if nesterov and (momentum == 0 or dampening != 0):
            invalid(
                call,
                f"nesterov is True, momentum {momentum} and dampening {dampening}, expected "
                "momentum above 0 and dampening 0",
            )
        return lr, momentum, dampening, decay, nesterov, maximize

    def _check(self, call: str) -> None:
        has_momentum = self._numbers(call)[1] != 0
        if has_momentum and not self.states[0]:
            self.states = _zeros(self.params, 1)
            self._began = self.steps_of
            self._compare()
        if not has_momentum and self.states[0]:
            # What is left of it is nothing from here on.
            self.states = [[] for _ in self.params]

    def _place(self, i: int) -> int:
        """Whether the gradient is the first, which momentum takes whole, as torch does."""
        return int(self.steps - self._missed[i] == self._began[i])

    def _rule(self, call: str, place: int) -> Rule:
        lr, momentum, dampening, decay, nesterov, maximize = self._numbers(call)
        taken = 1.0 if place else 1 - dampening
        options = (momentum != 0, nesterov, maximize, taken == 1, decay != 0)
        return _sgd, options, [lr, momentum, taken, decay]


def _adam(
    x: Value, grad: Value, states: list[Value], numbers: list[Value], decoupled: bool,
    amsgrad: bool, maximize: bool, has_decay: bool,
) -> tuple[Value, ...]:  # fmt: skip
    beta1, rest1, beta2, rest2, eps, decay, shrink, rate, root = numbers
    grad = -grad if maximize else grad
    if has_decay:
        if decoupled:
            x = x * shrink
        else:
            grad = grad + x * decay
    first = states[0] * beta1 + grad * rest1
    second = states[1] * beta2 + grad * grad * rest2
    if not amsgrad:
        return x - first * rate / (second.sqrt() * root + eps), first, second
    most = states[2].max(second)
    return x - first * rate / (most.sqrt() * root + eps), first, second, most


class Adam(Optimizer):
    """Kingma and Ba's method as torch has it: `lr`, `betas`, `eps`, `weight_decay` and `maximize`
    are attributes, which may be set between steps. weight_decay is added to the gradient."""

    decoupled = False

    def __init__(
        self, params: Iterable[Array], lr: float = 1e-3, *,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
        amsgrad: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        self.lr, self.betas, self.eps = lr, betas, eps
        self.weight_decay, self.maximize = weight_decay, maximize
        self._amsgrad = to_truth(type(self).__name__, "amsgrad", amsgrad)
        self._numbers(type(self).__name__)
        super().__init__(params, 3 if amsgrad else 2)

    def _both(self, call: str) -> tuple[float, float]:
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            invalid(call, f"betas is {shown(self.betas)}, expected two numbers")
        first, second = (
            _from_zero(call, f"betas[{i}]", one, 1) for i, one in enumerate(self.betas)
        )
        return first, second

    _options = ("lr", "betas", "eps", "weight_decay", "maximize")

    def _numbers(self, call: str) -> tuple[float, float, float, float, float, bool]:
        lr, eps, decay = (
            _from_zero(call, name, getattr(self, name)) for name in ("lr", "eps", "weight_decay")
        )
        first, second = self._both(call)
        return lr, eps, decay, first, second, to_truth(call, "maximize", self.maximize)

    def _check(self, call: str) -> None:
        self._numbers(call)

    def _rule(self, call: str, place: int) -> Rule:
        lr, eps, decay, first, second, maximize = self._numbers(call)
        steps = place + 1
        # The rate, and the factor of the second moment's root, of this step.
        rate, root = lr / (1 - first**steps), (1 - second**steps) ** -0.5
        options = (self.decoupled, self._amsgrad, maximize, decay != 0)
        numbers = [first, 1 - first, second, 1 - second, eps, decay, 1 - lr * decay, rate, root]
        return _adam, options, numbers


class AdamW(Adam):
    """Adam of Loshchilov and Hutter: weight_decay, 0.01 unless given, takes lr * weight_decay of
    each parameter and is no part of the gradient."""

    decoupled = True

    def __init__(
        self, params: Iterable[Array], lr: float = 1e-3, *,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
            maximize=maximize,
        )  # fmt: skip
