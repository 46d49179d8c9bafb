"""The frame of a page: its header, the stage for its content, and the keys to drop from the address.

Everything about controls is in `form`, so that a page of text imports no model.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.export import files
from headlight.link import link_version
from headlight.server import options, public
from headlight.server.addresses import public_url
from headlight.ui import pages
from headlight.ui.web import PREFIX
from pages.frame import canvas, sessions


@dataclass
class Page:
    """Containers and notices of a page."""

    stage: DeltaGenerator  # container of the visible content
    hidden: DeltaGenerator  # container of hidden elements that the link needs
    notices: list[str] = field(default_factory=list)  # notices for the user
    unusable: list[str] = field(default_factory=list)  # unusable keys of the link, which are dropped from it


@contextmanager
def page(
    package: str, models: Mapping[str, tuple[str, str, str]] | None = None, devices: Iterable[str] = ()
) -> Iterator[Page]:
    """Open the frame of a page; a HeadlightError becomes a message on the stage.

    The models to choose from have a title, a group and a description.
    """
    with st.container(key="frame"):
        stage = st.container(key="stage")
    with stage:
        header(package, models, devices)
    page = Page(stage, stage.container(key="link_texts"))
    version = link_version.version_warning(st.query_params.get_all(link_version.KEY))
    if version:
        page.notices.append(version)
        page.unusable.append(link_version.KEY)
    try:
        yield page
    except Exception as error:
        sentence = _error_message(error)
        if not sentence:
            raise
        stage.error(sentence)
    if page.unusable:
        with page.hidden:
            canvas.drop_params(page.unusable)


def header(package: str, models: Mapping[str, tuple[str, str, str]] | None = None, devices: Iterable[str] = ()) -> None:
    """Show the navigation bar and the page's question."""
    data: canvas.House = {
        "css": f"{PREFIX}/frame/house.css",
        "path": pages.path(package),
        "page": package,
        "models": [(name, *choice) for name, choice in (models or {}).items()],
        "devices": list(devices),
        "address": public_url(st.context.url or ""),
        "kinds": list(files.FILES.get(package, ())),
        "visit": sessions.session_id(),
        "machine": public.is_local(),
        "hub": public.is_local() and public.ASKS_HUB,
        "start": options.start_for_class,
    }
    canvas.app_header(data)


def queue_notice(sentence: str) -> None:
    """Add a notice to the next run of the page, for use in callbacks."""
    st.session_state.setdefault("said_by_callbacks", []).append(sentence)


def _error_message(error: Exception) -> str:
    """Return the message of a HeadlightError, "" for any other error."""
    from mha_core.errors import HeadlightError, WeightsFileError

    if isinstance(error, WeightsFileError):
        return f"The model cannot be loaded: {error}."
    return f"This cannot be shown: {error}." if isinstance(error, HeadlightError) else ""
