"""Mask rules as expressions: validated, normalized, joined, and drawn as a gallery for a sentence."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypedDict

import torch
from torch import Tensor

from mha_core import masks
from mha_core.errors import MaskError
from mha_core.show.cells import write_cells

from . import mask_codec
from .fields import MASKS
from .limits import MAX_PAINTED, MAX_PAINTED_LENGTH, MAX_RULE_LENGTH, MAX_WINDOW

JOINS = ("and", "or", "and not", "or not")
_STOPS = {".", "!", "?"}
MAX_DOCUMENTS = 40  # more would make the rule too long for a link


def is_usable(rule: str) -> bool:
    """Return whether a rule from a user is valid and short, with numbers of at most three digits."""
    if len(rule) > MAX_RULE_LENGTH or re.search(r"\d{4}", rule):
        return False
    try:
        masks.parse(rule)
    except MaskError:
        return False
    return True


def normalize(rule: str) -> str:
    """Normalize a usable rule: "causal&window:3" -> "causal & window:3"."""
    return _write(_terms(rule))


def to_controls(rule: str, painted: str = "") -> dict[str, str | int]:
    """Return the values of the mask controls, by key, for a rule with painted cells."""
    if painted:
        return {"mask": "painted", "on": rule, "p": painted}
    kind, *texts = rule.split(":")
    keys = MASKS.get(kind)
    numbers = [int(text) for text in texts if text.isdecimal() and 1 <= int(text) <= MAX_WINDOW]
    if keys is not None and len(keys) == len(texts) == len(numbers):
        return {"mask": kind, **dict(zip(keys, numbers, strict=True))}
    return {"mask": "combination", "rule": rule}


@lru_cache(maxsize=512)
def join_rules(rule: str, join: str, other: str) -> str | None:
    """Join two rules by one of `JOINS`; return None if the result is too long.

    "and" of rules with | is multiplied out, as expressions have no brackets.
    """
    left, right = _terms(normalize(rule)), _terms(normalize(other))
    if join.endswith("not"):
        right = _negate(right)
    if len(left) * len(right) > MAX_RULE_LENGTH:  # a term has at least one character
        return None
    text = _write([*left, *right] if join.startswith("or") else [[*a, *b] for a in left for b in right])
    return text if is_usable(text) else None


def unseen_tokens(rule: str) -> tuple[int, ...]:
    """Return the keys that are `unseen` in all alternatives (|) of a usable rule."""
    position_sets = [{place for part in term for place in _places(part)} for term in _terms(rule)]
    return tuple(sorted(set.intersection(*position_sets)))


def without_unseen(rule: str) -> str:
    """Remove all parts `unseen` from a usable rule."""
    return _write([[part for part in term if not _places(part)] for term in _terms(rule)])


def _places(part: str) -> list[int]:
    name, *places = part.split(":")
    return [int(place) for place in places] if name == "unseen" else []


def _terms(rule: str) -> list[list[str]]:
    """Split a rule into alternatives (|) of parts (&)."""
    terms = [[re.sub(r"\s", "", part) for part in term.split("&")] for term in rule.split("|")]
    # ASCII digits without leading zeros
    return [[re.sub(r"\d+", lambda digits: str(int(digits[0])), part) for part in term] for term in terms]


def _negate(terms: list[list[str]]) -> list[list[str]]:
    """Negate by De Morgan: not (a & b | c) = !a & !c | !b & !c."""
    negated: list[list[str]] = [[]]
    for term in terms:
        if len(negated) > MAX_RULE_LENGTH:
            break
        negated = [[*prefix, part[1:] if part.startswith("!") else f"!{part}"] for prefix in negated for part in term]
    return negated


def _write(terms: list[list[str]]) -> str:
    """Write terms as one rule, without parts and terms that change nothing."""
    shorter = [list(dict.fromkeys(part for part in term if part != "none")) or ["none"] for term in terms]
    if ["none"] in shorter:
        return "none"
    possible = [term for term in shorter if "!none" not in term and not any(f"!{part}" in term for part in term)]
    return " | ".join(dict.fromkeys(" & ".join(term) for term in possible)) or "!none"


LINES = {  # the effect of each mask, in the panel of the switch and in the gallery
    "none": "every word sees every word",
    "causal": "no word sees what comes after it",
    "window": "each word sees only the words near it",
    "prefix": "each word sees the first words and all earlier ones",
    "sinks": "each word sees only the first words",
    "dilated": "each word sees only every 2nd (or s-th) word on each side",
}


class DrawnRule(TypedDict):
    """A rule of the gallery, drawn for a sentence."""

    name: str
    line: str  # its meaning, in a few words
    rule: str  # its expression
    painted: str  # cells painted on it
    cells: str  # the forbidden cells, by `write_cells`
    why_not: str  # reason why it cannot be used here, or ""


def gallery(
    tokens: Sequence[str], heads: int, head: int, rule: str, base: str, painted: str, built_in: str = "none"
) -> list[DrawnRule]:
    """Draw all kinds of masks for a sentence.

    Args:
        tokens: of the sentence.
        heads: number of heads of a layer.
        head: the head in focus, whose mask is drawn if the heads differ.
        rule: the rule in use; the card of its kind takes its numbers.
        base: the rule on which cells are painted.
        painted: these cells, "" for none.
        built_in: the model's own rule.
    """
    n = len(tokens)

    def card(name: str, line: str, rule: str, cells: str = "", why_not: str = "") -> DrawnRule:
        forbidden = _forbidden_cells(rule, cells, n, heads, head, built_in)
        return DrawnRule(name=name, line=line, rule=rule, painted=cells, cells=forbidden, why_not=why_not)

    cards = [
        card(name or written_form.replace(":", " "), line, written_form)
        for written_form, (name, line) in _kinds(tokens, rule, built_in).items()
    ]
    windows, why_not = _windows_or_reason(n, heads)
    cards.append(card("per head", f"a different window per head; head {head}: {head + 1}", "none", windows, why_not))
    line, why_not = (f"your cells, on “{normalize(base)}”", "") if painted else ("paint cells in the grid below",) * 2
    cards.append(card("painted", line, base, painted, why_not))
    return cards


@lru_cache(maxsize=64)
def _forbidden_cells(rule: str, painted: str, n: int, heads: int, head: int, built_in: str) -> str:
    """Return the cells that a head's mask forbids, as text."""
    return write_cells(~mask_codec.head_mask(mask_codec.allow_mask(rule, painted, n, heads, built_in), head))


