"""What a view asks the wire with: the link of what is to be shown, and what that link was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import streamlit as st

from pages.kit.picture.query import written
from pages.kit.picture.settings import Settings

from . import links


def of(sides: Mapping[str, Settings], unusable: Sequence[str] = (), **more: str) -> dict[str, Any]:
    """The fields of a view's state that name its picture.

    `wanted` is the digest of the picture, `session` what the controls of this run said. Where the address says
    something else, the visitor has changed a control since, and the view asks for that at once; but not for `kept`,
    what the address cannot say.

    Args:
        sides: key's ending -> what can be shown, which may not be all that the controls say.
        unusable: keys of the link's texts that could not be used.
        more: further keys of what is shown.
    """
    session = links.query()
    query = {key: values for key, values in parse_qs(session, keep_blank_values=True).items() if key not in unusable}
    for side, settings in sides.items():
        query |= written(settings, side)
    query |= {key: [value] for key, value in more.items()}
    kept = [*links.too_long(), *unusable]
    return {
        "wanted": "-".join(settings.digest for settings in sides.values()),
        "query": urlencode(query, doseq=True, quote_via=quote, errors="replace"),
        "session": session,
        # a page of MiniLM alone keeps the model of the others' links in its address
        "kept": kept if "model" in st.session_state else [*kept, "model"],
    }
