"""./dev: everything from an empty machine to a result."""

from __future__ import annotations

import argparse
import os
import sys

import bench
import demo
import fuzz
import intel_gpu
import lint
import new_op
import wheel
import ze_cpu
from shell import BUILD, Failed

import tests


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev",
        description="Makes what it needs by itself: a virtual environment in .venv, the built "
        "project in it, and system packages where that takes no question.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (demo, tests, fuzz, lint, bench, wheel, ze_cpu, intel_gpu, new_op):
        module.add_command(commands)
    options, rest = parser.parse_known_args()
    if "--" in rest:
        rest.remove("--")
    if rest and not options.passes_on:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    # Each build compiles the same kernels.
    os.environ.setdefault("SPIRV_CACHE", str(BUILD / "spirv-cache"))
    try:
        return int(options.call(options, rest))
    except Failed as failure:
        print(f"./dev: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


sys.exit(main())
