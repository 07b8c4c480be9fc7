"""./dev new-op NAME: the files of an op with a kernel of its own."""

from __future__ import annotations

import re
from pathlib import Path

from shell import Failed

HEADER = Path("csrc/include/tilewright/backend.hpp")
STUB = Path("python/tilewright/_core.pyi")
TEMPLATES = Path(__file__).parent / "new_op"
# What each template becomes.
FILES = {
    "request.hpp": "csrc/core/ops/{name}.hpp",
    "cpu.cpp": "csrc/cpu/ops/{name}.cpp",
    "gpu.cpp": "csrc/gpu/ops/{name}.cpp",
    "kernel.wgsl": "csrc/kernels/wgsl/{name}.wgsl",
    "catalog.py": "python/tilewright/cli/catalog/{name}.py",
    "test.py": "tests/conformance/test_{name}.py",
}
DECLARED = """\
  /// output[i] = input[i], n elements. output may be input.
  void {name}(Buffer input, Buffer output, Size n, DType dtype = DType::float32);

"""
STUBBED = """\
    def {name}(
        self,
        input: _Buffer,
        output: _Buffer,
        n: int,
        dtype: str = "float32",
    ) -> None: ...
"""
SECTION = "  // Kernels of one's own ---"
LIST = re.compile(r"(#define TILEWRIGHT_OPS\(X\).*?)(\n// clang-format on)", re.DOTALL)


def request_of(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_")) + "Request"


def write(root: Path, name: str) -> None:
    """Writes all files, or none."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise Failed(f"the name is {name!r}, expected small letters, digits and _")
    header, stub = (root / HEADER).read_text(), (root / STUB).read_text()
    if re.search(rf"\b{name}\(", header):
        raise Failed(f"there is a call {name} in {HEADER} already; take another name")
    texts = {path.format(name=name): filled(template, name) for template, path in FILES.items()}
    for path in texts:
        if (root / path).exists():
            raise Failed(f"there is a file {path} already; take another name")
    texts[str(HEADER)] = declared(header, name)
    texts[str(STUB)] = stub.replace(
        "    def map(\n", STUBBED.format(name=name) + "    def map(\n", 1
    )
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        print(path)
    print(
        f"It copies, on every backend. Say in {HEADER} what it is to do, in the test what it must "
        "give, and in the others how; where its parameters are others, also in the stub.\n"
        f"Then: ./dev test tests/conformance/test_{name}.py; ./dev lint --fix; "
        ".venv/bin/python tools/op_table.py, which writes the README's table."
    )


def filled(template: str, name: str) -> str:
    text = (TEMPLATES / f"{template}.in").read_text()
    return text.replace("@name@", name).replace("@Request@", request_of(name))


def declared(header: str, name: str) -> str:
    listed = LIST.search(header)
    if not listed or SECTION not in header:
        raise Failed(f"{HEADER} has no TILEWRIGHT_OPS, or no part about kernels of one's own")
    line = f"  X({name}, {request_of(name)})"
    before = listed[1].rstrip().rstrip("\\").rstrip()
    header = header.replace(listed[0], f"{before} \\\n{line}{listed[2]}", 1)
    return header.replace(SECTION, DECLARED.format(name=name) + SECTION, 1)
