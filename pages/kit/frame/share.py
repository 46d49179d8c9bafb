"""Share, in the bar: the link to what is seen, the address at which a class opens it, and how it was computed."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

import streamlit as st
from streamlit import net_util

from pages.kit.draw import canvas
from pages.kit.picture import pictures, words
from pages.kit.picture.settings import Settings
from pages.kit.wire import files

from . import links

LONGEST_QR = 1200  # bytes of a link; of a longer one the squares are too small for the camera of a phone
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ONLY_HERE = (
    "Only this machine can open the link. For a class, start Headlight with: make run ARGS=--server.address=0.0.0.0"
)
TOO_LONG = "The link is too long for a QR code."


def show_link(page: str) -> None:
    """The link, with a button that copies it, what a class needs to open it, and what can be taken along of a page."""
    address, query = for_class(st.context.url or ""), links.query(links.too_long())
    link = f"{address}?{query}" if query else address
    fits = bool(address) and len(link.encode()) <= LONGEST_QR
    note = ONLY_HERE if not address else "" if fits else TOO_LONG
    code = qr_code(link) if fits else ""
    canvas.share(address, query, code=code, note=note, page=page, routes=files.kinds(page))


def for_class(url: str) -> str:
    """The address of this page for other machines; empty when the server answers this machine alone.

    Args:
        url: as the visitor opened it; whoever sits at the server's machine may have opened a name that leads nowhere
            elsewhere.
    """
    place = urlsplit(url)
    if place.hostname not in (*LOOPBACK, None):
        return url
    own = "" if st.get_option("server.address") in LOOPBACK else net_util.get_internal_ip()
    return place._replace(netloc=f"{own}:{place.port}" if place.port else own).geturl() if own else ""


@lru_cache(maxsize=64)
def qr_code(link: str) -> str:
    """A link for the camera of a phone, drawn here: the address of an image that holds it."""
    import segno

    return str(segno.make(link, error="m", micro=False).svg_data_uri(scale=4, border=4, light="#fff", dark="#000"))


def show_about(*shown: Settings, sides: tuple[str, ...] = ("",)) -> None:
    """The model, versions, device and threads of what is shown; of two `sides` their names too."""
    with st.expander("How was this computed?"):
        for side, settings in zip(sides, shown, strict=True):
            facts = ({"side": side} if side else {}) | words.about(pictures.picture(settings))
            st.code("\n".join(f"{name}: {value}" for name, value in facts.items()), language=None, wrap_lines=True)
