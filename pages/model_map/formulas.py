"""The formula of each box, with the sizes of this model and this sentence.

Those of assets/boxes.toml are Python expressions: `<=` is an assignment, `x[i]` an index, `a ** b` a power.
"""

import ast

from headlight.ui import equations, sheet
from headlight.ui.equations import Node, Size, call, equation, fraction, name, root, row, sign, sub, sup, tensor, value
from headlight.ui.sheet import Block

from .scene import Scene
from .texts import BOXES, Facts, entry

_SIGNS = {ast.Add: "+", ast.Sub: "−", ast.Mult: "·", ast.Eq: "=", ast.LtE: "←"}
_AXES = ("i", "j", "v")
_MAPS = ("G", "U", "V")  # weights that widen


def blocks(scene: Scene) -> list[Block]:
    """Return the formulas of the box in focus."""
    if "attention" in scene.box.kind:
        return _attention(scene)
    texts = entry(scene)
    lines = texts.get("formula") or BOXES["formulas"].get(scene.box.title)
    if not lines:
        return [sheet.text("This box has no formula in the paper; its code says what it computes.")]
    nodes = [_node(ast.parse(line.format(f=Facts(scene)), mode="eval").body, _sizes(scene)) for line in lines]
    return [equation(scene.box.title, nodes, texts.get("note", BOXES["formulas"]["note"]))]


def _attention(scene: Scene) -> list[Block]:
    sizes, (n_source, n_target) = scene.model.sizes, scene.lengths
    len_q = (n_target if scene.box.column else n_source) or sizes.max_len
    len_k, d = n_source if scene.box.kind == "cross-attention" else len_q, sizes.d_model // sizes.n_heads
    return [equations.attention(len_q, len_k, d, d), equations.multi_head(len_q, sizes.n_heads, sizes.d_model)]


def _sizes(scene: Scene) -> dict[str, tuple[Size, ...]]:
    """Return the sizes of the tensors in a formula, which is of one token."""
    box, c = scene.box, scene.model.sizes.d_model
    sizes: dict[str, tuple[Size, ...]] = {"x": (("c", c),)}  # of each token
    if box.kind == "embedding":
        return sizes | {"E": (("v", scene.model.sizes.vocabulary), ("c", c))}
    if box.kind == "head":
        return sizes | dict.fromkeys("EW", (("v", dict(box.axes).get("v") or 0), ("c", c)))
    notes = box.note.rpartition(", ")[2].split(" → ")
    widths = [int(text.replace(",", "")) for text in notes] if len(notes) > 1 else []
    if len(widths) == 3:
        wide, narrow = ("c", widths[1]), ("c", widths[2])
        sizes |= dict.fromkeys(_MAPS, (wide, ("c", widths[0]))) | dict.fromkeys(("W", "D"), (narrow, wide))
    return sizes


def _node(tree: ast.expr, sizes: dict[str, tuple[Size, ...]]) -> Node:
    """Return the node of an expression."""
    match tree:
        case ast.Compare(left, [sort], [right]) | ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as sort, right):
            parts = [_node(part, sizes) for part in (left, right)]
            if isinstance(sort, ast.Mult):
                sums = [isinstance(part, ast.BinOp) and not isinstance(part.op, ast.Div) for part in (left, right)]
                parts = [row(sign("("), x, sign(")")) if s else x for x, s in zip(parts, sums, strict=True)]
            return row(parts[0], sign(_SIGNS[type(sort)]), parts[1])
        case ast.BinOp(left, ast.Div(), right):
            return fraction(_node(left, sizes), _node(right, sizes))
        case ast.BinOp(left, ast.Pow(), right):
            return sup(_node(left, sizes), _node(right, sizes))
        case ast.Subscript(base, index):
            return sub(_node(base, {}), _node(index, {}))
        case ast.Call(ast.Name("sqrt"), [inner]):
            return root(_node(inner, {}))
        case ast.Call(ast.Name(function), [inner]):
            return call(function, _node(inner, sizes))
        case ast.Constant(number):
            return value(str(number))
        case ast.Name(text):
            letter = name(text, text if text in _AXES else "")
            return tensor(letter, *sizes[text]) if text in sizes else letter
    raise TypeError(f"a formula cannot have {ast.unparse(tree)}")
