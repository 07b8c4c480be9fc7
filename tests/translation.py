"""WGSL of the tests through the translator of the build."""

from __future__ import annotations

import functools
import sys
import tempfile
from pathlib import Path

from opencl import spirv_of

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "csrc" / "kernels"
sys.path.insert(0, str(ROOT / "cmake"))

from compile_opencl import TRANSLATED_FLAGS  # noqa: E402
from wgsl_to_opencl import Symbol, Value, names_in, translated  # noqa: E402

HEADERS = ("language.h", "wgsl.h")


@functools.cache
def taken() -> set[str]:
    return names_in("".join((KERNELS / "opencl" / name).read_text() for name in HEADERS))


def opencl_of(wgsl: str, variables: dict[str, Value] | None = None, **files: str) -> str:
    """Of a file test.wgsl, with others that it may include."""
    texts = {"test.wgsl": wgsl} | {f"{name}.wgsl": text for name, text in files.items()}
    return translated("test.wgsl", variables or {}, "test", texts.__getitem__, taken())


def spirv_of_wgsl(wgsl: str, *constants: str) -> bytes:
    """Of a kernel whose template's variables are these constants, numbered in their order."""
    prelude = [f'#include "{KERNELS / "opencl" / name}"' for name in HEADERS]
    for id, name in enumerate(constants):
        prelude += [
            f"static inline int constant_{name}(void) {{ return __spirv_SpecConstant({id}, 1); }}",
            f"#define {name} constant_{name}()",
        ]
    code = opencl_of(wgsl, {name: Symbol(name, (), name) for name in constants})
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "test.cl")
        source.write_text("\n".join([*prelude, code]))
        return spirv_of(source, *TRANSLATED_FLAGS, "-cl-fp32-correctly-rounded-divide-sqrt")
