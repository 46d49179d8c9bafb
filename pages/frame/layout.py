"""The frame of a page: the house of the browser, the stage below its question, and what must leave the address.

What a page needs for its controls is `form`'s, so that a page of words alone imports no model.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.export import files
from headlight.link import link_version
from headlight.server import public
from headlight.server.addresses import public_url
from headlight.ui import pages
from headlight.ui.web import PREFIX
from pages.frame import canvas, visits


@dataclass
class Page:
    """The places of a page, and what it has to say.

    Attributes:
        stage: of all that is seen.
        hidden: of what the link needs and nobody sees.
        said: sentences for the visitor.
        unusable: keys of the link that could not be used and must leave it.
    """

    stage: DeltaGenerator
    hidden: DeltaGenerator
    said: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)


P = TypeVar("P", bound=Page)


def page(package: str) -> AbstractContextManager[Page]:
    """The frame of a page without controls; `package`: its name."""
    return framed(Page, package)


@contextmanager
def framed(
    kind: type[P],
    package: str,
    models: Mapping[str, tuple[str, str, str]] | None = None,
    devices: Iterable[str] = (),
    **fields: Any,
) -> Iterator[P]:
    """A page of this kind in its frame. What cannot be shown becomes one sentence on the stage.

    Args:
        models: the choices of its model, name -> title, group and what is said of it; devices: those of its device.
        fields: what the page has beside its places.
    """
    with st.container(key="frame"):
        stage = st.container(key="stage")
    with stage:
        house(package, models, devices)
    made = kind(stage, stage.container(key="link_texts"), **fields)
    version = link_version.in_words(st.query_params.get_all(link_version.KEY))
    if version:
        made.said.append(version)
        made.unusable.append(link_version.KEY)
    try:
        yield made
    except Exception as error:
        sentence = _sentence(error)
        if not sentence:
            raise
        stage.error(sentence)
    if made.unusable:
        with made.hidden:
            canvas.page_flags(made.unusable)


def house(package: str, models: Mapping[str, tuple[str, str, str]] | None = None, devices: Iterable[str] = ()) -> None:
    """The bar, the question of the page, and all that they need."""
    said: canvas.House = {
        "css": f"{PREFIX}/frame/house.css",
        "path": pages.path(package),
        "page": package,
        "models": [(name, *choice) for name, choice in (models or {}).items()],
        "devices": list(devices),
        "address": public_url(st.context.url or ""),
        "kinds": list(files.FILES.get(package, ())),
        "visit": visits.session_id(),
        "machine": public.is_local(),
        "hub": public.is_local() and public.ASKS_HUB,
    }
    canvas.app_header(said)


def queue_notice(sentence: str) -> None:
    """Has the next run of the page say something: for callbacks, which come before it."""
    st.session_state.setdefault("said_by_callbacks", []).append(sentence)


def _sentence(error: Exception) -> str:
    """What is said of an error of ours; "" of any other."""
    from mha_core.errors import HeadlightError, WeightsFileError

    if isinstance(error, WeightsFileError):
        return f"The model cannot be loaded: {error}."
    return f"This cannot be shown: {error}." if isinstance(error, HeadlightError) else ""
