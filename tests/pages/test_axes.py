"""Charts side by side on the Positions page: what is compared has one upright axis."""

from __future__ import annotations

import json

import pytest

from .conftest import app_at


@pytest.mark.parametrize(
    ("first", "second", "compared"),
    [("rotary", "learned", 2), ("sinusoidal", "rotary", 2), ("alibi", "t5", 3), ("alibi", "sinusoidal", 0)],
)
def test_neighbouring_charts_of_one_unit_have_one_upright_axis(first: str, second: str, compared: int) -> None:
    app = app_at("positions", enc=first, enc2=second, s="how are you")
    for name in ("maps_drawn", "folded_lines", "folded_far"):
        app.session_state[name] = True
    app.run()
    by_key = {chart.proto.id: json.loads(chart.proto.spec) for chart in app.get("plotly_chart")}
    alike = []
    for slot in ("lines", "distance", "far"):
        sides = [spec for key, spec in by_key.items() if f"_{slot}" in key]
        assert len(sides) == 2
        ranges = [side["layout"]["yaxis"].get("range") for side in sides]
        if ranges[0] is not None:
            values = [y for side in sides for line in side["data"] for y in line["y"]]
            assert ranges[0] == ranges[1]
            assert ranges[0][0] < min(values) <= max(values) < ranges[0][1]
            alike.append(slot)
    assert len(alike) == compared
