"""Portraits of encodings: every one at every size, drawn and said as it was computed."""

from __future__ import annotations

import json
import math
from typing import Any

import plotly.graph_objects as go
import pytest

from mha_core.positions import NAMES
from pages.kit.draw.numbers import number
from pages.positions import planes
from pages.positions.biases import TILE
from pages.positions.encodings import TableSizes, build
from pages.positions.measures import bias, table
from pages.positions.parts import Focus, Part, doubling, sample, sampled
from pages.positions.portraits import SLOTS, part_of


def view(n: int, **values: Any) -> Focus:
    tokens = [f"word{at}" for at in range(n)]
    given: dict[str, Any] = {"channels": [0, 3], "pair": 1, "place": 2, "head": 1, "far": 20, "limit": 512}
    return Focus(tokens, **{**given, **values}, theme="dark")


def parts(name: str, sizes: TableSizes, **values: Any) -> dict[str, Part]:
    made = (part_of(slot, build(name, sizes), view(sizes.n, **values)) for slot in SLOTS)
    return {part.slot: part for part in made if part is not None}


def said(part: Part) -> str:
    return json.dumps(part.blocks, ensure_ascii=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_at_its_ends(name: str) -> None:
    for sizes in (TableSizes(1, 2, 1), TableSizes(130, 768, 64)):
        found = parts(name, sizes, channels=[0, 700], pair=400, place=511, head=63, far=2048)
        assert list(found) == [slot for slot in SLOTS if slot in found]
        for part in found.values():
            written = json.dumps([part.blocks, part.figure], allow_nan=False)
            assert len(written) < 400_000
            assert "NaN" not in written
            if part.figure is not None:
                go.Figure(part.figure)
                assert part.alt


def test_the_matrix_is_the_table() -> None:
    sizes = TableSizes(5, 8, 2)
    (heat,) = parts("rotary", sizes)["picture"].figure["data"]  # type: ignore[index]
    assert [line for row in heat["z"] for line in row] == pytest.approx(
        table(build("rotary", sizes)).flatten().tolist(), abs=1e-3
    )
    (heat,) = parts("sinusoidal", sizes)["picture"].figure["data"]  # type: ignore[index]
    assert heat["customdata"][0] == [0, 2, 4, 6, 1, 3, 5, 7]
    assert heat["z"][0] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_head_in_sight_and_all_heads() -> None:
    sizes = TableSizes(6, 24, 3)
    values = bias(build("t5", sizes))
    found = parts("t5", sizes, head=2)
    assert "head 2 of 0 to 2, 6 queries × 6 keys" in said(found["picture"])
    (heat,) = found["picture"].figure["data"]  # type: ignore[index]
    assert heat["z"][5] == pytest.approx(values[2, 5].tolist(), rel=1e-3)
    (tiles,) = found["detail"].figure["data"]  # type: ignore[index]
    shown = [value for line in tiles["z"] for value in line if value is not None]
    assert sorted(shown) == pytest.approx(sorted(values.flatten().tolist()), rel=1e-3)
    large = parts("alibi", TableSizes(300, 24, 3))["detail"].figure["data"][0]["z"]  # type: ignore[index]
    assert sum(value is not None for line in large for value in line) <= 3 * TILE * TILE


def test_channels_that_are_not_there_are_told() -> None:
    assert "It has channels 0 to 7: 30, 31 cannot be drawn." in said(
        parts("rotary", TableSizes(5, 16, 2), channels=[1, 30, 31])["lines"]
    )
    assert "cannot be drawn" not in said(parts("rotary", TableSizes(5, 16, 2), channels=[1])["lines"])


def test_the_hand_goes_beyond_the_sentence() -> None:
    part = parts("rotary", TableSizes(5, 16, 2), pair=1, place=40)["detail"]
    turned = 40 / 10000 ** (2 / 8)
    assert part.blocks[-1]["rows"] == [
        ["40", number(turned), number(turned / math.tau), number(math.cos(turned)), number(math.sin(turned))]
    ]
    assert "Learned, so no circle" in said(parts("learned", TableSizes(5, 16, 2))["detail"])


def test_what_counts() -> None:
    for name, words in {
        "sinusoidal": "Here only the distance matters",
        "rotary": "Here only the distance matters",
        "learned": "Here pairs equally far apart differ by up to",
        "alibi": "Within a head only the distance matters",
        "t5": "Within a head only the distance matters",
        "shaw": "Within a head pairs equally far apart differ by up to",
    }.items():
        assert words in said(parts(name, TableSizes(9, 24, 3))["distance"])


def test_past_the_trained_length() -> None:
    learned = parts("learned", TableSizes(5, 24, 3), far=600)["far"]
    assert "600 positions, but the learned table has 512; shorten the text." in said(learned)
    assert len(learned.figure["data"][0]["x"]) == 512  # type: ignore[index]
    assert "600 positions" not in said(parts("learned", TableSizes(5, 24, 3), far=512)["far"])
    assert "past 512 positions it continues" in said(parts("sinusoidal", TableSizes(5, 24, 3), far=600)["far"])
    # 16 is where Shaw's distances are clipped
    assert "from position 16 on it stays the same" in said(parts("shaw", TableSizes(5, 24, 3), far=600)["far"])
    alibi = said(parts("alibi", TableSizes(5, 24, 3), far=600)["far"])
    assert "past 512 positions it continues" in alibi
    assert "stays the same" not in alibi
    # never shorter than the sentence
    assert "at position 4 (end of the sentence)" in said(parts("rotary", TableSizes(5, 24, 3), far=2)["far"])


def test_what_is_learned_is_said() -> None:
    assert "Nothing in it is learned." in said(parts("rotary", TableSizes(5, 24, 3))["card"])
    assert "196,608 learned numbers, pretrained" in said(parts("learned", TableSizes(5, 24, 3))["card"])
    assert "96 learned numbers, random here" in said(parts("t5", TableSizes(5, 24, 3))["card"])
    assert "random queries, standard normal, seed 0" in said(parts("shaw", TableSizes(5, 24, 3))["card"])


def test_samples() -> None:
    assert sample(7, 10) == list(range(7))
    assert sample(30, 10) == list(range(0, 30, 3))
    assert sampled(10, 7, (30, 7)) == "; drawn is one row in 3"
    assert sampled(30, 7, (30, 7)) == ""
    assert [doubling(length) for length in (1, 9, 12)] == [[0], [0, 1, 2, 4, 8], [0, 1, 2, 4, 8, 11]]


# ---- the charts


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
