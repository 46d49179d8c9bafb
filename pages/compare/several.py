"""More than two maps: the left side under several positions, or the models of its task that differ in them.

Of each one map with its numbers in the cells, and what becomes of a word that stands there twice.
"""

from dataclasses import replace

from torch import Tensor

from headlight.link.limits import POSITIONS
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.registry import trained
from headlight.ui import sheet
from headlight.ui.numbers import count
from headlight.ui.sheet import Block
from headlight.ui.tables import Table
from mha_core.errors import HeadlightError, TooLong

KEYS = ("three", "kin", "mean")  # of the link
USUAL = ("as trained", "none", "sinusoidal")  # as the long post compares them
MAX_MAPS = 4  # maps
MAX_TOKENS = 24  # beyond, no number fits into a cell


def sides(query: LinkQuery) -> dict[str, Settings]:
    """The name of each map, and what it is made of: each model of a task on its own terms. Raises a HeadlightError."""
    settings, _ = query.fitted_settings()
    if query["kin"] and (others := siblings(query.name)):
        return {name: Settings(settings.text, model=model) for name, model in list(others.items())[:MAX_MAPS]}
    return {name: replace(settings, position=POSITIONS[name]) for name in _chosen(query)}


def _chosen(query: LinkQuery) -> list[str]:
    """The positions of the link, or the usual ones, in the order in which they are offered."""
    offered = [name for name, _ in words.encodings(query.model)]
    chosen, usual = ([name for name in offered if name in names] for names in (query["three"], USUAL))
    return (chosen or usual)[:MAX_MAPS]


def siblings(name: str) -> dict[str, str]:
    """The models that were trained on the same task with the same seed: what tells them apart -> the model's name.

    Empty where there are fewer than two.
    """
    shipped = [other.split("-") for other in trained.shipped()]
    parts = name.split("-")
    if parts not in shipped or len(parts) != 3:
        return {}
    alike = [other for other in shipped if len(other) == 3 and other[::2] == parts[::2]]
    return {other[1]: "-".join(other) for other in alike} if len(alike) > 1 else {}


def blocks(query: LinkQuery) -> list[Block]:
    """What is compared, each button with what the link then says, and a panel for each map.

    Raises:
        TooLong: the sentence has more tokens than numbers can be read of.
        HeadlightError: of its first side.
    """
    shown, at = sides(query), query.at
    tokens = pictures.tokens(next(iter(shown.values())))
    if len(tokens) > MAX_TOKENS:
        raise TooLong(limit=MAX_TOKENS, got=len(tokens))
    of_task, mean = query["kin"], query["mean"]
    kin = [("models trained with other positional encodings", {"kin": str(not of_task).lower()}, of_task)]
    names = [name for name, _ in words.encodings(query.model)]
    positions = [(name, {"three": _toggled(name, list(shown))}, name in shown) for name in names]
    heads = [
        ("mean of all", {"mean": "true"}, mean),
        (f"layer {at.layer} head {at.head}", {"mean": "false"}, not mean),
    ]
    has_kin = bool(siblings(query.name))
    offered: list[Block] = [
        *([sheet.buttons("Models", kin)] if has_kin else []),
        *([] if has_kin and of_task else [sheet.buttons("Positional encoding", positions)]),
        sheet.buttons("Head", heads),
    ]
    panels = [_panel(name, settings, at.layer, None if mean else at.head) for name, settings in shown.items()]
    said = list(dict.fromkeys(notice for _, notices in panels for notice in notices))
    return [sheet.row(offered), sheet.notices(said), sheet.pictures([panel for panel, _ in panels])]


def _toggled(name: str, chosen: list[str]) -> list[str]:
    return [one for one in chosen if one != name] if name in chosen else [*chosen, name][-MAX_MAPS:]


def tables(query: LinkQuery) -> list[Table]:
    """Every map, by its positions; none while the link says nothing of them. Raises a HeadlightError."""
    if not {key for key, _ in query.pairs} & set(KEYS):
        return []
    layer, head = query.at.layer, None if query["mean"] else query.at.head
    found = [(name, pictures.picture(settings)) for name, settings in sides(query).items()]
    return [Table(name, one.run.tokens, one.run.tokens, map_of(one, layer, head)) for name, one in found]


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
    tokens, model = picture.run.tokens, picture.model
    repeated = words.of_repeats(tokens, weights)
    note = f"{words.position_note(settings.position, model)} {words.computed_by(model)}".strip()
    said = [*([sheet.text(repeated)] if repeated else []), sheet.text(note, muted=True)]
    return sheet.panel(heading, [sheet.attention_map("", tokens, weights.tolist()), *said]), picture.run.notices
