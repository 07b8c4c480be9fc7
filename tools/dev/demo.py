"""./dev demo: from a checkout to every op, checked and timed."""

from __future__ import annotations

import argparse

from project import Environment
from shell import say


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="build, install and run `tilewright bench`",
        description="Builds and installs the project in .venv and runs `tilewright bench`; further "
        "arguments go to it.",
        allow_abbrev=False,
    )
    parser.set_defaults(call=call, passes_on=True)


def call(_: argparse.Namespace, rest: list[str]) -> int:
    environment = Environment()
    environment.install_project()
    if any(word.startswith("--plot") for word in rest):
        environment.install_extra("plot")
    say("tilewright bench")
    return environment.run("tilewright", "bench", *rest, check=False)
