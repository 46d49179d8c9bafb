"""What stands side by side: one model under several positions, or the models of one task that differ in them.

Of each one map with its numbers in the cells, and what becomes of a word that stands there twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from headlight.link.limits import POSITIONS
from headlight.link.presets import PRESETS
from headlight.picture import pictures, repeats, words
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.registry import trained
from headlight.ui import sheet
from headlight.ui.numbers import count
from headlight.ui.sheet import Block
from mha_core import Model
from mha_core.errors import HeadlightError, TooLong

USUAL = ("as trained", "none", "sinusoidal")  # as the long post compares them
MOST = 4  # pictures
TWICE = PRESETS[2]  # what is shown at first: of a word that stands there twice, only the place tells its rows apart
MOST_TOKENS = 24  # beyond, no number fits into a cell


Sides = Mapping[str, Settings]  # the name of each of the pictures, and what it is made of


def under(settings: Settings, names: Sequence[str]) -> Sides:
    """The same model under each of these positions, in the order in which they are offered."""
    kept = [name for name in POSITIONS if name in names][:MOST]
    return {name: replace(settings, position=POSITIONS[name]) for name in kept}


def siblings(name: str) -> dict[str, str]:
    """The models that were trained on the same task with the same seed: what tells them apart -> the model's name.

    Empty where there are fewer than two.
    """
    parts = name.split("-")
    if name not in trained.shipped() or len(parts) != 3:
        return {}
    task, _, seed = parts
    found = {
        other.split("-")[1]: other
        for other in trained.shipped()
        if other.startswith(f"{task}-") and other.endswith(f"-{seed}") and other.count("-") == 2
    }
    return found if len(found) > 1 else {}


def of_task(settings: Settings, names: Mapping[str, str]) -> Sides:
    """Each of these models on its own terms."""
    return {told: replace(settings, model=model) for told, model in list(names.items())[:MOST]}


def note(settings: Settings, model: Model) -> str:
    """What its positions are in this model, and what computes it where that is not what it was trained in."""
    return f"{words.position_note(settings.position, model)} {words.computed_by(model)}".strip()


def panels(sides: Sides, layer: int, head: int | None) -> tuple[list[Block], list[str]]:
    """A panel for each side, and what must be said of the passes.

    Raises what `pictures.picture` raises of the sentence.

    Args:
        layer, head: counted from 0; no head = the mean over the heads of the layer.

    Raises:
        TooLong: the sentence has more tokens than numbers can be read of.
    """
    tokens = pictures.tokens(next(iter(sides.values())))
    if len(tokens) > MOST_TOKENS:
        raise TooLong(limit=MOST_TOKENS, got=len(tokens))
    panels = [_panel(name, settings, layer, head) for name, settings in sides.items()]
    return [panel for panel, _ in panels], list(dict.fromkeys(said for _, notices in panels for said in notices))


def map_of(picture: Picture, layer: int, head: int | None) -> Tensor:
    """The weights (i, j) of a head, or the mean over the heads of its layer, as nn.MultiheadAttention averages them.

    Raises:
        HeadlightError: this model has no such layer or head.
    """
    n_layers, n_heads = picture.run.weights.shape[:2]
    if layer >= n_layers or (head is not None and head >= n_heads):
        raise HeadlightError(f"this model has {count(n_layers, 'layer')} of {count(n_heads, 'head')}")
    weights = picture.run.weights[layer]
    return weights.mean(dim=0) if head is None else weights[head]


def _panel(name: str, settings: Settings, layer: int, head: int | None) -> tuple[Block, tuple[str, ...]]:
    heading = words.position_title(name)
    try:
        picture = pictures.picture(settings)
        weights = map_of(picture, layer, head)
    except HeadlightError as error:
        return sheet.panel(heading, [sheet.text(words.sentence(error))]), ()
    tokens = picture.run.tokens
    matrix = sheet.attention_map("", tokens, weights.tolist())
    said = [sheet.text(text) for text in (repeats.sentence(tokens, weights),) if text]
    origin = sheet.text(note(settings, picture.model), muted=True)
    return sheet.panel(heading, [matrix, *said, origin]), picture.run.notices
