"""Kernels that do not compile, and folders that have none: through TILEWRIGHT_KERNEL_DIR, which
lets a test break the library's own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Succeeds = Callable[..., str]
KERNELS = Path(__file__).parents[2] / "csrc" / "kernels" / "wgsl"

BREAKS = """
be = tw.init_backend("webgpu:0")
kept = be.array(np.arange(1000, dtype=np.float32))
queued = be.add(kept, 1)
for _ in range(3):
    message = raised(tw.KernelError, be.relu, kept)
    for part in {parts!r}:
        assert part in message, message
assert (queued.numpy() == np.arange(1, 1001)).all()
assert works(be)
"""

BROKEN = {
    "syntax": ("let x = ;", ["unary.wgsl:{line}", "let x = ;"]),
    "type": ("const broken: i32 = 1.5f;", ["unary.wgsl:{line}"]),
    "unknown name": ("fn broken() -> f32 {{ return nowhere; }}", ["unary.wgsl:{line}", "nowhere"]),
    "division": ("const broken = 1 / 0;", ["unary.wgsl:{line}", "Division by zero"]),
    "directive": ("#nonsense", ["unary.wgsl:{line}: ", "#nonsense is no directive"]),
    "no end": ("#if 1", ["unary.wgsl:{line}: ", "has no #end"]),
    "expression": ("#let X = 1 +", ["unary.wgsl:{line}: "]),
    "variable": ("#let X = NOWHERE", ["unary.wgsl:{line}: ", "no variable is named NOWHERE"]),
    "circle": ('#include "unary.wgsl"', [".wgsl:1: #include goes round in a circle"]),
    "no file": ('#include "nowhere.wgsl"', ["nowhere.wgsl"]),
    "signs": (
        "#if " + "!" * 2_000_000 + "1\n#end",
        ["unary.wgsl:{line}: ", "64 brackets and signs"],
    ),
    "quotient": ("#let X = (0-9223372036854775807-1)/(0-1)", ["unary.wgsl:{line}: ", "too large"]),
    "loop": ("#for I in 0..100000000000000\n#end", ["unary.wgsl:{line}: ", "too many lines"]),
    "too long": ("#for I in 0..1000000000\n// ${{I}}\n#end", ["unary.wgsl:", "8 MiB"]),
    "binding": (
        "@group(0) @binding(9) var<storage, read> broken: array<f32>;",
        ["unary.wgsl", "9"],
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_kernel_that_does_not_compile(succeeds: Succeeds, tmp_path: Path, what: str) -> None:
    text = (KERNELS / "unary.wgsl").read_text()
    broken, parts = BROKEN[what]
    (tmp_path / "unary.wgsl").write_text(text + broken.replace("{{", "{").replace("}}", "}") + "\n")
    line = len(text.splitlines()) + 1
    code = BREAKS.format(parts=[part.format(line=line) for part in parts])
    succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))


def test_a_kernel_without_its_entry(succeeds: Succeeds, tmp_path: Path) -> None:
    text = (KERNELS / "unary.wgsl").read_text()
    (tmp_path / "unary.wgsl").write_text(text.replace("fn main(", "fn elsewhere("))
    code = BREAKS.format(parts=["unary", "main"])
    succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))


def test_a_mended_kernel_works_at_once(succeeds: Succeeds, tmp_path: Path) -> None:
    (tmp_path / "unary.wgsl").write_text("nonsense")
    code = """
import shutil
be = tw.init_backend("webgpu:0")
assert "unary.wgsl:1" in raised(tw.KernelError, be.relu, [1.0])
shutil.copy({source!r}, {target!r})
assert (be.relu([-1.0, 2.0]).numpy() == [0, 2]).all()
"""
    source, target = str(KERNELS / "unary.wgsl"), str(tmp_path / "unary.wgsl")
    succeeds(code.format(source=source, target=target), TILEWRIGHT_KERNEL_DIR=str(tmp_path))


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_a_folder_without_kernels(succeeds: Succeeds, tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    path = tmp_path / folder
    code = """
