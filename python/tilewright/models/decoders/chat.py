"""A conversation as one text, by the template that a model's files have for it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tilewright.models.files.errors import fail
from tilewright.operands import invalid, shown

ROLES = ("system", "user", "assistant", "tool")


class Chat:
    """A template of Jinja, which is run in a sandbox."""

    def __init__(self, file: object, source: str, bos: str | None, eos: str | None) -> None:
        self.file, self.source = file, source
        self.words = {"bos_token": bos or "", "eos_token": eos or ""}
        self._made: Any = None

    def text(self, call: str, messages: Sequence[Mapping[str, Any]]) -> str:
        """What the model goes on with as its answer."""
        given = checked_messages(call, messages)
        try:
            return str(
                self._template().render(messages=given, add_generation_prompt=True, **self.words)
            )
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            fail(self.file, f"its chat template fails: {error}")
        except self._errors() as error:
            fail(self.file, f"its chat template fails: {error}")

    def _errors(self) -> type[Exception]:
        kind: type[Exception] = library().exceptions.TemplateError
        return kind

    def _template(self) -> Any:
        if self._made is None:
            sandbox = importlib.import_module("jinja2.sandbox")
            environment = sandbox.ImmutableSandboxedEnvironment(
                trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
            )
            environment.filters["tojson"] = to_json
            environment.globals["raise_exception"] = refuse
            environment.globals["strftime_now"] = time.strftime
            self._made = environment.from_string(self.source)
        return self._made


def library() -> Any:
    try:
        return importlib.import_module("jinja2")
    except ImportError:
        raise ImportError(
            "chat templates need the package jinja2: pip install tilewright[models]"
        ) from None


def checked_messages(call: str, messages: Any) -> list[dict[str, Any]]:
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence) or not messages:
        invalid(call, f"messages is {shown(messages)}, expected a list of role and content")
    for i, one in enumerate(messages):
        if not isinstance(one, Mapping) or not isinstance(one.get("content"), str):
            invalid(call, f"messages[{i}] is {shown(one)}, expected a role and a text as content")
        if one.get("role") not in ROLES:
            invalid(
                call, f"messages[{i}] has the role {one.get('role')!r}, expected one of "
                f"{', '.join(ROLES)}"
            )  # fmt: skip
    return [dict(one) for one in messages]


def to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def refuse(message: str) -> NoReturn:
    raise ValueError(message)
