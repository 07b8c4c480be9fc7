"""The command line, as a person and as a script uses it."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import tilewright
from tilewright import deferral
from tilewright.cli import environment, main
from tilewright.cli.table import head
from tilewright.cli.terminal import Painter

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["--size", "small", "--seconds", "0.2"]

UseStranger: TypeAlias = Callable[[Callable[..., None]], None]


def tilewright_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


def bench_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["bench", *QUICK, "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> UseStranger:
    """Makes the commands run on a CPU backend with another `unary`."""

    def use(unary: Callable[..., None]) -> None:
        class Stranger(tilewright.CpuBackend):
            pass

        monkeypatch.setattr(Stranger, "unary", unary)
        monkeypatch.setattr(tilewright, "init_backend", lambda preference: Stranger())

    return use


# The program ----------------------------------------------------------------------------------


def test_version() -> None:
    done = tilewright_command("--version")
    assert (done.returncode, done.stdout) == (0, f"tilewright {tilewright.__version__}\n")


def test_the_script_that_is_installed_is_the_same_function() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert '[project.scripts]\ntilewright = "tilewright.cli:main"\n' in project


@pytest.mark.parametrize("command", [[], ["info"], ["doctor"], ["bench"]])
def test_help(command: list[str]) -> None:
    done = tilewright_command(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {' '.join(['tilewright', *command])}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: command"),
        (["dance"], "invalid choice: 'dance'"),
        (["info", "--loud"], "unrecognized arguments: --loud"),
        (["bench", "--size", "huge"], "argument --size: invalid choice: 'huge'"),
        (["bench", "--seconds", "-1"], "argument --seconds: -1 is not a time"),
        (["bench", "--device", "cqu"], 'device "cqu" is unknown; did you mean "cpu"?'),
        (["bench", "--device", "cpu:7"], 'device "cpu:7" is unknown'),
        (["bench", "--ops", "softmix"], 'op "softmix" is unknown; did you mean "softmax"?'),
        (["bench", "--dtypes", "int8"], 'dtype "int8" is unknown; there are float32, float16'),
        (["bench", "--ops", "gemm_f16", "--dtypes", "float32"], "has a case in float32"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = tilewright_command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_error_of_the_library_is_one_line_and_exit_code_1() -> None:
    done = tilewright_command("bench", TILEWRIGHT_DEVICE="gpu9")
    assert done.returncode == 1
    assert done.stderr.startswith("tilewright: ")
    assert "gpu9" in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_where_an_error_came_from() -> None:
    done = tilewright_command("bench", "--debug", TILEWRIGHT_DEVICE="gpu9")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


@pytest.mark.parametrize("command", [["info"], ["embed", "a", "--device", "cpu"]])
def test_an_output_that_takes_nothing_is_one_line(command: list[str]) -> None:
    program = [sys.executable, "-m", "tilewright", *command]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "tilewright: the output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    closed = ["sh", "-c", '"$@" >&-', "sh", *program]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "tilewright: standard output is closed" in done.stderr


def test_an_output_of_few_characters() -> None:
    words = ["embed", "--device", "cpu", "--similar-to", "a", "caf\u00e9"]
    done = tilewright_command(*words, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout[6:]) == (0, "  caf\\xe9\n"), done.stderr


# info -----------------------------------------------------------------------------------------


def test_info_names_every_backend_and_what_auto_takes() -> None:
    done = tilewright_command("info", TILEWRIGHT_DEVICE="cpu")
    assert done.returncode == 0
    for device in tilewright.devices():
        assert device.id in done.stdout
        assert device.reason in done.stdout
    assert "auto takes cpu:0: TILEWRIGHT_DEVICE is cpu" in done.stdout


def test_info_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "1")
    monkeypatch.delenv("TILEWRIGHT_DEVICE", raising=False)
    assert main(["info", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"versions", "devices", "tuning", "auto", "variables", "folders"}
    assert report["versions"]["tilewright"] == tilewright.__version__
    assert set(report["versions"]) == {"tilewright", "python", "numpy", "numpy_blas", "platform"}
    assert {device["backend"] for device in report["devices"]} == {"level-zero", "webgpu", "cpu"}
    fields = {name for name in dir(tilewright.DeviceInfo) if not name.startswith("_")}
    assert all(set(device) == fields for device in report["devices"])
    assert report["auto"]["id"] in {d["id"] for d in report["devices"] if d["available"]}
    assert report["variables"]["TILEWRIGHT_NUM_THREADS"] == "1"


def test_info_says_why_auto_takes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "gpu9")
    assert main(["info", "--json"]) == 0
    auto = json.loads(capsys.readouterr().out)["auto"]
    assert auto["id"] is None
    assert "gpu9" in auto["why"]


@pytest.mark.parametrize("name", ["cmake-dir", "include-dir", "library-dir"])
def test_info_prints_one_folder_of_the_package(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", f"--{name}"]) == 0
    printed = Path(capsys.readouterr().out.removesuffix("\n"))
    assert printed == environment.folders()[name]
    assert printed.is_relative_to(Path(tilewright.__file__).resolve().parent)


def test_the_variables_are_those_that_the_sources_read() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "csrc").rglob("*.cpp"))
    read = set(re.findall(r'environment\w*\(\s*"(TILEWRIGHT_\w+)"', sources))
    assert set(environment.VARIABLES) == read | {deferral.VARIABLE}


# doctor ---------------------------------------------------------------------------------------


def test_doctor_finds_the_cpu_ready(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEWRIGHT_DEVICE", raising=False)
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"works", "default", "checks"}
    assert report["works"] is True
    checks = report["checks"]
    assert all(set(c) == {"backend", "what", "ok", "found", "mend"} for c in checks)
    assert {c["backend"] for c in checks} >= {"level-zero", "webgpu", "cpu"}
    assert {c["what"] for c in checks if c["backend"] == "cpu" and c["ok"]} >= {
        "device",
        "threads",
        "memory",
        "gemm",
        "unary.exp",
    }


def test_doctor_says_what_mends_a_wrong_variable() -> None:
    done = tilewright_command("doctor", TILEWRIGHT_CPU_ISA="avx9", TILEWRIGHT_DEVICE="cpu")
    assert done.returncode == 1
    assert "to mend it: unset TILEWRIGHT_CPU_ISA" in done.stdout
    assert "Not ready" in done.stdout


def test_doctor_names_a_misspelt_variable() -> None:
    done = tilewright_command("doctor", TILEWRIGHT_NUM_THREAD="1")
    assert "did you mean TILEWRIGHT_NUM_THREADS?" in " ".join(done.stdout.split())
    assert "unset TILEWRIGHT_NUM_THREAD" in done.stdout


def test_doctor_finds_a_backend_that_computes_wrong(
    capsys: pytest.CaptureFixture[str], stranger: UseStranger
) -> None:
    stranger(lambda self, op, x, out, n, dtype: None)
    assert main(["doctor"]) == 1
    assert "wrong: error" in capsys.readouterr().out


# bench ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu:0", "webgpu:0"])
def test_bench_as_json(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = bench_json(capsys, "--ops", "gemm,reduce.sum", "--device", device)
    assert code == 0
    assert set(report) == {
        *("tilewright", "date", "device", "versions", "size", "interrupted", "results")
    }
    assert report["interrupted"] is False
    assert report["device"]["id"] == device
    results = report["results"]
    assert [(r["name"], r["dtype"]) for r in results] == [
        ("gemm", "float32"),
        ("gemm", "float16"),
        ("gemm.transposed", "float32"),
        ("gemm.transposed", "float16"),
        ("gemm.to_float32", "float16"),
        ("reduce.sum", "float32"),
        ("reduce.sum", "float16"),
    ]
    for result in results:
        assert set(result) == {
            *("name", "op", "variant", "group", "dtype", "shape", "status", "message"),
            *("error", "allowed_error", "seconds", "numpy_seconds", "ratio", "gflops", "gbytes"),
        }
        assert result["status"] == "ok"
        assert 0 <= result["error"] <= result["allowed_error"] < 0.01
        assert result["seconds"] > 0
        assert result["ratio"] == result["numpy_seconds"] / result["seconds"]


def test_bench_takes_patterns_dtypes_and_lists_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list", "--ops", "unary.s*", "--dtypes", "float16"]) == 0
    names = capsys.readouterr().out.split()
    assert names == ["unary.sigmoid", "unary.sqrt", "unary.silu", "unary.square"]


def test_bench_without_time_only_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--size", "small", "--seconds", "0", "--ops", "softmax"]) == 0
    output = capsys.readouterr().out
    assert "6 correct, no wrong result" in output
    assert "NumPy in" not in output


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_its_terminal(columns: int) -> None:
    done = tilewright_command("bench", *QUICK, "--ops", "gemm*,reduce", COLUMNS=str(columns))
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert "Linear algebra" in done.stdout
    assert "\033" not in done.stdout
    assert done.stderr == ""


def test_what_a_device_has_is_wrapped() -> None:
    device = {"id": "webgpu:0", "name": "A GPU", "driver": "1.0", "limits": {}}
    device["features"] = [f"a-feature-of-the-device-{i}" for i in range(9)]
    versions = {"python": "3", "numpy": "2", "numpy_blas": "x", "platform": "y", "tilewright": "0"}
    report = {"device": device, "versions": versions, "date": "today"}
    lines = head(report, Painter(io.StringIO()), 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(any(one in line for line in lines) for one in device["features"])


def test_a_wrong_result_is_marked_and_fails(
    capsys: pytest.CaptureFixture[str], stranger: UseStranger
) -> None:
    exact = tilewright.CpuBackend.unary
    stranger(lambda self, op, *rest: exact(self, "neg" if op == "abs" else op, *rest))
    assert main(["bench", *QUICK, "--ops", "unary.abs,unary.exp", "--dtypes", "float32"]) == 1
    output = capsys.readouterr().out
    assert "1 correct, 1 wrong" in output
    assert "WRONG: unary.abs float32: error" in output


def test_a_wrong_result_has_no_ratio(
    capsys: pytest.CaptureFixture[str], stranger: UseStranger
) -> None:
    stranger(lambda self, op, x, out, n, dtype: None)
    code, report = bench_json(capsys, "--ops", "unary.exp", "--dtypes", "float32")
    assert code == 1
    assert report["results"][0]["status"] == "wrong"
    assert report["results"][0]["ratio"] is None


def test_an_op_that_the_device_lacks_is_shown_with_its_reason(
    capsys: pytest.CaptureFixture[str], stranger: UseStranger
) -> None:
    def unary(self: tilewright.Backend, *arguments: object) -> None:
        raise tilewright.Unsupported("unary: this device has no exponentials")

    stranger(unary)
    assert main(["bench", *QUICK, "--ops", "unary.exp,gemm", "--dtypes", "float32"]) == 0
    output = capsys.readouterr().out
    assert "unsupported: unary: this device has no exponentials" in " ".join(output.split())
    assert "1 unsupported" in output


def test_an_op_that_fails_does_not_end_the_others(
    capsys: pytest.CaptureFixture[str], stranger: UseStranger
) -> None:
    def unary(self: tilewright.Backend, *arguments: object) -> None:
        raise tilewright.OutOfMemory("unary: the device is full")

    stranger(unary)
    code, report = bench_json(capsys, "--ops", "unary.exp,softmax.*s", "--dtypes", "float32")
    assert code == 1
    assert [r["status"] for r in report["results"]] == ["ok", "ok", "failed"]
    assert report["results"][2]["message"] == "unary: the device is full"


def started_bench(seconds: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tilewright", "bench", "--size", "small", "--seconds", seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job of a shell ignores the signal, and so would its children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_prints_what_there_is_and_gives_130() -> None:
    with started_bench("120") as process:
        assert process.stdout is not None
        while "gemm " not in (line := process.stdout.readline()):
            assert line, process.communicate()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate()
    assert process.returncode == 130
    assert "Interrupted:" in rest
    assert "correct" in rest
    assert errors == ""


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with started_bench("1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """What a terminal of 100 columns gets of both streams."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tilewright", *arguments],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **variables},
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break
        if not read:
            break
        output += read
    os.close(ours)
    assert process.wait() == 0
    return output.decode()


