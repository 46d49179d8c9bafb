"""The compact texts of the link: what is written is read back, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.kit.picture.place import DEFAULT_AT, At, Look, parse_at, parse_heads, parse_look, write_heads

LAYERS, HEADS = 6, 12
layers, heads = st.integers(0, LAYERS - 1), st.integers(0, HEADS - 1)
pairs = st.tuples(layers, heads)
numbers = st.integers(0, 511)
ats = st.one_of(
    st.builds(At, layers, heads), st.builds(At, layers, heads, numbers), st.builds(At, layers, heads, numbers, numbers)
)
looks = st.builds(
    Look,
    st.sampled_from(["root", "linear", "own"]),
    st.frozensets(st.sampled_from(["nospecials", "all", "table", "lines", "sort", "difference"])),
    st.frozensets(pairs),
    st.none() | pairs,
)
garbage = st.text(st.characters(), max_size=30) | st.text("0123456789.-_~hidesolo", max_size=20)


@given(ats)
def test_at_round_trip(at: At) -> None:
    assert parse_at(str(at), LAYERS, HEADS) == at


def test_a_place_fits_a_sentence_that_has_its_row_and_key() -> None:
    tokens = ["[CLS]", "it", "[SEP]"]
    assert [At(3, 1, row).fits(tokens) for row in (None, 0, 2, 3)] == [True, True, True, False]
    assert [At(3, 1, 0, key).fits(tokens) for key in (2, 3)] == [True, False]
    columns = ["v", "w", "x", "y"]
    assert [At(3, 1, 0, key).fits(tokens, columns) for key in (3, 4)] == [True, False]
    assert [At(3, 1, 0, key).on(tokens, columns).key for key in (3, 4)] == [3, None]


@given(looks)
def test_look_round_trip(look: Look) -> None:
    assert parse_look(str(look), LAYERS, HEADS) == look


@given(st.frozensets(pairs))
def test_heads_round_trip(chosen: frozenset[tuple[int, int]]) -> None:
    assert parse_heads(write_heads(chosen), LAYERS, HEADS) == tuple(sorted(chosen))


@given(garbage)
def test_garbage_is_read_as_nothing_or_as_what_it_says(text: str) -> None:
    at, look = parse_at(text, LAYERS, HEADS), parse_look(text, LAYERS, HEADS)
    found = parse_heads(text, LAYERS, HEADS)
    assert at is None or parse_at(str(at), LAYERS, HEADS) == at
    assert look is None or parse_look(str(look), LAYERS, HEADS) == look
    assert found is None or parse_heads(write_heads(found), LAYERS, HEADS) == found


@pytest.mark.parametrize(
    "text", ["", "3", "3.", "3.1.", "6.0", "0.12", "-1.0", "3.1.2.3.4", "３.１", "3.1\n", "99999.1", "3.1.x", " 3.1"]
)
def test_what_is_no_place(text: str) -> None:
    assert parse_at(text, LAYERS, HEADS) is None


@pytest.mark.parametrize("text", ["_", "root_", "hide", "solo", "solo1.1-1.2", "hide9.9", "Linear", "all table", "x"])
def test_what_is_no_look(text: str) -> None:
    assert parse_look(text, LAYERS, HEADS) is None


@given(ats, st.lists(st.sampled_from(["[CLS]", "it", "the", "[SEP]"]), min_size=2, max_size=20))
def test_a_place_always_fits_the_sentence(at: At, tokens: list[str]) -> None:
    on = at.on(tokens)
    assert on.row is not None
    assert 0 <= on.row < len(tokens)
    assert on.key is None or 0 <= on.key < len(tokens)
    assert (on.layer, on.head) == (at.layer, at.head)


def test_the_row_chosen_is_the_first_it_or_the_first_word() -> None:
    assert At(0, 0).on(["[CLS]", "so", "it", "it", "[SEP]"]).row == 2
    assert At(0, 0).on(["[CLS]", "so", "[SEP]"]).row == 1
    assert At(0, 0).on(["[CLS]", "[SEP]"]).row == 1
    assert At(0, 0, 9, 1).on(["[CLS]", "it", "[SEP]"]) == At(0, 0, 1)
    assert parse_at(DEFAULT_AT, LAYERS, HEADS) == At(3, 1)
