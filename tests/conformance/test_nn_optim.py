"""Optimisers over several steps against torch's formulas in NumPy's float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import Backend, InvalidArgument

from .networks import EPS, FLOATS, Host, held, host, on
from .optimisers import REFERENCES

RNG = np.random.default_rng(20261130)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_draws() -> None:
    """Whichever tests came before."""
    RNG.bit_generator.state = START


STEPS = 6


CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True}),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_steps(be: Backend, case: int) -> None:
    name, options = CASES[case]
    for dtype in FLOATS:
        if dtype not in be.capabilities().storage_dtypes:
            continue
        shapes = ((7, 5), (), (0, 2), (33,)) if dtype == "float32" else ((9, 2),)
        hosts = [held(RNG.uniform(-1, 1, shape), dtype) for shape in shapes]
        # Parameters may be views.
        params = [on(be, one.T, dtype).T for one in hosts]
        given = list(params)
        taken = getattr(tw.nn.optim, name)(params, **options)
        references = [REFERENCES[name](**options) for _ in shapes]
        # Of what lies between 0 and 1, of some size, so that no root is of nearly nothing.
        slack = 4 * STEPS * EPS[dtype if dtype != "float64" else "float64"]
        for _ in range(STEPS):
            grads = [
                held(RNG.uniform(0.5, 2, one.shape) * RNG.choice([-1, 1], one.shape), dtype)
                for one in hosts
            ]
            taken.step([on(be, one, dtype) for one in grads])
            for i, grad in enumerate(grads):
                hosts[i] = references[i].step(hosts[i], grad)
                assert params[i] is given[i] and params[i].dtype == dtype
                np.testing.assert_allclose(host(params[i]), hosts[i], rtol=slack, atol=slack)
        assert taken.steps == STEPS


def test_options_between_steps(be: Backend) -> None:
    x = on(be, [1.0, 2.0])
    taken = tw.nn.optim.SGD([x], 0.5)
    taken.step([x * 0 + 1])
    taken.lr = 0.25
    taken.step([x * 0 + 1])
    np.testing.assert_allclose(x.numpy(), [0.25, 1.25])
    taken.momentum = 0.5
    taken.step([x * 0 + 1])
    taken.step([x * 0 + 1])
    np.testing.assert_allclose(x.numpy(), np.array([0.25, 1.25]) - 0.25 * (1 + 1.5))
    taken.momentum = 0
    taken.step([x * 0 + 1])
    np.testing.assert_allclose(x.numpy(), np.array([0.25, 1.25]) - 0.25 * (1 + 1.5 + 1))
    # A gradient may be the parameter itself, or lie across it.
    square = on(be, [[1.0, 2], [3, 4]])
    tw.nn.optim.SGD([square], 0.5).step([square.T])
    np.testing.assert_allclose(square.numpy(), [[0.5, 0.5], [2, 2]])
    # What waits for a parameter has what it was.
    with tw.deferred(True):
        before = x + 0
        taken.step([x])
    np.testing.assert_allclose(before.numpy() * 0.75, x.numpy())


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, None, {"amsgrad": True}])
def test_few_launches(be: Backend, options: dict[str, Any] | None) -> None:
    """Of 100 parameters, which lie in buffers of their own as their gradients do."""
    params = [on(be, np.ones(shape)) for i in range(50) for shape in ((3, i + 1), (5 * i,))]
    grads = [one * 2 for one in params]
    name = "AdamW" if options is None or "amsgrad" in options else "SGD"
    taken = getattr(tw.nn.optim, name)(params, **(options or {}))
    taken.step(grads)
    be.synchronize()
    with be.profile() as profile:
        taken.step(grads)
        be.synchronize()
    # The states are one binding and what a launch is told another; the others go in pairs.
    together = 100 if be.name == "cpu" else min(32, be.device.limits["max_bindings"] // 2 - 1)
    assert len(profile.records) <= math.ceil(100 / together)


def bits(x: tw.Array) -> Host:
    return np.frombuffer(x.numpy().tobytes(), np.uint8)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_together_as_one_by_one(be: Backend, case: int) -> None:
    """Bit for bit, of shapes with no elements, with one, and with many; where parameters and
    gradients are views, contiguous and not; of several dtypes at once."""
    name, options = CASES[case]
    shapes: list[tuple[int, ...]] = [(3, 4), (), (0, 5), (1,), (33,), (5000,), (7, 9), (64, 2)] * 2
    dtypes = [one for one in FLOATS if one in be.capabilities().storage_dtypes]
    if not be.supports("map", "float64") and "float64" in dtypes:
        dtypes.remove("float64")

    def made(values: Host, i: int) -> tw.Array:
        dtype = dtypes[i % len(dtypes)] if i % 2 else "float32"
        if i % 5 == 1 and values.ndim == 2:
            return on(be, values.T, dtype).T
        if i % 5 == 2:  # a part of something larger, from where no quad starts
            flat = on(be, np.append(np.zeros(3), values), dtype)
            return flat[3:].reshape(values.shape)
        return on(be, values, dtype)

    hosts = [RNG.uniform(-1, 1, shape) for shape in shapes]
    together = [made(one, i) for i, one in enumerate(hosts)]
    alone = [made(one, i) for i, one in enumerate(hosts)]
    taken = getattr(tw.nn.optim, name)(together, **options)
    each = [getattr(tw.nn.optim, name)([one], **options) for one in alone]
    for _ in range(3):
        grads = [RNG.uniform(-1, 1, shape) for shape in shapes]
        of_all = [made(one, i) for i, one in enumerate(grads)]
        # Turned the other way than their parameters.
        of_all[8] = on(be, grads[8].T, str(of_all[8].dtype)).T
        taken.step(of_all)
        for optimiser, grad in zip(each, of_all, strict=True):
            optimiser.step([grad])
    for i, (one, other) in enumerate(zip(together, alone, strict=True)):
        np.testing.assert_array_equal(bits(one), bits(other), err_msg=str(i))
        for state, its in zip(taken.states[i], each[i].states[0], strict=True):
            np.testing.assert_array_equal(bits(state), bits(its), err_msg=str(i))


def test_parameters_of_several_devices(be: Backend) -> None:
    with tw.CpuBackend() as cpu:
        params = [on(where, np.ones(i + 1)) for i in range(4) for where in (be, cpu)]
        taken = tw.nn.optim.SGD(params, 0.5)
        taken.step([one * 1 for one in params])
        for one in params:
            np.testing.assert_array_equal(one.numpy(), np.full(one.shape, 0.5))


def test_gradients_that_are_parameters(be: Backend) -> None:
    """Each is read as it was before the step."""
    a, b = on(be, [1.0, 2.0]), on(be, [4.0, 8.0])
    tw.nn.optim.SGD([a, b], 0.5).step([b, a])
    np.testing.assert_array_equal(a.numpy(), [-1, -2])
    np.testing.assert_array_equal(b.numpy(), [3.5, 7])
    whole = on(be, [1.0, 2.0, 4.0])
    tw.nn.optim.SGD([whole[:1], whole[1:2]], 1.0).step([whole[1:2], whole[2:]])
    np.testing.assert_array_equal(whole.numpy(), [-1, -2, 4])


@pytest.mark.parametrize("case", range(len(CASES)))
def test_parameters_without_gradients_stay(be: Backend, case: int) -> None:
    """And their first step is the first when it comes."""
    name, options = CASES[case]
    hosts = [RNG.uniform(-1, 1, 5), RNG.uniform(-1, 1, (2, 3)), RNG.uniform(-1, 1, 4)]
    params = [on(be, one) for one in hosts]
    taken = getattr(tw.nn.optim, name)(params, **options)
    references = [REFERENCES[name](**options) for _ in hosts]
    for step in range(4):
        grads = [RNG.uniform(0.5, 2, one.shape).astype(np.float32) for one in hosts]
        given: list[Any] = [on(be, one) for one in grads]
        # The second has its first gradient in the third step, the last one never.
        absent = (1, 2) if step < 2 else (2,)
        for i in absent:
            given[i] = None
        taken.step(given)
        for i, grad in enumerate(grads):
            if i not in absent:
                hosts[i] = references[i].step(hosts[i], grad)
            np.testing.assert_allclose(host(params[i]), hosts[i], rtol=1e-5, atol=1e-5)
    assert taken.steps == 4 and taken.steps_of == [4, 2, 0]
    taken.step([None] * 3)
    assert taken.steps_of == [4, 2, 0]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_states_go_on(be: Backend, case: int) -> None:
    """Bit for bit what an optimiser does that was not stopped, from Arrays and from NumPy's."""
    name, options = CASES[case]
    grads = [[on(be, RNG.uniform(-1, 1, 5)), on(be, RNG.uniform(-1, 1, (2, 3)))] for _ in range(4)]
    params = [on(be, RNG.uniform(-1, 1, one.shape)) for one in grads[0]]
    taken = getattr(tw.nn.optim, name)(params, **options)
    taken.step([grads[0][0], None])
    taken.step(grads[1])
    kept = taken.state_dict()
    copies = [one.copy() for one in params]
    plain = dict(kept, states=[[one.numpy() for one in own] for own in kept["states"]])
    for one in grads[2:]:
        taken.step(one)
    for state in (kept, plain):
        others = [one.copy() for one in copies]
        other = getattr(tw.nn.optim, name)(others)
        if options.get("amsgrad"):
            with pytest.raises(InvalidArgument, match=r"states.0. is .*, expected 2 Arrays"):
                other.load_state_dict(state)
            assert other.lr == 1e-3
            other = getattr(tw.nn.optim, name)(others, amsgrad=True)
        other.load_state_dict(state)
        for one in grads[2:]:
            other.step(one)
        assert other.steps == taken.steps and other.steps_of == taken.steps_of
        for one, its in zip(others, params, strict=True):
            np.testing.assert_array_equal(bits(one), bits(its))


