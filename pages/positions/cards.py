"""The parts of portraits on the page: those of two encodings beside each other, some folded away.

What is folded away has the controls that act on it alone in its fold.
"""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.frame import canvas, widgets

from . import portraits
from .encodings import Encoding
from .parts import Focus, Part

MARGIN = 0.05  # of the range of an upright axis, kept free above and below the curves
WAVES = {"add", "rotate"}


def show_row(parts: Sequence[Part | None], *, charts: bool) -> None:
    """Parts side by side; one alone has the whole width. `charts`: as well as the words."""
    if len(parts) == 1:
        show_part("0", parts[0], wide=True, charts=charts)
    elif any(parts):
        _level([part for part in parts if part])
        for side, (column, part) in enumerate(zip(st.columns(len(parts)), parts, strict=True)):
            with column:
                show_part(str(side), part, charts=charts)


def _level(parts: Sequence[Part]) -> None:
    """Gives the charts of one unit one upright axis: over all their values; others keep their own."""
    charts = [part.figure for part in parts if part.unit and part.figure is not None]
    if len(charts) < 2 or len({part.unit for part in parts}) > 1:
        return
    values = [float(y) for chart in charts for line in chart["data"] for y in line["y"]]
    least, most = min(values), max(values)
    free = MARGIN * (most - least) or MARGIN
    for chart in charts:
        chart["layout"]["yaxis"]["range"] = [least - free, most + free]


def show_part(side: str, part: Part | None, *, wide: bool = False, charts: bool) -> None:
    """Words and numbers of a part, and its chart under them, or beside them where it has the whole width."""
    if part is None:
        return
    name = f"{side}_{part.slot}"
    with st.container(key=f"part_{name}_panel", border=True, height="stretch"):
        left, right = st.columns([2, 3]) if wide and part.figure else (st.container(), st.container())
        with left:
            canvas.sheet(f"words_{name}", part.blocks)
        if part.figure is not None and charts:
            with right:
                canvas.chart(f"chart_{name}", part.figure, part.alt)


def show_folds(
    built: Sequence[Encoding], view: Callable[[], Focus], amplitude: Callable[[str], Part], *, charts: bool
) -> None:
    """All of them; what the encodings do not have is out of sight, but stays in the link.

    Args:
        view: what the controls say by now.
        amplitude: what makes the part of the amplitudes, in a theme.
        charts: whether they are drawn by now.
    """
    acts = {encoding.acts for encoding in built}
    waves, sinusoids = bool(acts & WAVES), any(encoding.name == "sinusoidal" for encoding in built)

    def parts(slot: str, label: str, keys: Sequence[str], there: bool, mount: Callable[[], object]) -> None:
        with widgets.kept_mounted(f"fold_{slot}", there), widgets.folded(slot, label, *keys, lazy=True) as fold:
            mount()
            if there and fold.open and slot == "amplitude":
                show_part("both", amplitude(view().theme), wide=True, charts=charts)
            elif there and fold.open:
                show_row([portraits.part_of(slot, encoding, view()) for encoding in built], charts=charts)

    any_acts = any(acts)
    curves = "Curves: waves of chosen channels, or the bias of each head"
    parts("lines", curves, ["ch"], any_acts, partial(_channels, waves))
    parts("detail", "Closer: one pair of channels as a circle", ["pair", "at_pos"], waves, _circle)
    parts("far", "Past the trained length", ["far"], any_acts, partial(widgets.whole, "far"))
    parts("amplitude", "Amplitude against the embedding", ["amp"], sinusoids, lambda: None)


def _channels(waves: bool) -> None:
    with widgets.kept_mounted("waves", waves):
        widgets.several("ch", max_selections=6)


def _circle() -> None:
    widgets.whole("pair")
    widgets.slider("at_pos")
