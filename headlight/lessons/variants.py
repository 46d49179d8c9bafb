"""A step tried on other sentences: its rules must hold there too, as often as the step says."""

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from headlight.picture.query import Query
from mha_core.errors import HeadlightError

from .grammar import LONGEST_WHOLE, parse
from .quantities.scene import PageScene, scene_of
from .schema import LessonStep, Rule
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
    for word in words:
        if not re.search(rf"\b{re.escape(word)}\b", f"{_sentences(query)} {rules}"):
            raise HeadlightError(f"“{word:.40}” is not in the sentence, so nothing can stand in its place")
    return scene_of(page, Query(_link(query, words).encode("ascii")))


def second(step: LessonStep) -> LessonStep | None:
    """The second question of the same idea: the step in its first variant, its words replaced in all that it says.

    None where it has no variant, one that lays keys over its link, or one whose words no rule can name.
    """
    words = swapped(step.variants[0]) if step.variants else {}
    try:
        return _said_again(step, words) if words else None
    except HeadlightError:
        return None


def _said_again(step: LessonStep, words: Mapping[str, str]) -> LessonStep:
    def ruled(rule: Rule) -> Rule:
        text = _said(rule.text, words)
        return Rule(text, parse(text, LONGEST_WHOLE))

    return replace(
        step,
        query=_link(step.query, words),
        say=_said(step.say, words),
        ask=_said(step.ask, words),
        because=_said(step.because, words),
        options=tuple(
            replace(one, text=_said(one.text, words), holds=ruled(one.holds) if one.holds else None)
            for one in step.options
        ),
        shows=tuple(replace(one, label=_said(one.label, words), value=ruled(one.value)) for one in step.shows),
        curtain=tuple(replace(one, words=tuple(_said(word, words) for word in one.words)) for one in step.curtain),
    )


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
