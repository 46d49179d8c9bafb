"""Positions: why they are needed, one head under each encoding, and two encodings side by side."""

from collections.abc import Callable, Sequence

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MAX_TOKENS_AT_ONCE
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.ui import pages, sheet
from headlight.ui.figures import Figure
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import picture_page

from . import encodings, in_model, map_view, portraits
from .encodings import Encoding, TableSizes
from .portraits import Focus, Part

# what each of these acts on
WIDE, MANY, WAVING = {"sinusoidal", "rotary", "shaw"}, {"rotary", "alibi", "t5", "shaw"}, {"sinusoidal"}
BIASES = {"alibi", "t5", "shaw"}
MARGIN = 0.05  # of the range of an upright axis, kept free above and below the curves
SHOWN = ("card", "picture", "distance")  # of the portraits; the other parts are folded
# a part -> the label of its fold, and the controls in it, which act on that part alone
FOLDS = {
    "lines": ("Curves of selected channels, or of each head’s bias", ["ch"]),
    "detail": ("One pair of channels as a circle", ["pair", "at_pos"]),
    "far": ("Beyond the trained length", ["far"]),
}


def show() -> None:
    """The problem, the sentence under each encoding, then one or two portraits."""
    with picture_page("positions") as page, page.stage:
        with st.container(key="unprojected_sentence"):
            sentence = controls.sentence()
        # the pictures stand above the controls that say which encoding is chosen
        top, story, head = st.container(), st.container(), st.container()
        tokens, settings, notices = page.or_last_valid(Settings(sentence), pictures.tokens)
        names, sizes, amplitude = chosen(len(tokens))
        with story:
            of_passes = show_sentence(settings, tokens)
        with head:
            canvas.sheet("portraits_head", [sheet.title("What each encoding is", "two at a time")])
        both = [encodings.build_or_default(name, sizes, amplitude) for name in names]
        _ = page.at  # no control holds it; the page says where it cannot be
        built, why = [encoding for encoding, _ in both], dict.fromkeys(told for _, told in both if told)

        def view() -> Focus:
            return focus_of(tokens, page.model.sizes.max_len)

        for slot in SHOWN:
            parts = [portraits.part_of(slot, encoding, view()) for encoding in built]
            for encoding, part in zip(built, parts, strict=True):
                if part and slot == "card" and encoding.name == "sinusoidal":
                    part.blocks.append(sheet.text(in_model.amplitudes(settings, amplitude)))
            show_row(slot, parts)
        show_folds(built, view)
        with top:  # above the pictures, but known only when they have been made
            canvas.sheet("told", [sheet.notices([*notices, *of_passes, *why, *page.link_warnings()])])


def show_sentence(settings: Settings, tokens: list[str]) -> list[str]:
    """The problem, and the sentence in the model under each position that Explore offers; what must be said of it."""
    if len(tokens) > MAX_TOKENS_AT_ONCE:
        told = f"At most {MAX_TOKENS_AT_ONCE} tokens are shown here, not {len(tokens)}; Explore shows longer texts."
        canvas.sheet("problem", [sheet.text(told)])
        return []
    with st.container(key="unprojected_problem"):
        order = pages.link("compare", ("s", settings.text), ("order", in_model.backwards(settings.text)))
        blocks = [sheet.text(in_model.problem(settings)), sheet.links([("Try another order on Compare →", order)])]
        canvas.sheet("problem", [sheet.panel("The problem: attention alone ignores the order", blocks)])
    on_model = in_model.on_model(settings)
    map_view.show(tokens, on_model)
    with widgets.folded("maps_table", "The maps as numbers"):
        canvas.sheet("in_the_model", [in_model.table(on_model)])
    return on_model.notices


def chosen(n: int) -> tuple[list[str], TableSizes, float]:
    """One or two encodings, their sizes and the amplitude; only what acts on them is in sight."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="encodings"):
        first, second = widgets.choice("enc"), widgets.choice("enc2")
        names = [first] if second in ("none", first) else [first, second]
        with widgets.hidden_but_mounted("d_model", bool(WIDE & set(names))):
            d_model = widgets.whole("d")
        with widgets.hidden_but_mounted("n_heads", bool(MANY & set(names))):
            n_heads = widgets.whole("h")
        with widgets.hidden_but_mounted("biases", bool(BIASES & set(names))):
            widgets.whole("hd")
        with widgets.hidden_but_mounted("amplitude", bool(WAVING & set(names))):
            amplitude = widgets.slider("amp")
    return names, TableSizes(n, d_model, n_heads), amplitude


def show_folds(built: Sequence[Encoding], view: Callable[[], Focus]) -> None:
    """The parts that are folded away; what the encodings do not have is out of sight, but stays in the link.

    `view`: what the controls say by now.
    """
    acts = {encoding.acts for encoding in built}
    waves = bool(acts & {"add", "rotate"})
    for slot, (label, keys) in FOLDS.items():
        there = waves if slot == "detail" else any(acts)
        with widgets.hidden_but_mounted(f"fold_{slot}", there), widgets.folded(slot, label, *keys, lazy=True) as fold:
            match slot:
                case "lines":
                    with widgets.hidden_but_mounted("waves", waves):
                        widgets.several("ch", max_selections=6)
                case "detail":
                    widgets.whole("pair")
                    widgets.slider("at_pos")
                case "far":
                    widgets.whole("far")
            if there and fold.open:
                show_row(slot, [portraits.part_of(slot, encoding, view()) for encoding in built])


def show_row(slot: str, parts: Sequence[Part | None]) -> None:
    """The parts of one or two encodings side by side; one alone has the whole width, its chart beside the words."""
    there = [part for part in parts if part]
    if len({part.unit for part in there}) == 1 and there[0].unit:
        level([part.figure for part in there if part.figure])
    columns = st.columns(len(parts)) if len(parts) > 1 and there else [st.container()]
    for side, (column, part) in enumerate(zip(columns, parts, strict=False)):
        if part is None:
            continue
        name = f"{side}_{slot}"
        with column, st.container(key=f"part_{name}_panel", border=True, height="stretch"):
            wide = len(parts) == 1 and part.figure is not None
            left, right = st.columns([2, 3]) if wide else (st.container(), st.container())
            with left:
                canvas.sheet(f"words_{name}", part.blocks)
            if part.figure is not None:
                with right:
                    canvas.chart(f"chart_{name}", part.figure, part.alt)


def level(figures: Sequence[Figure]) -> None:
    """Give charts of one unit one upright axis, over all their values."""
    values = [float(y) for figure in figures for line in figure["data"] for y in line["y"]]
    least, most = min(values), max(values)
    free = MARGIN * (most - least) or MARGIN
    for figure in figures:
        figure["layout"]["yaxis"]["range"] = [least - free, most + free]


def focus_of(tokens: list[str], limit: int) -> Focus:
    """What the controls that are there by now say of the place that is looked at."""

    def number(key: str) -> int:
        said = links.value(key)
        return int(DEFAULTS[key] if said is None else said)

    channels = sorted(map(int, links.value("ch") or []))
    theme = st.context.theme.type or "dark"
    return Focus(tokens, channels, number("pair"), number("at_pos"), number("hd"), number("far"), limit, theme)
