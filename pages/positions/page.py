"""The page Positions: why they are needed, one head under each encoding, and two encodings side by side."""

from collections.abc import Callable, Sequence

import streamlit as st

from headlight.link.fields import DEFAULTS
from headlight.link.limits import MAX_TOKENS_AT_ONCE
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.registry import MINILM
from headlight.ui import pages, sheet
from headlight.ui.figures import Figure
from pages.frame import canvas, controls, links, widgets
from pages.frame.form import Form, picture_page

from . import encodings, in_model, map_view, portraits
from .encodings import Encoding, TableSizes
from .portraits import Focus, Part

# the encodings that depend on the controls "d", "h" and "amp"
USES_D, USES_H, USES_AMP = {"sinusoidal", "rotary", "shaw"}, {"rotary", "alibi", "t5", "shaw"}, {"sinusoidal"}
MARGIN = 0.05  # margin above and below the curves, as a share of the vertical range
OPEN_SLOTS = ("card", "picture", "distance")  # parts of the portraits; the others are folded
# part -> the label of its expander, and the keys of the controls in it, which only affect that part
FOLDS = {
    "lines": ("Curves of selected channels, or of each head’s bias", ["ch"]),
    "detail": ("One pair of channels as a circle", ["pair", "at_pos"]),
    "far": ("Beyond the trained length", ["far"]),
}


def show() -> None:
    """Show the page: the problem, the sentence under each encoding, then one or two portraits."""
    with picture_page("positions", takes_model=True) as page, page.stage:
        with st.container(key="unprojected_sentence"):
            requested = controls.model_controls(page)
        # the containers put the pictures above the controls that select the encodings
        top, story, head = st.container(), st.container(), st.container()
        tokens, settings, notices = page.or_last_valid(requested, pictures.tokens)
        names, sizes, amplitude = encoding_controls(page, len(tokens))
        with story:
            run_warnings = show_sentence(page, settings, tokens)
        with head:
            canvas.sheet("portraits_head", [sheet.title("What each encoding is", "two at a time")])
        pairs = [encodings.build_or_default(name, sizes, amplitude) for name in names]
        built, size_warnings = [encoding for encoding, _ in pairs], dict.fromkeys(text for _, text in pairs if text)

        def view() -> Focus:
            return read_focus(page, tokens, pictures.model_on("auto").sizes.max_len)

        for slot in OPEN_SLOTS:
            parts = [portraits.build_part(slot, encoding, view()) for encoding in built]
            for encoding, part in zip(built, parts, strict=True):
                if part and slot == "card" and encoding.name == "sinusoidal" and page.name == MINILM:
                    part.blocks.append(sheet.text(in_model.amplitudes(settings, amplitude)))
            show_row(slot, parts)
        show_folds(built, view)
        with top:  # above the pictures, though the warnings are only known after them
            canvas.sheet("notices", [sheet.notices([*notices, *run_warnings, *size_warnings, *page.link_warnings()])])


def show_sentence(page: Form, settings: Settings, tokens: list[str]) -> list[str]:
    """Show the problem and the sentence under each positional encoding; return the warnings."""
    cursor = page.cursor if page.query.parsed.values.get("at") else None
    if reason := page.query.fixed.get("pos") or page.query.fixed.get("s"):
        canvas.sheet("problem", [sheet.text(reason)])
        return []
    if len(tokens) > MAX_TOKENS_AT_ONCE:
        text = f"At most {MAX_TOKENS_AT_ONCE} tokens are shown here, not {len(tokens)}; Maps shows longer texts."
        canvas.sheet("problem", [sheet.text(text)])
        return []
    with st.container(key="unprojected_problem"):
        order = pages.link(
            "compare", ("s", settings.text), ("model", page.name), ("order", in_model.backwards(settings.text))
        )
        blocks = [sheet.text(in_model.problem(settings)), sheet.links([("Try another order on Compare →", order)])]
        canvas.sheet("problem", [sheet.panel("The problem: attention alone ignores the order", [sheet.row(blocks)])])
    on_model = in_model.on_model(settings, cursor)
    map_view.show(page, tokens, on_model)
    with widgets.fold("maps_table", "As a table"):
        canvas.sheet("in_the_model", [in_model.table(on_model)])
    return on_model.notices


def encoding_controls(page: Form, n: int) -> tuple[list[str], TableSizes, float]:
    """Show the controls of one or two encodings and return their values, hiding those without effect."""
    with page.hidden:
        first = widgets.choice("enc")  # chosen by its map
        widgets.integer("hd")  # of older links; otherwise the head in focus
    with st.container(horizontal=True, vertical_alignment="bottom", key="encodings"):
        second = widgets.choice("enc2")
        names = [first] if second in ("none", first) else [first, second]
        with widgets.hidden_but_mounted("d_model", bool(USES_D & set(names))):
            d_model = widgets.integer("d")
        with widgets.hidden_but_mounted("n_heads", bool(USES_H & set(names))):
            n_heads = widgets.integer("h")
        with widgets.hidden_but_mounted("amplitude", bool(USES_AMP & set(names))):
            amplitude = widgets.slider("amp")
    return names, TableSizes(n, d_model, n_heads), amplitude


def show_folds(built: Sequence[Encoding], view: Callable[[], Focus]) -> None:
    """Show the folded parts; those that the encodings lack are hidden, but their keys stay in the link.

    `view` reads the current values of the controls.
    """
    acts = {encoding.applied_as for encoding in built}
    waves = bool(acts & {"add", "rotate"})
    for slot, (label, keys) in FOLDS.items():
        exists = waves if slot == "detail" else any(acts)
        with widgets.hidden_but_mounted(f"fold_{slot}", exists), widgets.fold(slot, label, *keys, lazy=True) as fold:
            match slot:
                case "lines":
                    with widgets.hidden_but_mounted("waves", waves):
                        widgets.multiselect("ch", max_selections=6)
                case "detail":
                    widgets.integer("pair")
                    widgets.slider("at_pos")
                case "far":
                    widgets.integer("far")
            if exists and fold.open:
                show_row(slot, [portraits.build_part(slot, encoding, view()) for encoding in built])


def show_row(slot: str, parts: Sequence[Part | None]) -> None:
    """Show the parts of one or two encodings side by side; a single one puts its chart beside its text."""
    existing = [part for part in parts if part]
    if len({part.unit for part in existing}) == 1 and existing[0].unit:
        share_range([part.figure for part in existing if part.figure])
    columns = st.columns(len(parts)) if len(parts) > 1 and existing else [st.container()]
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


def share_range(figures: Sequence[Figure]) -> None:
    """Give charts of one unit the same vertical range, over all of their values."""
    values = [float(y) for figure in figures for line in figure["data"] for y in line["y"]]
    low, high = min(values), max(values)
    free = MARGIN * (high - low) or MARGIN
    for figure in figures:
        figure["layout"]["yaxis"]["range"] = [low - free, high + free]


def read_focus(page: Form, tokens: list[str], limit: int) -> Focus:
    """Read the focus from the controls that are already mounted."""

    def number(key: str) -> int:
        value = links.value(key)
        return int(DEFAULTS[key] if value is None else value)

    channels = sorted(map(int, links.value("ch") or []))
    theme = st.context.theme.type or "dark"
    head = page.cursor.head if "at" in st.query_params and "hd" not in st.query_params else number("hd")
    return Focus(tokens, channels, number("pair"), number("at_pos"), head, number("far"), limit, theme)
