"""What the bodies of the routes ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright._core import InvalidArgument
from tilewright.models.decoders.choice import Sampling
from tilewright.models.files.errors import shown
from tilewright.serving.errors import refuse
from tilewright.serving.fields import Fields, checked_text

MOST_STOPS = 4
MOST_CHOICES = 16
MOST_PROMPTS = 64
MOST_INPUTS = 2048
MOST_TOKENS = 1 << 24

SAMPLING = (
    "model", "max_tokens", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed",
    "stop", "stream", "stream_options", "n", "user",
)  # fmt: skip
# What OpenAI's has and is nothing by these values.
NOTHING: dict[str, Any] = {
    "frequency_penalty": (0, 0.0), "presence_penalty": (0, 0.0), "logit_bias": ({},),
    "metadata": ({},), "store": (False,), "service_tier": ("auto", "default"),
}  # fmt: skip
OF_CHAT = {
    **NOTHING, "logprobs": (False,), "top_logprobs": (0,), "tools": ([],), "functions": ([],),
    "tool_choice": ("none", "auto"), "parallel_tool_calls": (True, False),
    "response_format": ({"type": "text"},), "modalities": (["text"],),
}  # fmt: skip
OF_COMPLETIONS = {**NOTHING, "best_of": (1,), "suffix": ("",), "logprobs": ()}
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant",
         "tool": "tool"}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """How texts are to go on."""

    model: str | None
    max_tokens: int | None
    how: Sampling
    seed: int | None
    stops: list[str]
    choices: int
    streams: bool
    with_usage: bool
    """Whether a stream ends with the numbers of tokens."""


def sampled(fields: Fields, max_tokens: int | None) -> Asked:
    options = fields.body.get("stream_options", {})
    if not isinstance(options, dict) or not set(options) <= {"include_usage"}:
        refuse(
            "stream_options", f"stream_options is {shown(options)}, expected include_usage alone"
        )
    inner = Fields(options, ("include_usage",), {})
    how = Sampling(
        fields.real("temperature", 0, 2, 1),
        fields.integer("top_k", 0, 1 << 24, 0) or 0,
        fields.real("top_p", 0, 1, 1),
        fields.real("min_p", 0, 1, 0),
        fields.real("repetition_penalty", 0, 1e4, 1),
    )
    try:
        how.check("sampling")
    except InvalidArgument as error:
        message = str(error).partition(": ")[2]
        refuse(message.split()[0], message)
    fields.text("user")
    seed = fields.integer("seed", -(1 << 63), (1 << 63) - 1)
    return Asked(
        fields.text("model"), max_tokens, how, None if seed is None else seed % (1 << 64),
        fields.texts("stop", MOST_STOPS), fields.integer("n", 1, MOST_CHOICES, 1) or 1,
        fields.flag("stream"), inner.flag("include_usage"),
    )  # fmt: skip


def chat(body: Mapping[str, Any]) -> tuple[Asked, list[dict[str, str]]]:
    """And the messages."""
    fields = Fields(body, (*SAMPLING, "messages", "max_completion_tokens"), OF_CHAT)
    both = [
        fields.integer(name, 1, MOST_TOKENS) for name in ("max_tokens", "max_completion_tokens")
    ]
    if None not in both:
        refuse("max_tokens", "max_tokens and max_completion_tokens are both there, expected one")
    return sampled(fields, both[0] or both[1]), messages(fields.body.get("messages"))


def messages(given: Any) -> list[dict[str, str]]:
    if not isinstance(given, list) or not given:
        refuse("messages", f"messages is {shown(given)}, expected a list of role and content")
    found = []
    for i, one in enumerate(given):
        where = f"messages[{i}]"
        if not isinstance(one, dict):
            refuse("messages", f"{where} is {shown(one)}, expected an object of role and content")
        role = one.get("role")
        if not isinstance(role, str) or role not in ROLES:
            refuse("messages", f"{where}.role is {shown(role)}, expected one of {', '.join(ROLES)}")
        for name, value in one.items():
            if name not in ("role", "content", "name") and value not in (None, [], {}):
                refuse("messages", f"{where} has the field {shown(name)}, which is not supported; "
                       "there are role, content and name")  # fmt: skip
        found.append({"role": ROLES[role], "content": content(f"{where}.content", one)})
    return found


def content(where: str, message: Mapping[str, Any]) -> str:
    """A text, or parts that are texts."""
    given = message.get("content")
    if not isinstance(given, list):
        return checked_text(where, given, "messages")
    texts = []
    for i, part in enumerate(given):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text":
            refuse("messages", f"{where}[{i}] is of the type {shown(kind)}, expected text: the "
                   "model takes texts alone")  # fmt: skip
        texts.append(checked_text(f"{where}[{i}].text", part.get("text"), "messages"))
    return "".join(texts)


def completions(body: Mapping[str, Any]) -> tuple[Asked, list[str | list[int]], bool]:
    """And the prompts, and whether they are said again."""
    fields = Fields(body, (*SAMPLING, "prompt", "echo"), OF_COMPLETIONS)
    prompts = several("prompt", fields.body.get("prompt"), MOST_PROMPTS)
    most = fields.integer("max_tokens", 1, MOST_TOKENS, 16)
    asked = sampled(fields, most)
    if len(prompts) * asked.choices > MOST_PROMPTS:
        refuse("n", f"{len(prompts)} prompts of {asked.choices} choices each are more than "
               f"{MOST_PROMPTS} texts")  # fmt: skip
    return asked, prompts, fields.flag("echo")


@dataclass(frozen=True)
class AskedRows:
    """Which embeddings are wanted."""

    model: str | None
    inputs: list[str | list[int]]
    as_bytes: bool
    """Whether numbers come as base64 of their bytes."""
    dimensions: int | None
    """The first numbers of each that are kept."""
    prompt_name: str | None


def embeddings(body: Mapping[str, Any]) -> AskedRows:
    known = ("model", "input", "encoding_format", "user", "dimensions", "prompt_name")
    fields = Fields(body, known, {})
    fields.text("user")
    form = fields.text("encoding_format", "float")
    if form not in ("float", "base64"):
        refuse("encoding_format", f"encoding_format is {shown(form)}, expected float or base64")
    inputs = several("input", fields.body.get("input"), MOST_INPUTS)
    return AskedRows(
        fields.text("model"), inputs, form == "base64", fields.integer("dimensions", 1, 1 << 24),
        fields.text("prompt_name"),
    )  # fmt: skip


def several(name: str, given: Any, most: int) -> list[str | list[int]]:
    """Texts or tokens, of which one may stand alone."""
    if isinstance(given, str) or (isinstance(given, list) and given and is_token(given[0])):
        given = [given]
    if not isinstance(given, list) or not 1 <= len(given) <= most:
        many = f"of length {len(given)}" if isinstance(given, list) else shown(given)
        refuse(
            name, f"{name} is {many}, expected a text, tokens, or a list of 1 to {most} of these"
        )
    found: list[str | list[int]] = []
    for i, one in enumerate(given):
        where = name if len(given) == 1 else f"{name}[{i}]"
        if isinstance(one, list):
            wrong = next((token for token in one if not is_token(token)), None)
            if wrong is not None or not one:
                said = "empty" if not one else f"of tokens with {shown(wrong)} among them"
                refuse(name, f"{where} is {said}, expected integers from 0 on")
            found.append(list(one))
        else:
            found.append(checked_text(where, one, name))
    return found


def is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
