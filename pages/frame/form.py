"""The frame of a page with controls: each is bound to the link, and what the link says besides is read from it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

import streamlit as st

from headlight.link.place import Cursor
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery, warning_text
from headlight.picture.settings import Settings
from headlight.registry import source_of
from headlight.ui.numbers import cut
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError

from . import layout, links, visitor

T = TypeVar("T")
LOADS = "Loading SmolLM2 with its 135 million parameters. The first time takes longer, because they are unpacked."


@dataclass
class Form(layout.Page):
    """A page with controls; `query`: the link's."""

    query: LinkQuery = field(default_factory=lambda: LinkQuery(b""))

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def model(self) -> Model:
        """Its model. Raises a HeadlightError when it cannot be loaded."""
        return pictures.model_on("auto", self.name)

    @property
    def at(self) -> Cursor:
        """The place looked at; a sentence may lack its row or key."""
        return self.query.at

    def or_last_valid(self, settings: Settings, compute: Callable[[Settings], T]) -> tuple[T, Settings, list[str]]:
        """What `compute` makes of the settings, the settings that it was made of, and what must be said.

        When the text cannot be used, those of the visit's last text that could.
        """
        said, self.said = self.said, []
        try:
            fitting, left_out = pictures.fitted(settings)
            computed = compute(fitting)
        except HeadlightError as error:
            model, last = st.session_state.get("last_text", ("", ""))
            last = last if model == settings.model else source_of(settings.model).presets[0]
            before, left_out = pictures.fitted(replace(settings, text=last))
            shown = f"“{cut(last)}”" if last else "an empty sentence"
            return compute(before), before, [f"{words.sentence(error)} Below is still {shown}.", *said, *left_out]
        st.session_state["last_text"] = settings.model, settings.text
        return computed, fitting, [*said, *left_out]

    def link_warnings(self, **usable: bool) -> list[str]:
        """What must be said once every control has been made.

        Args:
            usable: for keys that no control in sight has, whether what the link says of them could be used.
        """
        left_out = [key for key, used in usable.items() if not used and key in st.query_params]
        told = [warning_text(key, st.query_params.get_all(key)) for key in left_out]
        warnings = self.query.warning_texts(("at", "unheard", "p"))  # which no control holds
        self.unusable += [*left_out, *warnings]
        return list(dict.fromkeys([*self.said, *links.notices(left_out), *told, *warnings.values()]))


@contextmanager
def form(package: str, *, takes_model: bool = False) -> Iterator[Form]:
    """The frame of a page whose controls begin with what the link says, within its bounds.

    Args:
        takes_model: the page shows the model that the link names, otherwise MiniLM.
    """
    offered = visitor.offered() if takes_model else {}  # before the link is read, which may name one of them
    query = links.query(takes_model=takes_model)
    links.enter(package)
    with layout.framed(Form, package, offered, devices.available(), query=query) as page:
        page.said += st.session_state.pop("said_by_callbacks", [])
        yield page


@contextmanager
def picture_page(package: str, *, takes_model: bool = False) -> Iterator[Form]:
    """The frame of a form page with a picture; `takes_model`: as of `form`."""
    with form(package, takes_model=takes_model) as page:
        place = page.stage.empty()  # in every run: what follows would be another element in the next one
        if not source_of(page.name).is_loaded:
            with place.container(key="loading"), st.spinner(LOADS), suppress(HeadlightError):
                pictures.model_on("auto", page.name)  # why it cannot be loaded the page says
        yield page
