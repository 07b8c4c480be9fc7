"""HTTP/1.1 as far as an API needs it: requests with a length, answers whole or in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import unquote

from tilewright.serving.errors import ApiError

MOST_HEAD = 32 << 10


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    version: str
    headers: dict[str, str]
    """By names in small letters."""
    body: bytes = b""

    @property
    def keeps_alive(self) -> bool:
        wish = self.headers.get("connection", "").lower()
        return "close" not in wish if self.version == "HTTP/1.1" else "keep-alive" in wish


@dataclass
class Response:
    status: int
    body: bytes | AsyncIterator[bytes] = b""
    """All of it, or pieces as they come."""
    headers: dict[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    """What to do when the answer is given or its client has gone."""


def parse_head(head: bytes) -> Request:
    """A request without its body."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[1].startswith(("/", "*")):
        raise ApiError(400, "the request does not begin with a method, a path and HTTP/1.1")
    method, target, version = words
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise ApiError(505, f"the request is of {version[:20]!r}, expected HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise ApiError(400, f"the header line {line[:60]!r} is not a name, a colon and a value")
        name = name.lower()
        if name in headers and name in ("content-length", "host", "transfer-encoding"):
            raise ApiError(400, f"the header {name} is there twice")
        # Not what is a space in Latin-1 alone, which may be a part of a character of UTF-8.
        headers[name] = value.strip(" \t")
    return Request(method, unquote(target.partition("?")[0]), version, headers)


def body_length(request: Request, most: int) -> int:
    """Of what follows the head."""
    if "transfer-encoding" in request.headers:
        raise ApiError(411, "bodies in chunks are not read; send Content-Length")
    said = request.headers.get("content-length", "0")
    if not (said.isascii() and said.isdigit()):
        raise ApiError(400, f"Content-Length is {said[:40]!r}, expected a number of bytes")
    # So long a number is too large anyway, and Python refuses to read very long ones.
    length = int(said[:20])
    if length > most:
        raise ApiError(413, f"the body has {said[:20]} bytes, expected at most {most}")
    return length


async def read_request(reader: asyncio.StreamReader, most: int, seconds: float) -> bytes | None:
    """The head of the next request, None where the client has gone or is silent."""
    try:
        async with asyncio.timeout(seconds):
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise ApiError(431, f"the head has more than {MOST_HEAD} bytes") from None
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
        return None
    # Empty lines in front of a request are not of it.
    return head[:-4].lstrip(b"\r\n")


def head_of(
    response: Response, *, length: int | None, closes: bool, version: str = "HTTP/1.1"
) -> bytes:
    """Of an answer; `length` None is for one in chunks, or up to the end of the connection."""
    phrase = HTTPStatus(response.status).phrase
    headers = dict(response.headers)
    if length is not None:
        if response.status != 204:
            headers["Content-Length"] = str(length)
    elif version == "HTTP/1.1":
        headers["Transfer-Encoding"] = "chunked"
    headers["Connection"] = "close" if closes else "keep-alive"
    lines = [f"HTTP/1.1 {response.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
