"""Checks of a lesson's references before anything is computed: links, and names in rules."""

import ast
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from headlight.link.fields import FIELDS
from headlight.picture.query import Query
from headlight.registry import MINILM, get_source
from mha_core.errors import HeadlightError

from . import functions, variants
from .bugs import BUGS, PREFIX
from .evaluate import CHANGING
from .grammar import MAX_EXPANDED_LENGTH, MAX_LENGTH, MAX_NODES, Node, RuleError, parse, word
from .quantities import scene
from .schema import Rule
from .values import LETTERS

MAX_CHANGES = 12  # pictures that one rule may change
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\$([a-z0-9_]+)")
_EXAMPLES = "how are you"  # the sentence of By hand's own example


def check_link(query: str) -> None:
    """Raise a HeadlightError for a key or value of a link that no control has."""
    if not query.isascii():
        raise HeadlightError("a link must be percent-encoded ASCII")
    parsed = Query(query.encode("ascii"))
    for key, _ in parse_qsl(query, keep_blank_values=True):
        if key not in FIELDS:
            raise HeadlightError(f"a link has no key “{key:.40}”")
        parsed[key]
    if (name := parsed["lesson"]).startswith(PREFIX) and name not in BUGS:
        raise HeadlightError(f"there is no “{name:.40}”; there are {', '.join(BUGS)}")
    if get_source(parsed.name).is_loaded:  # loading SmolLM2 just for a check would take long
        parsed.settings()
        if any(key == "at" for key, _ in parsed.pairs) or parsed.name != MINILM:
            parsed.cursor  # noqa: B018


def check_variant(page: str, query: str, variant: str, rules: str) -> None:
    """Raise a HeadlightError for a variant that cannot be opened on a page's link, with the step's rules."""
    if not variants.parse_replacements(variant):
        check_link(variant)
    variants.variant_scene(page, query, variant, rules)


def words(page: str, query: str) -> frozenset[str]:
    """Return the words of a link's sentences, which rules may name without quotes."""
    parsed = Query(query.encode("ascii"))
    texts = [_EXAMPLES] if page == scene.EXAMPLE else []
    return _words([*texts, parsed["s"], parsed["s2"]])


def rule(text: str, vocabulary: frozenset[str], numbers: Mapping[str, str]) -> Rule:
    """Insert the rules of a step's numbers into a rule and check it.

    Args:
        text: the rule, which may contain numbers of the step, `$found`.
        vocabulary: words of the sentence.
        numbers: name -> complete rule of the step's earlier numbers.

    Raises:
        RuleError: the rule has a syntax error or an unknown name.
    """
    names = _NUMBER.findall(text)
    for name in names:
        if name not in numbers:
            raise RuleError(f"there is no number “${name:.40}” before this rule")
    numbered = _NUMBER.sub(lambda match: "1".ljust(len(match[0])), text)
    tree = parse(numbered, MAX_LENGTH, MAX_NODES)  # reports errors at the characters of the file
    expanded = _NUMBER.sub(lambda match: f"({numbers[match[1]]})", text)
    _check(parse(expanded, MAX_EXPANDED_LENGTH, MAX_NODES) if names else tree, vocabulary)
    return Rule(expanded)


def _check(tree: Node, vocabulary: frozenset[str]) -> None:
    """Raise a RuleError for a name that is no quantity, function or word of the sentence."""
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    callee_ids = {id(node.func) for node in calls}
    changes = [node for node in calls if (function := word(node.func)) and function.name in CHANGING]
    if len(changes) > MAX_CHANGES:
        raise RuleError(f"a rule may change {MAX_CHANGES} pictures, this one changes {len(changes)}")
    vocabulary |= _words(_sentences(changes))
    places = {id(part) for node in nodes if isinstance(node, ast.Subscript) for part in ast.walk(node.slice)}
    for node in nodes:
        term = word(node)
        if term is None or term.quoted:
            continue
        if id(node) in callee_ids and term.name not in scene.NAMES | functions.NAMES | CHANGING:
            raise RuleError(f"there is no function “{term.name:.40}”")
        if id(node) in places - callee_ids and term.name in scene.NAMES and term.name.casefold() in vocabulary:
            raise RuleError(f"“{term.name}” is a quantity and a word of the sentence; write the word in quotes")
        if id(node) not in callee_ids and term.name not in scene.NAMES:
            if term.primed:
                raise RuleError(f"there is no quantity “{term.name:.40}”")
            if term.name not in LETTERS and term.name.casefold() not in vocabulary:
                raise RuleError(f"“{term.name:.40}” is neither a quantity nor a word of the sentence")


def _sentences(changes: list[ast.Call]) -> Iterator[str]:
    """Yield the sentences in the links of a rule's changes."""
    for change in changes:
        for part in change.args[:-1]:
            if (link := word(part)) and link.quoted:
                yield from (value for key, value in parse_qsl(link.name) if key in ("s", "s2"))


def _words(texts: list[str] | Iterator[str]) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(text))
