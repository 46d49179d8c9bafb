"""The address at which a class opens a page, and the same as a code for the camera of a phone."""

import io
from functools import lru_cache
from urllib.parse import urlsplit

import streamlit as st
from streamlit import net_util

LONGEST_QR = 1200  # bytes of a link; of a longer one the squares are too small for the camera of a phone
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
def qr_code(link: str) -> bytes:
    """A link for the camera of a phone, drawn here, as SVG."""
    import segno

    drawn = io.BytesIO()
    segno.make(link, error="m", micro=False).save(drawn, "svg", scale=4, border=4, light="#fff", dark="#000")
    return drawn.getvalue()
