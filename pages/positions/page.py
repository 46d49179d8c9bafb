"""Positions: why they are needed, one head under each encoding, and two encodings side by side."""

from typing import Any

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MOST_TOKENS_AT_ONCE
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.ui import events, pages, sheet
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import Form, picture_page

from . import cards, encodings, in_model, map_view, portraits
from .encodings import TableSizes
from .parts import Focus

# what each of these acts on
WIDE, MANY, WAVING = {"sinusoidal", "rotary", "shaw"}, {"rotary", "alibi", "t5", "shaw"}, {"sinusoidal"}
BIASES = {"alibi", "t5", "shaw"}
SHOWN = ("card", "picture", "distance")  # of the portraits; the other parts are folded
# what a click on each of them sets
PRESETS: dict[str, dict[str, Any]] = {
    "waves and a trained table": {"enc": "sinusoidal", "enc2": "learned"},
    "waves and a rotation": {"enc": "sinusoidal", "enc2": "rotary"},
    "ALiBi and T5": {"enc": "alibi", "enc2": "t5"},
    "Shaw on real queries": {"enc": "shaw", "enc2": "none", "d": DEFAULTS["d"], "h": DEFAULTS["h"]},
    "past the trained length": {"enc": "learned", "enc2": "sinusoidal", "far": DEFAULTS["far"]},
}


def show() -> None:
    """The problem, the sentence under each encoding, then one or two portraits."""
    with picture_page("positions") as page, page.stage:
        with st.container(key="unprojected_sentence"):
            sentence = controls.sentence()
        # the pictures stand above the controls that say which encoding is chosen
        top, story, head = st.container(), st.container(), st.container()
        tokens, settings, notices = page.or_last(Settings(sentence), pictures.tokens)
        names, sizes, amplitude = chosen(page, len(tokens))
        with story:
            of_passes = show_sentence(settings, tokens)
        with head:
            title = sheet.title("What each encoding is", "two at a time")
            canvas.sheet("portraits_head", [title, presets()], on_act)
        real = settings, page.at.layer
        both = [encodings.build_or_default(name, sizes, amplitude, real) for name in names]
        built, why = [encoding for encoding, _ in both], dict.fromkeys(told for _, told in both if told)

        def view() -> Focus:
            return focus_of(tokens, page.model.sizes.max_len)

        # the browser takes seconds to draw its first chart, and the maps would wait for it
        charts = map_view.drawn() or len(tokens) > MOST_TOKENS_AT_ONCE
        for slot in SHOWN:
            cards.show_row([portraits.part_of(slot, encoding, view()) for encoding in built], charts=charts)
        cards.show_folds(built, view, lambda theme: in_model.amplitudes(settings, amplitude, theme), charts=charts)
        with top:  # above the pictures, but known only when they have been made
            canvas.sheet("told", [sheet.notices([*notices, *of_passes, *why, *page.answer_link()])])


def show_sentence(settings: Settings, tokens: list[str]) -> list[str]:
    """The problem, and the sentence in the model under each position that Explore offers; what must be said of it."""
    if len(tokens) > MOST_TOKENS_AT_ONCE:
        told = f"Shown up to {MOST_TOKENS_AT_ONCE} tokens, here are {len(tokens)}: Explore computes one at a time."
        canvas.sheet("problem", [sheet.text(told)])
        return []
    with st.container(key="unprojected_problem"):
        order = pages.link("compare", ("s", settings.text), ("order", in_model.backwards(settings.text)))
        panels = in_model.problem(settings)
        panels["blocks"][0]["blocks"].append(sheet.links([("Try another order on Compare →", order)]))
        canvas.sheet("problem", [panels])
    on_model = in_model.on_model(settings)
    map_view.show(tokens, on_model)
    with widgets.folded("maps_table", "The maps as numbers"):
        canvas.sheet("in_the_model", [in_model.table(on_model)])
    return on_model.notices


def chosen(page: Form, n: int) -> tuple[list[str], TableSizes, float]:
    """One or two encodings, their sizes and the amplitude; only what acts on them is in sight."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="encodings"):
        first, second = widgets.choice("enc"), widgets.choice("enc2")
        names = [first] if second in ("none", first) else [first, second]
        with widgets.kept_mounted("d_model", bool(WIDE & set(names))):
            d_model = widgets.whole("d")
        with widgets.kept_mounted("n_heads", bool(MANY & set(names))):
            n_heads = widgets.whole("h")
        with widgets.kept_mounted("biases", bool(BIASES & set(names))):
            widgets.whole("hd")
        with widgets.kept_mounted("amplitude", bool(WAVING & set(names))):
            amplitude = widgets.slider("amp")
        with widgets.kept_mounted("queries", "shaw" in names):
            controls.layer(page)
    return names, TableSizes(n, d_model, n_heads), amplitude


def focus_of(tokens: list[str], limit: int) -> Focus:
    """What the controls that are there by now say of the place that is looked at."""

    def number(key: str) -> int:
        said = links.value(key)
        return int(DEFAULTS[key] if said is None else said)

    channels = sorted(map(int, links.value("ch") or []))
    theme = st.context.theme.type or "dark"
    return Focus(tokens, channels, number("pair"), number("at_pos"), number("hd"), number("far"), limit, theme)


def presets() -> sheet.Block:
    """Pairs that are one click away."""
    now = st.session_state
    choices = [
        (name, {"preset": name}, all(now.get(key, DEFAULTS[key]) == value for key, value in values.items()))
        for name, values in PRESETS.items()
    ]
    return sheet.buttons("Try", choices)


def on_act(event: dict[str, Any]) -> None:
    values = PRESETS.get(events.text(event, "preset") or "", {})
    st.session_state.update(values)
    if "far" in values:
        st.session_state["folded_far"] = True
