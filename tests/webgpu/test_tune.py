"""tilewright tune on a device: bad kernels among the candidates, and what is kept of good ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tilewright
from tilewright import _core
from tilewright.cli.tuning.shapes import tuned_cases

from .conftest import DEVICE

Run = Callable[..., subprocess.CompletedProcess[str]]

KERNEL = (Path(__file__).parents[2] / "csrc/kernels/wgsl/gemm.wgsl").read_text()
CASE = "gemm.transposed"
SIZES = "40x40x40"

# What a kernel does that is no good, as the first lines of its body.
RETURNS_AT_ONCE = "if (group.x < 1000000u) { return; }"
DOES_NOT_COMPILE = "this is no WGSL"
WRITES_BEYOND = """
#if VECTOR_C
if (group.x + t == 0u) { c[params.m * params.ldc / 4u] = vec4<${TC}>(1.0); }
#else
if (group.x + t == 0u) { c[params.m * params.ldc] = ${TC}(1.0); }
#end
"""
# What makes faulty_driver.c do so as it compiles the kernel, since what a real GPU does about such
# code differs.
CRASHES = "little[t % 4u] = 0x4fa11ed1u;"
NEVER_ENDS = "little[t % 4u] = 0x4fa11ed2u;"


def opened_choices() -> _core._Choices:
    with tilewright.init_backend(DEVICE) as backend:
        choices = _core._choices_of(backend)
    assert choices is not None
    return choices


def candidates() -> tuple[str, ...]:
    return opened_choices().points["gemm"]


def spoil(folder: Path, bad: dict[str, str]) -> dict[str, str]:
    """The variables under which these candidates do something else."""
    main = re.search(r"@compute.*?\bfn main\(.*?\)\s*\{\n", KERNEL, re.DOTALL)
    assert main is not None
    text = KERNEL[: main.start()] + "var<workgroup> little: array<u32, 4>;\n" + main.group()
    for candidate, body in bad.items():
        rows, columns = re.findall(r"\d+", candidate)[:2]
        text += f"#if BM == {rows} && BN == {columns}\n{body}\n#end\n"
    (folder / "gemm.wgsl").write_text(text + KERNEL[main.end() :])
    return {"TILEWRIGHT_KERNEL_DIR": str(folder), "TILEWRIGHT_CACHE_DIR": str(folder / "cache")}


@pytest.fixture
def tune(quiet_folder: Path, tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    """Runs the command on one small product; its exit code and its report."""

    def run(*options: str, **variables: str) -> tuple[int, Any]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tilewright", "tune", "--device", DEVICE, "--json"),
                *("--ops", CASE, "--sizes", SIZES, "--dtypes", "float32", *options),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            env={
                **os.environ,
                "XDG_RUNTIME_DIR": str(quiet_folder),
                "TILEWRIGHT_CACHE_DIR": str(tmp_path),
                **variables,
            },
        )
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    return run


@pytest.mark.exhaustive
def test_bad_candidates_are_left_out_and_the_others_go_on(
    tune: Callable[..., tuple[int, Any]], tmp_path: Path, faulty_driver: dict[str, str]
) -> None:
    rule = tune("--dry-run")[1]["results"][0]["rule"]
    others = [name for name in candidates() if name != rule]
    wrong, beyond, crashing, hanging = others[:4]
    variables = spoil(
        tmp_path,
        {
            wrong: RETURNS_AT_ONCE,
            beyond: WRITES_BEYOND,
            crashing: CRASHES,
            hanging: NEVER_ENDS,
        },
    )
    code, report = tune("--timeout", "20", **variables, **faulty_driver)
    assert code == 1
    why = {rejected["candidate"]: rejected["why"] for rejected in report["rejected"]}
    assert set(why) == {wrong, beyond, crashing, hanging}
    assert why[wrong].startswith("wrong result: error ")
    assert why[beyond] == "it wrote beyond its output"
    assert why[crashing].startswith("its process was ended by SIG")
    assert why[hanging] == "no answer within 20 s"
    (result,) = report["results"]
    assert set(result["seconds"]) == {rule, *others[4:]}
    assert result["best"] not in why
    kept = Path(report["path"]).read_text()
    assert not any(f" {name} " in kept for name in why)


def test_a_kernel_that_does_not_compile_is_named_with_its_line(
    tune: Callable[..., tuple[int, Any]], tmp_path: Path
) -> None:
    rule = tune("--dry-run")[1]["results"][0]["rule"]
    broken = next(name for name in candidates() if name != rule)
    code, report = tune(**spoil(tmp_path, {broken: DOES_NOT_COMPILE}))
    assert code == 1
    (rejected,) = report["rejected"]
    assert rejected["candidate"] == broken
    assert "gemm.wgsl:" in rejected["why"]


def test_where_the_rule_itself_crashes_nothing_is_kept(
    tune: Callable[..., tuple[int, Any]], tmp_path: Path, faulty_driver: dict[str, str]
) -> None:
    every = dict.fromkeys(candidates(), CRASHES)
    code, report = tune(**spoil(tmp_path, every), **faulty_driver)
    assert code == 1
    assert report["results"] == []
    assert report["written"] is False
    (rejected,) = report["rejected"]
    assert rejected["candidate"] == ""
    assert rejected["why"].startswith("its process was ended by SIG")
    assert not Path(report["path"]).exists()


PRODUCT = f"""
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")
with tw.init_backend("{DEVICE}") as be:
    a, b = np.ones((40, 40), np.float32), np.eye(40, dtype=np.float32)
    out = be.zeros((40, 40))
    be.gemm("none", "transpose", 40, 40, 40, 1.0, be.array(a), 40, be.array(b), 40, 0.0, out, 40)
    print("right" if (out.numpy() == a).all() else "wrong")
