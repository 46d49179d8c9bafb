"""Claims: what five texts say and what we ask, a question on each, and after an answer the verdict of tensors."""

import time
from typing import Any

import streamlit as st

from pages.kit.draw import canvas, events, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import links
from pages.kit.frame.form import form
from pages.kit.picture.fields import DEFAULTS

from . import answer
from .catalog import CLAIMS, GROUPS
from .claim import SHOW


def show() -> None:
    """The buttons of all claims, then the chosen one; nothing is computed before it is answered."""
    with form("claims") as here:
        name, given = said("claim"), said("say")
        known = name in CLAIMS
        name = name if known else str(DEFAULTS["claim"])
        usable = CLAIMS[name].usable(given) if known else not given  # an answer to another claim is none to this one
        with here.stage:
            notices = here.answer_link(claim=known, say=usable)
            claim = answer.panel(name, given if usable else "", st.session_state.get("claim_timed", 0))
            canvas.sheet("claims", [sheet.notices(notices), sheet.beside_list(claim, choices(name))], take)


def choices(chosen: str) -> Block:
    """A button for each claim, group by group."""
    rows = [
        sheet.buttons(group, [(claim.title, {"claim": name}, name == chosen) for name, claim in claims.items()])
        for group, claims in GROUPS.items()
    ]
    return sheet.panel(f"{len(CLAIMS)} claims", rows, "quotes, and questions of ours")


def take(event: dict[str, Any]) -> None:
    """A claim was chosen, answered, or is to be timed again."""
    name, given = events.text(event, "claim"), events.text(event, "say")
    if name in CLAIMS:
        links.put("claim", name, DEFAULTS["claim"])
        links.put("say", "", DEFAULTS["say"])
    elif given is not None and CLAIMS.get(said("claim"), CLAIMS[DEFAULTS["claim"]]).usable(given):
        links.put("say", given, DEFAULTS["say"])
    elif event.get("again") is True:
        links.put("say", said("say") or SHOW, DEFAULTS["say"])
        st.session_state["claim_timed"] = time.monotonic_ns()


def said(key: str) -> str:
    """What the link says of the claim, or of the answer to it."""
    return str(st.query_params.get(key, DEFAULTS[key]))
