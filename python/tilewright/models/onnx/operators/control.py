"""If, Loop and Scan, whose conditions are on the host or read back."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright.models.files.errors import ModelError
from tilewright.models.onnx.nodes import Graph, Node
from tilewright.models.onnx.operators.common import axis_in, check_room, scalar
from tilewright.models.onnx.operators.registry import Run, operator

MOST_TURNS = 1 << 24


def captured(body: Graph, plan: Any, env: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name in body.captured:
        if name in env:
            found[name] = env[name]
        elif name in body.demanded and name in plan.constants:
            found[name] = plan.constants[name]
        else:
            found[name] = plan.value(name, env)
    return found


@operator("If", host=(0,), control=True)
def _if(node: Node) -> Run:
    yes, no = node.graph("then_branch"), node.graph("else_branch")
    for body in (yes, no):
        if len(body.outputs) != len(node.outputs) or body.inputs:
            node.fail(f"a branch has {len(body.outputs)} outputs, expected {len(node.outputs)}")

    def run(state: Any, plan: Any, env: dict[str, Any], condition: Any) -> Any:
        body = yes if bool(scalar(condition)) else no
        return tuple(body.plan.run(state, captured(body, plan, env)))

    return run


@operator("Loop", host=(0, 1), control=True)
def _loop(node: Node) -> Run:
    body = node.graph("body")
    count = max(len(node.inputs) - 2, 0)
    if len(body.inputs) != 2 + count or len(body.outputs) < 1 + count:
        node.fail(f"its body has {len(body.inputs)} inputs, expected {2 + count}")
    rows = len(body.outputs) - 1 - count

    def run(state: Any, plan: Any, env: dict[str, Any], *given: Any) -> Any:
        turns = MOST_TURNS if given[0] is None else int(scalar(given[0]))
        goes = True if given[1] is None else bool(scalar(given[1]))
        values = list(given[2:])
        gathered: list[list[Any]] = [[] for _ in range(rows)]
        names = [one.name for one in body.inputs]
        around = captured(body, plan, env)
        i = 0
        while goes and i < turns:
            own = {
                **around,
                names[0]: np.array(i, np.int64),
                names[1]: np.array(goes),
                **dict(zip(names[2:], values, strict=True)),
            }
            found = body.plan.run(state, own)
            if not isinstance(found[0], np.ndarray):
                state.reads = True
            goes = bool(scalar(_host(found[0])))
            values = found[1 : 1 + count]
            for each, value in zip(gathered, found[1 + count :], strict=True):
                each.append(value)
            i += 1
            if given[0] is None and i >= MOST_TURNS:
                raise ModelError(f"it went round {MOST_TURNS} times")
        return (*values, *(_stacked(node, each) for each in gathered))

    return run


def _host(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else value.numpy()


def _stacked(node: Node, values: list[Any], axis: int = 0) -> Any:
    if not values:
        raise ModelError("it gathers rows of no turn, whose shape is not known")
    if all(isinstance(one, np.ndarray) for one in values):
        return np.stack(values, axis)
    arrays = [tw.asarray(one) for one in values]
    return tw.stack(arrays, axis=axis)


@operator("Scan", control=True)
def _scan(node: Node) -> Run:
    body, scanned = node.graph("body"), node.integer("num_scan_inputs")
    states = len(node.inputs) - scanned
    if node.version < 9:
        node.fail(f"it is of version {node.version} of the operators, expected 9 or more")
    if scanned < 1 or states < 0 or len(body.inputs) != len(node.inputs):
        node.fail(f"its body has {len(body.inputs)} inputs, expected {len(node.inputs)}")
    rows = len(body.outputs) - states
    if rows < 0 or len(node.outputs) > len(body.outputs):
        node.fail(f"its body has {len(body.outputs)} outputs, expected {len(node.outputs)}")

    def listed(name: str, length: int) -> tuple[int, ...]:
        found = node.integers(name) or (0,) * length
        if len(found) != length:
            node.fail(f"the attribute {name} is {found}, expected {length} integers")
        return found

    axes, ways = listed("scan_input_axes", scanned), listed("scan_input_directions", scanned)
    out_axes = listed("scan_output_axes", rows)
    out_ways = listed("scan_output_directions", rows)

    def run(state: Any, plan: Any, env: dict[str, Any], *given: Any) -> Any:
        values, inputs = list(given[:states]), given[states:]
        at = [axis_in(a, x.ndim) for a, x in zip(axes, inputs, strict=True)]
        lengths = {x.shape[a] for a, x in zip(at, inputs, strict=True)}
        if len(lengths) != 1:
            raise ModelError(f"its inputs have {sorted(lengths)} places, expected as many of each")
        turns = lengths.pop()
        check_room((turns,))
        gathered: list[list[Any]] = [[] for _ in range(rows)]
        names = [one.name for one in body.inputs]
        around = captured(body, plan, env)
        for i in range(turns):
            cut = [
                x[(slice(None),) * a + (turns - 1 - i if back else i,)]
                for x, a, back in zip(inputs, at, ways, strict=True)
            ]
            own = {**around, **dict(zip(names, [*values, *cut], strict=True))}
            found = body.plan.run(state, own)
            values = found[:states]
            for each, value in zip(gathered, found[states:], strict=True):
                each.append(value)
        results = []
        for each, axis, back in zip(gathered, out_axes, out_ways, strict=True):
            ordered = each[::-1] if back else each
            rank = ordered[0].ndim + 1 if ordered else 1
            results.append(_stacked(node, ordered, axis_in(axis, rank)))
        return (*values, *results)

    return run