"""


def test_the_library_takes_what_is_kept(
    tune: Callable[..., tuple[int, Any]],
    succeeds: Callable[..., str],
    tmp_path: Path,
) -> None:
    """A kept candidate whose kernel does nothing shows that it ran."""
    result = tune("--dry-run")[1]["results"][0]
    idle = next(name for name in candidates() if name != result["rule"])
    variables = spoil(tmp_path, {idle: RETURNS_AT_ONCE})
    assert succeeds(PRODUCT, **variables) == "right\n"

    kept = Path(tune(**variables)[1]["path"])
    head = kept.read_text().split("gemm")[0]
    entry = f"{result['point']} {result['sizes']} {result['flags']}"
    kept.write_text(f"{head}{entry} {idle}\n")
    assert succeeds(PRODUCT, **variables) == "wrong\n"
    assert succeeds(PRODUCT, TILEWRIGHT_TUNING="0", **variables) == "right\n"

    other_shape = entry.replace(result["sizes"], "4096x4096x4096x1")
    kept.write_text(f"{head}{other_shape} {idle}\n")
    assert succeeds(PRODUCT, **variables) == "right\n"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("version ", "version 9"),
        lambda text: text + "gemm 64x64x64x1 - 9999x9999\n",
        lambda text: text + "\0\x01\n",
    ],
    ids=["cut off", "another version", "an unknown kernel", "no text"],
)
def test_a_file_that_is_no_use_is_a_warning(
    succeeds: Callable[..., str], tmp_path: Path, damage: Callable[[str], str]
) -> None:
    choices = opened_choices()
    path = tmp_path / Path(choices.path).name
    path.write_text(damage(choices.head))
    first, second = succeeds(PRODUCT, TILEWRIGHT_CACHE_DIR=str(tmp_path)).splitlines()
    assert first.startswith(f"WARNING {path} is left out: ")
    assert second == "right"


def test_a_file_that_is_no_use_is_replaced(
    tune: Callable[..., tuple[int, Any]], succeeds: Callable[..., str], tmp_path: Path
) -> None:
    choices = opened_choices()
    path = tmp_path / Path(choices.path).name
    path.write_text("no such file\n")
    code, report = tune()
    assert (code, report["written"]) == (0, True)
    assert path.read_text().startswith(choices.head)
    assert succeeds(PRODUCT, TILEWRIGHT_CACHE_DIR=str(tmp_path)) == "right\n"


def test_info_says_how_many_choices_are_taken(run_python: Run, tmp_path: Path) -> None:
    info = "import tilewright.cli; tilewright.cli.main(['info', '--json'])"
    choices = opened_choices()
    path = tmp_path / Path(choices.path).name

    def told() -> Any:
        done = run_python(info, TILEWRIGHT_CACHE_DIR=str(tmp_path))
        return json.loads(done.stdout)["tuning"][DEVICE]

    assert told() == {"path": str(path), "choices": None}
    entries = [f"gemm {n}x{n}x{n}x1 - {choices.points['gemm'][0]}\n" for n in (64, 128)]
    path.write_text(choices.head + "".join(entries))
    assert told() == {"path": str(path), "choices": 2}


def test_show_and_reset(tune: Callable[..., tuple[int, Any]]) -> None:
    assert tune("--show")[1]["exists"] is False
    path = Path(tune()[1]["path"])
    code, shown = tune("--show")
    assert (code, shown) == (0, {"path": str(path), "exists": True, "content": path.read_text()})
    assert tune("--reset")[0] == 0
    assert not path.exists()
    assert tune("--reset")[0] == 0


def test_every_choice_has_usual_sizes() -> None:
    ops = {case.op for case in tuned_cases()}
    for point in opened_choices().points:
        assert any(point == op or point.startswith(f"{op}_") for op in ops), point
