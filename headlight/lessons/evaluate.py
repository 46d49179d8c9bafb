"""Evaluation of a rule's syntax tree on the picture of a page."""

import ast

import torch

from . import functions
from .grammar import Node, RuleError, Word, word
from .quantities.scene import PageScene
from .values import LETTERS, Axis, Value, find_token

CHANGING = frozenset({"with", "without"})


def evaluate(tree: Node, scene: PageScene) -> Value:
    """Evaluate a tree.

    Raises:
        RuleError: it has no value on this picture, for instance because a word is not in the sentence.
        HeadlightError: a picture cannot be computed.
    """
    match tree:
        case ast.Constant(float(number_)):
            return Value.number(number_)
        case ast.Subscript(operand, slice=ast.Tuple(places)):
            return _index(evaluate(operand, scene), places, scene)
        case ast.Subscript(operand, slice=place_):
            return _index(evaluate(operand, scene), [place_], scene)
        case ast.Call(ast.Name() as name, arguments):
            return _call(name, arguments, scene)
        case ast.UnaryOp(ast.Not(), operand):
            return Value.number(not evaluate(operand, scene).truth)
        case ast.UnaryOp(_, operand):
            value = evaluate(operand, scene)
            return Value(-functions.numbers(value.tensor), value.axes)
        case ast.BoolOp(operator, parts):
            decides = isinstance(operator, ast.Or)
            return Value.number(
                decides if any(evaluate(part, scene).truth is decides for part in parts) else not decides
            )
        case ast.Compare(left, [sign], [right]):
            return functions.binary(sign, evaluate(left, scene), evaluate(right, scene))
        case ast.BinOp(left, sign, right) if not isinstance(sign, ast.MatMult):
            return functions.binary(sign, evaluate(left, scene), evaluate(right, scene))
    term = _word(tree)
    if not term.quoted and scene.has(term.name):
        return scene.quantity(term.name, [], primed=term.primed)
    return Value.number(float(find_token(scene.tokens(), term.name, term.nth)))


def _word(tree: ast.AST) -> Word:
    if (term := word(tree)) is None:
        raise RuleError("a number or a word is expected here")
    return term


def _index(value: Value, places: list[ast.expr], scene: PageScene) -> Value:
    if len(places) > len(value.axes):
        raise RuleError(f"{len(places)} indices for {len(value.axes)} axes")
    tensor, axes, dim = value.tensor, list[Axis](), 0
    for node, axis in zip(places, value.axes, strict=False):
        size = tensor.shape[dim]
        if isinstance(node, ast.Slice):
            first, last, _ = slice(*(x and _offset(x, axis, scene) for x in (node.lower, node.upper))).indices(size)
            tensor = tensor.narrow(dim, min(first, size), max(0, last - first))
            axes.append(Axis(axis.letter, axis.tokens[first : max(first, last)]))
            dim += 1
            continue
        position = _offset(node, axis, scene)
        if not -size <= position < size:
            raise RuleError(f"index {position} is out of range: the axis {axis.letter} has size {size}")
        tensor = tensor.select(dim, position)
    return Value(tensor, (*axes, *value.axes[len(places) :]))


def _offset(node: Node, axis: Axis, scene: PageScene) -> int:
    """Return an index on an axis; for a word, its position."""
    term = word(node)
    if term and (term.quoted or not (term.primed or scene.has(term.name))):
        return axis.position(term.name, term.nth)
    return evaluate(node, scene).integer


def _call(function: ast.Name, arguments: list[ast.expr], scene: PageScene) -> Value:
    term = _word(function)
    name = term.name
    if name in CHANGING and arguments:
        *changes, part = arguments
        return evaluate(part, _change_scene(name, changes, scene))
    if scene.has(name):
        return scene.quantity(name, [_literal(argument) for argument in arguments], primed=term.primed)
    if name not in functions.NAMES:
        raise RuleError(f"there is no function {name}")
    if not arguments:
        raise RuleError(f"{name} needs an argument")
    *others, last = arguments
    axis = word(last)
    if name in functions.REDUCERS and others and axis and not axis.quoted and axis.name in LETTERS:
        return functions.reduce(name, [evaluate(argument, scene) for argument in others[:1]], axis.name)
    values = [evaluate(argument, scene) for argument in arguments]
    return functions.reduce(name, values) if name in functions.REDUCERS else functions.call(name, values)


def _change_scene(name: str, changes: list[ast.expr], scene: PageScene) -> PageScene:
    """Return the scene of `with("keys of the link", …)`, `without(layer, …)` or `without(layer, head, …)`."""
    literals = [_literal(node) for node in changes]
    if name == "with" and len(literals) == 1 and isinstance(literals[0], str):
        return scene.overlay(literals[0])
    numbers = [int(literal) for literal in literals if isinstance(literal, float) and literal == int(literal)]
    if name == "without" and len(numbers) == len(literals) and len(literals) in (1, 2):
        return scene.ablate(numbers[0], numbers[1] if len(numbers) == 2 else None)
    raise RuleError('with takes "keys of a link" and a rule; without takes a layer, or a layer and a head, and a rule')


def _literal(node: Node) -> str | float:
    """Return a literal number or text; raise a RuleError for any other expression."""
    match node:
        case ast.Constant(float() | str() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(float(value))):
            return -value
    raise RuleError("an argument of a quantity must be a number, or a text in quotes")


def truth(tree: Node, scene: PageScene) -> bool:
    """Return whether a rule holds.

    Raises:
        RuleError: its value is not a truth value, or as in `evaluate`.
        HeadlightError: a picture cannot be computed.
    """
    return evaluate(tree, scene).truth


def number(tree: Node, scene: PageScene) -> float:
    """Return the number that is the value of a rule.

    Raises:
        RuleError: its value is a tensor with axes, or as in `evaluate`.
        HeadlightError: a picture cannot be computed.
    """
    value = evaluate(tree, scene)
    return value.scalar if value.tensor.dtype != torch.bool else float(value.truth)
