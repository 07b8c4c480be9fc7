"""./dev demo: from a checkout to a model's answers, and to every op, checked and timed."""

from __future__ import annotations

import argparse

from project import Environment
from shell import say

QUESTION = "Which animals live in water?"
TEXTS = (
    "Whales are mammals that spend their whole lives in the sea.",
    "The train to the coast leaves at nine.",
    "A trout hides below the stones of a stream.",
    "Water boils at 100 degrees at sea level.",
    "The cat sleeps on the sofa.",
)


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="build, install and run `tilewright embed` and `tilewright bench`",
        description="Builds and installs the project in .venv, ranks some texts by a small model, "
        "and runs `tilewright bench`; further arguments go to that.",
        allow_abbrev=False,
    )
    parser.set_defaults(call=call, passes_on=True)


def call(_: argparse.Namespace, rest: list[str]) -> int:
    environment = Environment()
    environment.install_project()
    if any(word.startswith("--plot") for word in rest):
        environment.install_extra("plot")
    environment.install_extra("models")
    environment.install_groups("weights", options=("--no-deps",))
    say(f"tilewright embed --similar-to '{QUESTION}' ...")
    failed = environment.run("tilewright", "embed", "--similar-to", QUESTION, *TEXTS, check=False)
    if failed:
        return failed
    say("tilewright bench")
    return environment.run("tilewright", "bench", *rest, check=False)
