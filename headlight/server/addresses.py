"""The address at which a class opens a page, and the same as a code for the camera of a phone."""

import io
import socket
from functools import lru_cache
from urllib.parse import urlsplit

from . import options

MAX_QR_BYTES = 1200  # bytes of a link; of a longer one the squares are too small for the camera of a phone
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def public_url(url: str) -> str:
    """The address of this page for other machines; empty when the server answers this machine alone.

    Args:
        url: as the visitor opened it; whoever sits at the server's machine may have opened a name that leads nowhere
            elsewhere.
    """
    place = urlsplit(url)
    if place.hostname not in (*LOOPBACK, None):
        return url
    own = "" if options.read("server.address") in LOOPBACK else own_address()
    return place._replace(netloc=f"{own}:{place.port}" if place.port else own).geturl() if own else ""


def own_address() -> str:
    """The address of this machine in its network; empty without one. Nothing is sent: UDP has no connections."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # RFC 5737: an address for examples, which leads out of any network
            return str(probe.getsockname()[0])
        except OSError:
            return ""


@lru_cache(maxsize=64)
def qr_code(link: str) -> bytes:
    """A link for the camera of a phone, drawn here, as SVG."""
    import segno

    drawn = io.BytesIO()
    segno.make(link, error="m", micro=False).save(drawn, "svg", scale=4, border=4, light="#fff", dark="#000")
    return drawn.getvalue()
