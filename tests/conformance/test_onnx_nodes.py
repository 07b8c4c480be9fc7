"""Every operator of ONNX that docs/onnx.md lists, by ONNX's own tests of it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import tilewright
from tilewright import Backend

from . import onnx_cases
from .onnx_cases import WITHOUT_FLOAT64, Case, cases, host, listed


def test_the_page_lists_what_is_there() -> None:
    text = onnx_cases.PAGE.read_text(encoding="utf-8")
    match = onnx_cases.MARKED.search(text)
    assert match is not None
    assert match[2] == onnx_cases.table(), "write it: python tools/onnx_table.py"


def run(be: Backend, folder: Path, case: Case) -> None:
    path = folder / "model.onnx"
    onnx.save(case.model, path)
    model = tilewright.models.load(path, be)
    for inputs, outputs in case.sets:
        given = [host(one) for one in inputs]
        # As it is, recorded, and replayed.
        for _ in range(3):
            onnx_cases.check(case, model(*given), outputs)


#: what the standard makes of Attention by other operators takes long
EXPANDED = pytest.param("Attention", True, marks=pytest.mark.exhaustive, id="Attention expanded")


@pytest.mark.parametrize(
    ("operator", "expanded"), [*((name, None) for name in listed() if name != "Attention"),
                               ("Attention", False), EXPANDED],
)  # fmt: skip
def test_operator(be: Backend, tmp_path: Path, operator: str, expanded: bool | None) -> None:
    for case in cases()[operator]:
        if case.why_not() is not None or expanded not in (None, "_expanded" in case.name):
            continue
        try:
            if case.has_float64 and operator in WITHOUT_FLOAT64.get(be.name, ()):
                with pytest.raises(tilewright.Unsupported, match=r"node .*float64"):
                    run(be, tmp_path, case)
            else:
                run(be, tmp_path, case)
        except Exception as error:
            error.add_note(case.name)
            raise
