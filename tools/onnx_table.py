"""Writes the table of docs/onnx.md: the operators of ONNX, and how many of ONNX's own tests run of
each, which tests/conformance/test_onnx_nodes.py runs on every device.

    python tools/onnx_table.py            write it
    python tools/onnx_table.py --check    fail where docs/onnx.md has another one
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from conformance import onnx_cases

    text = onnx_cases.PAGE.read_text(encoding="utf-8")
    made = onnx_cases.MARKED.sub(lambda match: match[1] + onnx_cases.table() + match[3], text)
    if made == text:
        return 0
    if arguments.check:
        print("docs/onnx.md has another table; write it: python tools/onnx_table.py")
        return 1
    onnx_cases.PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
