"""What the page shows while nothing is chosen: a mask that changes something, so that there is something to see."""

from __future__ import annotations

import streamlit as st

from pages.kit.frame import lent, links
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query

MASK = "causal"
OF_CAUSAL = "window"  # of a model whose own mask is causal
BARE = {"s": PRESETS[2], "mask": MASK}  # of the address without a query: few words, so that every number has room
_OWN = "mask_of_page"  # whether the mask is still this page's own; before its first run nothing


def begin(built_in: str) -> None:
    """Sets the mask where nobody has chosen one; call it before the controls are made, and `end` after them.

    `built_in`: the rule that belongs to the model itself.

    The key `mask` of a link means none where it is missing, and keeps that meaning: a link that says anything at all
    of a picture opens as ever. What the bare address shows is written into it, and so is none once it is chosen.
    """
    links.always_say("mask")
    own, by_address = st.session_state.get(_OWN), "visit" not in st.session_state
    if own is not None and not (own and links.comes_from_another()):
        return
    is_chosen = "mask" in st.query_params or st.session_state.get("mask", DEFAULTS["mask"]) != DEFAULTS["mask"]
    says_more = by_address and bool(set(st.query_params) & set(DEFAULTS))
    st.session_state[_OWN] = not is_chosen and not says_more
    if st.session_state[_OWN]:
        st.session_state.update(BARE if by_address else {"mask": _of(built_in)})


def end(built_in: str) -> None:
    """Keeps the page's own mask from other pages, until the visitor has chosen another one."""
    st.session_state[_OWN] = st.session_state[_OWN] and st.session_state["mask"] == _of(built_in)
    if st.session_state[_OWN]:
        lent.lend({"mask": _of(built_in)})


def _of(built_in: str) -> str:
    return OF_CAUSAL if built_in == "causal" else MASK


def of_address(query: Query) -> dict[str, str]:
    """What a bare address shows; empty where the link says anything."""
    return {} if query.pairs else dict(BARE)
