"""Which answer the numbers give to the question of a step: computed from what the page shows now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mha_core.errors import HeadlightError
from pages.kit.draw import numbers
from pages.kit.picture.query import Query

from .evaluate import number, truth
from .grammar import Node
from .quantities.scene import Shown as Scene
from .quantities.scene import shown
from .schema import Shown, Step


@dataclass(frozen=True)
class Verdict:
    """What the numbers say.

    Attributes:
        picked: the letter of the one option whose rule holds, if it is the one that the author means; None: no verdict.
        meant: the letter that the author means.
        numbers: label, value and text of each number that the step shows.
        sentence: one sentence for the screen.
    """

    picked: str | None
    meant: str
    numbers: tuple[tuple[str, float, str], ...]
    sentence: str


def verdict(step: Step, query: Query | Mapping[str, Any]) -> Verdict:
    """The verdict on a step while its page shows this.

    Args:
        query: of the page's link as it is now, or its values by key.

    A picture that cannot be computed, or a word that is not in it, has no verdict, and the sentence says why.

    Raises:
        HeadlightError: this is no query.
    """
    scene = shown(step.page, query)
    found, missing = [], ""
    for one in step.shows:
        try:
            value = number(one.value.tree, scene)
            found.append((one.label, value, written(one, value, scene)))
        except HeadlightError as error:
            missing = missing or str(error)
    holding, unclear = holds({one.letter: one.holds.tree for one in step.options if one.holds}, scene)
    letters = " and ".join(holding)
    if missing or unclear:
        return Verdict(None, step.right, tuple(found), f"There is no verdict here: {missing or unclear}.")
    if not holding:
        return Verdict(None, step.right, tuple(found), "Here no answer’s rule holds, so there is no verdict.")
    if len(holding) > 1:
        said = f"Here the rules of {letters} hold together, so there is no verdict."
        return Verdict(None, step.right, tuple(found), said)
    if holding != [step.right]:
        said = f"Here the numbers say {letters}, and the lesson means {step.right}: judge by the numbers themselves."
        return Verdict(None, step.right, tuple(found), said)
    text = next(option.text for option in step.options if option.letter == step.right)
    return Verdict(step.right, step.right, tuple(found), f"{step.right}: {text.rstrip('.')}.")


def holds(rules: Mapping[str, Node], scene: Scene) -> tuple[list[str], str]:
    """The letters of the rules that hold, and why one cannot be told, "" where all can."""
    holding, unclear = list[str](), ""
    for letter, tree in rules.items():
        try:
            if truth(tree, scene):
                holding.append(letter)
        except HeadlightError as error:
            unclear = unclear or str(error)
    return holding, unclear


def written(one: Shown, value: float, scene: Scene) -> str:
    """A number in the format of its step."""
    match one.format:
        case "word":
            tokens = scene.tokens()
            return tokens[int(value)] if value == value and -1 < value < len(tokens) else numbers.number(value, 0)
        case "percent":
            return f"{numbers.number(100 * value, 1)} %"
        case "difference":
            return numbers.small(value) if value >= 0 else numbers.number(value)
        case _:
            return numbers.number(value, int(one.format))
