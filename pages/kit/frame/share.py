"""Share, in the bar: the link to what is seen, the address at which a class opens it, and how it was computed."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.kit.draw import canvas
from pages.kit.picture import pictures, words
from pages.kit.picture.settings import Settings
from pages.kit.server.addresses import LONGEST_QR, for_class, qr_code
from pages.kit.wire import files

from . import links, take_code

ONLY_HERE = (
    "Only this machine can open the link. For a class, start Headlight with: make run ARGS=--server.address=0.0.0.0"
)
TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.ipynb"
TOO_LONG = "The link is too long for a QR code."


def show_link(page: str) -> None:
    """The link, with a button that copies it, what a class needs to open it, and what can be taken along of a page."""
    address, query = for_class(st.context.url or ""), links.query(links.too_long())
    link = f"{address}?{query}" if query else address
    fits = bool(address) and len(link.encode()) <= LONGEST_QR
    note = ONLY_HERE if not address else "" if fits else TOO_LONG
    code = qr_code(link) if fits else ""
    canvas.share(address, query, code=code, note=note, page=page, routes=files.kinds(page))
    offer_tutorial("share_tutorial")


def offer_tutorial(key: str) -> None:
    """A button for the tutorial, a notebook that runs wherever `mha_core` can be imported."""
    st.download_button(
        "The tutorial as a notebook, .ipynb",
        TUTORIAL.read_bytes,
        TUTORIAL.name,
        "application/x-ipynb+json",
        key=key,
        on_click="ignore",
    )


def show_about(*shown: Settings, sides: tuple[str, ...] = ("",)) -> None:
    """The model, versions, device and threads of what is shown, and its code; of two `sides` their names too."""
    with st.expander("How was this computed?"):
        for side, settings in zip(sides, shown, strict=True):
            facts = ({"side": side} if side else {}) | words.about(pictures.picture(settings))
            st.code("\n".join(f"{name}: {value}" for name, value in facts.items()), language=None, wrap_lines=True)
    take_code.show_code(*shown, sides=tuple(side or "run" for side in sides))
