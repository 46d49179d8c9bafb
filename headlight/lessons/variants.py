"""Variants of a step: its rules are checked on other sentences or settings too."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from headlight.picture.query import Query
from mha_core.errors import HeadlightError
from mha_core.token_text import quote

from .grammar import parse
from .quantities.scene import PageScene, page_scene
from .schema import LessonStep

ARROW = "→"
_SENTENCES = ("s", "s2")
_TEXT_FIELDS = ("instruction", "question", "explanation", "choices", "results", "hidden")


def variant_scene(page: str, query: str, variant: str, rules: str = "") -> PageScene:
    """Return the scene of a variant: "t=2" sets keys of the link, "animal → cat" replaces a word.

    Args:
        page: the page.
        query: query of the step's link.
        variant: the variant.
        rules: the step's rules, whose words may be replaced too.

    Raises:
        HeadlightError: the variant is not valid, or a word is neither in the sentences nor in a rule.
    """
    words = parse_replacements(variant)
    if not words:
        return page_scene(page, Query(query.encode("ascii"))).overlay(variant)
    texts = " ".join([*(value for key, value in _pairs(query) if key in _SENTENCES), rules])
    for word in words:
        if not re.search(rf"\b{re.escape(word)}\b", texts):
            raise HeadlightError(f"{quote(word[:40])} is not in the sentence, so it cannot be replaced")
    return page_scene(page, Query(replaced_link(query, words).encode("ascii")))


def retry_variant(step: LessonStep) -> LessonStep | None:
    """Return the step with the words of its first variant replaced in all its texts, to ask it again.

    None without a variant that replaces words, or if a rule cannot contain the new words.
    """
    words = parse_replacements(step.variants[0]) if step.variants else {}
    if not words:
        return None

    def replace_in(value: Any) -> Any:
        """Replace the words in all texts of a value."""
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{field_.name: replace_in(getattr(value, field_.name)) for field_ in fields(value)})
        if isinstance(value, tuple):
            return tuple(map(replace_in, value))
        return _swap(value, words) if isinstance(value, str) else value

    changes = {name: replace_in(getattr(step, name)) for name in _TEXT_FIELDS}
    link = f"{step.link.partition('?')[0]}?{replaced_link(step.query, words)}"
    try:
        for rule in [choice.condition for choice in changes["choices"]] + [
            result.value for result in changes["results"]
        ]:
            parse(rule or "0")
    except HeadlightError:
        return None
    return replace(step, link=link, **changes)


def _pairs(query: str) -> list[tuple[str, str]]:
    """Return the keys and values of a link, with its sentence even if it is the page's default."""
    pairs = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != "s"]
    return [*pairs, ("s", Query(query.encode("ascii"))["s"])]


def replaced_link(query: str, words: Mapping[str, str]) -> str:
    """Return the query of a link with words of its sentences replaced."""
    return urlencode([(key, _swap(value, words) if key in _SENTENCES else value) for key, value in _pairs(query)])


def parse_replacements(variant: str) -> Mapping[str, str]:
    """Parse "animal → cat, tired → busy" into old word -> new word; return {} for keys of a link."""
    if ARROW not in variant:
        return {}
    pairs = [pair.split(ARROW) for pair in variant.split(",")]
    if any(len(pair) != 2 or not all(part.strip() for part in pair) for pair in pairs):
        raise HeadlightError(
            f"a variant has the form “animal → cat, tired → busy”, or is keys of a link, not “{variant:.40}”"
        )
    return {old.strip(): new.strip() for old, new in pairs}


def _swap(text: str, words: Mapping[str, str]) -> str:
    """Replace all words of a text at once."""
    if not words:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, words))})\b", lambda match: words[match[1]], text)
