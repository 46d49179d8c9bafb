"""Compare: one sentence under two settings, or two sentences, with the difference and what it says."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit.draw import canvas, events, sheet, tables
from pages.kit.frame import controls, layout, links, model_picker
from pages.kit.frame.about import show_link
from pages.kit.frame.last_usable import or_last, within
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.picture import models, pictures, words
from pages.kit.picture import place as view
from pages.kit.picture.limits import MOST_SHUFFLES, WITHOUT_ASKING
from pages.kit.picture.models import MINILM
from pages.kit.picture.pictures import Settings

from . import orders, pair_view, pairs
from .pairs import Pair


def show() -> None:
    """Controls of both sides, a pass each, the maps, the shuffle test, the heads one at a time."""
    name = model_picker.enter()
    first_at = pair_view.FIRST_AT if name == MINILM else models.first_at(name)
    with layout.page(**{**models.defaults(name), "at": first_at}) as (rail, stage):
        with rail:
            model_picker.control()
        model = pictures.model_on("auto", name)
        layers, heads = model.sizes.n_layers, model.sizes.n_heads
        with stage:
            left_text, right_text = sentences(name)
            at_text, look_text, seed = hidden_texts(first_at)
        with rail:
            settings = [side(which, key, model) for which, key in (("Left", ""), ("Right", "2"))]
            device = controls.device()
            controls.large_type()
            about = st.popover("About this picture", width="stretch")
        with stage:
            asked = replace(settings[0], text=left_text, device=device, model=name)
            left, _, notices = or_last(asked, pictures.picture, "The left map still shows")
            other = replace(settings[1], text=right_text or left.settings.text, device=device, model=name)
            right, _, told = or_last(other, pictures.picture, "The right map still shows", "2")
            notices += [*told, *dict.fromkeys(left.run.notices + right.run.notices)]
            missing = [models.unknown(model, each.settings.text) for each in (left, right)]
            notices += dict.fromkeys(missing[0] + missing[1])
            parsed, look = view.parse_at(at_text, layers, heads), view.parse_look(look_text, layers, heads)
            asked_at = parsed or view.At.of(first_at)
            at = asked_at.on(left.run.tokens)
            usable = {
                "model": model_picker.usable(),
                "at": parsed is not None and parsed.fits(left.run.tokens),
                "look": look is not None,
            }
            pair = Pair(left, right, at.layer, at.head)
            notices += links.notices(**usable)
            pair_view.show(pair, at, look or view.Look(), notices, model=model, chosen=asked_at.row == at.row)
            show_shuffle(left.settings, within(replace(right.settings, text=left.settings.text))[0], seed)
            show_each_head(left.settings, at, len(left.run.tokens))
        with about:
            show_about(model, pair)


def sentences(name: str) -> tuple[str, str]:
    """The sentence of the left, and that of the right; empty is the same one."""
    left, right = st.columns(2)
    with left:
        own = controls.sentence(name)
    with right:
        return own, st.text_input(
            "Sentence, right",
            DEFAULTS["s2"],
            key="s2",
            bind=links.bound_if_short("s2"),
            live=True,
            label_visibility="collapsed",
            placeholder="Right: the same sentence, or type another",
        )


def hidden_texts(first_at: str) -> tuple[str, str, int]:
    """`at`, `look` and `shuffle`: what the views write into the link. The fields are mounted and not shown."""
    with st.container(key="link_texts"):
        at = st.text_input("at", first_at, key="at", bind=BOUND)
        look = st.text_input("look", DEFAULTS["look"], key="look", bind=BOUND)
        seed = st.number_input("shuffle", 1, MOST_SHUFFLES, DEFAULTS["shuffle"], key="shuffle", bind=BOUND)
    return at, look, int(seed or DEFAULTS["shuffle"])


def side(name: str, key: str, model: Model) -> Settings:
    """The controls of one side; the sentence and the device are still to come."""
    with st.container(border=True, key=f"side{key or 1}"):
        st.markdown(f"**{name}**")
        mask, painted = controls.mask(key), controls.painted(model, key)
        position, temperature = controls.position(model, key), controls.temperature(side=key)
        heads_off = controls.heads_off(model.sizes.n_layers, model.sizes.n_heads, side=key)
        return Settings("", mask, position, temperature, heads_off, painted=painted)


def show_shuffle(left: Settings, right: Settings, seed: int) -> None:
    """The words of the left sentence in another order, under both settings."""
    order = st.text_input(
        "Shuffle test: the words of the left sentence in another order, or empty for a random one",
        DEFAULTS["order"],
        key="order",
        bind=links.bound_if_short("order"),
        placeholder="a random order",
    )
    blocks: list[sheet.Block] = []
    try:
        controls.check_length(order)
        found = [orders.reordered(side, order or orders.shuffled(left.text, seed)) for side in (left, right)]
    except HeadlightError as error:
        blocks.append(sheet.notices([words.sentence(error)]))
    else:
        panels = [
            sheet.panel(
                f"{name}: {pairs.small(each.difference)}", [sheet.text(orders.why(each))], words.label(each.settings)
            )
            for name, each in zip(("Left", "Right"), found, strict=True)
        ]
        blocks += [sheet.text(found[0].order), sheet.row(panels, even=True)]
    again = sheet.buttons("Order", [("shuffle again", {"shuffle": seed % MOST_SHUFFLES + 1}, None)])
    note = "largest difference of the output vectors between both orders, the new order undone"
    canvas.sheet("shuffle_sheet", [sheet.panel("Shuffle test", [again, *blocks], note)], shuffle_again)


def shuffle_again(event: dict[str, Any]) -> None:
    """Another random order was asked for."""
    seed = events.whole(event, "shuffle")
    if seed is not None and 1 <= seed <= MOST_SHUFFLES:
        st.session_state["shuffle"], st.session_state["order"] = seed, DEFAULTS["order"]


def show_each_head(settings: Settings, at: view.At, tokens: int) -> None:
    """What each head alone is good for: at once for a short sentence, by a button for a long one.

    Whatever the visitor does meanwhile ends it: the next run begins at the next step of the progress.
    """
    with st.container(key="each_head"):
        known, start = pairs.each_head(settings, ask=False), time.monotonic()
        if known is None:
            long = tokens > WITHOUT_ASKING
            place = st.empty()
            if long and not place.button("Switch off each head alone", key="each"):
                return
            if long:
                place.button("Stop", key="stop")
            progress = st.progress(0.0)

            def told(done: float) -> None:
                progress.progress(
                    done, f"One head at a time: {100 * done:.0f} % after {time.monotonic() - start:.0f} s"
                )

            try:
                known = pairs.each_head(settings, ask=True, told=told)
            except HeadlightError as error:
                progress.empty()
                place.caption(words.sentence(error))
                return
            for element in (progress, place):
                element.empty()
        pair_view.show_heads(known or [], at, settings.heads_off)


def show_about(model: Model, pair: Pair) -> None:
    """How to get these numbers again."""
    show_link()
    for name, picture in (("left", pair.left), ("right", pair.right)):
        facts = {"side": name, **words.about(model, picture)}
        st.code("\n".join(f"{fact}: {value}" for fact, value in facts.items()), language=None, wrap_lines=True)
    with st.container(horizontal=True):
        for name, picture in (("left", pair.left), ("right", pair.right)):
            download(name, picture.settings, pair)


def download(name: str, settings: Settings, pair: Pair) -> None:
    """The map of one side as a file; the picture is asked for again, so that a button does not keep it in memory."""
    layer, head = pair.layer, pair.head
    st.download_button(
        f"The {name} map, CSV",
        lambda: tables.csv_of(pictures.picture(settings).run, layer, head),
        f"headlight-{name}-layer{layer}-head{head}.csv",
        "text/csv",
        on_click="ignore",
    )
