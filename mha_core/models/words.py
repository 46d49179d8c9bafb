"""From the pieces of a tokenizer to the words of a text: by where each piece stands, whichever way it spells them.

A word is a run of letters and digits, their marks and the apostrophes between them; every other sign is a word of its
own. In scripts without spaces between words a token is one, and a character that is cut over tokens is put together.
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
    """Tokens that stand in one word of a text.

    Attributes:
        text: its characters, with the spaces in front of it; "" of a token that the model puts round the text. Those of
            all words one after another are the text.
        start: the place of its first character in the text.
        first, stop: its tokens are first … stop - 1.
    """

    text: str
    start: int
    first: int
    stop: int

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return self.stop - self.first


def mask_token(model: Model) -> str:
    """The token that stands for a word that is left out, "[MASK]" or "<mask>"; "" of a model that has none.

    Written in a text it is that token: the tokenizer keeps it whole.
    """
    return next((token for token in _MASKS if model.tokenizer.token_to_id(token) is not None), "")


def words_of(model: Model, text: str) -> list[Word]:
    """The words of a text, in the order of its tokens; each of the model's own tokens is one.

    Raises:
        Unsupported: the tokenizer does not say where a token stands.
        TooLong, HeadlightError: as of `Model.tokenize`.
    """
    tokens, _ = model.tokenize(text)
    offsets = model.tokenizer.encode(text).offsets
    if len(offsets) != len(tokens):
        raise Unsupported(f"the tokenizer of {model.name} does not say where a token stands in the text")
    return of_offsets(text, offsets, model.ends)


def of_offsets(text: str, offsets: Sequence[tuple[int, int]], ends: tuple[int, int] = (0, 0)) -> list[Word]:
    """The words of tokens that reach from one character of the text to another.

    Args:
        offsets: of each token, in their order.
        ends: how many of them in front and behind stand for no character.
    """
    n = len(offsets)
    inner = range(ends[0], n - ends[1])
    firsts = [at for at in inner if at == inner.start or not _is_joined(text, offsets[at - 1], offsets[at])]
    found, reached = [Word("", 0, at, at + 1) for at in range(inner.start)], 0
    for first, stop in zip(firsts, [*firsts, inner.stop][1:], strict=True):
        end = max(reached, *(end for _, end in offsets[first:stop]))
        while stop < inner.stop and end < offsets[stop][0] and _goes_on(text, end):
            end += 1  # marks that the tokenizer has left out
        end = len(text) if stop == inner.stop else end
        found.append(Word(text[reached:end], reached, first, stop))
        reached = end
    return found + [Word("", len(text), at, at + 1) for at in range(inner.stop, n)]


def in_common(words: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """Words of a text, joined until each ends where one of another cut of the same text does, the model's own as they
    are: `in_common` of either with the other has the same texts.
    """
    ends = {word.start + len(word.text) for word in others if word.text}
    found = list[Word]()
    open_word = False
    for word in words:
        if open_word and word.text:
            before = found.pop()
            word = Word(before.text + word.text, before.start, before.first, word.stop)
        found.append(word)
        open_word = bool(word.text) and word.start + len(word.text) not in ends
    return found


def _is_joined(text: str, before: tuple[int, int], own: tuple[int, int]) -> bool:
    """Tells whether a token goes on with the word of the one before it."""
    is_space = before[1] == own[0] and not text[slice(*before)].strip(" ")  # alone, in front of what it belongs to
    return is_space or own[0] < before[1] or _goes_on(text, own[0])


def _goes_on(text: str, at: int) -> bool:
    """Tells whether the character at this place is in one word with the one before it."""
    if not 0 < at < len(text):
        return False
    before, own = text[at - 1], text[at]
    if not before.isspace() and (_is_mark(own) or before == "\u200d"):
        return True
    if own in _APOSTROPHES:
        return _is_letter(before) and _is_letter(text[at + 1 : at + 2])
    return _is_letter(own) and _is_letter(text[at - 2 : at - 1] if before in _APOSTROPHES else before)


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "M" or letter in _JOINERS or ord(letter) in _SKINS


def _is_letter(letter: str) -> bool:
    """Of a script that has spaces between its words."""
    if not letter or any(first <= ord(letter) <= last for first, last in _SPACELESS):
        return False
    return letter.isalnum() or _is_mark(letter)
