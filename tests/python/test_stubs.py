"""The type stub against the module: every name, parameter and default, both ways."""

from __future__ import annotations

import ast
import enum
import re
import types
from pathlib import Path
from typing import Any

import pytest
import tilewright as tw
from tilewright import _core

STUB = ast.parse((Path(tw.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))

# What pybind11 and enum give every class.
GIVEN = {"__init__", "__new__", "__repr__", "__str__", "__format__", "__reduce_ex__"}

PROPERTIES = (property, types.GetSetDescriptorType, types.MemberDescriptorType)


def names_in(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Definitions by name; an overloaded one has several."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, (ast.AnnAssign, ast.Assign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            assert isinstance(target, ast.Name)
            if not target.id.startswith("_") or target.id == "__version__":
                found.setdefault(target.id, []).append(node)
    return found


def shown(default: str) -> str:
    return repr(ast.literal_eval(default))


def stub_parameters(node: ast.FunctionDef) -> list[tuple[str, str | None]]:
    a = node.args
    positional = a.posonlyargs + a.args
    required = len(positional) - len(a.defaults)
    defaults = [None] * required + [shown(ast.unparse(d)) for d in a.defaults]
    found = [(p.arg, d) for p, d in zip(positional, defaults, strict=True) if p.arg != "self"]
    found += [("*" + a.vararg.arg, None)] if a.vararg else []
    return found + ([("**" + a.kwarg.arg, None)] if a.kwarg else [])


def module_parameters(signature: str) -> list[tuple[str, str | None]]:
    """From the line that pybind11 writes: name(self: ..., n: int, dtype: str = 'float32') -> int"""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts = re.split(r", (?![^(\[]*[)\]])", inside) if inside else []
    found: list[tuple[str, str | None]] = []
    for part in parts:
        name, _, default = part.partition(" = ")
        name = name.split(":")[0]
        if name not in ("self", "/", "*"):
            found.append((name, shown(default) if default else None))
    return found


def signatures_of(function: Any) -> list[str]:
    lines = function.__doc__.splitlines()
    several = [re.sub(r"^\d+\. ", "", line) for line in lines if re.match(r"\d+\. ", line)]
    return several or lines[:1]


def public(names: Any) -> set[str]:
    return {name for name in names if not name.startswith("_")}


CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = [
    (cls, name)
    for cls, body in [(None, STUB.body), *((n, c.body) for n, c in CLASSES.items())]
    for name, nodes in names_in(body).items()
    if isinstance(nodes[0], ast.FunctionDef)
    and not any(ast.unparse(d) == "property" for d in nodes[0].decorator_list)
    # A constructor in C has no signature to read, nor have operators.
    and not (cls == "ArrayBase" and name.startswith("__"))
]


def test_the_module_and_the_stub_have_the_same_names() -> None:
    assert public(names_in(STUB.body)) == public(vars(_core))


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_has_the_same_members(name: str) -> None:
    cls, node = getattr(_core, name), CLASSES[name]
    if issubclass(cls, enum.Enum):
        values = {
            n: ast.literal_eval(v[0].value)
            for n, v in names_in(node.body).items()
            if isinstance(v[0], ast.Assign)
        }
        assert values == {member.name: member.value for member in cls}
        return
    members = names_in(node.body)
    assert public(members) == public(vars(cls))
    for member, nodes in members.items():
        if isinstance(nodes[0], ast.FunctionDef) and member not in GIVEN:
            decorators = {ast.unparse(d) for d in nodes[0].decorator_list}
            kind = type(vars(cls)[member])
            assert (kind in PROPERTIES) == ("property" in decorators)


@pytest.mark.parametrize("name", [n for n in CLASSES if isinstance(getattr(_core, n), type)])
def test_each_class_has_the_same_bases(name: str) -> None:
    bases = [base.__name__ for base in getattr(_core, name).__bases__]
    stub = [ast.unparse(base).split(".")[-1] for base in CLASSES[name].bases]
    assert stub == [base for base in bases if base not in ("pybind11_object", "object")]


@pytest.mark.parametrize(("cls", "name"), FUNCTIONS)
def test_each_function_has_the_same_parameters(cls: str | None, name: str) -> None:
    owner: Any = getattr(_core, cls) if cls else _core
    body = CLASSES[cls].body if cls else STUB.body
    nodes = names_in(body)[name]
    stub = [stub_parameters(node) for node in nodes if isinstance(node, ast.FunctionDef)]
    module = [module_parameters(line) for line in signatures_of(getattr(owner, name))]
    assert stub == module


SHARED = [
    name
    for name in vars(_core.Backend)
    if not name.startswith("_") and getattr(tw.Backend, name) is not getattr(_core.Backend, name)
]


def test_the_names_of_both_forms() -> None:
    assert set(SHARED) == {
        "attention", "attention_scores", "cast", "conv2d_backward_data", "conv2d_backward_filter",
        "gather", "gelu", "layer_norm", "rmsnorm", "rope", "scatter", "silu", "softmax",
        "weighted_sum", "write_pages",
    }  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_shared_names_know_the_trait_form(name: str) -> None:
    trait = module_parameters(signatures_of(getattr(_core.Backend, name))[0])
    required, optional = getattr(tw.Backend, name).trait_parameters
    assert required == [parameter for parameter, default in trait if default is None]
    assert optional == [parameter for parameter, default in trait if default is not None]


def test_all_public_names_are_exported() -> None:
    from_core = public(vars(_core)) - {
        "ArrayBase",
        "CompiledKernel",
        "ProgramBase",
        "backend_names",
    }
    assert from_core <= set(tw.__all__)
    assert all(hasattr(tw, name) for name in tw.__all__)
    assert len(tw.__all__) == len(set(tw.__all__))