def test_it_descends(be: Backend) -> None:
    """Each finds the least of a quadratic function."""
    target = RNG.uniform(-1, 1, 50).astype(np.float32)
    for name, options in (("SGD", {"lr": 0.2, "momentum": 0.5}), ("Adam", {"lr": 0.05}),
                          ("AdamW", {"lr": 0.05, "weight_decay": 0})):  # fmt: skip
        x, y = on(be, np.zeros(50)), on(be, target)
        taken = getattr(tw.nn.optim, name)([x], **options)
        for _ in range(150):
            taken.step([tw.nn.mse_loss_backward(1, x, y, reduction="sum")])
        np.testing.assert_allclose(x.numpy(), target, atol=2e-2)


def test_wrong_arguments(be: Backend) -> None:
    x, optim = on(be, np.ones((3, 4))), tw.nn.optim
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("SGD: params is 3 .*, expected Arrays", lambda: optim.SGD(3)),
        ("SGD: params is an Array, expected a list of Arrays; write .params.",
         lambda: optim.SGD(x)),
        ("Adam.load_state_dict: state_dict is 3 .*, expected what state_dict.. gave",
         lambda: optim.Adam([x]).load_state_dict(3)),
        ("Adam.load_state_dict: options is .*, expected lr, betas, eps",
         lambda: optim.Adam([x]).load_state_dict(optim.SGD([x]).state_dict())),
        ("Adam.load_state_dict: states.0. has float32 of shape .3,., expected float32 of shape",
         lambda: optim.Adam([x]).load_state_dict(optim.Adam([x[0, :3] + 0]).state_dict())),
        ("SGD.load_state_dict: steps_of is .*, expected one for each of the 1 parameters",
         lambda: optim.SGD([x]).load_state_dict(optim.SGD([x, x + 0]).state_dict())),
        ("SGD: params is empty", lambda: optim.SGD([])),
        ("Adam: params.1. is .*, expected an Array", lambda: optim.Adam([x, 1.0])),
        ("Adam: params.0. is int32, expected floats", lambda: optim.Adam([x.astype("int32")])),
        ("AdamW: params.1. shares memory with params.0.", lambda: optim.AdamW([x, x[0]])),
        ("SGD: lr is -1.0, expected 0 or more", lambda: optim.SGD([x], -1)),
        ("SGD: lr is an integer beyond 1.8e308, expected", lambda: optim.SGD([x], 10**400)),
        ("SGD: momentum is 'a'.*, expected a number", lambda: optim.SGD([x], momentum="a")),
        ("SGD: nesterov is True, momentum 0.0", lambda: optim.SGD([x], nesterov=True)),
        ("Adam: betas is 0.9 .*, expected two numbers", lambda: optim.Adam([x], betas=0.9)),
        ("Adam: betas.1. is 1.0, expected 0 or more and less than 1",
         lambda: optim.Adam([x], betas=(0.9, 1))),
        ("AdamW: eps is -1.0", lambda: optim.AdamW([x], eps=-1)),
        ("AdamW: amsgrad is 1", lambda: optim.AdamW([x], amsgrad=1)),
        ("SGD.step: grads is 1 .*, expected Arrays", lambda: optim.SGD([x]).step(1)),
        ("SGD.step: grads has 2 Arrays, expected 1", lambda: optim.SGD([x]).step([x, x])),
        ("Adam.step: grads.0. has shape .4, 3., expected .3, 4.",
         lambda: optim.Adam([x]).step([x.T])),
        ("Adam.step: grads.0. is float16, expected float32",
         lambda: optim.Adam([x]).step([x.astype("float16")])),
    ]  # fmt: skip
    for message, call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    np.testing.assert_array_equal(x.numpy(), np.ones((3, 4)))