def _kinds(tokens: Sequence[str], rule: str, built_in: str) -> dict[str, tuple[str, str]]:
    """Return expression -> name, "" for the expression itself, and meaning of each kind."""
    numbers = {"window": "window:3", "prefix": "prefix:2", "sinks": "sinks:1", "dilated": "dilated:3:2"}
    kind = rule.split(":")[0]
    if kind in numbers and is_usable(rule) and len(_terms(rule)) == len(_terms(rule)[0]) == 1:
        numbers[kind] = rule
    part = "sentence" if any(token in _STOPS for token in tokens[:-2]) else "half"
    documents = ":".join(map(str, document_starts(tokens)))
    none = LINES["none"] if built_in == "none" else "only the model’s own mask"
    return {
        "none": ("no mask", none),
        "causal": ("", LINES["causal"]),
        **{form: ("", LINES[name]) for name, form in numbers.items()},
        f"documents:{documents}": ("documents", f"each {part} sees only itself"),
    }


@lru_cache(maxsize=64)
def _windows_or_reason(n: int, heads: int) -> tuple[str, str]:
    """Return (`per_head_windows` as text, ""), or ("", reason why it does not fit into a link)."""
    if n > MAX_PAINTED:
        return "", f"masks can be painted for at most {MAX_PAINTED} tokens"
    text = mask_codec.write_flips(per_head_windows(n, heads))
    if len(text) <= MAX_PAINTED_LENGTH:
        return text, ""
    return "", f"it needs {len(text):,} characters in the link, at most {MAX_PAINTED_LENGTH:,} are possible"


def per_head_windows(n: int, heads: int) -> Tensor:
    """Return windows of width h + 1 for head h as painted cells, bool (h, i, j)."""
    place = torch.arange(n)
    distance = (place[:, None] - place[None, :]).abs()
    return distance[None] > torch.arange(heads)[:, None, None]


def document_starts(tokens: Sequence[str]) -> list[int]:
    """Return the starts of documents: after each . ! ? but a final one, otherwise the middle.

    [CLS] belongs to the first document, [SEP] to the last.
    """
    n = len(tokens)
    stops = [index + 1 for index in range(n - 2) if tokens[index] in _STOPS and tokens[index + 1] not in _STOPS]
    starts = [start for start in stops if start < n - 1]
    return starts[:MAX_DOCUMENTS] or [max(1, n // 2)]
