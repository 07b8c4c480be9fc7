"""The tokenizer of a GGUF file, as the package tokenizers has it, made of the file's metadata."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.models.files.errors import ModelError, fail, shown
from tilewright.models.files.fields import Fields
from tilewright.models.files.guarded import is_panic
from tilewright.models.files.merges import check_merges, merges_of_scores
from tilewright.models.files.pretokenizers import CUTS
from tilewright.models.files.unigram import unigram, unknown_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from tilewright.models.files.gguf_metadata import GgufMetadata

GGML = "tokenizer.ggml."
MODELS = ("llama", "gpt2", "bert", "t5")
MOST_TOKENS = 1 << 24
MOST_CHARACTERS = 1024
MOST_TEMPLATE = 1 << 20
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
# SentencePiece's sign of a space.
SPACE = "\u2581"


@dataclass(frozen=True)
class GgufTokens:
    """A tokenizer, and what a file says of its use. Ids that a file does not have are None."""

    tokenizer: Any = field(repr=False)
    """A tokenizers.Tokenizer."""
    model: str
    """"llama", "gpt2", "bert" or "t5"."""
    bos_id: int | None
    eos_id: int | None
    unknown_id: int | None
    padding_id: int | None
    separator_id: int | None
    mask_id: int | None
    end_ids: tuple[int, ...]
    """All that end an answer: of a sequence, a turn or a message."""
    add_bos: bool
    add_eos: bool
    chat_template: str | None = field(repr=False)


class _Vocabulary:
    """What the metadata say of all kinds, checked."""

    def __init__(self, metadata: GgufMetadata) -> None:
        self.file = metadata.file
        self.metadata = metadata
        self.fields = Fields(self.file, metadata)
        self.model = self.fields.string(f"{GGML}model", choices=MODELS)
        self.tokens = self.strings("tokens")
        if not 0 < len(self.tokens) <= MOST_TOKENS:
            self.fail("tokens", f"1 to {MOST_TOKENS} strings")
        self.ids: dict[str, int] = {}
        for i, token in enumerate(self.tokens):
            if len(token) > MOST_CHARACTERS:
                expected = f"expected at most {MOST_CHARACTERS} characters"
                fail(self.file, f"{GGML}tokens[{i}] is {shown(token)}, {expected}")
            if self.ids.setdefault(token, i) != i:
                both = f"{GGML}tokens[{self.ids[token]}] and [{i}] are both {shown(token)}"
                fail(self.file, f"{both}, expected each token once")
        kinds = self.numbers("token_type", "iu")
        self.types = [NORMAL] * len(self.tokens) if kinds is None else kinds.tolist()
        self.unknown, self.mask = self.id("unknown"), self.id("mask")
        self.bos, self.eos, self.padding = self.id("bos"), self.id("eos"), self.id("padding")
        # The format's own spelling, and the right one.
        self.separator = self.id("seperator")
        if self.separator is None:
            self.separator = self.id("separator")
        self.classifier = self.id("cls")
        self.ends = tuple(
            dict.fromkeys(
                one for one in (self.eos, self.id("eot"), self.id("eom")) if one is not None
            )
        )

    def fail(self, key: str, expected: str) -> None:
        found = self.metadata.get(f"{GGML}{key}")
        said = "not there" if found is None else shown(found)
        if isinstance(found, np.ndarray):
            said = f"an array of {len(found)} {found.dtype}"
        fail(self.file, f"{GGML}{key} is {said}, expected {expected}")

    def id(self, key: str) -> int | None:
        return self.fields.integer(f"{GGML}{key}_token_id", 0, len(self.tokens) - 1, None)

    def flag(self, key: str, default: bool) -> bool:
        return self.fields.flag(f"{GGML}{key}", default)

    def strings(self, key: str) -> list[str]:
        found = self.metadata.get(f"{GGML}{key}")
        if isinstance(found, list):
            texts = [one for one in found if isinstance(one, str)]
            if len(texts) == len(found):
                return texts
        self.fail(key, "a list of strings")
        return []

    def numbers(self, key: str, kinds: str) -> npt.NDArray[Any] | None:
        """One for each token."""
        found = self.metadata.get(f"{GGML}{key}")
        if found is None:
            return None
        is_right = isinstance(found, np.ndarray) and found.dtype.kind in kinds
        if isinstance(found, np.ndarray) and is_right and len(found) == len(self.tokens):
            return found
        self.fail(key, f"a number for each of {len(self.tokens)} tokens")
        return None

    def of_type(self, *types: int) -> list[int]:
        return [i for i, kind in enumerate(self.types) if kind in types]


def gguf_tokens(metadata: GgufMetadata) -> GgufTokens:
    """The tokenizer of a file, of the kinds "llama", "gpt2", "bert" and "t5"."""
    try:
        library: Any = importlib.import_module("tokenizers")
    except ImportError:
        raise ImportError(
            "tokenizers are made by the package tokenizers: pip install tilewright[models]"
        ) from None
    vocabulary = _Vocabulary(metadata)
    make = {"llama": _llama, "gpt2": _gpt2, "bert": _bert, "t5": _t5}[vocabulary.model]
    try:
        return make(vocabulary, library)
    except ModelError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):
            fail(metadata.file, f"the package tokenizers does not take its vocabulary: {error}")
        raise


def _llama(of: _Vocabulary, library: Any) -> GgufTokens:
    """SentencePiece's joining by scores; what is not in the vocabulary is its bytes."""
    scores = of.numbers("scores", "f")
    if scores is None or not np.isfinite(scores).all():
        of.fail("scores", f"a finite number for each of {len(of.tokens)} tokens")
    unknown = 0 if of.unknown is None else of.unknown
    whole = {unknown, *of.of_type(UNKNOWN, CONTROL, USER, UNUSED, BYTE)}
    merges = merges_of_scores(of.file, of.tokens, np.asarray(scores, np.float32), whole)
    tokenizer = library.Tokenizer(
        library.models.BPE(
            of.ids,
            merges,
            unk_token=of.tokens[unknown],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    normalizers, decoders = library.normalizers, library.decoders
    steps = [normalizers.Replace(" ", SPACE)]
    back = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if of.flag("add_space_prefix", True):
        steps.insert(0, normalizers.Prepend(SPACE))
        back.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(back)
    return _made(of, library, tokenizer, unknown=unknown, add_bos=True)


def _gpt2(of: _Vocabulary, library: Any) -> GgufTokens:
    """Joining of bytes, in words as the named pre-tokenizer cuts them."""
    cut = CUTS[of.fields.string(f"{GGML}pre", "default", choices=tuple(CUTS))]
    merges = check_merges(of.file, f"{GGML}merges", of.strings("merges"), of.ids)
    tokenizer = library.Tokenizer(
        library.models.BPE(of.ids, merges, ignore_merges=cut.ignore_merges)
    )
    if of.flag("normalizer.nfc", cut.nfc):
        tokenizer.normalizer = library.normalizers.NFC()
    cutting = library.pre_tokenizers
    steps = [cutting.Split(library.Regex(one), "isolated") for one in cut.patterns]
    steps.append(cutting.ByteLevel(add_prefix_space=False, use_regex=False))
    tokenizer.pre_tokenizer = cutting.Sequence(steps)
    tokenizer.decoder = library.decoders.ByteLevel()
    return _made(of, library, tokenizer, unknown=of.unknown, add_bos=cut.add_bos)


def _bert(of: _Vocabulary, library: Any) -> GgufTokens:
    """WordPiece: GGUF marks the beginnings of words, the package what goes on."""
    signs = set(of.of_type(UNKNOWN, CONTROL))
    ids: dict[str, int] = {}
    for i, token in enumerate(of.tokens):
        if token.startswith(SPACE):
            word = token[1:]
        elif i in signs or (token.startswith("[") and token.endswith("]") and len(token) > 2):
            word = token
        else:
            word = f"##{token}"
        if ids.setdefault(word, i) != i:
            both = f"{GGML}tokens[{ids[word]}] and [{i}] both stand for {shown(word)}"
            fail(of.file, f"{both}, expected each token once")
    names = {i: word for word, i in ids.items()}

    def found(given: int | None, name: str) -> int:
        known = ids.get(name) if given is None else given
        if known is None:
            fail(of.file, f"there is no token {name}, expected it or the key of its id")
        return known

    first = found(of.bos if of.classifier is None else of.classifier, "[CLS]")
    last = found(of.eos if of.separator is None else of.separator, "[SEP]")
    unknown = found(of.unknown, "[UNK]")
    tokenizer = library.Tokenizer(library.models.WordPiece(ids, unk_token=names[unknown]))
    tokenizer.normalizer = library.normalizers.BertNormalizer(
        lowercase=of.flag("normalizer.lowercase", True),
        strip_accents=of.fields.flag(f"{GGML}normalizer.strip_accents", None),
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece()
    others = (of.padding, of.mask)
    special = [one for one in (first, last, unknown, *others) if one is not None]
    _add(library, tokenizer, names, [*special, *of.of_type(CONTROL)])
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single=["first:0", "$A:0", "last:0"],
        pair=["first:0", "$A:0", "last:0", "$B:1", "last:1"],
        special_tokens=[_named("first", first, names), _named("last", last, names)],
    )
    return _tokens(of, tokenizer, first, last, unknown, last, (True, True))


def _t5(of: _Vocabulary, library: Any) -> GgufTokens:
    """SentencePiece's Unigram."""
    unknown = unknown_of(of)
    of.bos = of.classifier if of.bos is None else of.bos
    of.eos = of.separator if of.eos is None else of.eos
    tokenizer = unigram(of, library, unknown)
    return _made(of, library, tokenizer, unknown=unknown, add_bos=False, add_eos=True)


def _made(
    of: _Vocabulary, library: Any, tokenizer: Any, *, unknown: int | None, add_bos: bool,
    add_eos: bool = False,
) -> GgufTokens:  # fmt: skip
    """With the tokens that are found before text is cut, and those that are put around it."""
    names = dict(enumerate(of.tokens))
    given = (of.bos, of.eos, unknown, of.padding, of.separator, of.mask, *of.ends)
    special = [one for one in given if one is not None]
    _add(library, tokenizer, names, [*special, *of.of_type(UNKNOWN, CONTROL)])
    _add(library, tokenizer, names, of.of_type(USER), special=False)
    is_first, is_last = of.flag("add_bos_token", add_bos), of.flag("add_eos_token", add_eos)
    before = [("first", of.bos)] if is_first and of.bos is not None else []
    after = [("last", of.eos)] if is_last and of.eos is not None else []
    around = [_named(name, i, names) for name, i in [*before, *after] if i is not None]
    if around:
        one = [*(name for name, _ in before), "$A", *(name for name, _ in after)]
        tokenizer.post_processor = library.processors.TemplateProcessing(
            single=one,
            pair=[*one, *(f"{piece.replace('A', 'B')}:1" for piece in one)],
            special_tokens=around,
        )
    uses = (bool(before), bool(after))
    return _tokens(of, tokenizer, of.bos, of.eos, unknown, of.separator, uses)


def _tokens(
    of: _Vocabulary,
    tokenizer: Any,
    bos: int | None,
    eos: int | None,
    unknown: int | None,
    separator: int | None,
    uses: tuple[bool, bool],
) -> GgufTokens:
    return GgufTokens(
        tokenizer,
        of.model,
        bos_id=bos,
        eos_id=eos,
        unknown_id=unknown,
        padding_id=of.padding,
        separator_id=separator,
        mask_id=of.mask,
        end_ids=of.ends,
        add_bos=uses[0],
        add_eos=uses[1],
        chat_template=of.fields.string("tokenizer.chat_template", None, most=MOST_TEMPLATE),
    )


def _named(name: str, i: int, names: dict[int, str]) -> dict[str, Any]:
    """A token as templates have it, by a name without signs of their own."""
    return {"id": name, "ids": [i], "tokens": [names[i]]}


def _add(
    library: Any,
    tokenizer: Any,
    names: dict[int, str],
    ids: Iterable[int],
    *,
    special: bool = True,
) -> None:
    added = [
        library.AddedToken(names[i], normalized=False, special=special)
        for i in dict.fromkeys(ids)
        if names[i]
    ]
    (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
