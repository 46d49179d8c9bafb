"""The frame of a page with a picture: its model, the place looked at, the last usable text, and what must be said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import streamlit as st

from mha_core import Model
from pages.kit.picture import models, pictures
from pages.kit.picture.models import MINILM
from pages.kit.picture.place import At, parse_at
from pages.kit.picture.settings import Settings

from . import last_usable, model_picker, widgets
from .layout import Page, framed

T = TypeVar("T")
# of a model named like those that visitors train (jobs.visit)
_LIKE_AN_OWN_ONE = re.compile(r"The link says model=[\w-]{22}, which", re.ASCII)
FOREIGN = "If it was trained in another visit, it belongs to that one; its owner can send the zip."


@dataclass
class PicturePage(Page):
    """A page with a picture.

    Attributes:
        name: of its model.
        first_at: where one looks first, as `at` of a link.
        at_text: `at` of this link.
        tokens: of the sentence that is shown, once the page looks at one of them.
    """

    name: str = MINILM
    first_at: str = ""
    at_text: str = ""
    tokens: Sequence[str] | None = None

    @cached_property
    def model(self) -> Model:
        """The model of this page. Raises a HeadlightError when it is gone, so the choice of another one comes first."""
        return pictures.model_on("auto", self.name)

    @property
    def sizes(self) -> tuple[int, int]:
        """Layers and heads of the model."""
        return self.model.sizes.n_layers, self.model.sizes.n_heads

    @property
    def at(self) -> At:
        """The place that the link names, otherwise the first one; a sentence may lack its row or key."""
        return parse_at(self.at_text, *self.sizes) or At.of(self.first_at)

    def at_usable(self) -> bool:
        """Tells whether the link names a place of this model, and of its sentence."""
        at = parse_at(self.at_text, *self.sizes)
        return at is not None and (self.tokens is None or at.fits(self.tokens))

    def look_at(self, tokens: Sequence[str]) -> tuple[At, bool]:
        """The place in a sentence, and whether the visitor, not the page, chose its row."""
        self.tokens, here = tokens, self.at.on(tokens)
        return here, here.row == self.at.row

    def or_last(
        self, settings: Settings, compute: Callable[[Settings], T], what: str, side: str = ""
    ) -> tuple[T, Settings, list[str]]:
        """As `last_usable.or_last`, with what the controls have said until now."""
        said, self.said = self.said, []
        return last_usable.or_last(settings, compute, what, side, said)

    def answer_link(self, *, resets: bool = False, of_picture: bool = True, **usable: bool) -> list[str]:
        """As `Page.answer_link`; `of_picture`: of the model and the place too."""
        if of_picture:
            usable = {"model": model_picker.usable(), "at": self.at_usable(), **usable}
        sentences = super().answer_link(resets=resets, **usable)
        return [f"{said} {FOREIGN}" if _LIKE_AN_OWN_ONE.match(said) else said for said in sentences]


@contextmanager
def picture_page(package: str, *, takes_model: bool = False, minilm_at: str = "") -> Iterator[PicturePage]:
    """The frame of a page with a picture.

    Args:
        package: the name of the page's own.
        takes_model: the page shows the model that the link names, otherwise MiniLM.
        minilm_at: where one looks first in MiniLM, if not where one does on other pages.
    """
    name = model_picker.enter() if takes_model else MINILM
    first_at = minilm_at if minilm_at and name == MINILM else models.first_at(name)
    own_defaults = models.defaults(name) | ({"at": first_at} if minilm_at else {})
    offered = tuple(st.session_state["offered_models"].items()) if takes_model else ()
    with framed(PicturePage, package, own_defaults, offered, name=name, first_at=first_at) as page:
        with page.hidden:
            page.at_text = widgets.text("at", first_at)
        yield page
