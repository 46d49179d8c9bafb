"""A step tried on other sentences: its rules must hold there too, as often as the step says."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from headlight.picture.query import Query
from mha_core.errors import HeadlightError

from .grammar import parse
from .quantities.scene import PageScene, scene_of
from .schema import LessonStep
from .verdict import holds

ARROW = "→"
_SENTENCES = ("s", "s2")
_WORDED = ("say", "ask", "because", "options", "shows", "curtain")  # of a step: what names words


def picked(step: LessonStep, variant: str) -> tuple[list[str], str]:
    """The letters of the options whose rules hold on a variant of a step, and why one cannot be told.

    Raises:
        HeadlightError: the variant cannot be opened.
    """
    words = swapped(variant)
    rules = {one.letter: one.holds for one in step.options if one.holds}
    said = {letter: _said(rule, words) for letter, rule in rules.items()}
    return holds(said, varied(step.page, step.query, variant, " ".join(rules.values())))


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
    for word in words:
        if not re.search(rf"\b{re.escape(word)}\b", f"{_sentences(query)} {rules}"):
            raise HeadlightError(f"“{word:.40}” is not in the sentence, so nothing can stand in its place")
    return scene_of(page, Query(_link(query, words).encode("ascii")))


def second(step: LessonStep) -> LessonStep | None:
    """The second question of the same idea: the step in its first variant, its words replaced in all that it says.

    None where it has no variant, one that lays keys over its link, or one whose words no rule can name.
    """
    words = swapped(step.variants[0]) if step.variants else {}
    if not words:
        return None

    def said(value: Any) -> Any:
        """Return a copy with the words replaced in all its texts."""
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{one.name: said(getattr(value, one.name)) for one in fields(value)})
        if isinstance(value, tuple):
            return tuple(map(said, value))
        return _said(value, words) if isinstance(value, str) else value

    again = {name: said(getattr(step, name)) for name in _WORDED}
    link = f"{step.link.partition('?')[0]}?{_link(step.query, words)}"
    try:
        for rule in [one.holds for one in again["options"]] + [one.value for one in again["shows"]]:
            parse(rule or "0")
    except HeadlightError:
        return None
    return replace(step, link=link, **again)


def _pairs(query: str) -> list[tuple[str, str]]:
    """Keys and values of a link; its sentence also where the link leaves it to the page."""
    pairs = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "s"]
    return [*pairs, ("s", Query(query.encode("ascii"))["s"])]


def _sentences(query: str) -> str:
    return " ".join(value for key, value in _pairs(query) if key in _SENTENCES)


def _link(query: str, words: Mapping[str, str]) -> str:
    return urlencode([(key, _said(value, words) if key in _SENTENCES else value) for key, value in _pairs(query)])


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
