"""Charts: what Plotly accepts, whole-number axes with their ticks, texts letter by letter, one look for one name."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest

from pages.kit.draw import figures
from pages.kit.draw.figures import Point

CURVES = {
    "a <b>bold</b>": [Point(16, 1.5, 1.0, 2.0), Point(64, 2.0, 1.9, 2.5)],
    "c": [Point(16, 0.5, 0.5, 0.5), Point(64, 0.7, 0.6, 0.8)],
}
ORDER = ["z", "c", "a <b>bold</b>"]


def drawn(theme: str = "dark", curves: dict[str, list[Point]] = CURVES, name: str = "one") -> figures.Figure:
    return figures.lines(curves, order=ORDER, x_title="x <i>", y_title="y", theme=theme, reference=(1, name))


def test_plotly_takes_it() -> None:
    go.Figure(drawn("light"))
    figure = go.Figure(drawn("dark"))
    assert len(figure.data) == 3
    assert list(figure.data[0].y) == [1.5, 2.0]
    assert list(figure.data[0].error_y.array) == [0.5, 0.5]
    assert list(figure.data[0].error_y.arrayminus) == pytest.approx([0.5, 0.1])


def test_every_length_has_its_tick() -> None:
    axis = drawn()["layout"]["xaxis"]
    assert axis["tickvals"] == [16, 64]
    assert axis["ticktext"] == ["16", "64"]
    assert axis["range"][0] < axis["range"][1]
    single = drawn(curves={"c": [Point(1024, 1, 1, 1)]})["layout"]["xaxis"]
    assert single["ticktext"] == ["1,024"]
    assert single["range"][0] < single["range"][1]


def test_texts_are_shown_letter_by_letter() -> None:
    text = json.dumps(drawn(name="<a href='x'>y</a> & z"))
    assert "<b>" not in text
    assert "<i>" not in text
    assert "<a " not in text
    assert figures.escaped("<b> & </b>") == "&lt;b&gt; &amp; &lt;/b&gt;"


def test_a_name_keeps_its_look_and_differs_without_colour() -> None:
    alone = drawn(curves={"c": CURVES["c"]})["data"][0]
    first, second, _ = drawn()["data"]
    assert alone["line"] == second["line"]
    assert alone["marker"] == second["marker"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert first["line"]["dash"] != second["line"]["dash"]


def test_curves_over_whole_numbers() -> None:
    figure = figures.curves(
        {"a <b>": [0.0, 1.0, 4.0], "c": [1.0, 2.0]},
        start=-1,
        x_title="x",
        y_title="y",
        theme="light",
        spread=([0.0, 0.5, 3.0], [1.0, 1.5, 5.0], "band"),
        marks={"here": 1, "beyond": 9},
    )
    go.Figure(figure)
    band, first, second = figure["data"]
    assert band["x"] == [-1, 0, 1, 1, 0, -1]
    assert band["y"] == [1.0, 1.5, 5.0, 3.0, 0.5, 0.0]
    assert (first["x"], first["y"], first["name"]) == ([-1, 0, 1], [0, 1, 4], "a &lt;b&gt;")
    assert second["x"] == [-1, 0]
    assert first["line"]["dash"] != second["line"]["dash"]
    assert figure["layout"]["xaxis"]["ticktext"] == ["−1", "0", "1"]
    assert [each["text"] for each in figure["layout"]["annotations"]] == ["here"]


def test_long_curves_are_thinned() -> None:
    figure = figures.curves({"a": [float(x) for x in range(2048)]}, x_title="x", y_title="y", theme="dark")
    x = figure["data"][0]["x"]
    assert len(x) <= 600
    assert x == figure["data"][0]["y"]
    assert len(figure["layout"]["xaxis"]["tickvals"]) <= 10
