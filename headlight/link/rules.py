"""Rules in written form: checked, spelled in one way, joined, and drawn as a gallery for a sentence."""

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
MAX_DOCUMENTS = 40  # so that the rule stays short enough for a link


def usable(rule: str) -> bool:
    """True when a visitor may use the rule: it can be read, is short, and its numbers have at most three digits."""
    if len(rule) > MAX_RULE_LENGTH or re.search(r"\d{4}", rule):
        return False
    try:
        masks.parse(rule)
    except MaskError:
        return False
    return True


def plain(rule: str) -> str:
    """A usable rule in its usual spelling: "causal&window:3" -> "causal & window:3"."""
    return _written(_terms(rule))


def controls_of(rule: str, painted: str = "") -> dict[str, str | int]:
    """What the controls of a mask say: a kind with its numbers; a rule without a kind of its own is a combination."""
    if painted:
        return {"mask": "painted", "on": rule, "p": painted}
    kind, *texts = rule.split(":")
    keys = MASKS.get(kind)
    numbers = [int(text) for text in texts if text.isdecimal() and 1 <= int(text) <= MAX_WINDOW]
    if keys is not None and len(keys) == len(texts) == len(numbers):
        return {"mask": kind, **dict(zip(keys, numbers, strict=True))}
    return {"mask": "combination", "rule": rule}


@lru_cache(maxsize=512)
def joined(rule: str, join: str, other: str) -> str | None:
    """Two rules as one; None when it would be longer than a rule may be.

    Args:
        join: one of `JOINS`. "and" of rules with | in them is multiplied out: the written form has no brackets.
    """
    left, right = _terms(plain(rule)), _terms(plain(other))
    if join.endswith("not"):
        right = _negated(right)
    if len(left) * len(right) > MAX_RULE_LENGTH:  # every term takes characters
        return None
    text = _written([*left, *right] if join.startswith("or") else [[*a, *b] for a in left for b in right])
    return text if usable(text) else None


def unseen(rule: str) -> tuple[int, ...]:
    """The keys that only they themselves may look at by `unseen` of a usable rule, in every part of it that | joins."""
    each = [{place for part in term for place in _places(part)} for term in _terms(rule)]
    return tuple(sorted(set.intersection(*each)))


def without_unseen(rule: str) -> str:
    """A usable rule without all its parts `unseen`."""
    return _written([[part for part in term if not _places(part)] for term in _terms(rule)])


def _places(part: str) -> list[int]:
    name, *places = part.split(":")
    return [int(place) for place in places] if name == "unseen" else []


def _terms(rule: str) -> list[list[str]]:
    """The parts of a rule: joined by & inside, by | outside."""
    terms = [[re.sub(r"\s", "", part) for part in term.split("&")] for term in rule.split("|")]
    # ASCII digits without leading zeros
    return [[re.sub(r"\d+", lambda digits: str(int(digits[0])), part) for part in term] for term in terms]


def _negated(terms: list[list[str]]) -> list[list[str]]:
    """De Morgan: not (a & b | c) = !a & !c | !b & !c."""
    negated: list[list[str]] = [[]]
    for term in terms:
        if len(negated) > MAX_RULE_LENGTH:
            break
        negated = [[*before, part[1:] if part.startswith("!") else f"!{part}"] for before in negated for part in term]
    return negated


def _written(terms: list[list[str]]) -> str:
    """One text, without parts and terms that change nothing."""
    shorter = [list(dict.fromkeys(part for part in term if part != "none")) or ["none"] for term in terms]
    if ["none"] in shorter:
        return "none"
    possible = [term for term in shorter if "!none" not in term and not any(f"!{part}" in term for part in term)]
    return " | ".join(dict.fromkeys(" & ".join(term) for term in possible)) or "!none"


class DrawnRule(TypedDict):
    """One rule of the gallery, drawn for a sentence."""

    name: str
    line: str  # what it means, in a few words
    rule: str  # its written form
    painted: str  # cells painted on it
    cells: str  # what it forbids, as `mask_codec.write_cells`
    counted: str  # how much of the map that is
    why_not: str  # why it cannot be used here, or nothing


