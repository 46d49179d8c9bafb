"""The formulas of "Attention Is All You Need" with the sizes of what is computed, in the colours of the axes.

They are plain data, built as MathML in the browser (assets/web/sheets/equation.js): nothing is loaded for them. A node
is a list: the name of a MathML element, the letter of an axis or "" (its colour), then texts and nodes.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .numbers import whole
from .sheet import Block

Node = list[Any]
Size = tuple[str, int]  # the letter of an axis, and how long it is


def _leaf(tag: str, text: str, axis: str = "") -> Node:
    return [tag, axis, text]


def _node(tag: str, *nodes: Node) -> Node:
    return [tag, "", *nodes]


name, sign, value = (partial(_leaf, tag) for tag in ("mi", "mo", "mn"))  # a variable or function, "=" or "(", a number
row, fraction, root = (partial(_node, tag) for tag in ("mrow", "mfrac", "msqrt"))
power, lowered, both, under = (partial(_node, tag) for tag in ("msup", "msub", "msubsup", "munder"))


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


_Q, _K, _V = (name(letter) for letter in "QKV")


def attention(len_q: int, len_k: int, d: int, width: int, leading: Sequence[int] = ()) -> Block:
    """Equation 1: softmax(Q Kᵀ / √d) V.

    Args:
        len_q, len_k, d: queries, keys, and channels of both. width: channels of V.
        leading: the sizes of the axes before these two; each index of them has a formula of its own.
    """
    q, k, v = (
        sized(_Q, ("i", len_q), ("d", d)),
        sized(power(_K, name("T")), ("d", d), ("j", len_k)),
        sized(_V, ("j", len_k), ("c", width)),
    )
    scores = fraction(row(q, k), under(root(lowered(name("d"), name("k"))), row(sign("√"), value(whole(d), "d"))))
    weights = called("softmax", scores)
    left = sized(called("Attention", _Q, _K, _V), ("i", len_q), ("c", width))
    many = " × ".join(whole(size) for size in leading)
    note = f"once for each of {many} leading indices" if leading else ""
    return equation("Scaled dot-product attention", [row(left, sign("="), weights, v)], note)


def multi_head(len_q: int, n_heads: int, d_model: int, width: int | None = None) -> Block:
    """Section 3.2.2: the heads side by side, times one more matrix.

    Args:
        width: channels of a head's values, default d_model / n_heads, as queries and keys have.
    """
    d = d_model // n_heads
    d_v = d if width is None else width
    heads = [lowered(name("head"), value("1"))]
    if n_heads > 1:
        heads += [sign("…")] * (n_heads > 2) + [lowered(name("head"), value(whole(n_heads), "h"))]
    joined = sized(called("Concat", *heads), ("i", len_q), ("c", n_heads * d_v))
    out = sized(power(name("W"), name("O")), ("c", n_heads * d_v), ("c", d_model))
    whole_layer = row(called("MultiHead", _Q, _K, _V), sign("="), joined, out)
    own = [
        row(letter, sized(both(name("W"), name("h", "h"), letter), ("c", d_model), ("d", size)))
        for letter, size in ((_Q, d), (_K, d), (_V, d_v))
    ]
    head = sized(lowered(name("head"), name("h", "h")), ("i", len_q), ("d", d_v))
    lines = [whole_layer, row(head, sign("="), called("Attention", *own))]
    counted = f"h from 1 to {n_heads}, as the paper counts" if n_heads > 1 else "with one head"
    return equation("Multi-head attention", lines, counted)
