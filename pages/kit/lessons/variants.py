"""A step tried on other sentences: its rules must hold there too, as often as the step says."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from mha_core.errors import HeadlightError
from pages.kit.picture.query import Query

from .grammar import LONGEST_WHOLE, parse
from .quantities.scene import PageScene, scene_of
from .schema import LessonStep
from .verdict import holds

ARROW = "→"
_SENTENCES = ("s", "s2")


def picked(step: LessonStep, variant: str) -> tuple[list[str], str]:
    """The letters of the options whose rules hold on a variant of a step, and why one cannot be told.

    Raises:
        HeadlightError: the variant cannot be opened.
    """
    words = swapped(variant)
    written = {one.letter: one.holds.text for one in step.options if one.holds}
    rules = {letter: parse(_said(rule, words), LONGEST_WHOLE) for letter, rule in written.items()}
    return holds(rules, varied(step.page, step.query, variant, " ".join(written.values())))


def varied(page: str, query: str, variant: str, rules: str = "") -> PageScene:
    """What a page shows in a variant: "t=2" lays keys over the link, "animal → cat" puts a word in place of another.

    Args:
        rules: of the step, as they are written: their words may be replaced too.

    Raises:
        HeadlightError: a word to be replaced is neither in the sentences nor in a rule, or it is no link.
    """
    words = swapped(variant)
    if not words:
        return scene_of(page, Query(query.encode("ascii"))).changed(variant)
    pairs = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "s"]
    pairs.append(("s", Query(query.encode("ascii"))["s"]))
    sentences = " ".join(value for key, value in pairs if key in _SENTENCES)
    for word in words:
        if not re.search(rf"\b{re.escape(word)}\b", f"{sentences} {rules}"):
            raise HeadlightError(f"“{word:.40}” is not in the sentence, so nothing can stand in its place")
    changed = [(key, _said(value, words) if key in _SENTENCES else value) for key, value in pairs]
    return scene_of(page, Query(urlencode(changed).encode("ascii")))


def swapped(variant: str) -> Mapping[str, str]:
    """The words of "animal → cat, tired → busy", each with the one in its place; none of a link."""
    if ARROW not in variant:
        return {}
    pairs = [pair.split(ARROW) for pair in variant.split(",")]
    if any(len(pair) != 2 or not all(part.strip() for part in pair) for pair in pairs):
        raise HeadlightError(
            f"a variant is written “animal → cat, tired → busy”, or as keys of a link: “{variant:.40}”"
        )
    return {old.strip(): new.strip() for old, new in pairs}


def _said(text: str, words: Mapping[str, str]) -> str:
    """A text with all words put in their places at once."""
    if not words:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, words))})\b", lambda found: words[found[1]], text)
