"""The value of a rule's tree on what a page shows: a walk over the tree, step by step."""

from __future__ import annotations

from typing import Protocol

import torch

from . import functions
from .grammar import Binary, Call, Index, Name, Node, Number, RuleError, Span, Text, Unary
from .values import LETTERS, Axis, Value, place


class Scene(Protocol):
    """What the names of a rule mean."""

    def quantity(self, name: str, arguments: list[str | float], *, primed: bool) -> Value:
        """A quantity of the picture shown, primed of the other one. Raises a RuleError where it has none."""

    def has(self, name: str) -> bool:
        """Tells whether this is the name of a quantity, and no word."""

    def tokens(self) -> tuple[str, ...]:
        """The tokens of the picture shown."""

    def changed(self, link: str) -> Scene:
        """The same with other values of some keys of the link."""

    def without(self, layer: int, head: int | None) -> Scene:
        """The same with one head switched off, or all heads of a layer, on both sides."""


CHANGING = frozenset({"with", "without"})


def evaluate(tree: Node, scene: Scene) -> Value:
    """The value of a tree.

    Raises:
        RuleError: it has none on this picture, as a word that is not in the sentence; HeadlightError: a picture that
            cannot be computed.
    """
    match tree:
        case Number(value):
            return Value.number(value)
        case Text(word, nth):
            return Value.number(float(place(scene.tokens(), word, nth)))
        case Name(name, primed, nth):
            if scene.has(name):
                return scene.quantity(name, [], primed=primed)
            return Value.number(float(place(scene.tokens(), name, nth)))
        case Index():
            return _indexed(tree, scene)
        case Call():
            return _called(tree, scene)
        case Unary(sign, of):
            return _signed(sign, evaluate(of, scene))
        case Binary("and" | "or" as sign, left, right):
            first = evaluate(left, scene).truth
            decided = first if sign == "or" else not first
            return Value.number(first if decided else evaluate(right, scene).truth)
        case Binary(sign, left, right):
            return functions.joined(sign, evaluate(left, scene), evaluate(right, scene))


def _signed(sign: str, value: Value) -> Value:
    if sign == "not":
        return Value.number(not value.truth)
    return Value(value.tensor.abs() if sign == "|" else -value.tensor, value.axes)


def _indexed(tree: Index, scene: Scene) -> Value:
    value = evaluate(tree.of, scene)
    if len(tree.places) > len(value.axes):
        raise RuleError(f"{len(tree.places)} places are named on {len(value.axes)} axes")
    tensor, axes, dim = value.tensor, list[Axis](), 0
    for at, axis in zip(tree.places, value.axes, strict=False):
        size = tensor.shape[dim]
        if isinstance(at, Span):
            first, last, _ = slice(_end(at.first, axis, scene), _end(at.last, axis, scene)).indices(size)
            tensor = tensor.narrow(dim, min(first, size), max(0, last - first))
            axes.append(Axis(axis.letter, axis.tokens[first : max(first, last)]))
            dim += 1
            continue
        found = _at(at, axis, scene)
        if not -size <= found < size:
            raise RuleError(f"the axis {axis.letter} has {size} places, there is no place {found}")
        tensor = tensor.select(dim, found)
    return Value(tensor, (*axes, *value.axes[len(tree.places) :]))


def _end(at: Node | None, axis: Axis, scene: Scene) -> int | None:
    return None if at is None else _at(at, axis, scene)


def _at(at: Node, axis: Axis, scene: Scene) -> int:
    """A place on an axis: of a word, where it stands there."""
    match at:
        case Text(word, nth):
            return axis.place(word, nth)
        case Name(name, False, nth) if not scene.has(name):
            return axis.place(name, nth)
        case _:
            return evaluate(at, scene).whole


def _called(tree: Call, scene: Scene) -> Value:
    if tree.name in CHANGING:
        *how, part = tree.arguments
        return evaluate(part, _changed(tree.name, how, scene))
    if scene.has(tree.name):
        return scene.quantity(tree.name, [_literal(one) for one in tree.arguments], primed=tree.primed)
    if tree.name not in functions.NAMES:
        raise RuleError(f"there is no function {tree.name}")
    if not tree.arguments:
        raise RuleError(f"{tree.name} is asked of nothing at all")
    *others, last = tree.arguments
    if tree.name in functions.REDUCING and others and isinstance(last, Name) and last.name in LETTERS:
        return functions.reduced(tree.name, [evaluate(one, scene) for one in others[:1]], last.name)
    values = [evaluate(one, scene) for one in tree.arguments]
    return (
        functions.reduced(tree.name, values) if tree.name in functions.REDUCING else functions.called(tree.name, values)
    )


def _changed(name: str, how: list[Node], scene: Scene) -> Scene:
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
    if isinstance(node, (Text, Number)):
        return node.value
    if isinstance(node, Unary) and node.sign == "-" and isinstance(node.of, Number):
        return -node.of.value
    raise RuleError("what a quantity is told is a number, or a text in quotes")


def truth(tree: Node, scene: Scene) -> bool:
    """Tells whether a rule holds. Raises as `evaluate`, and a RuleError of a rule that is neither true nor false."""
    return evaluate(tree, scene).truth


def number(tree: Node, scene: Scene) -> float:
    """The one number that a rule has. Raises as `evaluate`, and a RuleError of a whole tensor."""
    value = evaluate(tree, scene)
    return value.single if value.tensor.dtype != torch.bool else float(value.truth)
