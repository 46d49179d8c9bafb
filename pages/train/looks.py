"""Where trained vision transformers look: the picture, and over its patches the weights of a token's row."""

from typing import cast

from mha_core.models.vision import PictureModel
from mha_core.training.tasks import shapes
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block

from .answers import Models, Trained, once, one_of


def maps(models: Models, text: str, head: str) -> list[Block]:
    """Of each model the picture that is written so, drawn, with one head's weights or a layer's mean."""
    return [_patches(one, name, text, head) for name, one in models.items()]


@once
def _patches(one: Trained, name: str, text: str, head: str) -> Block:
    drawing = shapes.read(text)
    run = cast(PictureModel, one.model).look(drawing.pixels)
    for sentence in run.notices:
        one.hear(sentence)
    weights = one_of(run.weights, head)
    if weights is None:
        return sheet.text(f"{name} has no {head.removeprefix('mean of ')}.")
    return sheet.patches(name, drawing.pixels.tolist(), run.tokens, weights.tolist(), drawing.touched)
