"""The picture as data, in a fold below the view: tables of its pairs and heads, and two curves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from headlight.picture import pictures, selected_map, word_pairs, words
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui import figures, numbers, sheet
from headlight.ui.figures import Curve, Figure
from headlight.ui.tables import quoted
from mha_core.errors import HeadlightError
from mha_core.heads.tables import map_frame
from mha_core.token_text import quote
from pages.frame import canvas, missing, widgets

from . import exports, heads_overview

if TYPE_CHECKING:
    from pandas import DataFrame

TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)  # the steps of a model in which nothing is changed
# fields of each step
CHANGES = (
    ("mask", "painted"), ("position",), ("temperature",), ("heads_off",), ("mlps_off", "layers_off"), ("values_off",),
)  # fmt: skip


@st.fragment
def show() -> None:
    """Draw the fold, which follows the link of the view while it is open and computes nothing before."""
    title = "This picture as data: tables and curves"
    with st.container(key="unprojected_data"), widgets.fold("data", title, lazy=True) as fold, missing.package_error():
        if fold.open and (link := canvas.link()):
            try:
                _draw(LinkQuery(link.removeprefix("?").encode()))
            except HeadlightError as error:
                canvas.sheet("data_error", [sheet.notices([words.error_sentence(error)])])


def _draw(query: LinkQuery) -> None:
    """Draw the open tab."""
    settings, _ = query.fitted_settings()
    for (name, part), tab in zip(PARTS.items(), st.tabs(list(PARTS), key="data_tab", on_change="rerun"), strict=True):
        if tab.open:
            with tab:
                content = part(query, settings)
                if isinstance(content, tuple):
                    canvas.chart(f"data_{part.__name__}", *content)
                else:
                    st.dataframe(content, hide_index=True, key=name)


def pairs(query: LinkQuery, settings: Settings) -> DataFrame:
    """Return the pairs of the map as displayed, the largest weight first."""
    table = exports.focus_table(query, settings)
    rows, columns = ([quoted(label) for label in side] for side in (table.rows, table.columns))
    return map_frame(table.values[None, None], rows, columns, 0, 0).sort_values("weight", ascending=False)


def heads(query: LinkQuery, settings: Settings) -> DataFrame:
    """Return all heads by every measure."""
    import pandas as pd

    table = heads_overview.table(settings, "")
    frame = pd.DataFrame(table.values.float().numpy(), columns=list(table.columns))
    frame.insert(0, "layer", frame.index // query.sizes[1])
    frame.insert(1, "head", frame.index % query.sizes[1])
    return frame


def layer_curve(query: LinkQuery, settings: Settings) -> tuple[Figure, str]:
    """Return the chart of the selected measure over the layers, and its description."""
    frame, cursor = heads(query, settings), query.cursor
    measure = str(st.selectbox("Measure", list(frame.columns[2:]), key="layer_measure"))
    groups = frame.groupby("layer")[measure]
    means, low, high = (values.tolist() for values in (groups.mean(), groups.min(), groups.max()))
    mean = Curve("mean of the heads", 0, range(len(means)), means, low, high, "from the lowest head to the highest")
    focus = float(frame[measure][cursor.layer * query.sizes[1] + cursor.head])
    name = f"layer {cursor.layer}, head {cursor.head}"
    figure = _chart([mean, Curve(name, 1, [cursor.layer], [focus])], len(means) - 1, ("layer", measure), "in layer")
    return figure, f"{measure}, mean of the heads by layer: {', '.join(map(numbers.number, means))}."


def step_curve(query: LinkQuery, settings: Settings) -> tuple[Figure, str]:
    """Return the chart of the weight in focus over the steps of `named_steps`, and its description."""
    baseline = pictures.picture(settings.baseline)
    tokens, keys = baseline.run.tokens, baseline.run.key_tokens
    cursor = word_pairs.place(query, baseline)
    averaged, index = selected_map.heads_to_average(query.look, cursor, *query.sizes), cursor.row or 0
    steps = named_steps(settings, "t" not in query.fixed)
    runs = [pictures.picture(step).run for step in steps.values()]
    rows = [selected_map.focus_map(run.weights, cursor, averaged)[index] for run in runs]
    key = int(rows[0].argmax()) if cursor.key is None else cursor.key
    weights = [float(row[key]) for row in rows]
    pair = f"{quote(tokens[index])} → {quote((keys or tokens)[key])}"
    figure = _chart([Curve(pair, 0, range(len(rows)), weights)], len(rows) - 1, ("", "weight"), "at step")
    figure["layout"]["xaxis"] |= {"tickvals": list(range(len(rows))), "ticktext": [*map(figures.escaped, steps)]}
    figure["layout"]["showlegend"] = True  # also for a single curve: it names the pair
    return figure, f"{pair}: {', '.join(f'{name} {value:.4f}' for name, value in zip(steps, weights, strict=True))}."


def named_steps(settings: Settings, has_temperature: bool) -> dict[str, Settings]:
    """Return the unchanged model and then each change on top of the ones before; without changes, temperatures."""
    step, steps = settings.baseline, {"unchanged": settings.baseline}
    for names in CHANGES:
        change = {name: getattr(settings, name) for name in names}
        if (following := replace(step, **change)) != step:
            label = words.label(replace(settings.baseline, **change), pictures.model_for(settings))
            steps[f"+ {label}"] = step = following
    if len(steps) > 1 or not has_temperature:
        return steps
    return {f"temperature {value:g}": replace(step, temperature=value) for value in TEMPERATURES}


def _chart(curves: list[Curve], last: int, titles: tuple[str, str], x_phrase: str) -> Figure:
    theme = st.context.theme.type or "dark"
    return figures.line_chart(curves, span=(0, last), titles=titles, theme=theme, x_phrase=x_phrase)


PARTS = {
    "Pairs of this map": pairs,
    "All heads by measure": heads,
    "A measure over the layers": layer_curve,
    "A weight over the changes": step_curve,
}
