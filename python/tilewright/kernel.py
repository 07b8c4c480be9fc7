"""Kernel: a kernel of one's own, ready to launch."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from tilewright import _core
from tilewright.operands import invalid, shown, to_integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Buffer

    from tilewright.backend import Backend
    from tilewright.operands import BufferLike

    Constants: TypeAlias = Mapping[str | int, bool | int | float]
    Params: TypeAlias = Buffer | np.generic | int | float | Sequence[Any] | Mapping[str, Any]

CODES = {"f16": "e", "f32": "f", "f64": "d", "i32": "i", "i64": "q", "u32": "I", "u64": "Q"}
# Whole numbers of either sign, as SPIR-V has them.
CODES |= {"int8": "B", "int16": "H", "int32": "I", "int64": "Q"}
VECTOR = re.compile(r"vec([234])<(\w+)>")


class Kernel(_core.CompiledKernel):
    """A compiled kernel, freed with its last owner. Call it with one buffer for each binding of its
    code, in their order, and a grid of workgroups:

        k(a, b, out, grid=n, params={"scale": 0.5})
    """

    __slots__ = ("_backend", "_info", "_layout")

    def __init__(
        self,
        backend: Backend,
        code: str | bytes,
        entry: str = "main",
        name: str | None = None,
        trusted: bool = False,
        constants: Constants | None = None,
    ) -> None:
        super().__init__(backend, code, entry, name, trusted, constants)
        self._backend = backend
        self._info = backend.kernel_info(self)
        self._layout = _Layout(self._info)

    @property
    def backend(self) -> Backend:
        return self._backend

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def bindings(self) -> tuple[_core.KernelBinding, ...]:
        """The buffers that a launch takes."""
        return self._info.bindings

    @property
    def params(self) -> tuple[_core.KernelParameter, ...]:
        """What `params` of a launch holds."""
        return self._info.params

    @property
    def params_bytes(self) -> int:
        return self._info.params_bytes

    @property
    def workgroup_size(self) -> tuple[int, int, int]:
        """Work-items in a workgroup."""
        return self._info.workgroup_size

    @property
    def workgroup_bytes(self) -> int:
        """Workgroup memory that it declares."""
        return self._info.workgroup_bytes

    @property
    def compile_seconds(self) -> float:
        """How long it took to compile."""
        return self._info.compile_seconds

    @property
    def log(self) -> str:
        """What the compiler said of it, such as warnings; empty where it said nothing."""
        return self._info.log

    def __call__(
        self, *buffers: BufferLike, grid: int | Sequence[int], params: Params = b""
    ) -> None:
        """Queues one launch.

        grid counts workgroups, in up to three dimensions. params are bytes (or whatever has the
        buffer protocol: NumPy scalars, arrays and structures) that are taken as they are; a dict by
        the names that the code declares; a tuple or list in their order; or the number alone where
        one is declared.
        """
        packed = self._layout.pack(params)
        self._backend.launch_kernel(self, buffers, packed, to_grid(grid))

    def __repr__(self) -> str:
        bindings = ", ".join(binding.name for binding in self.bindings)
        return f"<tilewright kernel {self.name}({bindings}) on {self._backend.name}>"


def to_grid(grid: int | Sequence[int]) -> Sequence[int]:
    """Three sizes: those left out are 1."""
    if isinstance(grid, (tuple, list)):
        if 1 <= len(grid) <= 3:
            return (*grid, 1, 1)[:3]
        invalid("launch_kernel", f"grid is {shown(grid)}, expected one to three sizes")
    return (to_integer("launch_kernel", "grid", grid), 1, 1)


class _Layout:
    """Packs parameters as a kernel's code declares them."""

    def __init__(self, info: _core.KernelInfo) -> None:
        self._info = info
        self._names = [parameter.name for parameter in info.params]
        at, form = 0, "<"
        for parameter in info.params:
            form += f"{parameter.offset - at}x{_form(parameter)}"
            at = parameter.offset + parameter.bytes
        self._struct = struct.Struct(f"{form}{info.params_bytes - at}x")

    def pack(self, params: Params) -> Any:
        if isinstance(params, dict):
            if params.keys() != set(self._names):
                self._mismatch(params)
            return self._packed([params[name] for name in self._names])
        if isinstance(params, (tuple, list)):
            if len(params) != len(self._names):
                self._mismatch(params)
            return self._packed(list(params))
        if isinstance(params, (int, float)) and not isinstance(params, (bool, np.generic)):
            if len(self._names) != 1:
                self._mismatch(params)
            return self._packed([params])
        return params

    def _packed(self, values: list[Any]) -> bytes:
        flat: list[Any] = []
        for parameter, value in zip(self._info.params, values, strict=True):
            flat.extend(_scalars(parameter, value))
        try:
            return self._struct.pack(*flat)
        except (struct.error, OverflowError, TypeError):
            pass
        # One by one, to name the one that does not fit.
        for parameter, value in zip(self._info.params, values, strict=True):
            try:
                struct.pack(f"<{_form(parameter)}", *_scalars(parameter, value))
            except (struct.error, OverflowError, TypeError):
                _wrong(parameter, value)
        raise AssertionError("parameters that fit one by one fit together")

    def _mismatch(self, params: object) -> NoReturn:
        declared = ", ".join(f"{p.name}: {p.type}" for p in self._info.params) or "none"
        invalid(
            "launch_kernel",
            f"params is {shown(params)}, but {self._info.name} declares {declared}",
        )


def _form(parameter: _core.KernelParameter) -> str:
    """How the struct module writes the type; bytes as they are where it has no scalars."""
    vector = VECTOR.fullmatch(parameter.type)
    scalar, count = (vector[2], int(vector[1])) if vector else (parameter.type, 1)
    return f"{count}{CODES[scalar]}" if scalar in CODES else f"{parameter.bytes}s"


def _scalars(parameter: _core.KernelParameter, value: Any) -> Sequence[Any]:
    """What struct packs for one parameter."""
    if parameter.type in CODES:
        if isinstance(value, (bool, np.bool_)):
            _wrong(parameter, value)
        return (_of_either_sign(parameter.type, value),)
    try:
        if vector := VECTOR.fullmatch(parameter.type):
            scalars = np.asarray(value).tolist()
            if isinstance(scalars, list) and len(scalars) == int(vector[1]):
                return [_of_either_sign(vector[2], scalar) for scalar in scalars]
        else:
            content = memoryview(value).tobytes()
            if len(content) == parameter.bytes:
                return (content,)
    except (TypeError, ValueError):
        pass
    _wrong(parameter, value)


def _of_either_sign(scalar: str, value: Any) -> Any:
    """A negative number for a type of either sign, as the bits that it has there."""
    if not scalar.startswith("int") or not isinstance(value, (int, np.integer)):
        return value
    bits = int(scalar[3:])
    return value + 2**bits if -(2 ** (bits - 1)) <= value < 0 else value


def _wrong(parameter: _core.KernelParameter, value: object) -> NoReturn:
    exact = "" if "s" not in _form(parameter) else f", as {parameter.bytes} bytes"
    invalid(
        "launch_kernel",
        f"params: {parameter.name} is {shown(value)}, expected {parameter.type}{exact}",
    )
