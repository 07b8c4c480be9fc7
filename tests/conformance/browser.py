"""A browser without a window, told what to do through a pipe."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# A folder that Debian's packages were unpacked in; ./dev test sets it.
FOLDER = "TILEWRIGHT_TEST_CHROMIUM"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 60

FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{folder}/usr/share/fonts</dir><cachedir>{cache}</cachedir></fontconfig>"""

# The browser reads what it is told from 3, and answers to 4.
START = """
import fcntl, os, sys
high = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
for own, wanted in zip(high, (3, 4)):
    os.dup2(own, wanted)
    os.close(own)
os.execv(sys.argv[3], sys.argv[3:])
"""

KEYS = {"Enter": 13, "Tab": 9}


def program(scratch: Path) -> tuple[str, dict[str, str]]:
    """The browser, and the variables that it runs with."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        base = Path(folder)
        libraries = [base / "usr/lib/chromium"]
        for place in (base / "lib", base / "usr/lib"):
            for triple in place.glob("*-linux-gnu"):
                libraries += [triple, triple / "nss", triple / "pulseaudio"]
        fonts = scratch / "fonts.conf"
        fonts.write_text(FONTS.format(folder=base, cache=scratch / "fonts"))
        variables = {
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)), "FONTCONFIG_FILE": str(fonts),
        }  # fmt: skip
        return str(base / "usr/lib/chromium/chromium-headless-shell"), variables
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, (
        f"the test of the chat page needs Chromium: ./dev test unpacks Debian's, elsewhere install "
        f"one of {', '.join(NAMES)}, or set {FOLDER}"
    )
    return found, {}


class Browser:
    """One page of a browser of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        scratch = Path(self._folder.name)
        path, variables = program(scratch)
        theirs, self._to = os.pipe()
        self._from, other = os.pipe()
        words = [
            path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking",
            "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={scratch / 'data'}", "about:blank",
        ]  # fmt: skip
        start = [sys.executable, "-c", START, str(theirs), str(other)]
        self._log = (scratch / "log").open("w+")
        self._process = subprocess.Popen(
            [*start, *words], pass_fds=(theirs, other), env=os.environ | variables,
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        os.close(other)
        self._number, self._read = 0, b""
        #: what the page complained of
        self.complaints: list[str] = []
        self._session: str | None = None

    def __enter__(self) -> Browser:
        try:
            made = self.tell("Target.createTarget", url="about:blank")
            attached = self.tell("Target.attachToTarget", targetId=made["targetId"], flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.tell(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        with contextlib.suppress(OSError, AssertionError):
            self.tell("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._log.close()
        self._folder.cleanup()

    def tell(self, method: str, **options: Any) -> Any:
        """One command of the DevTools protocol, and its answer."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": options}
        if self._session is not None:
            said["sessionId"] = self._session
        data = json.dumps(said).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, (method, found)
                return found["result"]
            self._note(found)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            is_there, _, _ = select.select([self._from], [], [], SECONDS)
            assert is_there, f"the browser says nothing for {SECONDS} seconds"
            piece = os.read(self._from, 1 << 16)
            if not piece:
                self._log.seek(0)
                raise AssertionError(f"the browser ended: {self._log.read()[-2000:]}")
            self._read += piece
        line, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        options = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = options["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", str(details)))
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(options["entry"]["text"])

    def open(self, address: str) -> None:
        self.tell("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def forget(self) -> None:
        """An empty page, and none of what the pages before it complained of."""
        self.tell("Page.navigate", url="about:blank")
        self.wait("document.readyState === 'complete' && location.href === 'about:blank'")
        self.complaints.clear()

    def value(self, expression: str) -> Any:
        """Of JavaScript in the page."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, (expression, found)
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < end, (expression, self.value("document.body.innerText"))
            time.sleep(0.01)

    def type(self, selector: str, text: str) -> None:
        self.value(f"document.querySelector({selector!r}).focus()")
        self.tell("Input.insertText", text=text)

    def press(self, key: str) -> None:
        options = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.tell("Input.dispatchKeyEvent", type="keyDown", **options, **text)
        self.tell("Input.dispatchKeyEvent", type="keyUp", **options)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of an element that can be seen there."""
        box = self.value(
            f"(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2, box.width]; })()"
        )
        assert box[2] > 0, selector
        for kind in ("mousePressed", "mouseReleased"):
            self.tell(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                clickCount=1,
            )  # fmt: skip

    def resize(self, width: int, height: int, *, phone: bool = False, dark: bool = False) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        found = self.tell("Page.captureScreenshot", format="png")
        return base64.b64decode(found["data"])
