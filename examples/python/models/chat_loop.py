"""A conversation with a model, in the terminal.

    python chat_loop.py FOLDER_OR_GGUF [--system "Be brief."] [--device auto] [--context 4096]
                        [--max-tokens 512] [--temperature 0.7]

Each line is said to the model, which answers as it goes. Ctrl-C stops an answer, of which stays
what was said; where a line is awaited Ctrl-C or Ctrl-D ends the conversation. What no longer fits
into the context is forgotten, the oldest questions with their answers first.
"""

import argparse
import sys
from typing import Any

import tilewright as tw

Message = dict[str, str]


def fitting(model: tw.models.Decoder, said: list[Message], room: int) -> list[Message]:
    """What was said without its oldest questions and answers, so that an answer of `room` tokens
    fits behind it; the system's message stays, and the last question. Empty where even these are
    too long."""
    first = 1 if said[0]["role"] == "system" else 0
    kept = list(said)
    while len(model.chat_tokens(kept)) + room > model.context:
        if len(kept) < first + 3:
            return []
        del kept[first : first + 2]
    return kept


def answer(model: tw.models.Decoder, said: list[Message], max_tokens: int, heat: float) -> str:
    """Prints an answer piece by piece, up to its end or Ctrl-C."""
    text = ""
    pieces: Any = model.stream(model.chat_tokens(said), max_tokens, temperature=heat)
    try:
        for piece in pieces:
            text += piece
            print(piece, end="", flush=True)
    except KeyboardInterrupt:
        print(" ...", end="")
    finally:
        pieces.close()  # gives the room in the cache back
    print()
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--system", help="what the model is told first")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--context", type=int, default=4096, help="tokens that are remembered")
    parser.add_argument("--max-tokens", type=int, default=512, help="of an answer")
    parser.add_argument("--temperature", type=float, default=0.7, help="0 takes the likeliest")
    arguments = parser.parse_args()

    with tw.init_backend(arguments.device) as backend:
        model = tw.models.load(arguments.model, backend, context=arguments.context)
        if not isinstance(model, tw.models.Decoder) or model.template is None:
            raise SystemExit(f"{arguments.model} has no chat template")
        said = [] if arguments.system is None else [{"role": "system", "content": arguments.system}]
        most: int = arguments.max_tokens
        while True:
            try:
                line = input("> " if sys.stdin.isatty() else "").strip()
            except (EOFError, KeyboardInterrupt):
                return
            if not line:
                continue
            kept = fitting(model, [*said, {"role": "user", "content": line}], most)
            if not kept:
                print(f"(too long: of {model.context} tokens {most} are for the answer)")
                continue
            said = kept
            text = answer(model, said, most, arguments.temperature)
            said.append({"role": "assistant", "content": text})


if __name__ == "__main__":
    main()
