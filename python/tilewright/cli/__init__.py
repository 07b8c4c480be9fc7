"""The command `tilewright`, also `python -m tilewright`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import tilewright

from . import bench, chat, doctor, embed, generate, info, serve, tune
from .options import FAILED, INTERRUPTED, WRONG_USE, Parser, WrongUse

_COMMANDS = {
    "info": info,
    "doctor": doctor,
    "bench": bench,
    "tune": tune,
    "embed": embed,
    "generate": generate,
    "chat": chat,
    "serve": serve,
}


def _parser() -> Parser:
    parser = Parser(prog="tilewright", description="One compute backend, any GPU.")
    parser.add_argument(
        "--version", action="version", version=f"tilewright {tilewright.__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=f"{module.HELP}.")
        module.add_arguments(command)
        command.add_argument(
            "--debug", action="store_true", help="show where in the code an error came from"
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code: 0 fine, 1 a fault was found or an op failed, 2
    wrong use, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    try:
        _check_output(arguments.command)
        code: int = _COMMANDS[arguments.command].run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except WrongUse as error:
        code, message = WRONG_USE, str(error)
    except tilewright.Error as error:
        code, message = FAILED, str(error)
        if arguments.debug:
            traceback.print_exc()
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "interrupted"
    except BrokenPipeError:
        # Who read the output has gone, as `head` does; nor is there anywhere to flush the rest.
        _let_go_of_output()
        return FAILED
    except OSError as error:
        code, message = FAILED, f"{error.filename or 'the output'}: {error.strerror or error}"
        if arguments.debug:
            traceback.print_exc()
        _let_go_of_output()
    print(f"tilewright: {message}", file=sys.stderr)
    return code


def _check_output(command: str) -> None:
    """Standard output takes what its encoding has no character for; a server needs none."""
    if sys.stdout is None and command != "serve":
        raise WrongUse("standard output is closed")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _let_go_of_output() -> None:
    """What is left of it goes nowhere, at the end of the process too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
