"""The frame of a page with controls: each is bound to the link, and what the link says besides is read from it."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import streamlit as st

from mha_core import device as devices
from pages.kit.picture.link_query import LinkQuery, unused

from . import layout, links


@dataclass
class Form(layout.Page):
    """A page with controls; `query`: the link's."""

    query: LinkQuery = field(default_factory=lambda: LinkQuery(b""))

    def answer_link(self, **usable: bool) -> list[str]:
        """What must be said once every control has been made.

        Args:
            usable: for keys that no control in sight has, whether what the link says of them could be used.
        """
        left_out = [key for key, used in usable.items() if not used and key in st.query_params]
        told = [unused(key, st.query_params.get_all(key)) for key in left_out]
        self.unusable += [*left_out, *self.query.unusable]
        return list(dict.fromkeys([*self.said, *links.notices(left_out), *told, *self.query.told]))


F = TypeVar("F", bound=Form)


def form(package: str) -> AbstractContextManager[Form]:
    """The frame of a page with controls and without a model; `package`: its name."""
    return framed(Form, package, links.query(takes_model=False))


@contextmanager
def framed(
    kind: type[F], package: str, query: LinkQuery, models: Mapping[str, tuple[str, str, str]] | None = None
) -> Iterator[F]:
    """A page of this kind, whose controls begin with what the link says, within its bounds."""
    links.enter(package)
    with layout.framed(kind, package, models, devices.available(), query=query) as page:
        page.said += st.session_state.pop("said_by_callbacks", [])
        yield page
