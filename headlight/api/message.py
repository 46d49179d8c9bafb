"""What the wire answers for the frame of any page."""

from urllib.parse import parse_qs

from headlight.server.addresses import LONGEST_QR, qr_code
from mha_core.errors import HeadlightError


def qr(raw: bytes) -> bytes:
    """The address that `to` says for the camera of a phone, as SVG. Raises a HeadlightError when it is too long."""
    address = parse_qs(raw.decode("ascii", "replace")).get("to", [""])[0]
    if len(address.encode("utf-8", "replace")) > LONGEST_QR:
        raise HeadlightError(f"the link is too long for a QR code: it may have {LONGEST_QR:,} bytes")
    return qr_code(address)
