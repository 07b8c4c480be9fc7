"""A worker as its parent sees it: asked one thing at a time, ended when it does not answer."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any


class WorkerFailed(Exception):
    """The worker answered that it failed, ended, or did not answer in time. It is gone."""


class WorkerProcess:
    def __init__(self, device: str, timeout: float) -> None:
        self._timeout = timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by end())
        # In a group of its own, so that Ctrl-C on the terminal reaches the parent alone.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tilewright.cli.tuning.worker", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={k: v for k, v in os.environ.items() if k != "TILEWRIGHT_TUNING"},
            start_new_session=True,
            text=True,
            encoding="utf-8",
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Answers as they come, and an empty one at the end."""
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            for line in stdout:
                self._answers.put(line)
        self._answers.put("")

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"ask": what, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=self._timeout)
        except BrokenPipeError:
            line = ""
        except queue.Empty:
            self.end()
            raise WorkerFailed(f"no answer within {self._timeout:g} s") from None
        if not line:
            how = self._how_it_ended()
            self.end()
            raise WorkerFailed(how)
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            self.end()
            raise WorkerFailed(answer["failed"])
        return answer

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._errors.close()

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"its process ended with code {code}" + (f": {lines[-1]}" if lines else "")
