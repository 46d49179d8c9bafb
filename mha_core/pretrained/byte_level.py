"""Tokenizers whose tokens can be read, and byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): it cuts any text
into whole or part characters.

The vocabulary spells each byte as one character, "ĠParis" for " Paris". What a person reads are labels, "␣Paris"; in a
text it is as with WordPiece the pieces which continue a word that are marked, "Paris" and "Priv ##et".
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import HeadlightError
from .gguf import GGUF

SPECIAL = 3  # its number for the type of a token that is written by no letters, as <|endoftext|>
_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}


def _alphabet() -> dict[str, int]:
    """GPT-2's spelling: the character of each byte -> the byte. A byte without a picture has one from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()


def label(token: str) -> str:
    """A token of the vocabulary as a person reads it: "ĠParis" -> "␣Paris", part of a character -> "<0xF0><0x9F>"."""
    if not _BYTES.keys() >= set(token):
        return token
    text = bytes(_BYTES[letter] for letter in token).decode("utf-8", "surrogateescape")
    return "".join(map(_visible, text))


def in_text(label: str, previous: str) -> str:
    """A label behind this text or label: without the space before a word, and with ## where it continues one."""
    if label.startswith("␣") and label.strip("␣"):
        return label[1:]
    return f"##{label}" if label[:1].isalnum() and previous[-1:].isalnum() else label


def _visible(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that is no whole character
        return f"<0x{ord(letter) - 0xDC00:02X}>"
    return _SIGNS.get(letter) or (letter if letter.isprintable() else f"<U+{ord(letter):04X}>")


class Encoding(NamedTuple):
    """A text cut up: as it is read, numbers in the vocabulary, and from which to which character each token reaches."""

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]


class Tokens:
    """A tokenizer whose tokens can be read, of whatever kind it is.

    Args:
        whole: of `tokenizers`, or of transformers where the family has its own way.
        spelling: "bytes" as GPT-2's, "▁" before words as SentencePiece's, or "" where the tokens are read as they are.
    """

    def __init__(self, tokenizer: Any, spelling: str) -> None:
        self.tokenizer = tokenizer
        self.spelling = spelling
        self._is_transformers = not hasattr(tokenizer, "id_to_token")

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, special ones included.

        Raises:
            TypeError: it is no str, or has half a surrogate pair.
            HeadlightError: the tokenizer cannot take it.
        """
        if not isinstance(text, str) or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise TypeError("no text of whole characters")
        try:
            encoding = self.tokenizer(text) if self._is_transformers else self.tokenizer.encode(text)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # the library raises bare Exception, and panics on a pattern that it gave up
            raise HeadlightError(f"the model's tokenizer cannot take this text ({type(error).__name__})") from error
        ids = list(encoding["input_ids"] if self._is_transformers else encoding.ids)
        return Encoding(self.read(ids), ids, [] if self._is_transformers else encoding.offsets)

    def read(self, ids: Sequence[int]) -> list[str]:
        """The tokens of a text as a person reads them there: see `in_text`."""
        labels = [self.id_to_token(number) or f"<{number}>" for number in ids]
        if not self.spelling:
            return labels
        return list(map(in_text, labels, ["", *labels]))

    def id_to_token(self, number: int) -> str | None:
        """The label of a number of the vocabulary, None when it has no such number."""
        convert = self.tokenizer.convert_ids_to_tokens if self._is_transformers else self.tokenizer.id_to_token
        token = convert(number)
        if token is None or not self.spelling:
            return token if token is None else str(token)
        return label(token) if self.spelling == "bytes" else str(token).replace("▁", "␣")

    def token_to_id(self, token: str) -> int | None:
        """The number of a token as the vocabulary spells it."""
        number = self.tokenizer.get_vocab().get(token) if self._is_transformers else self.tokenizer.token_to_id(token)
        return None if number is None else int(number)

    def get_vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.tokenizer) if self._is_transformers else int(self.tokenizer.get_vocab_size())

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these tokens, special ones too."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))


class ByteLevel(Tokens):
    """No token is added in front or behind.

    Args:
        tokens: the vocabulary; its order gives the numbers.
        merges: pairs of tokens, those to be joined first in front, as "Ġ t".
        special: tokens that are kept whole wherever a text has them.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str], special: Iterable[str]) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
        from tokenizers.models import BPE

        numbers = {token: number for number, token in enumerate(tokens)}
        self._missing_bytes = frozenset(byte for letter, byte in _BYTES.items() if letter not in numbers)
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        tokenizer: Any = Tokenizer(BPE(numbers, pairs))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
        super().__init__(tokenizer, "bytes")

    def encode(self, text: str) -> Encoding:
        """The tokens of a text. A byte for which the vocabulary has no token is passed over: see `unknown`.

        Raises:
            HeadlightError: the text is empty, or nothing of it is in the vocabulary.
            TypeError: it is no str, or has half a surrogate pair.
        """
        encoding = super().encode(text)
        if not encoding.ids:
            reason = "holds only characters that the vocabulary lacks" if text else "is empty"
            raise HeadlightError(f"the text {reason}, and this model adds no special token; type at least one letter")
        return encoding

    def unknown(self, text: str) -> list[str]:
        """The characters of a text that are not coded whole, each once: SmolLM2 lacks tokens for a few control
        characters, and for bytes that occur in unassigned characters alone.
        """
        return list(dict.fromkeys(letter for letter in text if not self._missing_bytes.isdisjoint(letter.encode())))


def from_gguf(file: GGUF) -> ByteLevel:
    """The tokenizer of a GGUF file."""
    tokens, merges, types = (file.fields[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges", "token_type"))
    return ByteLevel(tokens, merges, [token for token, kind in zip(tokens, types, strict=True) if kind == SPECIAL])
