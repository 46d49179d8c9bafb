"""The verdict on a step: the answer that follows from the numbers of the present picture."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headlight.picture.query import Query
from headlight.ui import numbers
from mha_core.errors import HeadlightError

from .evaluate import evaluate, number, truth
from .grammar import RuleError, parse
from .quantities.scene import PageScene, page_scene
from .schema import LabelledValue, LessonStep

MAX_IN_A_ROW = 40  # numbers along an axis


@dataclass(frozen=True)
class Verdict:
    """The answer to a step and its numbers.

    Attributes:
        picked: letter of the only choice whose rule holds, if the author agrees; None without a verdict.
        numbers: label, value and text of each number of the step.
        sentence: the verdict in words.
        explanation: the explanation with its numbers; "" without a verdict.
    """

    picked: str | None
    numbers: tuple[tuple[str, float, str], ...]
    sentence: str
    explanation: str = ""


def verdict(step: LessonStep, query: Query | Mapping[str, Any]) -> Verdict:
    """Return the verdict on a step for the present state of its page.

    If a picture cannot be computed or lacks a word, there is no verdict, and its sentence gives the reason.

    Args:
        step: the step.
        query: query of the page's present link, or its values by key.

    Raises:
        HeadlightError: the query is not valid.
    """
    scene = page_scene(step.page, query)
    labelled, missing, explanation = list[tuple[str, float, str]](), "", ""
    for item in step.results:
        try:
            labelled += _numbers(item, scene)
        except HeadlightError as error:
            missing = missing or str(error)
    holding, unclear = holding_rules({item.letter: item.condition for item in step.choices if item.condition}, scene)
    try:
        texts: dict[str, str] = {
            item.name: format_number(item.format, number(parse(item.value), scene), scene) for item in step.numbers
        }
        explanation = re.sub(r"{(.*?)}", lambda match: texts[match[1]], step.explanation)
    except HeadlightError as error:
        missing = missing or str(error)
    picked = holding[0] if len(holding) == 1 and step.answer in ("", *holding) else None
    if missing or unclear:
        picked, sentence = None, f"There is no answer here: {missing or unclear}."
    elif not holding:
        sentence = "No choice holds here, so there is no answer."
    elif len(holding) > 1:
        sentence = f"The rules of {' and '.join(holding)} all hold here, so there is no verdict."
    elif picked is None:
        sentence = (
            f"Here the numbers give {holding[0]}, the lesson expects {step.answer}: compare the numbers yourself."
        )
    else:
        text = next(choice.text for choice in step.choices if choice.letter == picked)
        sentence = f"{picked}: {text.rstrip('.')}."
    return Verdict(picked, tuple(labelled), sentence, explanation if picked else "")


def _numbers(item: LabelledValue, scene: PageScene) -> list[tuple[str, float, str]]:
    """Return label, value and text of a number, or of each number along an axis."""
    value = evaluate(parse(item.value), scene)
    if len(value.axes) != 1:
        by_label = {item.label: number(parse(item.value), scene)}
    elif len(value.tensor) > MAX_IN_A_ROW:
        raise RuleError(f"{len(value.tensor)} numbers in a row are too many; at most {MAX_IN_A_ROW} are shown")
    else:
        words = value.axes[0].tokens
        by_label = {f"{n} {words[n]}" if words else f"{item.label} {n}": float(x) for n, x in enumerate(value.tensor)}
    return [(label, entry, format_number(item.format, entry, scene)) for label, entry in by_label.items()]


def holding_rules(rules: Mapping[str, str], scene: PageScene) -> tuple[list[str], str]:
    """Return the letters of the rules that hold, and the first error, "" without one."""
    holding, unclear = list[str](), ""
    for letter, rule in rules.items():
        try:
            if truth(parse(rule), scene):
                holding.append(letter)
        except HeadlightError as error:
            unclear = unclear or str(error)
    return holding, unclear


def format_number(form: str, value: float, scene: PageScene) -> str:
    """Format a number."""
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
        case "0" if abs(value) < 1e9:
            return numbers.integer(round(value))
        case _:
            return numbers.number(value, int(form))
