"""Grouping of a tokenizer's tokens into the words of a text, by their character offsets.

A word is a run of letters and digits, their marks and the apostrophes between them; every other sign is a word of its
own. In scripts without spaces each token is a word, but tokens that share a character form one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import Unsupported

if TYPE_CHECKING:
    from .model import Model

_MASKS = ("[MASK]", "<mask>")
_APOSTROPHES = "'’"
_JOINERS = "\u200c\u200d"  # within words of Persian and Hindi, and within one emoji
_SKINS = range(0x1F3FB, 0x1F400)  # an emoji's colour, a character behind it
_REGIONS = range(0x1F1E6, 0x1F200)  # letters of flags, two of which are one
_TAGS = range(0xE0020, 0xE0080)  # of a flag of a region, behind a black flag
_SPACELESS = (  # Thai to Tibetan, Burmese, Khmer, kana, Han
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class Word:
    """Tokens that form one word of a text.

    Attributes:
        text: its characters, with the spaces in front of it; "" for a special token around the text. The texts of all
            words, joined, are the whole text.
        start: the index of its first character in the text.
        first: the index of its first token.
        stop: the index behind its last token.
    """

    text: str
    start: int
    first: int
    stop: int

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.stop - self.first


def mask_token(model: Model) -> str:
    """Return the model's mask token, "[MASK]" or "<mask>"; "" if it has none.

    Written in a text it is that token: the tokenizer keeps it whole.
    """
    return next((token for token in _MASKS if model.tokenizer.token_to_id(token) is not None), "")


def split_words(model: Model, text: str) -> list[Word]:
    """Split a text into words, in the order of its tokens; each special token is a word of its own.

    Raises:
        Unsupported: the tokenizer gives no offsets.
        TooLong, HeadlightError: as of `Model.tokenize`.
    """
    tokens, _ = model.tokenize(text)
    offsets = model.tokenizer.encode(text).offsets
    if len(offsets) != len(tokens):
        raise Unsupported(f"the tokenizer of {model.name} does not say where a token stands in the text")
    return words_from_offsets(text, offsets, model.ends)


def words_from_offsets(text: str, offsets: Sequence[tuple[int, int]], ends: tuple[int, int] = (0, 0)) -> list[Word]:
    """Build the words of a text from the character spans of its tokens.

    Args:
        text: the whole text.
        offsets: start and end character of each token, in order.
        ends: the numbers of special tokens in front and behind.
    """
    n = len(offsets)
    inner = range(ends[0], n - ends[1])
    firsts = [i for i in inner if i == inner.start or not _is_joined(text, offsets[i - 1], offsets[i])]
    words, reached = [Word("", 0, index, index + 1) for index in range(inner.start)], 0
    for first, stop in zip(firsts, [*firsts, inner.stop][1:], strict=True):
        end = max(reached, *(end for _, end in offsets[first:stop]))
        while stop < inner.stop and end < offsets[stop][0] and _continues_word(text, end):
            end += 1  # marks that the tokenizer dropped
        end = len(text) if stop == inner.stop else end
        words.append(Word(text[reached:end], reached, first, stop))
        reached = end
    return words + [Word("", len(text), index, index + 1) for index in range(inner.stop, n)]


def join_to_common(words: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """Join words until each ends where a word of another split of the same text ends.

    Special tokens stay as they are. Applied both ways, the results have the same texts.
    """
    ends = {word.start + len(word.text) for word in others if word.text}
    joined = list[Word]()
    open_word = False
    for word in words:
        if open_word and word.text:
            previous = joined.pop()
            word = Word(previous.text + word.text, previous.start, previous.first, word.stop)
        joined.append(word)
        open_word = bool(word.text) and word.start + len(word.text) not in ends
    return joined


def _is_joined(text: str, previous: tuple[int, int], span: tuple[int, int]) -> bool:
    """Return whether a token continues the word of the token before it."""
    is_space = previous[1] == span[0] and not text[slice(*previous)].strip(" ")  # a lone space belongs to the next word
    return is_space or span[0] < previous[1] or _continues_word(text, span[0])


def _continues_word(text: str, index: int) -> bool:
    """Return whether the character at this index continues the word of the one before it."""
    if not 0 < index < len(text):
        return False
    previous, character = text[index - 1], text[index]
    if not previous.isspace() and (_is_mark(character) or previous == "\u200d"):
        return True
    if ord(character) in _REGIONS:
        return (len(text[:index]) - len(text[:index].rstrip("".join(map(chr, _REGIONS))))) % 2 == 1
    if character in _APOSTROPHES:
        return _is_letter(previous) and _is_letter(text[index + 1 : index + 2])
    return _is_letter(character) and _is_letter(text[index - 2 : index - 1] if previous in _APOSTROPHES else previous)


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "M" or letter in _JOINERS or ord(letter) in (*_SKINS, *_TAGS)


def _is_letter(letter: str) -> bool:
    """Return whether the character belongs to a word of a script with spaces between words."""
    if not letter or any(first <= ord(letter) <= last for first, last in _SPACELESS):
        return False
    return letter.isalnum() or _is_mark(letter)
