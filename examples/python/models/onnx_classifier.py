"""Says what files are by what is in them, with a classifier of ONNX.

    python onnx_classifier.py FILE ... [--model FOLDER] [--device auto] [--batch 32]

Without --model it takes the one that the package magika carries: 214 kinds of files, told by the
first and the last bytes. FOLDER has model.onnx, and config.min.json with the kinds' names.
"""

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import tilewright as tw
from tilewright.models.onnx import OnnxModel


def default_model() -> Path:
    spec = importlib.util.find_spec("magika")
    if spec is None or spec.origin is None:
        raise SystemExit("give --model FOLDER, or pip install --no-deps magika")
    file = next(Path(spec.origin).parent.glob("models/*/model.onnx"), None)
    if file is None:
        raise SystemExit("this version of magika has no model; give --model FOLDER")
    return file.parent


def tokens(file: Path, config: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The first and the last bytes without blanks around them, and a token where there are none."""
    block, first, last = config["block_size"], config["beg_size"], config["end_size"]
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        front = stream.read(block).lstrip()
        stream.seek(max(size - block, 0))
        back = stream.read(block).rstrip()
    row = np.full(first + last, config["padding_token"], np.int32)
    front, back = front[:first], back[-last:]
    row[: len(front)] = list(front)
    row[first + last - len(back) :] = list(back)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()

    folder = arguments.model or default_model()
    config = json.loads((folder / "config.min.json").read_text(encoding="utf-8"))
    labels = config["target_labels_space"]
    with tw.init_backend(arguments.device) as backend:
        model = tw.models.load(folder / "model.onnx", backend)
        if not isinstance(model, OnnxModel):
            raise SystemExit(f"{folder} has no model of ONNX")
        for start in range(0, len(arguments.files), arguments.batch):
            files = arguments.files[start : start + arguments.batch]
            scores = model(np.stack([tokens(file, config) for file in files])).numpy()
            for file, row in zip(files, scores, strict=True):
                best = int(row.argmax())
                print(f"{row[best]:6.3f}  {labels[best]:12}  {file}")


if __name__ == "__main__":
    main()
