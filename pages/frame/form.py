"""The frame of a page with controls, which are bound to the link."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import streamlit as st

from headlight.link.cursor import Cursor
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery, warning_text
from headlight.picture.settings import Settings
from headlight.registry import get_source
from headlight.ui.numbers import cut
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError
from mha_core.token_text import quote

from . import layout, links, user

T = TypeVar("T")
LOADING_MESSAGE = (
    "Loading SmolLM2-135M-Instruct, four-bit. The first time takes longer, because its weights are unpacked."
)


@dataclass(kw_only=True)
class Form(layout.Page):
    """A page with controls."""

    query: LinkQuery

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.query.name

    @property
    def model(self) -> Model:
        """The model. Raises a HeadlightError if it cannot be loaded."""
        return pictures.model_on("auto", self.name)

    @property
    def cursor(self) -> Cursor:
        """The cursor, whose row and key may be outside a sentence."""
        return self.query.cursor

    def or_last_valid(self, settings: Settings, compute: Callable[[Settings], T]) -> tuple[T, Settings, list[str]]:
        """Return the result of `compute`, the settings it used, and all notices.

        If the sentence cannot be used, it uses the last valid one of this session.
        """
        earlier, self.notices = self.notices, []
        try:
            fitted, warnings = pictures.fit_settings(settings)
            computed = compute(fitted)
        except HeadlightError as error:
            model, last = st.session_state.get("last_text", ("", ""))
            last = last if model == settings.model else get_source(settings.model).presets[0]
            fallback, warnings = pictures.fit_settings(replace(settings, text=last))
            shown_text = quote(cut(last)) if last else "an empty sentence"
            notice = f"{words.error_sentence(error)} Below is still {shown_text}."
            return compute(fallback), fallback, [notice, *earlier, *warnings]
        st.session_state["last_text"] = settings.model, settings.text
        return computed, fitted, [*earlier, *warnings]

    def link_warnings(self, **usable: bool) -> list[str]:
        """Return notices and warnings about the link, after all controls are made.

        `usable` says of keys without a visible control whether their values in the link are usable.
        """
        unusable = [key for key, is_usable in usable.items() if not is_usable and key in st.query_params]
        messages = [warning_text(key, st.query_params.get_all(key)) for key in unusable]
        warnings = self.query.warning_texts(("at", "unheard", "p"))  # keys without a control
        self.unusable += [*unusable, *warnings]
        return list(dict.fromkeys([*self.notices, *links.notices(unusable), *messages, *warnings.values()]))


@contextmanager
def form(package: str, *, takes_model: bool = False) -> Iterator[Form]:
    """Open the frame of a page whose controls start with the link's values; `takes_model` as in `LinkQuery`."""
    models = user.available_models() if takes_model else {}  # before the link is read, as it may name one
    query = links.query(takes_model=takes_model)
    links.enter(package)
    with layout.page(package, models, devices.available()) as frame:
        page = Form(**vars(frame), query=query)  # shares the list of unusable keys with the frame
        page.notices += st.session_state.pop("said_by_callbacks", [])
        yield page


@contextmanager
def picture_page(package: str, *, takes_model: bool = False) -> Iterator[Form]:
    """Open the frame of a form page with a picture, and load its model; arguments as in `form`."""
    with form(package, takes_model=takes_model) as page:
        placeholder = page.stage.empty()  # in every run, so that the elements below keep their identity
        if not get_source(page.name).is_loaded:
            with placeholder.container(key="loading"), st.spinner(LOADING_MESSAGE), suppress(HeadlightError):
                pictures.model_on("auto", page.name)  # the page shows the error
        yield page
