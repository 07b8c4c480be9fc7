"""Compiles one OpenCL C kernel file to SPIR-V, once for each combination of its choices, and writes
the modules as a C++ source.

Lines that begin with //! say how the variables that a plan sets reach the kernel:
  //! NAME: VALUE VALUE ...   compiled for each value, with macros NAME and NAME_IS_VALUE
  //! NAME: constant          a specialization constant, read as NAME
  //! NAME: constant WORD ... the same of a variable that is a word: its place among these, whose
                              macros are NAME_WORD
  //! ignored: NAME ...       the kernel does not need it
  //! only: EXPRESSION        of the values, in Python; other combinations are left out
"""

import argparse
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = [
    *("-x", "cl", "-cl-std=CL2.0", "-target", "spirv64v1.2-unknown-unknown"),
    # Without LLVM's passes: drivers have computed wrongly from what these make of loops.
    *("-O2", "-Xclang", "-disable-llvm-passes"),
    *("-cl-no-stdinc", "-cl-fp32-correctly-rounded-divide-sqrt"),
    *("-mllvm", "--spirv-ext=+SPV_INTEL_subgroups"),
    *("-Wall", "-Wextra", "-Werror"),
]
PRELUDE = "prelude.h"


class Kernel:
    def __init__(self, source):
        self.path = source
        self.name = source.stem
        self.choices = {}
        self.constants = {}
        self.ignored = []
        self.only = []
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if not line.startswith("//!"):
                continue
            matched = re.fullmatch(r"//! (\w+): (.+)", line)
            if not matched:
                sys.exit(f"{source}:{number}: expected `//! NAME: ...`, not {line!r}")
            name, rest = matched.groups()
            if name == "only":
                self.only.append(compile(rest, str(source), "eval"))
            elif name == "ignored":
                self.ignored += rest.split()
            elif rest.split()[0] == "constant":
                self.constants[name] = rest.split()[1:]
            else:
                self.choices[name] = rest.split()

    def combinations(self):
        """Every one, with None in the place of those that are left out."""
        for values in itertools.product(*self.choices.values()):
            chosen = dict(zip(self.choices, values, strict=True))
            typed = {k: int(v) if v.isdigit() else v for k, v in chosen.items()}
            kept = all(eval(rule, {"__builtins__": {}}, typed) for rule in self.only)
            yield chosen if kept else None

    def prelude(self):
        lines = ['#include "language.h"']
        for id, (name, words) in enumerate(self.constants.items()):
            value = f"__spirv_SpecConstant({id}, 1)"
            lines.append(f"static inline uint constant_{name}(void) {{ return {value}; }}")
            lines.append(f"#define {name} constant_{name}()")
            lines += [f"#define {name}_{word} {place}" for place, word in enumerate(words)]
        return "\n".join(lines) + "\n"


def file_name(kernel, chosen):
    return ".".join([kernel.name, *(f"{name}={value}" for name, value in chosen.items()), "spv"])


def compile_variant(zig, kernel, chosen, folder):
    output = folder / file_name(kernel, chosen)
    macros = []
    for name, value in chosen.items():
        macros += [f"-D{name}={value}", f"-D{name}_IS_{value}=1"]
    places = [f"-I{kernel.path.parent}", "-include", str(folder / PRELUDE)]
    done = subprocess.run(
        [zig, "clang", *FLAGS, *places, *macros, "-c", str(kernel.path), "-o", str(output)],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        values = " ".join(f"{k}={v}" for k, v in chosen.items())
        sys.exit(f"{kernel.path} does not compile with {values or 'no choices'}:\n{done.stderr}")
    return output.read_bytes()


def words_of(module):
    words = [f"0x{int.from_bytes(module[i : i + 4], 'little'):x}" for i in range(0, len(module), 4)]
    return "\n".join(",".join(words[i : i + 12]) + "," for i in range(0, len(words), 12))


def variable(name, role, values=()):
    listed = ", ".join(f'"{v}"' for v in values)
    return f'    {{"{name}", VariableRole::{role}, {{{listed}}}}},'


def source_of(kernel, modules):
    """Modules that came out the same are kept once."""
    place = {}
    entries = []
    for module in modules:
        if module is None:
            entries.append("    {},")
        else:
            entries.append(f"    module_{place.setdefault(module, len(place))},")
    arrays = [
        f"constexpr std::uint32_t module_{i}[] = {{\n{words_of(module)}\n}};"
        for module, i in place.items()
    ]
    roles = (
        [variable(name, "choice", values) for name, values in kernel.choices.items()]
        + [variable(name, "constant", words) for name, words in kernel.constants.items()]
        + [variable(name, "ignored") for name in kernel.ignored]
    )
    newline = "\n"
    digest = hashlib.sha256(b"".join(place)).hexdigest()
    return f"""#include "gpu/spirv_kernels.hpp"

namespace tilewright::gpu {{

namespace {{
{newline.join(arrays)}
}}

SpirvKernel spirv_kernel_{kernel.name}() {{
  static const KernelVariable variables[] = {{
{newline.join(roles)}
    {{"", VariableRole::ignored, {{}}}}}};
  static constexpr std::span<const std::uint32_t> modules[] = {{
{newline.join(entries)}
  }};
  return {{"{kernel.name}", "{digest}", std::span(variables).first({len(roles)}), modules}};
}}

}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--zig", required=True, help="of the ziglang package, whose clang is taken")
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--modules", type=Path, help="a folder to also keep the SPIR-V files in")
    options = parser.parse_args()
    kernel = Kernel(options.source)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / PRELUDE).write_text(kernel.prelude())
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            modules = list(
                pool.map(
                    lambda chosen: (
                        None
                        if chosen is None
                        else compile_variant(options.zig, kernel, chosen, Path(folder))
                    ),
                    kernel.combinations(),
                )
            )
    if options.modules:
        options.modules.mkdir(parents=True, exist_ok=True)
        for old in options.modules.glob(f"{kernel.name}.*spv"):
            old.unlink()
        for chosen, module in zip(kernel.combinations(), modules, strict=True):
            if module is not None:
                (options.modules / file_name(kernel, chosen)).write_bytes(module)
    options.output.write_text(source_of(kernel, modules))


main()
