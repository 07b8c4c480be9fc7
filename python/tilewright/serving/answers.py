"""The objects of JSON that the routes answer with."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from tilewright.serving.worker import End


def event(value: object) -> bytes:
    """One of a stream."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


@dataclass
class Texts:
    """Answers of chat/completions or of completions, whole and in pieces."""

    model: str
    is_chat: bool
    prompt_tokens: list[int]
    """Of each prompt."""
    choices: int
    """Of each prompt."""
    id: str = ""
    created: int = 0
    ends: dict[int, End] = field(default_factory=dict)

    def __post_init__(self) -> None:
        prefix = "chatcmpl" if self.is_chat else "cmpl"
        self.id = f"{prefix}-{secrets.token_hex(12)}"
        self.created = int(time.time())

    def usage(self) -> dict[str, Any]:
        made = sum(end.tokens for end in self.ends.values())
        prompts = sum(self.prompt_tokens)
        # Of several choices of a prompt, what the first found.
        found = sum(end.found for i, end in self.ends.items() if i % self.choices == 0)
        return {
            "prompt_tokens": prompts,
            "completion_tokens": made,
            "total_tokens": prompts + made,
            "prompt_tokens_details": {"cached_tokens": found},
        }

    def whole(self, texts: list[str]) -> dict[str, Any]:
        choices = [
            {
                "index": i,
                **({"message": {"role": "assistant", "content": text, "refusal": None}}
                   if self.is_chat else {"text": text}),
                "logprobs": None,
                "finish_reason": self.ends[i].reason,
            }
            for i, text in enumerate(texts)
        ]  # fmt: skip
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": choices, "usage": self.usage()}

    def piece(
        self, index: int, text: str | None, reason: str | None = None, *, usage: bool = False
    ) -> dict[str, Any]:
        """Of a stream; a text None is the beginning of a message."""
        said: dict[str, Any] = {"text": text or ""}
        if self.is_chat:
            delta: dict[str, Any] = {"content": text} if text else {}
            said = {"delta": {"role": "assistant", "content": ""} if text is None else delta}
        choice = {"index": index, **said, "logprobs": None, "finish_reason": reason}
        kind = "chat.completion.chunk" if self.is_chat else "text_completion"
        return {
            **self._head(kind), "choices": [choice], **({"usage": None} if usage else {}),
        }  # fmt: skip

    def last(self) -> dict[str, Any]:
        """What a stream ends with where numbers were asked for."""
        kind = "chat.completion.chunk" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": [], "usage": self.usage()}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}
