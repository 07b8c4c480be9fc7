"""Connections: requests in, answers out, until the server is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.serving import http
from tilewright.serving.app import JSON, allowed
from tilewright.serving.errors import ApiError
from tilewright.serving.http import Request, Response

if TYPE_CHECKING:
    from tilewright.serving.app import App


LINGER_SECONDS = 2.0
# Between two looks whether a client that sends no more has gone.
FIRST_LOOK, LAST_LOOK = 0.01, 1.0
# A header's name, as a page may ask for.
NAMES = re.compile(r"[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*", re.ASCII)


@dataclass(frozen=True)
class Limits:
    """What one client may take."""

    body: int = 4 << 20
    """Bytes of a request."""
    connections: int = 1024
    idle_seconds: float = 75.0
    """Between two requests of a connection."""
    slow_seconds: float = 30.0
    """For a body to come, and for a part of an answer to be taken."""
    grace_seconds: float = 5.0
    """For answers to end when the server does."""


class Connection(asyncio.StreamReaderProtocol):
    """Says at once when its client leaves, also while an answer is computed."""

    def __init__(self, server: Server) -> None:
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(http.MOST_HEAD, loop)
        super().__init__(self._reader, loop=loop)
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self._transport: Any = None
        self.is_busy = False
        #: what may be sent now and says nothing, to see whether there is a client
        self.nothing = b""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._transport = transport
        loop = asyncio.get_running_loop()
        writer = asyncio.StreamWriter(transport, self, self._reader, loop)
        self._task = loop.create_task(self._server.converse(self, self._reader, writer))
        self._server.tasks[self._task] = self
        self._task.add_done_callback(self._server.forget)

    def eof_received(self) -> bool:
        self.probe()
        return bool(super().eof_received())

    def probe(self) -> None:
        """Finds out whether a client that sends no more has gone, or waits for its answer: one that
        has gone refuses what is sent to it."""
        if self.is_busy:
            self._transport.write(self.nothing)
            self._look(FIRST_LOOK)

    def _look(self, seconds: float) -> None:
        if not self.is_busy or self._transport.is_closing():
            return
        made = self._transport.get_extra_info("socket")
        if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._leave()
            return
        loop = asyncio.get_running_loop()
        loop.call_later(seconds, self._look, min(2 * seconds, LAST_LOOK))

    def connection_lost(self, error: Exception | None) -> None:
        self._leave()
        super().connection_lost(error)

    def _leave(self) -> None:
        if self.is_busy and self._task is not None:
            self._task.cancel()


class Server:
    """An App on an address."""

    def __init__(
        self, app: App, host: str = "127.0.0.1", port: int = 8000, *, cors: str | None = None,
        limits: Limits | None = None, log: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.app, self.host, self.port = app, host, port
        self.cors, self.limits = cors, limits or Limits()
        self.tasks: dict[asyncio.Task[None], Connection] = {}
        self._log = log
        self._is_ending = False
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def stop(self) -> None:
        """Ends the server, from any thread; a second time without waiting for answers."""
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._on_stop)

    def forget(self, task: asyncio.Task[None]) -> None:
        del self.tasks[task]

    def _on_stop(self) -> None:
        assert self._stop is not None
        if self._stop.is_set():
            for task in list(self.tasks):
                task.cancel()
        self._stop.set()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serves until stop(); ready() is called when clients may come."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.app.start()
        try:
            listening = await self._loop.create_server(
                lambda: Connection(self), self.host, self.port, reuse_address=True, backlog=1024
            )
            self.port = listening.sockets[0].getsockname()[1]
            ready()
            await self._stop.wait()
            self._is_ending = self.app.worker.is_closing = True
            listening.close()
            for task, connection in list(self.tasks.items()):
                if not connection.is_busy:
                    task.cancel()
            if self.tasks:
                await asyncio.wait(list(self.tasks), timeout=self.limits.grace_seconds)
        finally:
            await self.app.worker.close()
            # What is still there has been told by the worker; it may say so.
            if self.tasks:
                await asyncio.wait(list(self.tasks), timeout=1)
            for task in list(self.tasks):
                task.cancel()
            if self.tasks:
                await asyncio.wait(list(self.tasks))

    async def converse(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """The requests of a connection, one after another."""
        try:
            made: Any = writer.get_extra_info("socket")
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if len(self.tasks) > self.limits.connections:
                error = ApiError(503, f"{len(self.tasks)} connections are open, expected at most "
                                 f"{self.limits.connections}",
                                 headers={"Retry-After": "1"})  # fmt: skip
                await self._send(connection, writer, None, self._refusal(error), closes=True)
                await self._linger(reader, writer)
                return
            while await self._one(connection, reader, writer):
                pass
        except (ConnectionError, asyncio.CancelledError, TimeoutError):
            writer.transport.abort()
        except Exception:
            traceback.print_exc(file=sys.stderr)
            writer.transport.abort()
        finally:
            writer.close()

    async def _one(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request; whether another may follow."""
        request: Request | None = None
        closes, is_read = True, False
        start = time.monotonic()
        try:
            head = await http.read_request(reader, self.limits.body, self.limits.idle_seconds)
            if head is None:
                return False
            start = time.monotonic()
            connection.is_busy = True
            request = http.parse_head(head)
            length = http.body_length(request, self.limits.body)
            if request.headers.get("expect", "").lower() == "100-continue" and length:
                writer.write(http.CONTINUE)
            async with asyncio.timeout(self.limits.slow_seconds):
                request = replace(request, body=await reader.readexactly(length))
            is_read = True
            connection.nothing = http.CONTINUE if request.version == "HTTP/1.1" else b""
            if reader.at_eof():
                connection.probe()
            closes = not request.keeps_alive or self._is_ending
            response = await self._answer(request)
        except ApiError as error:
            response = self._refusal(error)
        except asyncio.IncompleteReadError:
            return False
        except TimeoutError:
            response = self._refusal(ApiError(408, "the body did not come in time"))
        except Exception:
            traceback.print_exc(file=sys.stderr)
            response = self._refusal(ApiError(500, "a fault of the server"))
        try:
            await self._send(connection, writer, request, response, closes=closes)
            if not is_read:
                await self._linger(reader, writer)
        finally:
            response.close()
            connection.is_busy = False
        self._count(request, response, time.monotonic() - start)
        return not closes and not self._is_ending

    async def _linger(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads for a while what nobody wants: a client that still sends when the connection is
        closed does not get to see the answer."""
        writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await reader.read(1 << 16):
                    pass

    async def _answer(self, request: Request) -> Response:
        self._check_host(request)
        if request.method == "OPTIONS":
            method = self.app.routes.get(request.path, "GET")
            return Response(204, headers={"Allow": allowed(method)})
        handler = self.app.handler(request)
        return await handler(request)

    def _check_host(self, request: Request) -> None:
        """A page that calls itself by a name of this machine's is not let in by that name."""
        if not is_loopback(self.host):
            return
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if host and not is_loopback(name.strip("[]")):
            raise ApiError(421, f"Host is {host[:80]!r}, expected localhost or {self.host}; "
                           "--host 0.0.0.0 takes any")  # fmt: skip

    def _refusal(self, error: ApiError) -> Response:
        return Response(error.status, error.text(), {**JSON, **error.headers})

    async def _send(
        self, connection: Connection, writer: asyncio.StreamWriter, request: Request | None,
        response: Response, *, closes: bool,
    ) -> None:  # fmt: skip
        connection.nothing = b""
        self._allow_origin(request, response)
        version = "HTTP/1.1" if request is None else request.version
        is_head = request is not None and request.method == "HEAD"
        body = response.body
        if isinstance(body, bytes):
            writer.write(http.head_of(response, length=len(body), closes=closes))
            if not is_head:
                writer.write(body)
            await self._drain(writer)
            return
        writer.write(http.head_of(response, length=None, closes=closes, version=version))
        # A comment of an event stream.
        connection.nothing = http.chunk(b":\n\n") if version == "HTTP/1.1" else b":\n\n"
        async for piece in body:
            writer.write(http.chunk(piece) if version == "HTTP/1.1" else piece)
            await self._drain(writer)
        connection.nothing = b""
        if version == "HTTP/1.1":
            writer.write(http.LAST_CHUNK)
        await self._drain(writer)

    async def _drain(self, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self.limits.slow_seconds):
            await writer.drain()

    def _allow_origin(self, request: Request | None, response: Response) -> None:
        origin = None if request is None else request.headers.get("origin")
        if self.cors is None or origin is None or self.cors not in ("*", origin):
            return
        response.headers["Access-Control-Allow-Origin"] = self.cors
        response.headers["Vary"] = "Origin"
        if request is not None and request.method == "OPTIONS":
            response.headers["Access-Control-Allow-Methods"] = "GET, POST"
            # Clients send headers of their own, such as OpenAI's x-stainless-os.
            wish = request.headers.get("access-control-request-headers", "")
            named = wish if NAMES.fullmatch(wish) else "authorization, content-type"
            response.headers["Access-Control-Allow-Headers"] = named
            response.headers["Vary"] = "Origin, Access-Control-Request-Headers"
            response.headers["Access-Control-Max-Age"] = "600"

    def _count(self, request: Request | None, response: Response, seconds: float) -> None:
        path = request.path if request is not None and request.path in self.app.routes else "other"
        key = (path, response.status)
        self.app.answered[key] = self.app.answered.get(key, 0) + 1
        if self._log is not None:
            line = "?" if request is None else f"{request.method} {json.dumps(request.path[:200])}"
            self._log(f"{line} {response.status} {seconds:.3f} s")


def is_loopback(name: str) -> bool:
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
