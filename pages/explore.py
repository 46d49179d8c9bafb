"""Explore: type a sentence, see every head of a real model, and switch one thing at a time."""

from __future__ import annotations

import secrets
from dataclasses import replace

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit import cached, canvas, controls, layout, packing, tables, text, view
from pages.kit.cached import Picture, Pinned, Settings
from pages.kit.presets import PRESETS


def show() -> None:
    """Controls, one pass, the pictures, the words."""
    controls.remember_link()
    rail, stage = layout.rail_and_stage()
    with rail:
        brand = st.container()
        model = cached.model_on("auto")
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        asked = Settings(
            text=st.session_state.get("s", PRESETS[0]),
            mask=controls.mask(),
            position=controls.position(),
            temperature=controls.temperature(),
            heads_off=controls.heads_off(layers, heads),
            device=controls.device(),
        )
        layout.house(brand, large=controls.large_type())
        about = st.popover("About this picture", width="stretch")
    with stage:
        asked = replace(asked, text=controls.sentence())
        at_text, look_text, pin_text = controls.hidden_texts()
        picture, notices = compute(asked)
        tokens = picture.run.tokens
        parsed_at = view.parse_at(at_text, layers, heads)
        asked_at = parsed_at or view.At.default()
        at = asked_at.on(tokens)
        look = view.parse_look(look_text, layers, heads) or view.Look()
        pinned = pinned_picture(pin_text, model, asked.device)
        notices += controls.notices(
            at=parsed_at is not None and parsed_at.fits(tokens),
            look=view.parse_look(look_text, layers, heads) is not None,
            pin=not pin_text or pinned is not None,
        )
        st.session_state["shown"] = picture.settings
        show_maps(model, picture, at, look, pinned, notices, chosen=asked_at.row == at.row)
    with about:
        show_about(model, picture, at)


def compute(settings: Settings) -> tuple[Picture, list[str]]:
    """The picture asked for; when the text cannot be used, that of the last one that could, and a sentence on it."""
    try:
        controls.check_length(settings.text)
        picture = cached.picture(settings)
    except HeadlightError as error:
        last = st.session_state.get("last_text", PRESETS[0])
        shown = last if len(last) <= 60 else last[:59] + "…"
        return cached.picture(replace(settings, text=last)), [
            f"{text.sentence(error)} The maps below still show “{shown}”."
        ]
    st.session_state["last_text"] = settings.text
    return picture, list(picture.run.notices)


def pinned_picture(pin_text: str, model: Model, device: str) -> tuple[Pinned, view.At] | None:
    """The pinned map and what is looked at in it, None when there is none or the link's cannot be used."""
    parsed = controls.parse_pin(pin_text, device, model.sizes.n_layers, model.sizes.n_heads)
    if parsed is None:
        return None
    settings, at = parsed
    try:
        found = cached.pinned(settings, at.layer, at.head)
    except HeadlightError:
        return None
    return found, at.on(found.tokens)


def show_maps(
    model: Model,
    picture: Picture,
    at: view.At,
    look: view.Look,
    pinned: tuple[Pinned, view.At] | None,
    notices: list[str],
    *,
    chosen: bool,
) -> None:
    """The map view with everything that it writes. `chosen`: the visitor, not the page, chose the row in focus."""
    run, settings = picture.run, picture.settings
    try:
        difference = cached.difference_to_transformers(settings, ask=st.session_state.pop("compare", False))
    except ImportError as error:
        difference = None
        notices.append(f"The comparison needs the package {error.name}, which is missing. Set Headlight up again.")
    maps = packing.pack_maps(run.weights, run.tokens, settings.digest, at.layer)
    state = {
        "digest": settings.digest,
        # a new session counts its turns anew
        "visit": st.session_state.setdefault("visit", secrets.token_hex(4)),
        "heard": st.session_state.get("heard", 0),
        "at": str(at) if chosen else f"{at.layer}.{at.head}",
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "look": str(look),
        "off": view.write_heads(settings.heads_off),
        "mask": settings.mask,
        "label": text.label(settings),
        "origin": model.origin,
        "presets": PRESETS,
        "typed": settings.text,
        "notices": notices,
        "unusable": st.session_state["unusable"],
        "figures": text.figures(picture, model, difference),
        "status": text.status(picture, model, len(maps)),
        "pin": None,
    }
    focus = [run.weights[at.layer, at.head]]
    if pinned is not None:
        other, where = pinned
        state["pin"] = {
            "tokens": other.tokens,
            "at": str(where),
            "label": text.label(other.settings),
            "mask": other.settings.mask,
        }
        focus.append(other.weights)
    canvas.map_view(maps, packing.pack_focus(state, *focus), on_act)


def on_act() -> None:
    """Takes what the visitor did in the map view over into the bound controls: picture, controls and link agree."""
    event = canvas.take_event()
    controls.take_over(event)
    if isinstance(event.get("preset"), int) and 0 <= event["preset"] < len(PRESETS):
        st.session_state["s"] = PRESETS[event["preset"]]
    if "pin" in event:
        # what the visitor saw: the last picture sent, and the head and row that the view says
        seen = controls.pin_text(st.session_state["shown"], str(event["pin"]))
        st.session_state["pin"] = seen if event["pin"] else ""
    st.session_state["compare"] = event.get("compare") is True
    turn = event.get("turn")
    st.session_state["heard"] = turn if isinstance(turn, int) else 0


def show_about(model: Model, picture: Picture, at: view.At) -> None:
    """How to get these numbers again, and the numbers."""
    for name, value in text.about(model, picture, link=f"{st.context.url or ''}?{controls.link()}").items():
        st.caption(name)
        st.code(value, language=None, wrap_lines=True)
    settings, name = picture.settings, f"headlight-layer{at.layer}-head{at.head}.csv"
    # the picture is asked for again, so that a button does not keep it in memory
    st.download_button(
        "This map, CSV",
        lambda: tables.csv_of(cached.picture(settings).run, at.layer, at.head),
        name,
        "text/csv",
        on_click="ignore",
    )
    st.download_button(
        "All maps, NPZ",
        lambda: tables.npz_of(cached.picture(settings).run),
        "headlight.npz",
        "application/octet-stream",
        on_click="ignore",
    )


show()
