"""The page of the array API standard's functions says what each device computes."""

from __future__ import annotations

from pathlib import Path

from tilewright import Backend

from .standard import column_of, computed

PAGE = Path(__file__).parents[2] / "docs" / "standard.md"


def test_the_page_says_what_is_computed(be: Backend) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert computed(be) == column_of(page, be.name), "write it: python tools/standard_table.py"
