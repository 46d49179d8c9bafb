"""The pinned picture's text, and the length of a sentence."""

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
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

LAYERS, HEADS = 6, 12
pairs = st.tuples(st.integers(0, LAYERS - 1), st.integers(0, HEADS - 1))
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


def sizes_of(model: str) -> tuple[int, int] | None:
    return {"minilm": (LAYERS, HEADS), "small-1": (1, 4)}.get(model)


@given(settings, pairs, st.integers(0, 99))
def test_pin_round_trip(kept: Settings, pair: tuple[int, int], row: int) -> None:
    at = At(*pair, row)
    assert parse_pin(str(at) + pin_tail(kept), "auto", sizes_of) == (kept, at)


@given(st.text(max_size=40) | st.text("~.0123456789-", max_size=40))
def test_garbage_is_no_pin_or_a_whole_one(text: str) -> None:
    parsed = parse_pin(text, "auto", sizes_of)
    if parsed is not None:
        assert parse_pin(str(parsed[1]) + pin_tail(parsed[0]), "auto", sizes_of) == parsed


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
    assert parse_pin(text, "auto", sizes_of) is None


def test_a_pin_of_another_model_has_its_name_and_its_sizes() -> None:
    kept = Settings("a b", heads_off=((0, 3),), model="small-1")
    assert ("0.1.2" + pin_tail(kept)).startswith("0.1.2@small-1~")
    assert parse_pin("0.1.2" + pin_tail(kept), "auto", sizes_of) == (kept, At(0, 1, 2))
    assert parse_pin("3.1" + pin_tail(kept), "auto", sizes_of) is None
    assert parse_pin(("0.1" + pin_tail(kept)).replace("small-1", "../small-1"), "auto", sizes_of) is None


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
