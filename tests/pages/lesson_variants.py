"""The choices that hold on a variant of a lesson's step."""

import re

from headlight.lessons.schema import LessonStep
from headlight.lessons.variants import parse_replacements, variant_scene
from headlight.lessons.verdict import holding_rules


def holding_choices(step: LessonStep, variant: str) -> tuple[list[str], str]:
    """Return the letters of the choices whose rules hold on a variant, and an error of a rule, "" without one."""
    words = parse_replacements(variant)
    pattern = rf"\b({'|'.join(map(re.escape, words))})\b" if words else r"(?!)"
    rules = {choice.letter: choice.condition for choice in step.choices if choice.condition}
    swapped = {letter: re.sub(pattern, lambda match: words[match[1]], rule) for letter, rule in rules.items()}
    return holding_rules(swapped, variant_scene(step.page, step.query, variant, " ".join(rules.values())))
