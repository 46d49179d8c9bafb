"""What a lesson's file refers to, checked before anything runs: pages and keys of its links, names in its rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from headlight.link.fields import FIELDS
from headlight.picture.query import Query
from headlight.registry import MINILM, source_of
from mha_core.errors import HeadlightError

from . import functions, variants
from .evaluate import CHANGING
from .grammar import MAX_LENGTH, Node, RuleError, parse, word
from .quantities import scene
from .schema import Rule
from .values import LETTERS

MAX_CHANGES = 12  # other pictures that one rule may ask for
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\$([a-z0-9_]+)")
_EXAMPLES = "how are you"  # the words of By hand's own example


def check_link(query: str) -> None:
    """Raises a HeadlightError for a key or value of a link that no control has."""
    if not query.isascii():
        raise HeadlightError("a link is written in percent signs, without other letters")
    asked = Query(query.encode("ascii"))
    for key, _ in parse_qsl(query, keep_blank_values=True):
        if key not in FIELDS:
            raise HeadlightError(f"a link has no key “{key:.40}”")
        asked[key]
    if source_of(asked.name).is_loaded:  # SmolLM2 is not unpacked for a check
        asked.settings()
        if any(key == "at" for key, _ in asked.pairs) or asked.name != MINILM:
            asked.at  # noqa: B018


def check_variant(page: str, query: str, variant: str, rules: str) -> None:
    """Raises a HeadlightError for a variant that cannot be opened over a page's link; `rules`: of the step."""
    if not variants.swapped(variant):
        check_link(variant)
    variants.varied(page, query, variant, rules)


def words(page: str, query: str) -> frozenset[str]:
    """The words that a rule may name without quotes: those of the sentences of a link."""
    asked = Query(query.encode("ascii"))
    told = [_EXAMPLES] if page == scene.EXAMPLE else []
    return _words([*told, asked["s"], asked["s2"]])


def rule(text: str, known: frozenset[str], numbers: Mapping[str, str]) -> Rule:
    """A rule, with the rules of the numbers that it names in their places.

    Args:
        known: words of the sentence. numbers: of its step, `$found`, with rules that name no others.

    Raises:
        RuleError: it cannot be read, or a name in it means nothing.
    """
    named = _NUMBER.findall(text)
    for name in named:
        if name not in numbers:
            raise RuleError(f"there is no number “${name:.40}” before this rule")
    numbered = _NUMBER.sub(lambda found: "1".ljust(len(found[0])), text)
    tree = parse(numbered, MAX_LENGTH)  # finds mistakes at their own characters
    whole = _NUMBER.sub(lambda found: f"({numbers[found[1]]})", text)
    _check(parse(whole) if named else tree, known)
    return Rule(whole)


def _check(tree: Node, known: frozenset[str]) -> None:
    """Raises a RuleError for a tree with a name that means nothing."""
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = {id(node.func) for node in calls}
    changes = [node for node in calls if (of := word(node.func)) and of.name in CHANGING]
    if len(changes) > MAX_CHANGES:
        raise RuleError(f"a rule may ask for {MAX_CHANGES} other pictures, this one asks for {len(changes)}")
    known |= _words(_sentences(changes))
    places = {id(one) for node in nodes if isinstance(node, ast.Subscript) for one in ast.walk(node.slice)}
    for node in nodes:
        said = word(node)
        if said is None or said.quoted:
            continue
        if id(node) in called and said.name not in scene.NAMES | functions.NAMES | CHANGING:
            raise RuleError(f"there is no function “{said.name:.40}”")
        if id(node) in places - called and said.name in scene.NAMES and said.name.casefold() in known:
            raise RuleError(f"“{said.name}” is a quantity and a word of the sentence; write the word in quotes")
        if id(node) not in called and said.name not in scene.NAMES:
            if said.primed:
                raise RuleError(f"there is no quantity “{said.name:.40}”")
            if said.name not in LETTERS and said.name.casefold() not in known:
                raise RuleError(f"“{said.name:.40}” is no quantity, and no word of the sentence")


def _sentences(changes: list[ast.Call]) -> Iterator[str]:
    """The sentences in the links that a rule lays over."""
    for change in changes:
        for part in change.args[:-1]:
            if (link := word(part)) and link.quoted:
                yield from (value for key, value in parse_qsl(link.name) if key in ("s", "s2"))


def _words(texts: list[str] | Iterator[str]) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(text))
