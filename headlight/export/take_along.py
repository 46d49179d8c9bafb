"""What Share says of a picture: the model, versions, device and threads, and the code that computes it again."""

import json
from collections.abc import Mapping
from urllib.parse import parse_qs

from headlight.link.place import Cursor
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.server.addresses import MAX_QR_BYTES, qr_code
from mha_core.errors import HeadlightError

from .snippet import snippet

Sides = Mapping[str, Settings]  # name of the side, of the only one "run" -> what its picture was asked with


def of_link(raw: bytes) -> tuple[Sides, Cursor]:
    """What a page with one picture shows, and the place looked at. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return {"run": query.fitted_settings()[0]}, query.at


def about(sides: Sides, at: Cursor) -> bytes:
    """Facts of each side as one text, and the code, as JSON. Raises a HeadlightError."""
    facts = []
    for side, settings in sides.items():
        known = ({"side": side} if len(sides) > 1 else {}) | words.about(pictures.picture(settings))
        facts.append("\n".join(f"{name}: {value}" for name, value in known.items()))
    return json.dumps({"facts": facts, "code": snippet(sides, at)}).encode()


def qr(raw: bytes) -> bytes:
    """The address that `to` of a query says for the camera of a phone, as SVG.

    Raises:
        HeadlightError: it is too long.
    """
    address = parse_qs(raw.decode("ascii", "replace")).get("to", [""])[0]
    if len(address.encode("utf-8", "replace")) > MAX_QR_BYTES:
        raise HeadlightError(f"the link is too long for a QR code, which holds at most {MAX_QR_BYTES:,} bytes")
    return qr_code(address)
