"""The frame of a page: the bar, the controls in a rail, the picture on a stage beside it.

On a phone the controls are a sheet over the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha_core import device as devices
from mha_core.errors import HeadlightError, WeightsFileError
from pages.kit.draw import canvas, echoes, pages
from pages.kit.server.addresses import for_class
from pages.kit.wire import files

from . import links


@dataclass
class Page:
    """The places of a page, and what it has to say.

    Attributes:
        rail: of the controls.
        stage: of the picture.
        hidden: of texts that the views write into the link; the fields are mounted and not shown.
        said: sentences of the controls, for the visitor.
        unusable: keys of the link's texts that could not be used, once `answer_link` has found them.
    """

    bar: DeltaGenerator
    rail: DeltaGenerator
    stage: DeltaGenerator
    hidden: DeltaGenerator
    about: DeltaGenerator
    said: list[str] = field(default_factory=list)
    unusable: tuple[str, ...] = ()

    def answer_link(self, *, resets: bool = False, **usable: bool) -> list[str]:
        """What must be said of the link once every control has been made.

        Args:
            resets: as in `links.notices`.
            usable: for the controls of this page that are texts, whether the link's could be used.
        """
        sentences, self.unusable = links.notices(usable, resets=resets)
        return sentences


P = TypeVar("P", bound=Page)


def page(package: str) -> AbstractContextManager[Page]:
    """The frame of a page without a picture; `package`: its name."""
    return framed(Page, package, {})


@contextmanager
def framed(
    kind: type[P],
    package: str,
    own_defaults: Mapping[str, Any],
    models: Sequence[tuple[str, str]] = (),
    **fields: Any,
) -> Iterator[P]:
    """A page of this kind in its frame. What cannot be shown becomes one sentence on the stage.

    Args:
        package: its name.
        own_defaults: of controls whose default is another one on this page.
        models: name and title of those that it can show.
        fields: what the page has beside its places.
    """
    links.remember(own_defaults)
    has_rail = pages.PAGES[package].has_rail  # without one, what a page puts there is mounted and not seen
    with st.container(key="frame"):
        if has_rail:
            left, right = st.columns([1, 4], gap="medium")
            rail, stage = left.container(key="rail"), right.container(key="stage")
        else:
            rail, stage = st.container(key="link_controls"), st.container(key="stage")
    with stage:
        canvas.house(
            pages.path(package),
            package,
            models=models,
            devices=devices.available() if models else (),
            address=for_class(st.context.url or ""),
            kinds=files.kinds(package),
        )
    hidden, said = stage.container(key="link_texts"), st.session_state.pop("said_by_callbacks", [])
    made = kind(hidden, rail, stage, hidden, hidden, said, **fields)
    try:
        yield made
    except WeightsFileError as error:
        stage.error(f"The model cannot be loaded: {error}.")
    except HeadlightError as error:
        stage.error(f"This cannot be shown: {error}.")
    with hidden:
        canvas.manners(made.unusable)
        links.kept()
        echoes.tell()


def say_next(sentence: str) -> None:
    """Has the next run of the page say something: for callbacks, which come before it."""
    st.session_state.setdefault("said_by_callbacks", []).append(sentence)
