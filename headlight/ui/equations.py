"""Formulas of "Attention Is All You Need" with the computed sizes, in the colours of the axes.

They are plain data, built as MathML in the browser (assets/web/sheets/equation.js) without a library. A node is a list:
the name of a MathML element, the letter of an axis for its colour or "", then texts and nodes.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .numbers import integer
from .sheet import Block

Node = list[Any]
Size = tuple[str, int]  # letter and length of an axis


def _leaf(tag: str, text: str, axis: str = "") -> Node:
    return [tag, axis, text]


def _node(tag: str, *nodes: Node) -> Node:
    return [tag, "", *nodes]


name, sign, value = (partial(_leaf, tag) for tag in ("mi", "mo", "mn"))  # a variable or function, "=" or "(", a number
row, fraction, root = (partial(_node, tag) for tag in ("mrow", "mfrac", "msqrt"))
sup, sub, subsup, munder = (partial(_node, tag) for tag in ("msup", "msub", "msubsup", "munder"))


def _listing(separator: str, nodes: Sequence[Node]) -> list[Node]:
    return [part for node in nodes for part in (sign(separator), node)][1:]


def tensor(base: Node, *sizes: Size) -> Node:
    """Return a tensor with its sizes below it, each in the colour of its axis."""
    return munder(base, row(*_listing("×", [value(integer(size), axis) for axis, size in sizes])))


def call(function: str, *arguments: Node) -> Node:
    """Return a function call."""
    return row(name(function), sign("("), *_listing(",", arguments), sign(")"))


def equation(title: str, lines: Sequence[Node], note: str = "") -> Block:
    """Return a block of formulas under a title."""
    return {"kind": "equation", "name": title, "lines": list(lines), "note": note}


_Q, _K, _V = (name(letter) for letter in "QKV")


def attention(len_q: int, len_k: int, d: int, width: int, leading: Sequence[int] = ()) -> Block:
    """Return equation 1, softmax(Q Kᵀ / √d) V, with `d` channels of queries and keys and `width` of the values.

    It applies to each index of the leading axes, which have the sizes `leading`.
    """
    q, k, v = (
        tensor(_Q, ("i", len_q), ("d", d)),
        tensor(sup(_K, name("T")), ("d", d), ("j", len_k)),
        tensor(_V, ("j", len_k), ("c", width)),
    )
    scores = fraction(row(q, k), munder(root(sub(name("d"), name("k"))), row(sign("√"), value(integer(d), "d"))))
    weights = call("softmax", scores)
    left = tensor(call("Attention", _Q, _K, _V), ("i", len_q), ("c", width))
    count = " × ".join(integer(size) for size in leading)
    note = f"once for each of {count} leading indices" if leading else ""
    return equation("Scaled dot-product attention", [row(left, sign("="), weights, v)], note)


def multi_head(len_q: int, n_heads: int, d_model: int, width: int | None = None) -> Block:
    """Return the formulas of section 3.2.2, the concatenation of heads times a matrix.

    `width` are the channels of a head's values, by default d_model / n_heads.
    """
    d = d_model // n_heads
    d_v = d if width is None else width
    heads = [sub(name("head"), value("1"))]
    if n_heads > 1:
        heads += [sign("…")] * (n_heads > 2) + [sub(name("head"), value(integer(n_heads), "h"))]
    joined = tensor(call("Concat", *heads), ("i", len_q), ("c", n_heads * d_v))
    out = tensor(sup(name("W"), name("O")), ("c", n_heads * d_v), ("c", d_model))
    layer = row(call("MultiHead", _Q, _K, _V), sign("="), joined, out)
    projections = [
        row(letter, tensor(subsup(name("W"), name("h", "h"), letter), ("c", d_model), ("d", size)))
        for letter, size in ((_Q, d), (_K, d), (_V, d_v))
    ]
    head = tensor(sub(name("head"), name("h", "h")), ("i", len_q), ("d", d_v))
    lines = [layer, row(head, sign("="), call("Attention", *projections))]
    note = f"h from 1 to {n_heads}, as the paper counts" if n_heads > 1 else "with one head"
    return equation("Multi-head attention", lines, note)
