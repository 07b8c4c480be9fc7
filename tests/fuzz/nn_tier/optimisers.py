"""Steps of optimisers: many parameters at once, views of them, and options at their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tilewright as tw
from conformance.optimisers import REFERENCES

from .case import Case

#: Values of which no sum cancels to what roundings alone make: these are far from multiples.
RATES = [0.3, 1e-3, 0.0, 1.7]
#: options of each, which may be given together
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": {
        "lr": RATES, "momentum": [0.0, 0.9, 0.5, 1.0, 1.5], "dampening": [0.0, 0.5, 1.0, -1.0],
        "weight_decay": [0.0, 0.5, 0.03], "nesterov": [False, True], "maximize": [False, True],
    },
    "Adam": {
        "lr": RATES, "betas": [(0.9, 0.999), (0.5, 0.99), (0.0, 0.9), (0.999, 1 - 2.0**-20)],
        "eps": [1e-8, 1.0, 1e-30, 0.0, 1e-3], "weight_decay": [0.0, 0.5, 0.03],
        "amsgrad": [False, True], "maximize": [False, True],
    },
}  # fmt: skip
OPTIONS["AdamW"] = OPTIONS["Adam"] | {"betas": [*OPTIONS["Adam"]["betas"], (0.0, 0.0), (0.9, 0.0)]}
#: what a refusal says instead of an option
NAMES = ("params", "grads")


def taken(case: Case) -> tuple[str, dict[str, Any]]:
    """An optimiser and its options."""
    draw = case.draw
    name = draw.one_of(list(OPTIONS))
    given = {key: draw.one_of(values) for key, values in OPTIONS[name].items() if draw.below(2)}
    if given.get("nesterov"):
        given["momentum"], given["dampening"] = given.get("momentum") or 0.9, 0.0
    return name, given


def steps(case: Case) -> Case:
    """Of gradients that change their signs, between which the rate may change too."""
    draw = case.draw
    name, options = taken(case)
    # A kernel of many bindings takes some drivers seconds to compile.
    is_slow = case.be.name == "webgpu"
    counts = [1, 2] if is_slow else [2, 1, 3, 5, 33]
    count, times = draw.one_of(counts), draw.one_of([1, 2, 3, 5])
    dtype, mixed = case.real(), not is_slow and draw.rarely(4)
    values = draw.one_of(["small", "small", "normal", "special"])
    # A sum that is nearly 0 makes of roundings a step.
    if dtype != "float64" and name == "Adam" and values == "normal":
        options.pop("weight_decay", None)
    shared = draw.rarely(16)
    params, grads = [], []
    for _ in range(count):
        shape = case.shape(0, 3, 200)
        of = case.real() if mixed else dtype
        params.append(case.array(shape, of, written=True))
        grads.append(case.array(shape, of, values))
    if times == 1 and values != "special" and draw.rarely(4):
        # The gradient is a parameter, or lies across it.
        at = draw.below(count)
        grads[at] = type(grads[at])(case.again(params[at].at, same=draw.below(2) == 0))
    then = draw.one_of([None, 0.7, 0.0])
    shared = shared and math.prod(np.shape(view_of(case, params[0]))) > 0

    def run(_: Any, params: Any, grads: Any, **named: Any) -> Any:
        if shared and type(params) is type(grads) is list and params and grads:
            params, grads = [*params, params[0][...]], [*grads, grads[0]]
        optimiser = getattr(tw.nn.optim, name)(params, **named)
        for i in range(times):
            optimiser.step(grads if i % 2 == 0 else [-one for one in grads])
            if then is not None:
                optimiser.lr = then
        return list(params), optimiser.states, optimiser.steps

    def formula(params: Any, grads: Any, **named: Any) -> Any:
        after, states = [], []
        for x, grad in zip(params, grads, strict=True):
            one = REFERENCES[name](**named)
            for i in range(times):
                x = one.step(x, grad if i % 2 == 0 else -grad)
                if then is not None:
                    one.lr = then
            after.append(x)
            states.append(one.states())
        return after, states, times

    case.names = NAMES
    case.runs(f"{name} shared" if shared else name, run, params, grads, **options)
    case.text = f" {times} times" + f", then lr {then}" * (then is not None)
    return case.to(formula=formula, loose=True, ulps=8 * times)


def view_of(case: Case, of: Any) -> Any:
    operand = case.operands[of.at]
    return operand.view(operand.base)


KINDS = [steps, steps]
