"""Tokens in a sentence or a label: always text, never invisible, in a direction of their own.

assets/web/base/token_text.js is its counterpart in the browser.
"""

import re
import unicodedata
from collections.abc import Iterable

_SIGNS = {"\n": "↵", "\t": "⇥"}
_SPACE = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_JOINERS = "\u200c\u200d"
# code points that Unicode calls default-ignorable, and the blank of Braille
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_TAGS = re.compile("[\U000e0020-\U000e007f]")  # behind a black flag they make one of a region, as England's
_UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_ESCAPES = re.compile(r"(?:<(?:0x|U\+)[0-9A-F]+>)+")


def make_visible(token: object) -> str:
    """Return a token as text with a sign for whatever has no ink: "<U+FE0F>", "↵", "◌ा"; joined signs stay joined."""
    text, base, parts = str(token), "", list[str]()
    is_blank = all(char in _SIGNS or _SPACE.match(char) for char in text)
    for char in text:
        category = unicodedata.category(char)
        joins = category[0] == "M" or char in _JOINERS or (base == "🏴" and bool(_TAGS.match(char)))
        if joins and base:
            parts.append(char)
        elif char in _SIGNS or (char == " " and is_blank):
            parts.append(_SIGNS.get(char, "␣"))
            base = ""
        elif category in _UNPRINTABLE or _IGNORABLE.match(char) or (is_blank and _SPACE.match(char)):
            parts.append(f"<U+{ord(char):04X}>")
            base = ""
        else:
            parts.append(f"◌{char}" if joins else char)
            base = "" if _SPACE.match(char) else char
    return "".join(parts)


def isolate(token: object) -> str:
    """Return a visible token that neither takes nor changes the direction of its sentence, by U+2068 and U+2069."""
    text = make_visible(token)
    if not _RIGHT_TO_LEFT.search(text):
        return text
    return "\u2068" + _ESCAPES.sub("\u2068\\g<0>\u2069", text) + "\u2069"


def quote(token: object) -> str:
    """Quote a token for a sentence: “it”."""
    return f"“{isolate(token)}”"


def quote_all(tokens: Iterable[object]) -> str:
    """Quote tokens and join them: “it” and “animal”."""
    return " and ".join(map(quote, tokens))
