"""A C++ program that embeds tilewright, built and run in each of the ways there are."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from building import ROOT, build, configure, installed, run, tool

HERE = Path(__file__).resolve().parent


def build_and_run(source: Path, folder: Path, *options: str) -> None:
    build(source, folder, *options)
    for backend in ("auto", "cpu:0", "webgpu:0"):
        said = run(folder / "perceptron", backend)
        assert "largest error" in said
        assert backend == "auto" or f"on {backend}" in said


def test_find_package_of_the_installed_wheel(tmp_path: Path) -> None:
    build_and_run(HERE / "program", tmp_path, f"-Dtilewright_DIR={installed('cmake-dir')}")


def test_the_readme_s_program_stands_alone(tmp_path: Path) -> None:
    """Its two files in an empty folder, and the installed package."""
    text = (ROOT / "README.md").read_text()
    for file, language in (("main.cpp", "cpp"), ("CMakeLists.txt", "cmake")):
        (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        (tmp_path / file).write_text(code)
    build(tmp_path, tmp_path / "build", f"-Dtilewright_DIR={installed('cmake-dir')}")
    assert run(tmp_path / "build" / "program").endswith(": 0 0 2 3\n")
    # So does the first of the examples.
    shutil.copy(ROOT / "examples" / "cpp" / "hello.cpp", tmp_path / "main.cpp")
    run(tool("cmake"), "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "program").endswith("\n0.0\n0.0\n0.0\n1.0\n2.0\n")


def test_a_consumer_needs_nothing_but_the_library(tmp_path: Path) -> None:
    """No CMake package: C++20, the headers, the library and a run path are all there is to it."""
    program = tmp_path / "perceptron"
    library = installed("library-dir")
    headers = installed("include-dir")
    compiler = shutil.which("c++") or tool("g++")
    run(
        *(compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{headers}"),
        *(HERE / "program" / "main.cpp", "-o", program),
        *(f"-L{library}", "-ltilewright", f"-Wl,-rpath,{library}"),
    )
    for device in ("cpu:0", "webgpu:0"):
        assert f"on {device}" in run(program, device)


@pytest.mark.exhaustive
def test_add_subdirectory(tmp_path: Path) -> None:
    """A parent project that has tilewright as a folder. It names no kind of build: half the time of
    an optimised one."""
    build_folder = tmp_path / "build"
    build_and_run(HERE / "subdirectory", build_folder, f"-DPython_EXECUTABLE={sys.executable}")

    # Nothing of tilewright is among what the parent installs.
    prefix = tmp_path / "parents"
    run(tool("cmake"), "--install", build_folder, "--prefix", prefix)
    files = [path for path in prefix.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["perceptron"]

    # Asked for, tilewright's install rules give a prefix that stands by itself.
    prefix = tmp_path / "ours"
    configure(HERE / "subdirectory", build_folder, "-DTILEWRIGHT_INSTALL=ON")
    run(tool("cmake"), "--install", build_folder, "--prefix", prefix)
    for file in (prefix / "lib" / "cmake" / "tilewright").iterdir():
        assert str(build_folder) not in file.read_text()
    build_and_run(HERE / "program", tmp_path / "program", f"-DCMAKE_PREFIX_PATH={prefix}")


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [("0.1", True), ("0.1.0", True), ("0.0.9", False), ("0.2", False), ("1.0", False)],
)
def test_the_package_has_a_version(tmp_path: Path, wanted: str, accepted: bool) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(versions LANGUAGES CXX)\n"
        f"find_package(tilewright {wanted} CONFIG REQUIRED)\n"
    )
    directory = f"-Dtilewright_DIR={installed('cmake-dir')}"
    said = configure(tmp_path, tmp_path / "build", directory, ok=accepted)
    if not accepted:
        assert "0.1.0" in said


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """The option that names an interpreter which finds no package but its own."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    return f"-DPython_EXECUTABLE={python}"


def refusal(build: Path, *options: str) -> str:
    """What a configuration that fails says, on one line."""
    return " ".join(configure(ROOT, build, *options, ok=False).split())


def test_a_missing_openblas_says_what_to_do(tmp_path: Path, bare_python: str) -> None:
    said = refusal(tmp_path / "build", bare_python)
    assert "pip install scipy-openblas32" in said
    assert "-DTILEWRIGHT_OPENBLAS_LIBRARY" in said


def test_a_missing_wgpu_native_says_what_to_do(tmp_path: Path, bare_python: str) -> None:
    openblas = Path(installed("library-dir")) / "libtilewright_openblas.so"
    given = f"-DTILEWRIGHT_OPENBLAS_LIBRARY={openblas}"
    licence = f"-DTILEWRIGHT_OPENBLAS_LICENSE={ROOT / 'LICENSE-MIT'}"
    said = refusal(tmp_path / "build", bare_python, given, licence)
    (version,) = set(re.findall(r"wgpu==[\d.]+", (ROOT / "pyproject.toml").read_text()))
    assert f"pip install --no-deps {version} " in said
    assert "-DTILEWRIGHT_WGPU_FOLDER" in said
    assert "-DTILEWRIGHT_WEBGPU=OFF" in said


def test_a_missing_kernel_compiler_says_what_to_do(tmp_path: Path, bare_python: str) -> None:
    openblas = Path(installed("library-dir")) / "libtilewright_openblas.so"
    given = f"-DTILEWRIGHT_OPENBLAS_LIBRARY={openblas}"
    licence = f"-DTILEWRIGHT_OPENBLAS_LICENSE={ROOT / 'LICENSE-MIT'}"
    said = refusal(tmp_path / "build", bare_python, given, licence, "-DTILEWRIGHT_WEBGPU=OFF")
    (version,) = set(re.findall(r"ziglang==[\d.]+", (ROOT / "pyproject.toml").read_text()))
    assert f"pip install {version} " in said
    assert "-DTILEWRIGHT_ZIG" in said
    assert "-DTILEWRIGHT_LEVEL_ZERO=OFF" in said


def test_a_folder_without_wgpu_native_is_named(tmp_path: Path) -> None:
    python = f"-DPython_EXECUTABLE={sys.executable}"
    said = refusal(tmp_path / "build", python, f"-DTILEWRIGHT_WGPU_FOLDER={tmp_path}")
    assert f"TILEWRIGHT_WGPU_FOLDER is {tmp_path}" in said
    assert "but there are 0" in said
