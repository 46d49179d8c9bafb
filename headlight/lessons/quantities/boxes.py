"""Quantities of The model: sizes of its boxes."""

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture.model_boxes import boxes
from headlight.picture.pictures import Picture


def box_parameters(picture: Picture, kind: str) -> Value:
    """Return `box_parameters("mlp")`: the number of parameters in all boxes of a kind, or of that name.

    Raises:
        RuleError: the model has no such box.
    """
    counts = [sum(box.parameters) for box in boxes(picture, 0).boxes if kind in (box.kind, box.name)]
    if not counts:
        raise RuleError(f"this model has no box “{kind:.40}”")
    return Value.number(float(sum(counts)))
