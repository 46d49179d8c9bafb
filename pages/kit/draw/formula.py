"""Formulas as plain data, built as MathML in the browser (assets/web/sheets/equation.js): nothing is loaded for them.

A node is a list: the name of a MathML element, the letter of an axis or "" (its colour), then texts and nodes.
"""

from collections.abc import Sequence
from typing import Any

from .numbers import whole
from .sheet import Block

Node = list[Any]
Size = tuple[str, int]  # the letter of an axis, and how long it is


def name(text: str, axis: str = "") -> Node:
    """A variable, or with several letters a function."""
    return ["mi", axis, text]


def sign(text: str) -> Node:
    """An operator: "=", "·", "("."""
    return ["mo", "", text]


def value(text: str, axis: str = "") -> Node:
    """A number as it is to be shown."""
    return ["mn", axis, text]


def row(*nodes: Node) -> Node:
    return ["mrow", "", *nodes]


def fraction(over: Node, under: Node) -> Node:
    return ["mfrac", "", over, under]


def root(of: Node) -> Node:
    return ["msqrt", "", of]


def power(base: Node, exponent: Node) -> Node:
    return ["msup", "", base, exponent]


def lowered(base: Node, index: Node) -> Node:
    return ["msub", "", base, index]


def both(base: Node, index: Node, exponent: Node) -> Node:
    """An index and an exponent on one letter."""
    return ["msubsup", "", base, index, exponent]


def under(base: Node, below: Node) -> Node:
    return ["munder", "", base, below]


def sized(base: Node, *sizes: Size) -> Node:
    """A tensor with its sizes written below, each in the colour of its axis."""
    parts: list[Node] = []
    for axis, size in sizes:
        parts += [sign("×")] * bool(parts) + [value(whole(size), axis)]
    return under(base, row(*parts))


def called(function: str, *arguments: Node) -> Node:
    parts: list[Node] = []
    for argument in arguments:
        parts += [sign(",")] * bool(parts) + [argument]
    return row(name(function), sign("("), *parts, sign(")"))


def equation(title: str, lines: Sequence[Node], note: str = "") -> Block:
    """Formulas one below the other under a name."""
    return {"kind": "equation", "name": title, "lines": list(lines), "note": note}
