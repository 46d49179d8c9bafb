"""Exports for Share: facts on a picture, the code that recomputes it, a QR code of its link."""

import json
from collections.abc import Mapping
from urllib.parse import parse_qs

from headlight.link.cursor import Cursor
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.server.addresses import MAX_QR_BYTES, qr_code
from mha_core.errors import HeadlightError

from .snippet import NO_OPTIONS, Options, snippet

Sides = Mapping[str, Settings]  # name of the side ("run" if it is the only one) -> settings of its picture


def sides_from_link(raw: bytes) -> tuple[Sides, Cursor]:
    """Return the settings and the cursor of a page with one picture."""
    query = LinkQuery(raw)
    return {"run": query.fitted_settings()[0]}, query.cursor


def about(sides: Sides, cursor: Cursor, sampling: Options = NO_OPTIONS) -> bytes:
    """Return the facts of each side, names with their lines, and the code that recomputes them, as JSON."""
    facts = []
    for side, settings in sides.items():
        lines = ({"side": side} if len(sides) > 1 else {}) | words.provenance(pictures.picture(settings))
        facts.append([(name, value.split("\n")) for name, value in lines.items()])
    return json.dumps({"facts": facts, "code": snippet(sides, cursor, sampling)}).encode()


def qr(raw: bytes) -> bytes:
    """Return the address in `to` of a query as a QR code in SVG."""
    address = parse_qs(raw.decode("ascii", "replace")).get("to", [""])[0]
    if len(address.encode("utf-8", "replace")) > MAX_QR_BYTES:
        raise HeadlightError(f"the link is too long for a QR code, which holds at most {MAX_QR_BYTES:,} bytes")
    return qr_code(address)
