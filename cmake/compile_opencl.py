"""Compiles one kernel file to SPIR-V, once for each combination of its choices, and writes the
modules as a C++ source. The file is OpenCL C, or WGSL that wgsl_to_opencl translates.

Lines that begin with //! say how the variables that a plan sets reach the kernel:
  //! NAME: VALUE VALUE ...   compiled for each value; in OpenCL C macros NAME and NAME_IS_VALUE
  //! NAME: constant          a specialization constant, read as NAME
  //! NAME: constant WORD ... the same of a variable that is a word: its place among these, whose
                              macros are NAME_WORD
  //! ignored: NAME ...       the kernel does not need it
  //! NAME: as VALUE          whatever a plan sets, the template of a WGSL file takes it for this
  //! NAME: params FIELD      the template of a WGSL file takes it for this field of its parameters
  //! twin: REASON            of OpenCL C: why the WGSL kernel of its name is not translated
  //! only: EXPRESSION        of the values, in Python; other combinations are left out
  //! library: FLAG ...        no kernel but functions, compiled with further flags; names that only
                              people read are left out
"""

import argparse
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spirv_cache import Kept, cache_of
from spirv_packing import packed
from wgsl_to_opencl import Symbol, TranslationError, folder_loader, names_in, translated

FLAGS = [
    *("-x", "cl", "-cl-std=CL2.0", "-target", "spirv64v1.2-unknown-unknown"),
    # Without LLVM's passes: drivers have computed wrongly from what these make of loops.
    *("-O2", "-Xclang", "-disable-llvm-passes"),
    *("-cl-no-stdinc", "-cl-fp32-correctly-rounded-divide-sqrt"),
    *("-mllvm", "--spirv-ext=+SPV_INTEL_subgroups"),
    *("-Wall", "-Wextra", "-Werror"),
]
# WGSL has integers wrap, and files that are included have more than each kernel uses.
TRANSLATED_FLAGS = [
    *("-fwrapv", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-but-set-variable"),
    *("-Wno-missing-field-initializers", "-Wno-missing-braces"),
]
PRELUDE = "prelude.h"


class Kernel:
    def __init__(self, source, headers):
        self.headers = headers
        self.wgsl = source.suffix == ".wgsl"
        self.path = source
        self.name = source.stem
        self.choices = {}
        self.constants = {}
        self.ignored = []
        self.only = []
        self.library = None
        self.taken_as = {}
        self.loaded = set()
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if not line.startswith("//!"):
                continue
            matched = re.fullmatch(r"//! (\w+): (.+)", line)
            if not matched:
                sys.exit(f"{source}:{number}: expected `//! NAME: ...`, not {line!r}")
            name, rest = matched.groups()
            if name == "only":
                self.only.append(compile(rest, str(source), "eval"))
            elif name == "library":
                self.library = rest.split()
            elif name == "ignored":
                self.ignored += rest.split()
            elif name == "twin":
                pass
            elif rest.split()[0] == "as":
                self.ignored.append(name)
                self.taken_as[name] = typed(rest.split()[1])
            elif rest.split()[0] == "params":
                self.ignored.append(name)
                self.taken_as[name] = Symbol(f"((int)params.{rest.split()[1]})")
            elif rest.split()[0] == "constant":
                self.constants[name] = rest.split()[1:]
            else:
                self.choices[name] = rest.split()

    def combinations(self):
        """Every one, with None in the place of those that are left out."""
        for values in itertools.product(*self.choices.values()):
            chosen = dict(zip(self.choices, values, strict=True))
            values = {k: typed(v) for k, v in chosen.items()}
            kept = all(eval(rule, {"__builtins__": {}}, values) for rule in self.only)
            yield chosen if kept else None

    def prelude(self):
        lines = ['#include "language.h"']
        if self.wgsl:
            lines.append('#include "wgsl.h"')
        for id, (name, words) in enumerate(self.constants.items()):
            value = f"__spirv_SpecConstant({id}, 1)"
            # Numbers of the template have signs.
            type = "int" if self.wgsl else "uint"
            lines.append(f"static inline {type} constant_{name}(void) {{ return {value}; }}")
            lines.append(f"#define {name} constant_{name}()")
            lines += [f"#define {name}_{word} {place}" for place, word in enumerate(words)]
        return "\n".join(lines) + "\n"

    def translation(self, chosen):
        """As OpenCL C."""
        variables = {name: typed(value) for name, value in chosen.items()} | self.taken_as
        variables |= {n: Symbol(n, tuple(words), n) for n, words in self.constants.items()}
        # The language's division, square root and functions are as exact as ops promise.
        variables["EXACT"] = 1
        headers = [(self.headers / name).read_text() for name in ("language.h", "wgsl.h")]
        return translated(
            self.path.name,
            variables,
            self.name,
            folder_loader(self.path.parent, self.loaded),
            names_in("".join(headers)),
        )


def typed(value):
    return int(value) if value.isdigit() else value


def file_name(kernel, chosen):
    return ".".join([kernel.name, *(f"{name}={value}" for name, value in chosen.items()), "spv"])


def compile_variant(zig, kernel, chosen, folder):
    output = folder / file_name(kernel, chosen)
    macros = []
    flags = [*FLAGS, *(kernel.library or [])]
    source = kernel.path
    values = " ".join(f"{k}={v}" for k, v in chosen.items()) or "no choices"
    if kernel.wgsl:
        flags += TRANSLATED_FLAGS
        source = output.with_suffix(".cl")
        try:
            source.write_text(kernel.translation(chosen))
        except TranslationError as error:
            sys.exit(f"{error} ({kernel.name} with {values})")
    else:
        for name, value in chosen.items():
            macros += [f"-D{name}={value}", f"-D{name}_IS_{value}=1"]
    places = [f"-I{kernel.headers}", "-include", str(folder / PRELUDE)]
    done = subprocess.run(
        [zig, "clang", *flags, *places, *macros, "-c", str(source), "-o", str(output)],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        text = source.read_text() if kernel.wgsl else ""
        sys.exit(f"{kernel.path} does not compile with {values}:\n{text}{done.stderr}")
    module = output.read_bytes()
    return module if kernel.library is None else stripped(module)


def stripped(module):
    """A SPIR-V module without names, and without decorations but those of built-ins and linkage."""
    source, name, member_name, decorate = 3, 5, 6, 71
    built_in, constant, linkage = 11, 22, 41
    words = array("I", module)
    kept = words[:5]
    at = len(kept)
    while at < len(words):
        op, length = words[at] & 0xFFFF, words[at] >> 16
        if op == decorate:
            keep = words[at + 2] in (built_in, constant, linkage)
        else:
            keep = op not in (source, name, member_name)
        if keep:
            kept += words[at : at + length]
        at += length
    return kept.tobytes()


def words_of(module):
    words = [f"0x{int.from_bytes(module[i : i + 4], 'little'):x}" for i in range(0, len(module), 4)]
    return "\n".join(",".join(words[i : i + 12]) + "," for i in range(0, len(words), 12))


def variable(name, role, values=()):
    """The line of a variable's values, and its own."""
    if not values:
        return "", f'    {{"{name}", VariableRole::{role}, {{}}}},'
    listed = ", ".join(f'"{v}"' for v in values)
    return (
        f"constexpr std::string_view {name}[] = {{{listed}}};\n",
        f'    {{"{name}", VariableRole::{role}, {name}}},',
    )


def source_of(kernel, modules):
    """Two in one: the modules, which include nothing, and the kernel's entry, for the table of all.
    Modules that came out the same are kept once."""
    begin = {}
    words = 0
    for module in modules:
        if module is not None and module not in begin:
            begin[module] = words
            words += len(module) // 4
    entries = [
        "    {0, 0}," if module is None else f"    {{{begin[module]}, {len(module) // 4}}},"
        for module in modules
    ]
    data = packed(begin)
    roles = (
        [variable(name, "choice", values) for name, values in kernel.choices.items()]
        + [variable(name, "constant", words) for name, words in kernel.constants.items()]
        + [variable(name, "ignored") for name in kernel.ignored]
    )
    newline = "\n"
    digest = hashlib.sha256(b"".join(begin)).hexdigest()
    return f"""#ifdef TILEWRIGHT_SPIRV_TABLE

extern const unsigned packed_{kernel.name}[];
namespace of_{kernel.name} {{
{"".join(values for values, _ in roles)}constexpr KernelVariable variables[] = {{
{newline.join(line for _, line in roles)}
    {{"", VariableRole::ignored, {{}}}}}};
constexpr SpirvPlace modules[] = {{
{newline.join(entries)}
}};
inline SpirvKernel kernel() {{
  return {{"{kernel.name}", "{digest}", std::span(variables).first({len(roles)}), modules,
          std::as_bytes(std::span(packed_{kernel.name}, {-(-len(data) // 4)})).first({len(data)})}};
}}
}}

#else

namespace tilewright::gpu {{

extern const unsigned packed_{kernel.name}[];
const unsigned packed_{kernel.name}[] = {{
{words_of(data)}
}};

}}

#endif
"""


def files_of(kernel, modules, made):
    """By name the modules, and the translations that they were compiled from."""
    files = {}
    for chosen, module in zip(kernel.combinations(), modules, strict=True):
        if module is not None:
            name = file_name(kernel, chosen)
            files[name] = module
            if kernel.wgsl:
                translation = Path(name).with_suffix(".cl").name
                files[translation] = (made / translation).read_bytes()
    return files


def keep(kernel, files, folder):
    """For people and tests."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{kernel.name}.*"):
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def compiled(kernel, zig):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / PRELUDE).write_text(kernel.prelude())
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            modules = list(
                pool.map(
                    lambda chosen: (
                        None
                        if chosen is None
                        else compile_variant(zig, kernel, chosen, Path(folder))
                    ),
                    kernel.combinations(),
                )
            )
        files = files_of(kernel, modules, Path(folder)) if kernel.library is None else {}
    loaded = sorted(path.name for path in kernel.loaded)
    return Kept(source_of(kernel, modules), loaded, files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--zig", required=True, help="of the ziglang package, whose clang is taken")
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--headers", required=True, type=Path, help="the folder of language.h")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--depfile", type=Path, help="to list the files of the kernel in")
    parser.add_argument("--modules", type=Path, help="a folder to also keep the files in")
    options = parser.parse_args()
    kernel = Kernel(options.source, options.headers)
    cache = cache_of(options.source, options.headers, Path(options.zig))
    kept = cache.load() if cache else None
    if kept is None:
        kept = compiled(kernel, options.zig)
        if cache:
            cache.store(kept)
    if options.modules and kernel.library is None:
        keep(kernel, kept.modules, options.modules)
    if options.depfile:
        loaded = {kernel.path, *(kernel.path.parent / name for name in kept.loaded)}
        files = " ".join(str(path) for path in sorted(loaded))
        options.depfile.write_text(f"{options.output}: {files}\n")
    options.output.write_text(kept.source)


if __name__ == "__main__":
    main()
