"""The data API's handlers: which function makes the answer of which route, from a link's query to bytes."""

from types import ModuleType
from typing import Final

from headlight.api import search
from headlight.api.routes import Handler
from headlight.export import take_along
from headlight.export.files import FILES, OF_SETTINGS
from headlight.export.snippet import notebook
from headlight.lessons import files as lesson_files
from headlight.lessons import message as lessons
from headlight.lessons.quantities.scene import own_quantities
from headlight.ui import tables
from pages.by_hand import files as by_hand_files
from pages.by_hand.quantities import quantities
from pages.compare import files as compare_files
from pages.compare import message as compare
from pages.explore import files as explore_files
from pages.explore import given, heads_overview, layer_flow, long_pictures, pair_channels
from pages.explore import message as explore
from pages.implementations import files as implementations_files
from pages.masks import files as masks_files
from pages.masks import message as masks
from pages.positions import files as positions_files
from pages.shapes import files as shapes_files
from pages.shapes import message as shapes
from pages.train import message as train

own_quantities["by_hand"] = quantities

_FILES: Final[dict[str, ModuleType]] = {
    "explore": explore_files,
    "compare": compare_files,
    "masks": masks_files,
    "shapes": shapes_files,
    "positions": positions_files,
    "by_hand": by_hand_files,
    "implementations": implementations_files,
}
_WRITERS: Final = {"about": take_along.about, "ipynb": notebook}  # from the settings of each side, and the place


def _file(page: str, kind: str) -> Handler:
    """The handler of a page's file of one kind, see `headlight.export.files`."""
    module = _FILES[page]
    if kind in OF_SETTINGS:
        sides = getattr(module, "sides_of_link", take_along.of_link)
        return lambda raw: _WRITERS[kind](*sides(raw))
    own: Handler | None = getattr(module, kind, None)
    return own or (lambda raw: tables.WRITERS[kind](module.tables(raw)))


HANDLERS: Final[dict[str, Handler]] = {
    "maps": explore.maps,
    "focus": explore.focus,
    "compared": explore.compared,
    "overview": heads_overview.answer,
    "sentences": heads_overview.sentences,
    "flow": layer_flow.answer,
    "channels": pair_channels.answer,
    "part": explore.maps,
    "tile": long_pictures.tile,
    "seen": given.png,
    "heard": given.wav,
    "masked": masks.masked,
    "entered": masks.entered,
    "outcomes": masks.outcomes,
    "pair": compare.pair,
    "begun": compare.begun,
    "several": compare.more,
    "shuffled": compare.shuffled,
    "each": compare.each,
    "steps": shapes.steps,
    "reshape": shapes.reshape,
    "classes": shapes.classes,
    "film": train.film,
    "qr": take_along.qr,
    "search": search.answer,
    "course": lessons.course,
    "lesson": lessons.lesson,
    "lesson.handout": lesson_files.handout,
} | {f"{page}.{kind}": _file(page, kind) for page, kinds in FILES.items() for kind in kinds}

# The message that a page begins with, by the page's name.
FIRST: Final[dict[str, Handler]] = {
    "explore": explore.first,
    "masks": masks.first,
    "compare": compare.first,
    "shapes": shapes.first,
}
