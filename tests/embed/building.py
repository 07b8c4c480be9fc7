"""Building and running C++ programs against the installed tilewright."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = ROOT / "examples" / "cpp"


def tool(name: str) -> str:
    """A tool of this interpreter's environment, or else of the PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is needed: {sys.executable} -m pip install {name}"
    return found


def run(*command: object, ok: bool = True) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert (done.returncode == 0) == ok, f"{words} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def configure(source: Path, build: Path, *options: str, ok: bool = True) -> str:
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    return run(tool("cmake"), "-S", source, "-B", build, *generator, *options, ok=ok)


def build(source: Path, folder: Path, *options: str) -> None:
    configure(source, folder, *options)
    run(tool("cmake"), "--build", folder)


def installed(folder: str) -> str:
    """A folder of the installed package: cmake-dir, include-dir or library-dir."""
    return run(sys.executable, "-m", "tilewright", "info", f"--{folder}").strip()
