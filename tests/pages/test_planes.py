"""Planes that Plotly accepts: signed heat maps in order, and a circle with its hand."""

from __future__ import annotations

import plotly.graph_objects as go

from pages.positions import planes


def test_heat_is_signed_and_in_order() -> None:
    figure = planes.heat(
        [[-2.0, None], [1.0, 0.5]], x=[0, 2], y=[0, 1], x_title="x", y_title="y", theme="dark", y_names=["<b>", "b"]
    )
    go.Figure(figure)
    (heat,) = figure["data"]
    assert (heat["zmin"], heat["zmax"]) == (-2, 2)
    assert heat["z"] == [[-2, None], [1, 0.5]]
    assert figure["layout"]["xaxis"]["ticktext"] == ["0", "2"]
    assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;", "b"]
    assert "customdata" not in heat
    mixed = planes.heat([[0.0, 0.0]], x=[2, 1], y=[0], x_title="x", y_title="y", theme="dark")
    (heat,) = mixed["data"]
    assert heat["x"] == [0, 1]
    assert heat["customdata"] == [[2, 1]]
    assert mixed["layout"]["xaxis"]["ticktext"] == ["2", "1"]
    assert (heat["zmin"], heat["zmax"]) == (-1, 1)


def test_circle_has_its_hand() -> None:
    figure = planes.circle([(1, 0), (0, 1)], (0, 1), "1", x_title="x", y_title="y", theme="dark")
    go.Figure(figure)
    dots, hand = figure["data"]
    assert dots["text"] == ["0", ""]  # the hand says its own number
    assert (hand["x"], hand["y"], hand["text"]) == ([0, 0], [0, 1], ["", "1"])
    assert figure["layout"]["yaxis"]["scaleanchor"] == "x"
    many = planes.circle([(0.0, 0.0)] * 100, (0, 0), "7", x_title="x", y_title="y", theme="dark")
    assert set(many["data"][0]["text"]) == {""}
