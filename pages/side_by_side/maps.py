"""One map a picture, with its numbers in the cells, and what becomes of a word that stands there twice."""

from collections.abc import Sequence

from torch import Tensor

from mha_core.errors import HeadlightError, TooLong
from pages.kit.draw import sheet
from pages.kit.draw.numbers import count
from pages.kit.draw.sheet import Block
from pages.kit.picture import pictures, repeats, words
from pages.kit.picture.pictures import Picture

from . import beside
from .beside import MOST_TOKENS, Side


def panels(sides: Sequence[Side], layer: int, head: int | None) -> tuple[list[Block], list[str]]:
    """A panel for each side, and what must be said of the passes.

    Raises what `pictures.picture` raises of the sentence.

    Args:
        layer, head: counted from 0; no head = the mean over the heads of the layer.

    Raises:
        TooLong: the sentence has more tokens than numbers can be read of.
    """
    tokens = pictures.tokens(sides[0].settings)
    if len(tokens) > MOST_TOKENS:
        raise TooLong(limit=MOST_TOKENS, got=len(tokens))
    panels = [_panel(side, layer, head) for side in sides]
    return [panel for panel, _ in panels], list(dict.fromkeys(said for _, notices in panels for said in notices))


def of(picture: Picture, layer: int, head: int | None) -> Tensor:
    """The weights (i, j) of a head, or the mean over the heads of its layer, as nn.MultiheadAttention averages them.

    Raises:
        HeadlightError: this model has no such layer or head.
    """
    n_layers, n_heads = picture.run.weights.shape[:2]
    if layer >= n_layers or (head is not None and head >= n_heads):
        raise HeadlightError(f"this model has {count(n_layers, 'layer')} of {count(n_heads, 'head')}")
    weights = picture.run.weights[layer]
    return weights.mean(dim=0) if head is None else weights[head]


def _panel(side: Side, layer: int, head: int | None) -> tuple[Block, tuple[str, ...]]:
    heading = words.position_title(side.name)
    try:
        picture = pictures.picture(side.settings)
        weights = of(picture, layer, head)
    except HeadlightError as error:
        return sheet.panel(heading, [sheet.text(words.sentence(error))]), ()
    tokens = picture.run.tokens
    matrix = sheet.attention_map("", tokens, weights.tolist())
    said = [sheet.text(text) for text in (repeats.sentence(tokens, weights),) if text]
    note = sheet.text(beside.note(side, picture.model), muted=True)
    return sheet.panel(heading, [matrix, *said, note]), picture.run.notices
