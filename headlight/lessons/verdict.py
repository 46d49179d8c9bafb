"""Which answer the numbers give to the question of a step: computed from what the page shows now."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headlight.picture.query import Query
from headlight.ui import numbers
from mha_core.errors import HeadlightError

from .evaluate import evaluate, number, truth
from .grammar import RuleError, parse
from .quantities.scene import PageScene, scene_of
from .schema import LessonStep, Reveal

MAX_IN_A_ROW = 40  # numbers of one axis that are shown


@dataclass(frozen=True)
class Verdict:
    """What the numbers say.

    Attributes:
        picked: the letter of the one option whose rule holds, if it is the one that the author means; None: no verdict.
        numbers: label, value and text of each number that the step shows.
        because: why it is so, with its numbers; "" without a verdict.
    """

    picked: str | None
    numbers: tuple[tuple[str, float, str], ...]
    sentence: str
    because: str = ""


def verdict(step: LessonStep, query: Query | Mapping[str, Any]) -> Verdict:
    """The verdict on a step while its page shows this.

    Args:
        query: of the page's link as it is now, or its values by key.

    A picture that cannot be computed, or a word that is not in it, has no verdict, and the sentence says why.

    Raises:
        HeadlightError: this is no query.
    """
    scene = scene_of(step.page, query)
    found, missing, because = list[tuple[str, float, str]](), "", ""
    for one in step.shows:
        try:
            found += _numbers(one, scene)
        except HeadlightError as error:
            missing = missing or str(error)
    holding, unclear = holds({one.letter: one.holds for one in step.options if one.holds}, scene)
    try:
        texts: dict[str, str] = {
            one.name: written(one.format, number(parse(one.value), scene), scene) for one in step.numbers
        }
        because = re.sub(r"{(.*?)}", lambda named: texts[named[1]], step.because)
    except HeadlightError as error:
        missing = missing or str(error)
    picked = holding[0] if len(holding) == 1 and step.right in ("", *holding) else None
    if missing or unclear:
        picked, said = None, f"There is no answer here: {missing or unclear}."
    elif not holding:
        said = "Here no option holds, so there is no answer."
    elif len(holding) > 1:
        said = f"Here {' and '.join(holding)} hold at once, so there is no clear answer."
    elif picked is None:
        said = f"Here the measurement supports {holding[0]}, but the lesson expects {step.right}; judge by the numbers."
    else:
        text = next(option.text for option in step.options if option.letter == picked)
        said = f"{picked}: {text.rstrip('.')}."
    return Verdict(picked, tuple(found), said, because if picked else "")


def _numbers(one: Reveal, scene: PageScene) -> list[tuple[str, float, str]]:
    """Label, value and text of a number, or of each number on one axis."""
    value = evaluate(parse(one.value), scene)
    if len(value.axes) != 1:
        each = {one.label: number(parse(one.value), scene)}
    elif len(value.tensor) > MAX_IN_A_ROW:
        raise RuleError(f"{len(value.tensor)} numbers in a row are too many to be shown; at most {MAX_IN_A_ROW} are")
    else:
        words = value.axes[0].tokens
        each = {f"{at} {words[at]}" if words else f"{one.label} {at}": float(of) for at, of in enumerate(value.tensor)}
    return [(label, of, written(one.format, of, scene)) for label, of in each.items()]


def holds(rules: Mapping[str, str], scene: PageScene) -> tuple[list[str], str]:
    """The letters of the rules that hold, and why one cannot be told, "" where all can."""
    holding, unclear = list[str](), ""
    for letter, rule in rules.items():
        try:
            if truth(parse(rule), scene):
                holding.append(letter)
        except HeadlightError as error:
            unclear = unclear or str(error)
    return holding, unclear


def written(form: str, value: float, scene: PageScene) -> str:
    """A number in the format of its step."""
    match form:
        case "word":
            tokens = scene.tokens()
            return tokens[int(value)] if value == value and -1 < value < len(tokens) else numbers.number(value, 0)
        case "percent":
            return f"{numbers.number(100 * value, 1)} %"
        case "share":
            return numbers.share(value, 3)
        case "scientific":
            return numbers.scientific(value, 2)
        case "difference":
            return numbers.small(value) if value >= 0 else numbers.number(value)
        case _:
            return numbers.number(value, int(form))
