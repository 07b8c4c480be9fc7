"""The file of results, which the library reads when it opens the device."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .search import Finding, Key


def kept_lines(path: Path, head: str) -> dict[Key, str]:
    """The entries of a file that the library took, by what they decide."""
    lines: dict[Key, str] = {}
    content = path.read_text(encoding="utf-8", errors="replace")
    for line in content.removeprefix(head).split("\n"):
        words = line.partition("#")[0].split()
        if words:
            point, sizes, flags, _ = words
            lines[point, sizes, flags] = line
    return lines


def merged(kept: dict[Key, str], findings: Iterable[Finding]) -> dict[Key, str]:
    """New results replace old ones; where the rule is best there is no entry."""
    lines = dict(kept)
    for finding in findings:
        lines.pop(finding.key, None)
        if finding.best != finding.rule:
            entry = " ".join((*finding.key, finding.best))
            lines[finding.key] = f"{entry}  # {finding.gain:.2f} times as fast as {finding.rule}"
    return lines


def write(path: Path, head: str, lines: dict[Key, str]) -> None:
    """Another process sees the old file or the new one, never a part."""
    content = head + "".join(line + "\n" for _, line in sorted(lines.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