for _ in range(2):
    message = raised(tw.KernelError, tw.init_backend, "webgpu:0")
    assert message.startswith("TILEWRIGHT_KERNEL_DIR is"), message
    assert "no kernel file such as" in message and "correct or unset it" in message, message
assert tw.init_backend("cpu").relu([-1.0]).item() == 0
"""
    assert str(path) and succeeds(code, TILEWRIGHT_KERNEL_DIR=str(path)) == ""


@pytest.mark.parametrize("kind", ["a folder", "a named pipe", "a device", "larger"])
def test_what_is_no_kernel_file(succeeds: Succeeds, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "unary.wgsl"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("x")
        os.truncate(path, 1 << 40)
    code = f"""
message = raised(tw.KernelError, tw.init_backend, "webgpu:0")
assert "unary.wgsl is {kind}" in message, message
assert "; TILEWRIGHT_KERNEL_DIR names its folder" in message, message
"""
    succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))


def test_a_kernel_that_is_no_text(succeeds: Succeeds, tmp_path: Path) -> None:
    text = (KERNELS / "unary.wgsl").read_bytes()
    for rubbish in (b"// \xff\xfe\x80", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"):
        (tmp_path / "unary.wgsl").write_bytes(text + rubbish)
        code = BREAKS.format(parts=["unary", "UTF-8"])
        succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))


# Deep enough to overflow the stack of wgpu-native's compiler.
DEEP = {
    "parentheses": "const deep = {open}1{close};".format(open="(" * 50_000, close=")" * 50_000),
    "signs": "const deep = " + "!" * 50_000 + "true;",
    "sums": "const deep = " + "1+" * 50_000 + "1;",
    "types": "var<private> deep: " + "array<" * 50_000 + "f32" + ",1>" * 50_000 + ";",
    "branches": "fn deep(x: u32) { if x == 0u {} " + "else if x == 1u {} " * 50_000 + "}",
}


@pytest.mark.parametrize("what", DEEP)
def test_a_kernel_that_nests_too_deeply(succeeds: Succeeds, tmp_path: Path, what: str) -> None:
    text = (KERNELS / "unary.wgsl").read_text()
    (tmp_path / "unary.wgsl").write_text(text + DEEP[what])
    line = len(text.splitlines()) + 1
    code = BREAKS.format(parts=[f"unary.wgsl:{line}", "split it"])
    succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))


def test_debug_mode_keeps_kernels_in_their_buffers(succeeds: Succeeds, tmp_path: Path) -> None:
    """Without checks, as kernels run otherwise, this ends the process or harms other memory."""
    text = (KERNELS / "unary.wgsl").read_text()
    start = re.search(r"fn main\(.*?\)\s*\{\n", text, re.DOTALL)
    assert start is not None
    outside = "for (var o = 1u << 20u; o < 1u << 28u; o += 1u << 20u) { output[o] = output[o]; }\n"
    (tmp_path / "unary.wgsl").write_text(text[: start.end()] + outside + text[start.end() :])
    code = """
with tw.init_backend("webgpu:0", debug_mode=True) as be:
    beside = [be.array(np.full(1000, 3, np.float32)) for _ in range(4)]
    for _ in range(3):
        assert (be.relu(np.arange(-500, 500, dtype=np.float32)).numpy()[:500] == 0).all()
    assert all((one.numpy() == 3).all() for one in beside)
    # Also where the code is said to keep its bounds by itself.
    kernel = be.kernel(
        "@group(0) @binding(0) var<storage, read_write> x: array<f32>;"
        "@compute @workgroup_size(1) fn main() { x[1u << 28u] = 5.0; }", trusted=True)
    kernel(beside[0], grid=1)
    assert all((one.numpy()[:999] == 3).all() for one in beside)
"""
    succeeds(code, TILEWRIGHT_KERNEL_DIR=str(tmp_path))
