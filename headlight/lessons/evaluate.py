"""The value of a rule's tree on what a page shows: a walk over the tree, step by step."""

from __future__ import annotations

import ast

import torch

from . import functions
from .grammar import Node, RuleError, Word, word
from .quantities.scene import PageScene
from .values import LETTERS, Axis, Value, place

CHANGING = frozenset({"with", "without"})


def evaluate(tree: Node, scene: PageScene) -> Value:
    """The value of a tree.

    Raises:
        RuleError: it has none on this picture, as a word that is not in the sentence; HeadlightError: a picture that
            cannot be computed.
    """
    match tree:
        case ast.Constant(float(number_)):
            return Value.number(number_)
        case ast.Subscript(of, slice=ast.Tuple(places)):
            return _indexed(evaluate(of, scene), places, scene)
        case ast.Subscript(of, slice=place_):
            return _indexed(evaluate(of, scene), [place_], scene)
        case ast.Call(ast.Name() as name, arguments):
            return _called(name, arguments, scene)
        case ast.UnaryOp(ast.Not(), of):
            return Value.number(not evaluate(of, scene).truth)
        case ast.UnaryOp(_, of):
            value = evaluate(of, scene)
            return Value(-functions.numbers(value.tensor), value.axes)
        case ast.BoolOp(joined, parts):
            decides = isinstance(joined, ast.Or)
            return Value.number(
                decides if any(evaluate(part, scene).truth is decides for part in parts) else not decides
            )
        case ast.Compare(left, [sign], [right]):
            return functions.joined(sign, evaluate(left, scene), evaluate(right, scene))
        case ast.BinOp(left, sign, right) if not isinstance(sign, ast.MatMult):
            return functions.joined(sign, evaluate(left, scene), evaluate(right, scene))
    said = _word(tree)
    if not said.quoted and scene.has(said.name):
        return scene.quantity(said.name, [], primed=said.primed)
    return Value.number(float(place(scene.tokens(), said.name, said.nth)))


def _word(tree: ast.AST) -> Word:
    if (said := word(tree)) is None:
        raise RuleError("a number or a word should stand where something else does")
    return said


def _indexed(value: Value, places: list[ast.expr], scene: PageScene) -> Value:
    if len(places) > len(value.axes):
        raise RuleError(f"{len(places)} places are named on {len(value.axes)} axes")
    tensor, axes, dim = value.tensor, list[Axis](), 0
    for at, axis in zip(places, value.axes, strict=False):
        size = tensor.shape[dim]
        if isinstance(at, ast.Slice):
            first, last, _ = slice(*(end and _at(end, axis, scene) for end in (at.lower, at.upper))).indices(size)
            tensor = tensor.narrow(dim, min(first, size), max(0, last - first))
            axes.append(Axis(axis.letter, axis.tokens[first : max(first, last)]))
            dim += 1
            continue
        found = _at(at, axis, scene)
        if not -size <= found < size:
            raise RuleError(f"the axis {axis.letter} has {size} places, there is no place {found}")
        tensor = tensor.select(dim, found)
    return Value(tensor, (*axes, *value.axes[len(places) :]))


def _at(at: Node, axis: Axis, scene: PageScene) -> int:
    """A place on an axis: of a word, where it stands there."""
    said = word(at)
    if said and (said.quoted or not (said.primed or scene.has(said.name))):
        return axis.place(said.name, said.nth)
    return evaluate(at, scene).whole


def _called(function: ast.Name, arguments: list[ast.expr], scene: PageScene) -> Value:
    said = _word(function)
    name = said.name
    if name in CHANGING and arguments:
        *how, part = arguments
        return evaluate(part, _changed(name, how, scene))
    if scene.has(name):
        return scene.quantity(name, [_literal(one) for one in arguments], primed=said.primed)
    if name not in functions.NAMES:
        raise RuleError(f"there is no function {name}")
    if not arguments:
        raise RuleError(f"{name} is asked of nothing at all")
    *others, last = arguments
    axis = word(last)
    if name in functions.REDUCING and others and axis and not axis.quoted and axis.name in LETTERS:
        return functions.reduced(name, [evaluate(one, scene) for one in others[:1]], axis.name)
    values = [evaluate(one, scene) for one in arguments]
    return functions.reduced(name, values) if name in functions.REDUCING else functions.called(name, values)


def _changed(name: str, how: list[ast.expr], scene: PageScene) -> PageScene:
    """The scene of `with("keys of the link", …)`, `without(layer, …)` or `without(layer, head, …)`."""
    told = [_literal(one) for one in how]
    if name == "with" and len(told) == 1 and isinstance(told[0], str):
        return scene.changed(told[0])
    numbers = [int(one) for one in told if isinstance(one, float) and one == int(one)]
    if name == "without" and len(numbers) == len(told) and len(told) in (1, 2):
        return scene.without(numbers[0], numbers[1] if len(numbers) == 2 else None)
    raise RuleError('with takes "keys of a link" and a rule; without takes a layer, or a layer and a head, and a rule')


def _literal(node: Node) -> str | float:
    """A number or text as it is written. Raises a RuleError for anything that is computed."""
    match node:
        case ast.Constant(float() | str() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(float(value))):
            return -value
    raise RuleError("what a quantity is told is a number, or a text in quotes")


def truth(tree: Node, scene: PageScene) -> bool:
    """Tells whether a rule holds. Raises as `evaluate`, and a RuleError of a rule that is neither true nor false."""
    return evaluate(tree, scene).truth


def number(tree: Node, scene: PageScene) -> float:
    """The one number that a rule has. Raises as `evaluate`, and a RuleError of a whole tensor."""
    value = evaluate(tree, scene)
    return value.single if value.tensor.dtype != torch.bool else float(value.truth)
