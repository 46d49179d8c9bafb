"""Handlers of the data API by their routes; each takes a link's query and returns bytes."""

from collections.abc import Callable
from importlib import import_module
from typing import Final

from headlight.api import search
from headlight.api.routes import Handler
from headlight.export import share
from headlight.export.files import FILES, SETTINGS_KINDS
from headlight.export.snippet import notebook
from headlight.lessons import files as lesson_files
from headlight.lessons import message as lessons
from headlight.lessons.quantities.scene import example_quantities
from headlight.ui import tables
from headlight.ui.sheet import Block
from pages.by_hand.quantities import quantities
from pages.claims import blocks as claims
from pages.compare import handlers as compare
from pages.explore import handlers as explore
from pages.explore import (
    heads_overview,
    kv_cache,
    layer_flow,
    lens,
    long_pictures,
    media,
    pair_channels,
    residual_stream,
)
from pages.glossary import blocks as glossary
from pages.lessons import blocks as lesson_cards
from pages.masks import message as masks
from pages.model_map import message as model_map
from pages.shapes import handlers as shapes
from pages.train import handlers as train

example_quantities["by_hand"] = quantities

_WRITERS: Final = {"about": share.about, "ipynb": notebook}  # they take settings of each side, and cursor


def _file(page: str, kind: str) -> Handler:
    """Return the handler of a page's file of one kind, see `headlight.export.files`."""
    module = import_module(f"pages.{page}.exports")
    if kind in SETTINGS_KINDS:
        sides = getattr(module, "sides_from_link", share.sides_from_link)
        return lambda raw: _WRITERS[kind](*sides(raw))
    handler: Handler | None = getattr(module, kind, None)
    return handler or (lambda raw: tables.WRITERS[kind](module.tables(raw)))


HANDLERS: Final[dict[str, Handler]] = {
    "maps": explore.maps,
    "focus": explore.focus,
    "comparison": explore.comparison_text,
    "overview": heads_overview.answer,
    "sentences": heads_overview.sentences,
    "flow": layer_flow.answer,
    "channels": pair_channels.answer,
    "cache": kv_cache.answer,
    "residual": residual_stream.answer,
    "lens": lens.answer,
    "part": explore.maps,
    "tile": long_pictures.tile,
    "image": media.to_png,
    "audio": media.to_wav,
    "masks": masks.masks_message,
    "entry": masks.entry_message,
    "outcomes": masks.outcomes,
    "architecture": model_map.architecture,
    "pair": compare.pair,
    "initial": compare.initial_pair,
    "encodings": compare.several_maps,
    "shuffle": compare.shuffle_test,
    "ablations": compare.head_cosines,
    "steps": shapes.steps,
    "reshape": shapes.reshape,
    "classes": shapes.classes,
    "film": train.film,
    "qr": share.qr,
    "search": search.answer,
    "course": lessons.course,
    "lesson": lessons.step_verdict,
    "lesson.handout": lesson_files.handout,
    **{f"{page}.{kind}": _file(page, kind) for page, kinds in FILES.items() for kind in kinds},
}


def _recorded(page: str, key: str) -> Callable[[bytes], dict[str, list[Block]]]:
    """Return the function that returns a sheet of a form page by its key."""

    def sheets(raw: bytes) -> dict[str, list[Block]]:
        """Return the sheet for a query."""
        from pages.frame import recorded_sheet  # imports Streamlit

        return {key: recorded_sheet.blocks(page, key, raw)}

    return sheets


# page that a site shows without Streamlit -> its sheets for a query, by key; a title as key folds a sheet under it
SHEETS: Final[dict[str, Callable[[bytes], dict[str, list[Block]]]]] = {
    "lessons": lambda _: {"lessons": lesson_cards.blocks()},
    "claims": lambda _: {"claims": claims.blocks()},
    "glossary": lambda _: {glossary.TITLE: [glossary.questions()], "glossary": glossary.blocks()},
    "by_hand": _recorded("by_hand", "hand"),
    "implementations": _recorded("implementations", "equality"),
}

# page -> handler of its first message, which is sent within the page
FIRST: Final[dict[str, Handler]] = {
    "explore": explore.first_message,
    "masks": masks.first_message,
    "model_map": model_map.first_message,
    "compare": compare.first_message,
    "shapes": shapes.first_message,
}