def gallery(
    tokens: Sequence[str], heads: int, head: int, rule: str, beneath: str, painted: str, built_in: str = "none"
) -> list[DrawnRule]:
    """Every kind of mask for one sentence.

    Args:
        head: the one in focus, whose mask is drawn where heads differ.
        rule: the one in use; a card of its kind takes its numbers over.
        painted: cells painted for this sentence on the rule `beneath`, "" for none.
        built_in: the rule that belongs to the model itself, as in `mask_codec.allowed`.
    """
    n = len(tokens)

    def card(name: str, line: str, rule: str, cells: str = "", why_not: str = "") -> DrawnRule:
        forbids, how_much = _drawn(rule, cells, n, heads, head, built_in)
        return DrawnRule(
            name=name, line=line, rule=rule, painted=cells, cells=forbids, counted=how_much, why_not=why_not
        )

    cards = [
        card(name or written.replace(":", " "), line, written)
        for written, (name, line) in _kinds(tokens, rule, built_in).items()
    ]
    windows, why_not = _windows_or_why(n, heads)
    cards.append(card("per head", f"a different window per head; head {head}: {head + 1}", "none", windows, why_not))
    line, why_not = (f"your cells, on “{plain(beneath)}”", "") if painted else ("paint cells in the grid below",) * 2
    cards.append(card("painted", line, beneath, painted, why_not))
    return cards


@lru_cache(maxsize=64)
def _drawn(rule: str, painted: str, n: int, heads: int, head: int, built_in: str) -> tuple[str, str]:
    """What a head's mask forbids, as text, and how much that is."""
    allow = mask_codec.of_head(mask_codec.allowed(rule, painted, n, heads, built_in), head)
    return write_cells(~allow), counted(allow)


def _kinds(tokens: Sequence[str], rule: str, built_in: str) -> dict[str, tuple[str, str]]:
    """The written form of each kind -> its name, empty for the written form itself, and its meaning."""
    numbers = {"window": "window:3", "prefix": "prefix:2", "sinks": "sinks:1", "dilated": "dilated:3:2"}
    kind = rule.split(":")[0]
    if kind in numbers and usable(rule) and len(_terms(rule)) == len(_terms(rule)[0]) == 1:
        numbers[kind] = rule
    _, width, gap = numbers["dilated"].split(":")
    part = "sentence" if any(token in _STOPS for token in tokens[:-2]) else "half"
    documents = ":".join(map(str, starts_of_documents(tokens)))
    return {
        "none": ("full", "every word sees every word") if built_in == "none" else ("none", "only the model’s own mask"),
        "causal": ("causal", "no word sees the future"),
        numbers["window"]: ("", "each word sees its neighbours"),
        numbers["prefix"]: ("", "first words open, then causal"),
        numbers["sinks"]: ("", "only the first keys"),
        numbers["dilated"]: ("", f"steps of {gap}, {int(width) - 1} words on each side"),
        f"documents:{documents}": ("documents", f"each {part} sees only itself"),
    }


@lru_cache(maxsize=64)
def _windows_or_why(n: int, heads: int) -> tuple[str, str]:
    """`per_head_windows` as text for a link and "", or "" and the reason why a link cannot hold them."""
    if n > MAX_PAINTED:
        return "", f"a mask is painted for at most {MAX_PAINTED} tokens"
    text = mask_codec.write_flips(per_head_windows(n, heads))
    if len(text) <= MAX_PAINTED_LENGTH:
        return text, ""
    return "", f"it needs {len(text):,} characters in the link, at most {MAX_PAINTED_LENGTH:,} are possible"


def per_head_windows(n: int, heads: int) -> Tensor:
    """Windows of another width for each head as painted cells, bool (h, i, j): head h sees fewer than h + 1 steps."""
    place = torch.arange(n)
    distance = (place[:, None] - place[None, :]).abs()
    return distance[None] > torch.arange(heads)[:, None, None]


def starts_of_documents(tokens: Sequence[str]) -> list[int]:
    """The places where a new document begins: behind each . ! ? that more words follow, otherwise in the middle.

    [CLS] belongs to the first document, [SEP] to the last.
    """
    n = len(tokens)
    stops = [at + 1 for at in range(n - 2) if tokens[at] in _STOPS and tokens[at + 1] not in _STOPS]
    starts = [start for start in stops if start < n - 1]
    return starts[:MAX_DOCUMENTS] or [max(1, n // 2)]


def counted(allow: Tensor) -> str:
    """The number of blocked cells of a map (i, j), and of its empty rows, if any."""
    blocked, empty = int((~allow).sum()), int((~allow.any(dim=-1)).sum())
    return f"{blocked:,} of {allow.numel():,} blocked{f', {empty_rows(empty)}' if empty else ''}"


def empty_rows(many: int) -> str:
    """So many empty rows in words."""
    return "one row empty" if many == 1 else f"{many} rows empty"