def test_a_terminal_gets_a_progress_bar_and_colours() -> None:
    output = on_a_terminal("bench", *QUICK, "--ops", "gemm,reduce", NO_COLOR="")
    assert "\r\033[2K" in output
    assert "4/17" in output
    assert "\033[1mLinear algebra" in output


def test_no_color_keeps_the_bar_and_drops_the_colours() -> None:
    output = on_a_terminal("bench", *QUICK, "--ops", "gemm", NO_COLOR="1")
    assert "\r\033[2K" in output
    assert not re.search(r"\033\[[\d;]*m", output)


def test_json_goes_into_a_file_beside_the_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    assert main(["bench", *QUICK, "--ops", "cast", "--json", str(file)]) == 0
    assert "2 correct" in capsys.readouterr().out
    assert [r["name"] for r in json.loads(file.read_text())["results"]] == ["cast", "cast"]


def test_plot_writes_a_png(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.png"
    assert main(["bench", *QUICK, "--ops", "gemm,unary.exp", "--plot", str(file)]) == 0
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert width > 1000
    assert height > 200


def test_a_file_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "missing" / "results.json"
    assert main(["bench", *QUICK, "--ops", "cast", "--json", str(file)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"cannot write {file}: {file.parent} is not a folder" in output.err


def test_a_file_that_is_a_folder_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *QUICK, "--ops", "cast", "--json", str(tmp_path)]) == 2
    assert f"cannot write {tmp_path}: Is a directory" in capsys.readouterr().err


def test_plot_needs_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seconds", "0", "--ops", "cast", "--plot", str(tmp_path / "x.png")]
    assert main(["bench", *arguments]) == 2
    assert "--seconds above 0" in capsys.readouterr().err


def test_plot_without_matplotlib_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('hidden by a test')")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = tilewright_command(
        "bench", *QUICK, "--ops", "cast", "--plot", str(tmp_path / "x.png"), PYTHONPATH=path
    )
    assert done.returncode == 2
    assert done.stderr == "tilewright: --plot needs matplotlib: pip install matplotlib\n"
