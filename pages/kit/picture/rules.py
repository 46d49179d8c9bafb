"""Rules in written form: checked, spelled in one way, joined, and drawn as a gallery for a sentence. No streamlit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mha_core import masks
from mha_core.errors import MaskError

from . import mask_codec
from .limits import LONGEST_PAINTED, LONGEST_RULE, MOST_PAINTED

__all__ = [
    "JOINS",
    "Card",
    "counted",
    "gallery",
    "joined",
    "per_head_windows",
    "plain",
    "starts_of_documents",
    "usable",
]

JOINS = ("and", "or", "and not", "or not")
_STOPS = {".", "!", "?"}
MOST_DOCUMENTS = 40  # so that the rule stays short enough for a link
_TOO_MANY = f"?a mask is painted for at most {MOST_PAINTED} tokens"


def usable(rule: str) -> bool:
    """True when a visitor may use the rule: it can be read, is short, and its numbers have at most three digits."""
    if len(rule) > LONGEST_RULE or re.search(r"\d{4}", rule):
        return False
    try:
        masks.parse(rule)
    except MaskError:
        return False
    return True


def plain(rule: str) -> str:
    """A usable rule in its usual spelling: "causal&window:3" -> "causal & window:3"."""
    return _written(_terms(rule))


def joined(rule: str, join: str, other: str) -> str | None:
    """Two rules as one; None when it would be longer than a rule may be.

    Args:
        join: one of `JOINS`. "and" of rules with | in them is multiplied out: the written form has no brackets.
    """
    left, right = _terms(plain(rule)), _terms(plain(other))
    if join.endswith("not"):
        right = _negated(right)
    if len(left) * len(right) > LONGEST_RULE:  # every term takes characters
        return None
    text = _written([*left, *right] if join.startswith("or") else [[*a, *b] for a in left for b in right])
    return text if usable(text) else None


def _terms(rule: str) -> list[list[str]]:
    """The parts of a rule: joined by & inside, by | outside."""
    terms = [[re.sub(r"\s", "", part) for part in term.split("&")] for term in rule.split("|")]
    # ASCII digits without leading zeros
    return [[re.sub(r"\d+", lambda found: str(int(found[0])), part) for part in term] for term in terms]


def _negated(terms: list[list[str]]) -> list[list[str]]:
    """De Morgan: not (a & b | c) = !a & !c | !b & !c."""
    made: list[list[str]] = [[]]
    for term in terms:
        if len(made) > LONGEST_RULE:
            break
        made = [[*before, part[1:] if part.startswith("!") else f"!{part}"] for before in made for part in term]
    return made


def _written(terms: list[list[str]]) -> str:
    """One text, without parts and terms that change nothing."""
    shorter = [list(dict.fromkeys(part for part in term if part != "none")) or ["none"] for term in terms]
    if ["none"] in shorter:
        return "none"
    possible = [term for term in shorter if "!none" not in term and not any(f"!{part}" in term for part in term)]
    return " | ".join(dict.fromkeys(" & ".join(term) for term in possible)) or "!none"


@dataclass(frozen=True)
class Card:
    """One rule of the gallery, drawn for a sentence.

    Attributes:
        name, line: what it is called, and what it means, in a few words.
        rule: its written form. painted: cells painted on it.
        cells: what it forbids, as `mask_codec.write_cells`.
        counted: how much of the map that is.
        why_not: why it cannot be used here, or nothing.
        event: what a click on it says.
    """

    name: str
    line: str
    rule: str
    painted: str
    cells: str
    counted: str
    why_not: str
    event: dict[str, Any]


def gallery(tokens: Sequence[str], heads: int, head: int, rule: str, beneath: str, kept: str) -> list[Card]:
    """Every kind of mask for one sentence.

    Args:
        head: the one in focus, whose mask is drawn where heads differ.
        rule: the one in use; a card of its kind takes its numbers over.
        kept: what is painted for this sentence on the rule `beneath`, "" for nothing.
    """
    n = len(tokens)
    now = {"window": "window:3", "prefix": "prefix:2", "sinks": "sinks:1", "dilated": "dilated:3:2"}
    if rule.split(":")[0] in now and usable(rule) and len(_terms(rule)) == len(_terms(rule)[0]) == 1:
        now[rule.split(":")[0]] = rule
    starts = starts_of_documents(tokens)
    stops = any(token in _STOPS for token in tokens[:-2])
    cut = "cut at . ! ?" if stops else "two halves"
    lines = {
        "none": ("full", "everyone sees everyone"),
        "causal": ("causal", "nobody sees the future"),
        now["window"]: ("", "only near neighbours"),
        now["prefix"]: ("", "a free start, then causal"),
        now["sinks"]: ("", "only the first keys"),
        now["dilated"]: ("", "every so many steps"),
        f"documents:{':'.join(map(str, starts))}": ("documents", f"not across a border: {cut}"),
    }
    cards = [
        _card(name or written.replace(":", " "), line, written, "", n, head, heads, {"rule": written})
        for written, (name, line) in lines.items()
    ]
    own = _write_or_why(per_head_windows(n, heads)) if n <= MOST_PAINTED else _TOO_MANY
    line = f"each another window; head {head}: {head + 1}"
    cards.append(_card("per head", line, "none", own, n, head, heads, {"rule": "none", "painted": own}))
    mine = f"yours, on “{plain(beneath)}”" if kept else "paint in the grid below"
    cards.append(_card("painted", mine, beneath, kept, n, head, heads, {"kind": "painted"}, "" if kept else mine))
    return cards


def _write_or_why(flips: Tensor) -> str:
    """`mask_codec.write_flips`, or after a question mark why it cannot be in a link."""
    text = mask_codec.write_flips(flips)
    if len(text) <= LONGEST_PAINTED:
        return text
    return f"?it needs {len(text):,} characters in the link, at most {LONGEST_PAINTED:,} are possible"


def per_head_windows(n: int, heads: int) -> Tensor:
    """Windows of another width for each head as painted cells, bool (h, i, j): head h sees fewer than h + 1 steps."""
    place = torch.arange(n)
    distance = (place[:, None] - place[None, :]).abs()
    return distance[None] > torch.arange(heads)[:, None, None]


def starts_of_documents(tokens: Sequence[str]) -> list[int]:
    """Where a new document begins: behind each . ! ? that more words follow, otherwise in the middle.

    [CLS] belongs to the first document, [SEP] to the last.
    """
    n = len(tokens)
    stops = [at + 1 for at in range(n - 2) if tokens[at] in _STOPS and tokens[at + 1] not in _STOPS]
    starts = [start for start in stops if start < n - 1]
    return starts[:MOST_DOCUMENTS] or [max(1, n // 2)]


def counted(allow: Tensor) -> str:
    """How many cells of a map (i, j) are blocked, and how many rows are empty, if any."""
    blocked, empty = int((~allow).sum()), int((~allow.any(dim=-1)).sum())
    rows = "" if not empty else ", one row empty" if empty == 1 else f", {empty} rows empty"
    return f"{blocked:,} of {allow.numel():,} blocked{rows}"


def _card(
    name: str, line: str, rule: str, own: str, n: int, head: int, heads: int, event: dict[str, Any], why_not: str = ""
) -> Card:
    if own.startswith("?"):
        why_not, own, event = own[1:], "", {}
    allow = mask_codec.allowed(rule, own, n, heads)
    allow = allow[head] if allow.dim() == 3 else allow
    return Card(name, line, rule, own, mask_codec.write_cells(~allow), counted(allow), why_not, event)
