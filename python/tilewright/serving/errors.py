"""What a client is told that did not get what it asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn


class ApiError(Exception):
    """An answer with OpenAI's object of an error; `param` is the field that was wrong."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.headers = dict(headers or {})

    @property
    def kind(self) -> str:
        if self.status == 401:
            return "authentication_error"
        if self.status == 429:
            return "rate_limit_error"
        return "invalid_request_error" if self.status < 500 else "server_error"

    def body(self) -> dict[str, object]:
        error = {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def text(self) -> bytes:
        return json.dumps(self.body()).encode()


def refuse(param: str, message: str, code: str | None = None) -> NoReturn:
    """What was asked cannot be done, for a field's sake."""
    raise ApiError(400, message, param=param, code=code)
