"""The sheet of a form page at a link, for a site without Streamlit; Streamlit’s test runner draws it."""

import json
import logging
from urllib.parse import parse_qs

from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError

NOTE = "This picture is recorded, so its numbers cannot be changed here."
_SCRIPT = "from pages.{page}.page import show\nshow()"
_MAX_SECONDS = 120


def blocks(page: str, key: str, raw: bytes) -> list[Block]:
    """Return a note and the blocks of a sheet by its key. Raises a HeadlightError for a page that fails."""
    from streamlit.testing.v1 import AppTest  # takes a second, and only a site needs it

    logging.disable(logging.WARNING)  # Streamlit warns that there is no server
    try:
        app = AppTest.from_string(_SCRIPT.format(page=page), default_timeout=_MAX_SECONDS)
        app.query_params.update(parse_qs(raw.decode("ascii"), keep_blank_values=True))
        protos = [element.proto for element in app.run().get("bidi_component")]
    finally:
        logging.disable(logging.NOTSET)
    states = [json.loads(proto.json)[0] for proto in protos if proto.id.endswith(f"-{key}")]
    if app.exception or not states:
        raise HeadlightError("this page shows nothing for this link")
    return [sheet.notices([NOTE]), *states[0]["blocks"]]
