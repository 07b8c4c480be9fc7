"""The programs in the README run as they stand there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def programs(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found
    return found


def output(*command: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", programs("python"))
def test_python(program: str) -> None:
    said = output(sys.executable, "-W", "error", "-c", program)
    for expected in re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE):
        assert said.split() == expected.split()


def test_cpp(tmp_path: Path) -> None:
    (program,) = programs("cpp")
    source, binary = tmp_path / "readme.cpp", tmp_path / "readme"
    source.write_text(program)
    compiler = shutil.which("c++")
    assert compiler, "a C++ compiler is needed"
    headers, library = (
        output(sys.executable, "-m", "tilewright", "info", f"--{folder}").strip()
        for folder in ("include-dir", "library-dir")
    )
    link = (f"-L{library}", "-ltilewright", f"-Wl,-rpath,{library}")
    output(compiler, "-std=c++20", f"-I{headers}", source, "-o", binary, *link)
    assert output(binary).endswith(": 0 0 2 3\n")
