"""A conversation as one text, by the template that a model's files have for it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tilewright.models.decoders.templates import (
    TooMuch,
    environment_class,
    generation_class,
    rendered,
)
from tilewright.models.files.errors import fail
from tilewright.operands import invalid, shown

# The longest that are in use have a third of it.
MOST_SOURCE = 1 << 16
ROLES = ("system", "user", "assistant", "tool")
# What transformers gives a template that is asked for neither, which asks whether they are none.
NOTHING = {"tools": None, "documents": None}


class Chat:
    """A template of Jinja, which is run in a sandbox."""

    def __init__(
        self, file: object, source: str, bos: str | None, eos: str | None,
        others: Mapping[str, str | None] | None = None,
    ) -> None:  # fmt: skip
        """`others` are tokens by the names that templates have for them, such as pad_token."""
        self.file, self.source = file, source
        self.words = {name: word for name, word in (others or {}).items() if word is not None}
        self.words |= {"bos_token": bos or "", "eos_token": eos or ""}
        self._made: Any = None

    def text(self, call: str, messages: Sequence[Mapping[str, Any]]) -> str:
        """What the model goes on with as its answer."""
        given = checked_messages(call, messages)
        library()
        try:
            values = {"messages": given, "add_generation_prompt": True, **NOTHING, **self.words}
            return rendered(self._template(), values)
        except Exception as error:
            fail(self.file, f"its chat template fails: {error}")

    def _template(self) -> Any:
        if self._made is None:
            if len(self.source) > MOST_SOURCE:
                raise TooMuch(
                    f"it has {len(self.source)} characters, expected at most {MOST_SOURCE}"
                )
            environment = environment_class()(
                trim_blocks=True, lstrip_blocks=True,
                extensions=["jinja2.ext.loopcontrols", generation_class()],
            )  # fmt: skip
            environment.filters["tojson"] = environment.filter("tojson", to_json)
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
    found = []
    for i, one in enumerate(messages):
        content = text_of(one.get("content")) if isinstance(one, Mapping) else None
        if content is None:
            invalid(call, f"messages[{i}] is {shown(one)}, expected a role and a text as content")
        if one.get("role") not in ROLES:
            invalid(
                call, f"messages[{i}] has the role {one.get('role')!r}, expected one of "
                f"{', '.join(ROLES)}"
            )  # fmt: skip
        found.append({**one, "content": content})
    return found


def text_of(content: Any) -> str | None:
    """A content that is a text, or a list of parts of the type text; None of another."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return None
    parts = [
        one.get("text") for one in content if isinstance(one, Mapping) and one.get("type") == "text"
    ]
    if len(parts) < len(content) or not all(isinstance(one, str) for one in parts):
        return None
    return "".join(map(str, parts))


def to_json(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None,
    sort_keys: bool = False,
) -> str:  # fmt: skip
    """In the order that transformers has it, and without the marks of HTML that Jinja's own has."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def refuse(message: str) -> NoReturn:
    raise ValueError(message)
