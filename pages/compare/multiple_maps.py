"""The left side's maps under several positional encodings, or in the models of its task that differ in them.

Each map has its numbers in the cells, and a note on repeated words.
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
DEFAULT_POSITIONS = ("as trained", "none", "sinusoidal")  # as the long post compares them
MAX_MAPS = 4
MAX_TOKENS = 24  # with more, numbers do not fit into the cells


def sides(query: LinkQuery) -> dict[str, Settings]:
    """Return the settings of each map by its name; models of one task each have their own defaults."""
    settings, _ = query.fitted_settings()
    if query["kin"] and (others := siblings(query.name)):
        return {name: Settings(settings.text, model=model) for name, model in list(others.items())[:MAX_MAPS]}
    options = [name for name, _ in words.encodings(query.model)]  # in the order of the control
    names, default = ([name for name in options if name in group] for group in (query["three"], DEFAULT_POSITIONS))
    return {name: replace(settings, position=POSITIONS[name]) for name in (names or default)[:MAX_MAPS]}


def siblings(name: str) -> dict[str, str]:
    """Return the models with the same task and seed by their positional encodings; {} if there are fewer than two."""
    shipped = [other.split("-") for other in trained.shipped()]
    parts = name.split("-")
    if parts not in shipped or len(parts) != 3:
        return {}
    kin = [other for other in shipped if len(other) == 3 and other[::2] == parts[::2]]
    return {other[1]: "-".join(other) for other in kin} if len(kin) > 1 else {}


def blocks(query: LinkQuery) -> list[Block]:
    """Return the controls, each button with its link values, and a panel for each map.

    Raises:
        TooLong: the sentence has too many tokens for numbers in the cells.
        HeadlightError: the link has no picture.
    """
    maps, cursor = sides(query), query.cursor
    tokens = pictures.tokens(next(iter(maps.values())))
    if len(tokens) > MAX_TOKENS:
        raise TooLong(limit=MAX_TOKENS, got=len(tokens))
    is_kin, mean = query["kin"], query["mean"]
    kin = [("models trained with other positional encodings", {"kin": str(not is_kin).lower()}, is_kin)]
    names = [name for name, _ in words.encodings(query.model)]
    toggled = {name: [other for other in maps if other != name] for name in names}
    toggled |= {name: [*maps, name][-MAX_MAPS:] for name in names if name not in maps}
    positions = [(name, {"three": toggled[name]}, name in maps) for name in names]
    heads = [
        ("mean of all", {"mean": "true"}, mean),
        (f"layer {cursor.layer} head {cursor.head}", {"mean": "false"}, not mean),
    ]
    has_kin = bool(siblings(query.name))
    controls: list[Block] = [
        *([sheet.buttons("Models", kin)] if has_kin else []),
        *([] if has_kin and is_kin else [sheet.buttons("Positional encoding", positions)]),
        sheet.buttons("Head", heads),
    ]
    panels = [_panel(name, settings, cursor.layer, None if mean else cursor.head) for name, settings in maps.items()]
    notes = list(dict.fromkeys(notice for _, notices in panels for notice in notices))
    return [sheet.row(controls), sheet.notices(notes), sheet.pictures([panel for panel, _ in panels])]


def tables(query: LinkQuery) -> list[Table]:
    """Return a table of each map; [] if the link has no key of this panel."""
    if not {key for key, _ in query.pairs} & set(KEYS):
        return []
    layer, head = query.cursor.layer, None if query["mean"] else query.cursor.head
    maps = {name: pictures.picture(settings) for name, settings in sides(query).items()}
    return [
        Table(name, picture.run.tokens, picture.run.tokens, head_map(picture, layer, head))
        for name, picture in maps.items()
    ]


def head_map(picture: Picture, layer: int, head: int | None) -> Tensor:
    """Return the weights (i, j) of a head, or the mean over its layer as nn.MultiheadAttention averages it.

    Raises:
        HeadlightError: the model has no such layer or head.
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
        weights = head_map(picture, layer, head)
    except HeadlightError as error:
        return sheet.panel(heading, [sheet.text(words.error_sentence(error))]), ()
    tokens, model = picture.run.tokens, picture.model
    repeated = words.describe_repeats(tokens, weights)
    note = f"{words.position_note(settings.position, model)} {words.implementation_note(model)}".strip()
    texts = [*([sheet.text(repeated)] if repeated else []), sheet.text(note, muted=True)]
    return sheet.panel(heading, [sheet.attention_map("", tokens, weights.tolist()), *texts]), picture.run.notices
