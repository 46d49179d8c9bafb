"""Meaning of a mask in one sentence."""

import re

from headlight.link.rules import DrawnRule, normalize
from headlight.ui.numbers import count

_PER_HEAD = (
    "Each head has a different window. Head 0 sees only the word itself, head 1 one more word on each side, and so on."
)


def describe_card(card: DrawnRule, built_in: str = "none") -> str:
    """Describe a card of the gallery; `built_in` is the model's own mask."""
    if card["name"] == "per head":
        return f"{_PER_HEAD} Not here: {card['why_not']}." if card["why_not"] else _PER_HEAD
    if card["name"] == "painted":
        return (
            describe_painting(card["rule"], built_in)
            if card["painted"]
            else "Nothing is painted yet. Press a cell of the mask below."
        )
    return describe_rule(card["rule"], built_in)


def describe_rule(rule: str, built_in: str = "none") -> str:
    """Describe a valid rule: what it does and its purpose, or how its parts are joined."""
    rule = normalize(rule)
    if built_in != "none" and rule in ("none", built_in):
        added = "No mask is added" if rule == "none" else "This mask changes nothing here"
        return f"{added}, as the model’s own mask is {built_in}: a word sees itself and the words before it."
    return f"{_rule_text(rule)}{_built_in_note(built_in)}"


def _rule_text(rule: str) -> str:
    if re.search(r"[&|!]", rule):
        return f"A cell is open where {' or '.join(_term(term) for term in rule.split(' | '))}."
    kind, *texts = rule.split(":")
    numbers = [int(text) for text in texts]
    match kind:
        case "none":
            return "Without a mask every word sees every word, before and after it. This model was trained this way."
        case "causal":
            return (
                "A word sees itself and the words before it, never those that come after it. Models that predict the "
                "next word are trained this way."
            )
        case "window":
            near, cost = numbers[0] - 1, "The cost can grow with n · w, not with n²."
            return (
                f"A word sees itself and {count(near, 'word')} on each side. {cost}"
                if near
                else "A word sees only itself."
            )
        case "prefix":
            first = _count(numbers[0])
            return (
                f"Every word sees the first {first}; after them the mask is causal: a prefix LM reads the prompt in "
                "both directions, then generates."
            )
        case "sinks":
            return f"All words see only the first {_count(numbers[0])}. Combine it with another mask: window or sinks."
        case "dilated":
            reach = "itself alone" if numbers[0] == 1 else f"itself and {numbers[0] - 1} on each side"
            return f"A word sees {reach}, in steps of {numbers[1]}. It reaches far for the cost of a few words."
        case "unseen":
            return "One or several words are masked for all others. Their weight moves to the other words."
        case "documents":
            return "Several texts share one sequence, and a word sees only its own text."
        case _:
            return f"The rule “{rule}”."


def describe_painting(rule: str, built_in: str = "none") -> str:
    """Describe a painted mask."""
    base = "an open map" if normalize(rule) == "none" else f"the mask “{normalize(rule)}”"
    return f"Painted by hand on {base}. The link keeps all cells.{_built_in_note(built_in)}"


def _built_in_note(built_in: str) -> str:
    return "" if built_in == "none" else f" What the model’s own {built_in} mask blocks stays blocked."


def _count(first: int) -> str:
    return "token" if first == 1 else f"{first} tokens"


def _term(term: str) -> str:
    parts = term.split(" & ")
    return " and ".join(f"“{part[1:]}” hatches it" if part[0] == "!" else f"“{part}” opens it" for part in parts)
