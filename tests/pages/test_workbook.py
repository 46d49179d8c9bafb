"""The matrices of the worked examples: what is typed, what the link keeps of it, and what an event changes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from pages.by_hand import codec
from pages.by_hand.codec import Matrix
from pages.by_hand.workbook import SWITCHES, Workbook, changed, defaults, distinct, from_link, preset, reworded, to_link
from pages.kit.picture.limits import LONGEST_MATRICES

DEFAULTS = defaults()


def given(**changes: Any) -> Workbook:
    matrices = {name: changes.pop(name) for name in list(changes) if name in DEFAULTS}
    queries, keys = changes.get("queries", ("how", "are", "you")), changes.get("keys", ("how", "are", "you"))
    return Workbook({**defaults(queries, keys), **matrices}, **changes)


def test_numbers_as_typed() -> None:
    typed = {"0.5": 0.5, " -3 ": -3, "−2.5": -2.5, ".5": 0.5, "5.": 5, "1e-3": 0.001, "+7": 7, "-0": 0, "1e6": 1e6}
    assert {text: codec.parse_number(text) for text in typed} == typed
    assert math.copysign(1, codec.parse_number("-0")) == 1


@pytest.mark.parametrize(
    ("why", "texts"),
    [
        ("empty", ["", " "]),
        ("not a number", ["abc", "0,5", "1_000", "nan", "٣", "1e", "0x10", "x" * 400]),
        ("infinite", ["inf", "-Infinity", "∞", "1e999"]),
        ("too large", ["1000001", "-1e300"]),
    ],
)
def test_what_is_no_number_says_why(why: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=why) as raised:
            codec.parse_number(text)
        assert len(str(raised.value)) < 120


cells = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0)


@drawn(st.data())
def test_matrices_go_through_the_link(data: st.DataObject) -> None:
    edited: dict[str, Matrix] = {}
    for name in data.draw(st.lists(st.sampled_from(sorted(DEFAULTS)), unique=True, max_size=2)):
        own = st.sampled_from([0.0, 1.0]) if name in SWITCHES else cells
        lines = [data.draw(st.lists(own, min_size=len(line), max_size=len(line))) for line in DEFAULTS[name]]
        edited[name] = tuple(map(tuple, lines))
    text = codec.write(edited, DEFAULTS)
    assert not set(text) - set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    found = codec.parse(text, DEFAULTS, SWITCHES)
    assert found == {name: value for name, value in edited.items() if value != DEFAULTS[name]}
    assert codec.parse("", DEFAULTS, SWITCHES) == {}


def test_a_text_that_is_no_matrix() -> None:
    for text in (
        "x",
        "x_",
        *(f"x_1_2_3_4_5{end}" for end in ("", "_6_7", "_abc", "_inf", "_nan", "_1e7")),
        "x_1_2_3_4_5_6__",
        "x_1_2_3_4_5_6__x_1_2_3_4_5_6",
        "nothing_1",
        "__class____",
        "a_1_1_1_1_1_1_1_1_2",
        "a_1_1_1_1_1_1_1_1_0.5",
        "x:1,2;3,4",
        "\ud800",
        "x_" + "_".join("1" * 400 for _ in range(6)),
    ):
        assert codec.parse(text, DEFAULTS, SWITCHES) is None


def test_no_words_no_matrices() -> None:
    assert from_link("a2_1", [], ["how"]) is None
    assert from_link("e_1_2", [], []) is None
    assert from_link("", [], []) == defaults([], [])


def test_an_edit_changes_one_cell_and_the_link() -> None:
    now = changed(given(), {"edit": "s", "row": 0, "col": 1, "text": "0.9"})
    assert now.matrices["s"][0] == (0.5, 0.9, 0.4)
    assert to_link(now) == "s_0.5_0.9_0.4_0.1_0.8_0.3_0.4_0.3_0.1"
    assert from_link(to_link(now), now.queries, now.keys) == now.matrices


def test_a_wrong_text_is_kept_and_the_rest_stays() -> None:
    now = changed(given(), {"edit": "x", "row": 2, "col": 1, "text": "a lot"})
    assert now.matrices == DEFAULTS
    text, why = now.wrong["x"][2, 1]
    assert text == "a lot"
    assert "not a number" in why
    assert "3.2 is still used" in why
    block = now.block("x", "x", ("0", "1", "2"), ("0", "1"), "i c")
    assert block["cells"][2] == ["3.1", "a lot"]
    assert block["invalid"] == [[2, 1, why]]
    other = changed(now, {"edit": "x", "row": 0, "col": 0, "text": "7"})
    assert other.wrong["x"] == now.wrong["x"]
    mended = changed(other, {"edit": "x", "row": 2, "col": 1, "text": "4"})
    assert not mended.wrong["x"]
    assert mended.matrices["x"] == ((7, 1.2), (2.1, 2.2), (3.1, 4))
    assert changed(other, {"reset": ["x", "s"]}).matrices == DEFAULTS
    assert not changed(other, {"reset": ["x"]}).wrong


def test_an_event_without_sense_does_nothing() -> None:
    events: list[dict[str, Any]] = [
        {},
        {"edit": "nothing", "row": 0, "col": 0, "text": "1"},
        {"edit": ["x"], "row": 0, "col": 0, "text": "1"},
        {"edit": "x", "row": 3, "col": 0, "text": "1"},
        {"edit": "x", "row": -1, "col": 0, "text": "1"},
        {"edit": "x", "row": 0.0, "col": 0, "text": "1"},
        {"edit": "x", "row": "0", "col": 0, "text": "1"},
        {"edit": "x", "row": 0, "text": "1"},
        {"edit": "x", "row": 0, "col": 0, "text": 1},
        {"fill": "x", "preset": "causal"},
        {"fill": "a", "preset": "nothing"},
        {"reset": "x"},
        {"reset": [1, None, "nothing"]},
    ]
    for event in events:
        assert changed(given(), event) == given()


def test_the_link_stays_short() -> None:
    now = given()
    for name in ("wq0", "wk0", "wv0", "wq1", "wk1", "wv1", "wo", "x4", "s", "w0", "w1"):
        for row, line in enumerate(DEFAULTS[name]):
            for col in range(len(line)):
                now = changed(now, {"edit": name, "row": row, "col": col, "text": "-123456.12345678912"})
    assert len(to_link(now)) <= LONGEST_MATRICES
    assert any("room" in why for cells in now.wrong.values() for _, why in cells.values())
    assert from_link(to_link(now), now.queries, now.keys) == now.matrices


def test_presets() -> None:
    assert preset(DEFAULTS["a2"], "a2", "causal") == ((1, 0, 0), (1, 1, 0), (1, 1, 1))
    assert preset(DEFAULTS["a"], "a", "nobody") == ((0, 0, 0), (1, 1, 1), (1, 1, 1))
    assert preset(DEFAULTS["a"], "a", "others") == ((0, 1, 1), (1, 0, 1), (1, 1, 0))
    small = changed(given(), {"fill": "x4", "preset": "small"})
    assert small.matrices["x4"][0] == (0.001, 0.01, 0.1, 1)
    assert changed(small, {"fill": "x4", "preset": "large"}).matrices == DEFAULTS


def test_other_words_keep_what_was_edited() -> None:
    now = given(queries=("how", "are"), keys=("you",), e=((1.1, 1.2), (9.0, 2.2), (3.1, 3.2)), a2=((1,), (0,)))
    more = reworded(now, ("they", "are"), ("you",))
    assert distinct(more.queries, more.keys) == ["they", "are", "you"]
    assert more.matrices["e"] == ((4.1, 4.2), (9.0, 2.2), (3.1, 3.2))
    assert more.matrices["a2"] == now.matrices["a2"]
    assert reworded(more, ("are",), ("you",)).matrices["a2"] == ((1,),)
    assert from_link(to_link(more), more.queries, more.keys) == more.matrices
