"""The compact texts of the link, a place, a look and a pin: what is written is read back, and nothing else is read."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError
from pages.explore.pins import parse_pin, pin_tail
from pages.kit.draw.pages import PAGES
from pages.kit.draw.view import View
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.limits import LONGEST_TEXT, POSITIONS, check_length
from pages.kit.picture.place import DEFAULT_AT, At, Look, parse_at, parse_heads, parse_look, write_heads
from pages.kit.picture.settings import Settings

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


# ---- a pinned picture

settings = st.builds(
    Settings,
    st.text(max_size=60),
    st.sampled_from(["none", "causal", "window:3", "causal & !window:4 | sinks:1", "documents:3:7"]),
    st.sampled_from(sorted(POSITIONS.values())),
    st.integers(1, 50).map(lambda tenths: tenths / 10),
    st.sets(pairs).map(lambda heads: tuple(sorted(heads))),
    st.just("auto"),
    st.sampled_from(["", "6.rB", "15.rGB.3rJB"]),
    values_off=st.sampled_from([(), (0,), (3, 40)]),
)


@given(settings, pairs, st.integers(0, 99))
def test_pin_round_trip(kept: Settings, pair: tuple[int, int], row: int) -> None:
    at = At(*pair, row)
    assert parse_pin(str(at) + pin_tail(kept), "auto") == (kept, at)


@given(st.text(max_size=40) | st.text("~.0123456789-", max_size=40))
def test_garbage_is_no_pin_or_a_whole_one(text: str) -> None:
    parsed = parse_pin(text, "auto")
    if parsed is not None:
        assert parse_pin(str(parsed[1]) + pin_tail(parsed[0]), "auto") == parsed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3.1~none~trained~1~",
        "9.9~none~trained~1~~it",
        "3.1~none~elsewhere~1~~it",
        "3.1~none~trained~nan~~it",
        "3.1~none~trained~inf~~it",
        "3.1~none~trained~0~~it",
        "3.1~none~trained~1~9.9~it",
        f"3.1~none~trained~1~~{'x' * (LONGEST_TEXT + 1)}",
        *(
            f"3.1~{mask}~trained~1~~how are you"
            for mask in ("", "everything", "window:0", "causal &", "none|" * 500 + "none", "none/6.rx!", "none/6")
        ),
    ],
)
def test_what_is_no_pin(text: str) -> None:
    assert parse_pin(text, "auto") is None


@pytest.mark.usefixtures("shipped")
def test_a_pin_of_another_model_has_its_name_and_its_sizes() -> None:
    kept = Settings("a b", heads_off=((0, 3),), model="who-none-1")  # one layer of four heads
    assert ("0.1.2" + pin_tail(kept)).startswith("0.1.2@who-none-1~")
    assert parse_pin("0.1.2" + pin_tail(kept), "auto") == (kept, At(0, 1, 2))
    assert parse_pin("3.1" + pin_tail(kept), "auto") is None
    assert parse_pin(("0.1" + pin_tail(kept)).replace("who-none-1", "../who-none-1"), "auto") is None


def test_no_view_has_the_name_of_a_control() -> None:
    # what has a name of the link is written into the link
    modules = [import_module(f"pages.{page}.page") for page in PAGES]
    parts = [part for module in modules for part in vars(module).values() if isinstance(part, ModuleType)]
    views = {view.key for part in [*modules, *parts] for view in vars(part).values() if isinstance(view, View)}
    assert len(views) >= 4
    assert not views & set(DEFAULTS)


def test_check_length_names_both_numbers() -> None:
    check_length("x" * LONGEST_TEXT)
    with pytest.raises(HeadlightError, match=r"12,000 characters, this one has 12,001"):
        check_length("x" * (LONGEST_TEXT + 1))
