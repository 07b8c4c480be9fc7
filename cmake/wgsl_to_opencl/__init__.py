"""WGSL kernels as OpenCL C: a translator of what the kernels of csrc/kernels/wgsl use of WGSL.

A kernel goes through the template step with the values of its variables, is read, typed and printed
as readable OpenCL C that csrc/kernels/opencl/language.h and wgsl.h stand before. What it cannot
translate is an error that names file and line.

Both languages mean the same by what comes out, as far as kernels may rely on it:
- integers wrap, shifts take their distance modulo the width, f32 becomes an integer in range, NaN
  some integer; no integer is divided by 0;
- f32 keeps its NaNs, infinities and the order of its operations, of which a compiler may still make
  fma; division and sqrt are rounded correctly in OpenCL C;
- the memory of a workgroup starts as anything, as in WGSL pipelines of this library;
- nothing checks bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from .check import checked
from .errors import Place, TranslationError
from .lexer import tokens
from .parser import parsed
from .printer import printed
from .template import Symbol, Value, expanded

__all__ = [
    "Place",
    "Symbol",
    "TranslationError",
    "Value",
    "folder_loader",
    "names_in",
    "translated",
]


def names_in(headers: str) -> set[str]:
    """What a kernel must not call its own: macros, functions and types of the headers."""
    found = re.findall(r"#define\s+(\w+)|(\w+)\s*\(|typedef\s[^;]*?\b(\w+);", headers)
    return {name for names in found for name in names if name}


def translated(
    file: str,
    variables: dict[str, Value],
    name: str,
    load: Callable[[str], str],
    taken: set[str],
) -> str:
    """The kernel of a file of the template's folder, whose function gets this name."""
    constants = {v.name for v in variables.values() if isinstance(v, Symbol)}
    avoided = taken | constants | {name}
    module = parsed(tokens(expanded(file, variables, load)))
    return printed(module, checked(module, avoided), name, avoided)


def folder_loader(folder: Path, loaded: set[Path]) -> Callable[[str], str]:
    """Reads the files of a folder, and notes which."""

    def load(name: str) -> str:
        path = folder / name
        if not path.is_file():
            raise TranslationError(f"{folder} has no file {name}")
        loaded.add(path)
        return path.read_text()

    return load
