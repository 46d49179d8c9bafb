"""A link's query and its compact texts: what is written is read back, and every other value is refused or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.link import rules
from headlight.link.cursor import (  # fmt: skip
    Cursor,
    DisplayOptions,
    head_name,
    parse_at,
    parse_heads,
    parse_look,
    parse_places,
    parse_view,
    write_heads,
    write_places,
)
from headlight.link.fields import FIELDS
from headlight.link.limits import MAX_QUERY_BYTES, MAX_TEXT_LENGTH, POSITIONS
from headlight.link.presets import PRESETS
from headlight.picture.link_query import UnusableText
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core.errors import HeadlightError
from pages.explore.pins import parse_pin, pin_tail

from .conftest import picture_of

LAYERS, HEADS = 6, 12
pairs = st.tuples(st.integers(0, LAYERS - 1), st.integers(0, HEADS - 1))
numbers = st.integers(0, 511)
places = st.just(()) | st.tuples(numbers) | st.tuples(numbers, numbers)
ats = st.builds(lambda pair, place: Cursor(*pair, *place), pairs, places)
looks = st.builds(
    DisplayOptions,
    st.sampled_from(["root", "linear", "own"]),
    st.frozensets(st.sampled_from(["nospecials", "all", "table", "lines", "sort", "difference", "meanall", "words"])),
    st.frozensets(pairs),
    st.none() | pairs,
    st.sets(numbers, max_size=3).map(lambda places: tuple(sorted(places))),
)
settings = st.builds(
    Settings,
    st.text(max_size=60),
    st.sampled_from(["none", "causal", "window:3", "dilated:3:2", "causal & !window:4 | sinks:1", "documents:3:7"]),
    st.sampled_from(sorted(POSITIONS.values())),
    st.integers(1, 50).map(lambda tenths: tenths / 10),
    st.sets(pairs).map(lambda heads: tuple(sorted(heads))),
    painted=st.sampled_from(["", "6.rB", "15.rGB.3rJB"]),
    values_off=st.sampled_from([(), (0,), (3, 40)]),
    mlps_off=st.sampled_from([(), (0,), (1, 5)]),
    layers_off=st.sampled_from([(), (5,), (0, 1)]),
)


def written(of: Settings, side: str) -> str:
    """The query whose controls have these settings, the inverse of `Query.settings`."""
    values: dict[str, Any] = rules.to_controls(of.mask, of.painted) | {
        "s": of.text,
        "pos": next(name for name, core in POSITIONS.items() if core == of.position),
        "t": f"{of.temperature:g}",
        "off": [head_name(layer, head) for layer, head in of.heads_off]
        + [f"L{layer} MLP" for layer in of.mlps_off]
        + [f"L{layer}" for layer in of.layers_off],
        "unheard": write_places(of.values_off),
    }
    return urlencode({f"{key}{side}": value for key, value in values.items()}, doseq=True)


@given(settings, st.sampled_from(["", "2"]))
def test_settings_are_read_as_they_were_written(of: Settings, side: str) -> None:
    assert Query(written(of, side).encode()).settings(side) == of


def test_every_position_and_every_default(shipped: Path) -> None:
    for name, core in POSITIONS.items():
        assert Query(urlencode({"pos": name}).encode()).settings().position == core, name
    query = Query(b"")
    assert query.settings() == Settings(PRESETS[0])
    assert query.settings("2", "the left one") == Settings("the left one", position="none")
    own = Query(b"model=who-rotary-1", minilm_cursor="0.2")
    assert (own.settings().model, str(own.cursor)) == ("who-rotary-1", "0.0")


HOSTILE = [
    "", "-1", "1e308", "nan", "%00", "%ff", "%ed%a0%80", "%F0%9F%92%A5", "..%2F..%2Fetc%2Fpasswd", "[]", "true",
    "__proto__", "<script>", "a" * 8192, "9" * 400, "1.2.3.4", "L0 H0", "1_0", "٣",
]  # fmt: skip
BAD = {  # query -> what the sentence says
    b"s=%ff%fe": "not UTF-8", b"s=%ed%a0%80": "not UTF-8", b"&".join([b"s=a"] * 5000): "",
    b"s=" + b"a" * 24_001: "“s” of a link may have 24,000 characters, here it has 24,001",
    b"x" * (MAX_QUERY_BYTES + 1): "bytes",
    b"s=a&s=b": "says “s” 2 times", b"&".join([b"off=L0+H0"] * 1025): "says “off” 1025 times",
    b"mask=everything": "“mask” of a link is",
    **{b"mask=window&w=" + w: "“w” of a link is a whole number from 1 to 512" for w in (b"0", b"513", b"nan", b"2.5")},
    b"w=" + b"9" * 5000 + b"&mask=window": "“w” of a link may have 1,000 characters, here it has 5,000",
    b"mask=combination&rule=__import__": "valid rule",
    b"mask=painted&on=nothing": "valid rule", b"mask=painted&p=%00": "painted", b"mask=painted&p=99.rGB": "painted",
    b"pos=Learned": "“pos” of a link is", b"t=inf": "“t” of a link", b"off=L6+H0": "no head “L6 H0”",
    b"off=L6+MLP": "no MLP “L6 MLP”", b"off=L6": "no layer “L6”", b"off=L1+mlp": "no head “L1 mlp”",
    b"unheard=1-": "has places of tokens",
    b"dev=meta": "“meta” is not available", b"model=../../etc/passwd": "", b"at=9.9": "no head “", b"at=1": "no head “",
}  # fmt: skip


def read_whole(raw: bytes) -> tuple[Settings, Cursor]:
    query = Query(raw)
    return query.settings(), query.cursor


def test_each_value_that_no_control_has_gets_a_sentence_that_names_it() -> None:
    for raw, why in BAD.items():
        with pytest.raises(HeadlightError) as error:
            read_whole(raw)
        assert why in str(error.value), raw[:60]
        assert 0 < len(str(error.value)) < 250, raw[:60]
    with pytest.raises(HeadlightError, match="“sqrt” of a link is true or false"):
        Query(b"sqrt=yes")["sqrt"]
    assert Query(b"embed=true&utm=%00&s=hi").pairs == (("s", "hi"),), "other keys are no matter"


def test_hostile_values_of_every_key_are_refused_or_what_a_control_could_have() -> None:
    refused = list[str]()
    for key, field in FIELDS.items():
        for value in HOSTILE:
            for query in (f"{key}={value}", f"{key}={value}&{key}={value}"):
                try:
                    found = Query(query.encode())[key]
                except HeadlightError as error:
                    refused.append(str(error))
                    continue
                texts = found if field.kind == "choices" else [found]
                assert all(len(text) <= field.max_length for text in texts if isinstance(text, str)), query
                assert field.kind != "number" or field.range[0] <= found <= field.range[1], query
                assert not field.choices or set(texts) <= set(field.choices), query
    assert all(0 < len(sentence) < 400 for sentence in refused)


REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"s": "x" * 12_001}, "s", "12,000 characters, and this one has 12,001"),
    ({"s": "a b " * 300}, "s", "602 tokens; the model can read 512. Remove about 90 words"),
    ({"mask": "combination", "rule": "causal &"}, "rule", "This is not a valid mask rule"),
    ({"mask": "combination", "rule": "window:9999"}, "rule", "numbers below 1,000"),
    ({"mask": "combination", "rule": "x" * 201}, "rule", "at most 200 characters"),
    ({"mask": "painted", "on": "<b>*x*</b>"}, "on", "This is not a valid mask rule"),
]


@pytest.mark.parametrize(("route", "side"), [("maps", ""), ("pair", "2")])
def test_a_typed_text_that_cannot_be_used_is_refused_by_its_key(route: str, side: str) -> None:
    """The view then keeps the last one that could, and offers to cut a text where it fits."""
    for values, key, why in REFUSED:
        with pytest.raises(UnusableText, match=why) as refused:
            picture_of(route, **{f"{name}{side}": value for name, value in values.items()})
        assert refused.value.key == f"{key}{side}", values
        text, fits = values.get("s", ""), refused.value.fits
        assert bool(fits) == bool(text), values
        if fits:
            assert fits == min(len(text), MAX_TEXT_LENGTH) or not text[fits - 1].isspace()
            assert route != "maps" or picture_of("maps", s=text[:fits])[0]["sentence"] == text[:fits].rstrip()


NEAREST: list[tuple[str, dict[str, Any]]] = [
    ("maps", {"mask": "everything", "pos": "learned", "t": "99", "at": "6.0", "look": "hide9.9", "pin": "~~~~~"}),
    ("maps", {"t": "-1e308", "off": "L6 H0", "at": "3.1.2.3.4", "look": "x" * 5000, "pin": "3.1~evil~trained~1~~x"}),
    (
        "maps",
        {"w": "x", "dev": "cuda:9", "unheard": "1-", "temp": "9", "dice": "-1", "model": "nobody", "view": "clouds.3"},
    ),
    ("maps", {"pin": "3.1~none~trained~1~~" + "a b " * 400, "model": "A" * 22, "topk": "-3", "topp": "1.5"}),
    ("masks", {"mask": ["causal", "none"], "at": "3", "on": ["causal", "none"], "pad": ["a", "b"], "w": "0"}),
    ("masks", {"p": "x" * 3002, "model": "nobody"}),
    ("architecture", {"box": "a door", "depth": "deepest", "at": "6.0"}),
]


def test_unusable_values_are_named_and_replaced_by_the_nearest() -> None:
    for route, link in NEAREST:
        header, _ = picture_of(route, **link)
        assert header["digest"] == Settings(PRESETS[0]).digest
        assert (header["layer"], header["head"], header.get("pin")) == (3, 1, None)
        assert sorted(notice.split("=")[0] for notice in header["notices"]) == sorted(
            f"The link says {key}" for key in link
        )
        assert set(header["unusable"]) == set(link)
        assert max(map(len, header["notices"])) < 250


# ---- a place, a look, heads, a view, a pinned picture


@given(ats, looks, st.frozensets(pairs), settings, numbers)
def test_compact_texts_are_read_as_they_were_written(
    at: Cursor, look: DisplayOptions, chosen: frozenset[tuple[int, int]], kept: Settings, row: int
) -> None:
    assert (parse_at(str(at), LAYERS, HEADS), parse_look(str(look), LAYERS, HEADS)) == (at, look)
    assert parse_heads(write_heads(chosen), LAYERS, HEADS) == tuple(sorted(chosen))
    assert parse_places(write_places(look.keys)) == look.keys
    pinned = Cursor(at.layer, at.head, row)
    assert parse_pin(str(pinned) + pin_tail(kept), "auto") == (kept, pinned)


@given(st.text(st.characters(), max_size=40) | st.text("0123456789.-_~hidesolokeys", max_size=40))
def test_any_other_text_is_read_as_nothing_or_as_what_it_says(text: str) -> None:
    at, look = parse_at(text, LAYERS, HEADS), parse_look(text, LAYERS, HEADS)
    found, pin = parse_heads(text, LAYERS, HEADS), parse_pin(text, "auto")
    assert at is None or parse_at(str(at), LAYERS, HEADS) == at
    assert look is None or parse_look(str(look), LAYERS, HEADS) == look
    assert found is None or parse_heads(write_heads(found), LAYERS, HEADS) == found
    assert pin is None or parse_pin(str(pin[1]) + pin_tail(pin[0]), "auto") == pin


def test_invalid_cursor_display_view_and_pin() -> None:
    def in_layers(read: Callable[..., object]) -> Callable[[str], object]:
        return lambda text: read(text, LAYERS, HEADS)

    masks = ("everything", "none|" * 500 + "none", "none/6.rx!")
    pins = ["9.9~none~trained~1~~it", "3.1~none~elsewhere~1~~it"]
    pins += [f"3.1~none~trained~1~{off}~it" for off in ("9.9", "!!6", "!!!6", "!!!0!0")]
    wrong: list[tuple[Callable[[str], object], list[str]]] = [
        (in_layers(parse_at), ["", "3", "6.0", "0.12", "-1.0", "3.1.2.3.4", "３.１", "3.1\n", "3.1.x"]),
        (in_layers(parse_look), ["_", "root_", "hide", "solo1.1-1.2", "hide9.9", "Linear", "all table", "keys"]),
        (lambda text: any(parse_view(text)), ["", "clouds.3", ".heads"]),
        (lambda text: parse_pin(text, "auto"), [
            "", *pins, f"3.1~none~trained~1~~{'x' * (MAX_TEXT_LENGTH + 1)}",
            *(f"3.1~none~trained~{t}~~it" for t in ("nan", "1e999")),
            *(f"3.1~{mask}~trained~1~~how are you" for mask in masks),
        ]),
    ]  # fmt: skip
    for read, texts in wrong:
        assert [text for text in texts if read(text)] == []
    assert parse_look("keys5-2", LAYERS, HEADS) == DisplayOptions(keys=(2, 5))
    assert parse_view("heads.previous.entropy") == ("heads", "previous.entropy")


@given(ats, st.lists(st.sampled_from(["[CLS]", "it", "the", "[SEP]"]), min_size=2, max_size=20), st.booleans())
def test_a_place_is_one_of_the_sentence(at: Cursor, tokens: list[str], goes_on: bool) -> None:
    on, n = at.resolve(tokens, is_generative=goes_on), len(tokens)
    first = n - 1 if goes_on else tokens.index("it") if "it" in tokens else 1
    kept = at.row is not None and at.row < n
    assert (on.layer, on.head, on.row) == (at.layer, at.head, at.row if kept else first)
    assert on.key == (at.key if kept and at.fits(tokens) else None)
    assert at.fits(tokens) == all(place is None or place < n for place in (at.row, at.key))
