"""Writes the tables of docs/standard.md: which functions of the array API standard each backend
computes, and of which kinds of dtypes.

    python tools/standard_table.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import tilewright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.conformance.standard import computed, tables  # noqa: E402

PAGE = ROOT / "docs" / "standard.md"
MARK = "<!-- tables -->\n"

columns = {}
for name in ("cpu", "webgpu", "level-zero"):
    with tilewright.init_backend(name) as backend:
        columns[name] = computed(backend)
text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
PAGE.write_text(text + MARK + tables(columns), encoding="utf-8")
