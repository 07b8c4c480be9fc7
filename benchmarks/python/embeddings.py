"""Sentences to embeddings by tilewright.models beside transformers, end to end.

    python benchmarks/python/embeddings.py [--device webgpu:0] [--threads N] [--model FOLDER]
        [--batch N] [--words N] [--weights W] [--onnx]

Without --model both sides have random weights of all-MiniLM-L6-v2's sizes, and words of a made-up
vocabulary. Texts have from 3 to 60 words, most of them few, or with --words all so many. torch pads
each batch to its longest, in float32 without TF32, or in float16. --onnx is a turn of ONNX Runtime
on the processor as well, of the same weights in float32, padded to the longest too. Shown are texts
a second, the median of the turns, and the median ratio turn by turn; above 1 we are the faster
ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import harness
from embeddings_onnx import FORMS, OnnxRuntime
from turns import Call, in_turns, options, torch_beside

WORDS = 30000


def make_folder(folder: Path) -> None:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: i for i, word in enumerate([*special, *(f"w{i}" for i in range(WORDS))])}
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12}
    config = transformers.BertConfig(vocab_size=len(vocabulary), intermediate_size=1536, **sizes)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(folder / "tokenizer.json"))


def quiet() -> None:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


class Torch:
    """transformers' model, its mean of the tokens that are no padding, and the length of 1."""

    def __init__(self, torch: Any, folder: Path, half: bool) -> None:
        import transformers
        from tokenizers import Tokenizer

        self.torch, self.where = torch.module, torch.where
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_padding()
        model = transformers.AutoModel.from_pretrained(folder).eval()
        self.model = (model.half() if half else model.float()).to(torch.where)

    def embed(self, texts: list[str]) -> Any:
        t = self.torch
        found = self.tokenizer.encode_batch(texts)
        ids = t.tensor([one.ids for one in found], device=self.where)
        mask = t.tensor([one.attention_mask for one in found], device=self.where)
        with t.no_grad():
            states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            return t.nn.functional.normalize(means)


def main() -> None:
    parser = options(__doc__, turns=7)
    parser.add_argument("--model", type=Path, help="a Hugging Face folder")
    parser.add_argument("--batch", type=int, default=32, help="texts; default: %(default)s")
    parser.add_argument("--words", type=int, help="of each text; default: of any number")
    parser.add_argument("--weights", default="float32", help="default: %(default)s")
    parser.add_argument("--onnx", action="store_true", help="ONNX Runtime too")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import tilewright

    random = np.random.default_rng(0)
    counts = np.clip(random.lognormal(2.6, 0.6, arguments.batch), 3, 60).astype(int)
    if arguments.words is not None:
        counts[:] = arguments.words
    texts = [" ".join(f"w{i}" for i in random.integers(0, WORDS, count)) for count in counts]
    with tempfile.TemporaryDirectory() as made, tilewright.init_backend(arguments.device) as be:
        quiet()
        folder = arguments.model or Path(made)
        if arguments.model is None:
            make_folder(folder)
        torch = torch_beside(be, arguments.threads)
        model = tilewright.models.load(folder, be, arguments.weights)
        peer = Torch(torch, folder, half=arguments.weights == "float16")
        ours = model.embed(texts, normalize=True).numpy()
        away = np.abs(ours - peer.embed(texts).cpu().numpy()).max()
        print(f"{be.device.name}; {torch}; {arguments.batch} texts of {counts.mean():.1f} words")
        print(f"the longest has {counts.max()} words")
        print(f"largest difference: {away:.1e}")
        sides: dict[str, tuple[Call, Call]] = {
            "tilewright": (lambda: model.embed(texts, normalize=True).numpy(), lambda: None),
            "torch": (lambda: peer.embed(texts).cpu(), lambda: None),
        }
        for name, joined in FORMS.items() if arguments.onnx else ():
            path = Path(made) / "bert.onnx"
            runtime = OnnxRuntime(folder, path, arguments.threads, joined)
            away = np.abs(ours - runtime.embed(texts)).max()
            print(f"{name}: largest difference {away:.1e}")
            sides[name] = (lambda runtime=runtime: runtime.embed(texts), lambda: None)
        own, ratios = in_turns(sides, arguments.turns, 10 if be.name == "cpu" else 50)
        print(f"{arguments.weights}: {arguments.batch / own:.0f} texts/s  {ratios}")
        with be.profile() as profile:
            model.embed(texts, normalize=True).numpy()
        kernels, end = 0, 0
        # On the processor some launches are made of others, whose time is theirs too.
        for record in sorted(profile.records, key=lambda one: one.start_ns):
            past = record.start_ns + record.duration_ns
            kernels += max(0, past - max(end, record.start_ns))
            end = max(end, past)
        count = len(profile.records)
        print(f"{own * 1e3:.2f} ms, kernels {kernels * 1e-6:.2f} ms in {count} launches")


if __name__ == "__main__":
    main()
