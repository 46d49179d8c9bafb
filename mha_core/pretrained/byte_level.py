"""Tokenizers with readable tokens, and byte-level BPE, which splits any text into whole or partial characters.

Sennrich et al. 2016; Radford et al. 2019. The vocabulary spells each byte as one character, "ĠParis" for " Paris". A
label is its readable form, "␣Paris"; within a text, as with WordPiece, the pieces that continue a word are marked:
"Paris" and "Priv ##et".
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import HeadlightError
from ..token_text import make_visible
from .gguf import GGUF

SPECIAL = 3  # GGUF's type of special tokens such as <|endoftext|>
_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}


def _alphabet() -> dict[str, int]:
    """Return GPT-2's spelling: the character of each byte -> the byte; bytes that are not printable start at 256."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()
_SPELLING = {byte: char for char, byte in _BYTES.items()}


def label(token: str) -> str:
    """Return a readable form of a vocabulary token: "ĠParis" -> "␣Paris", part of a character -> "<0xF0><0x9F>"."""
    if not _BYTES.keys() >= set(token):
        return token
    text = bytes(_BYTES[char] for char in token).decode("utf-8", "surrogateescape")
    return make_visible("".join(map(_visible, text)))


def in_text(label: str, previous: str) -> str:
    """Return a label as it follows the previous one: without the leading space, and with ## inside a word."""
    if label.startswith("␣") and label.strip("␣"):
        return label[1:]
    return f"##{label}" if label[:1].isalnum() and previous[-1:].isalnum() else label


def _visible(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # a byte that is not a whole character
        return f"<0x{ord(char) - 0xDC00:02X}>"
    return _SIGNS.get(char) or (char if char.isprintable() else f"<U+{ord(char):04X}>")


class Encoding(NamedTuple):
    """Tokens of a text: labels, ids, and the character span of each."""

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]


class ReadableTokenizer:
    """Wrapper of any tokenizer that makes its tokens readable.

    Args:
        tokenizer: of `tokenizers`, or of transformers where the family has its own class.
        spelling: "bytes" for GPT-2's, "▁" for SentencePiece's mark before words, "latin" for a byte as its
            character in Latin-1, "characters" for one token a character, or "" for tokens that are readable.
        notices: sentences about what was left aside in its files.
    """

    def __init__(self, tokenizer: Any, spelling: str, notices: tuple[str, ...] = ()) -> None:
        self.tokenizer = tokenizer
        self.spelling = spelling
        self.notices = notices
        self._is_transformers = hasattr(tokenizer, "convert_ids_to_tokens")

    def encode(self, text: str) -> Encoding:
        """Tokenize a text, special tokens included.

        Raises:
            TypeError: it is not a str, or has a lone surrogate.
            HeadlightError: the tokenizer fails on it.
        """
        if not isinstance(text, str) or any("\ud800" <= char <= "\udfff" for char in text):
            raise TypeError("expected a str without lone surrogates")
        try:
            encoding = self.tokenizer(text) if self._is_transformers else self.tokenizer.encode(text)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # the library raises bare Exception, and panics on a pattern too complex for it
            raise HeadlightError(f"the model's tokenizer fails on this text ({type(error).__name__})") from error
        ids = list(encoding["input_ids"] if self._is_transformers else encoding.ids)
        return Encoding(self.labels_in_text(ids), ids, [] if self._is_transformers else encoding.offsets)

    def labels_in_text(self, ids: Sequence[int]) -> list[str]:
        """Return the labels of ids as they read in a text, see `in_text`."""
        labels = [self.id_to_token(token_id) or f"<{token_id}>" for token_id in ids]
        if not self.spelling:
            return labels
        return list(map(in_text, labels, ["", *labels]))

    def id_to_token(self, token_id: int) -> str | None:
        """Return the label of an id, or None for an unknown id."""
        convert = self.tokenizer.convert_ids_to_tokens if self._is_transformers else self.tokenizer.id_to_token
        token = convert(token_id)
        if token is None or not self.spelling:
            return token if token is None else str(token)
        if self.spelling == "latin" and len(token) == 1:
            return label(_SPELLING.get(ord(token), token))
        if self.spelling == "characters":
            return "".join(map(_visible, token))
        return label(token) if self.spelling == "bytes" else str(token).replace("▁", "␣")

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token as the vocabulary spells it, or None."""
        token_id = self.tokenizer.get_vocab().get(token) if self._is_transformers else self.tokenizer.token_to_id(token)
        return None if token_id is None else int(token_id)

    def get_vocab_size(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.tokenizer) if self._is_transformers else int(self.tokenizer.get_vocab_size())

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of these ids, special tokens included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))


class ByteLevel(ReadableTokenizer):
    """Byte-level BPE tokenizer that adds no special tokens.

    Args:
        tokens: the vocabulary; its order gives the ids.
        merges: pairs of tokens in order of priority, e.g. "Ġ t".
        special: tokens that are never split.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str], special: Iterable[str]) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
        from tokenizers.models import BPE

        ids = {token: token_id for token_id, token in enumerate(tokens)}
        self._missing_bytes = frozenset(byte for char, byte in _BYTES.items() if char not in ids)
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        tokenizer: Any = Tokenizer(BPE(ids, pairs))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
        super().__init__(tokenizer, "bytes")

    def encode(self, text: str) -> Encoding:
        """Tokenize a text; bytes without a token are skipped, see `unknown`.

        Raises:
            HeadlightError: the text is empty, or none of it is in the vocabulary.
            TypeError: it is not a str, or has a lone surrogate.
        """
        encoding = super().encode(text)
        if not encoding.ids:
            reason = "holds only characters that the vocabulary lacks" if text else "is empty"
            raise HeadlightError(f"the text {reason}, and this model adds no special token; type at least one letter")
        return encoding

    def unknown(self, text: str) -> list[str]:
        """Return the characters of a text that are not fully encoded, each once.

        SmolLM2 lacks tokens for a few control characters, and for bytes that occur in unassigned characters alone.
        """
        return list(dict.fromkeys(char for char in text if not self._missing_bytes.isdisjoint(char.encode())))


def from_gguf(file: GGUF) -> ByteLevel:
    """Return the tokenizer of a GGUF file."""
    tokens, merges, types = (file.fields[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges", "token_type"))
    return ByteLevel(tokens, merges, [token for token, kind in zip(tokens, types, strict=True) if kind == SPECIAL])
