"""URLs under which other machines reach this server, and QR codes of links."""

import io
import socket
from functools import lru_cache
from urllib.parse import urlsplit

from . import options

MAX_QR_BYTES = 1200  # bytes of a link; of a longer one the squares are too small for the camera of a phone
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def public_url(url: str) -> str:
    """Return the URL of a page as other machines reach it; empty when the server listens on this machine alone.

    Args:
        url: as the client opened it. A client on the server's own machine may use a loopback name, which is replaced by
            the machine's address in its network.
    """
    parts = urlsplit(url)
    if parts.hostname not in (*LOOPBACK, None):
        return url
    address = "" if options.read("server.address") in LOOPBACK else own_address()
    return parts._replace(netloc=f"{address}:{parts.port}" if parts.port else address).geturl() if address else ""


def own_address() -> str:
    """Return the address of this machine in its network, "" without one.

    Nothing is sent: connecting a UDP socket only selects a network interface.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # RFC 5737: an address for examples, which leads out of any network
            return str(probe.getsockname()[0])
        except OSError:
            return ""


@lru_cache(maxsize=64)
def qr_code(link: str) -> bytes:
    """Return the QR code of a link as SVG."""
    import segno

    svg = io.BytesIO()
    segno.make(link, error="m", micro=False).save(svg, "svg", scale=4, border=4, light="#fff", dark="#000")
    return svg.getvalue()
