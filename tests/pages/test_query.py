"""A link's query becomes the settings that the script would make of it, or one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from mha_core.errors import HeadlightError
from pages.kit.picture import fitting, rules
from pages.kit.picture.fields import FIELDS
from pages.kit.picture.limits import LONGEST_TEXT, POSITIONS
from pages.kit.picture.link_query import Refused
from pages.kit.picture.place import At, head_name, write_places
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import LONGEST, Query
from pages.kit.picture.settings import Settings

from .conftest import picture_of

CELLS = "5.rGB"
NO_RULE = "3.1~evil~trained~1~~x"  # of a pin
EVERY = [
    Settings(PRESETS[0]),
    Settings("", "causal", "none", 0.1),
    Settings("日本 & ü=1 + 2%", "window:4 & !sinks:2", "alibi", 5.0, ((0, 0), (5, 11))),
    Settings("how are you", "dilated:3:2", "shuffled", 1.3, painted=""),
    Settings("how are you", "causal | prefix:2", painted=CELLS),
    Settings("how are you", "documents:2:5", values_off=(0, 3)),
    Settings("how are you", "unseen:0:2", painted=CELLS),
]


def written(settings: Settings, side: str = "") -> dict[str, list[str]]:
    """What the controls say of these settings: key -> values, the inverse of `Query.settings`."""
    mask = rules.controls_of(settings.mask, settings.painted)
    position = next(name for name, core in POSITIONS.items() if core == settings.position)
    off = [head_name(layer, head) for layer, head in settings.heads_off]
    own = mask | {"s": settings.text, "pos": position, "t": f"{settings.temperature:g}"}
    own |= {"unheard": write_places(settings.values_off)} if settings.values_off else {}
    shared = {"model": settings.model} | ({} if settings.device == "auto" else {"dev": settings.device})
    listed = {f"{key}{side}": [str(value)] for key, value in own.items()} | {f"off{side}": off}
    return listed | {key: [value] for key, value in shared.items()}


@pytest.mark.parametrize("side", ["", "2"])
@pytest.mark.parametrize("settings", EVERY)
def test_what_is_written_is_read(settings: Settings, side: str) -> None:
    query = Query(urlencode(written(settings, side), doseq=True).encode())
    assert query.settings(side) == settings


def test_nothing_said_is_every_default(shipped: Path) -> None:
    assert Query(b"").settings() == Settings(PRESETS[0])
    assert Query(b"").settings("2", "the left one") == Settings("the left one", position="none")
    assert str(Query(b"").at) == "3.1"
    assert str(Query(b"", minilm_at="0.2").at) == "0.2"
    own = Query(b"model=who-rotary-1", minilm_at="0.2")
    assert (own.settings().model, str(own.at)) == ("who-rotary-1", "0.0")
    assert own.settings().text != PRESETS[0], "its own first sentence"


@pytest.mark.parametrize("position", POSITIONS)
def test_every_position(position: str) -> None:
    assert Query(urlencode({"pos": position}).encode()).settings().position == POSITIONS[position]


HOSTILE = [
    "", " ", "0", "-1", "1e308", "nan", "%00", "%ff", "%ed%a0%80", "%F0%9F%92%A5", "..%2F..%2Fetc%2Fpasswd", "{}", "[]",
    "null", "true", "__proto__", "<script>", "a" * 8192, "9" * 400, "-9" * 50, "1.2.3.4", "L0 H0", "inf", "1_0", "٣",
]  # fmt: skip
BAD = [
    b"s=%ff%fe",
    b"s=%ed%a0%80",  # half a surrogate pair
    "s=ü".encode(),
    b"s=" + b"a" * 24_001,
    b"s=a&s=b",
    b"mask=everything",
    b"mask=",
    b"mask=window&w=0",
    b"mask=window&w=-1",
    b"mask=window&w=513",
    b"mask=window&w=1e400",
    b"mask=window&w=nan",
    b"mask=window&w=2.5",
    b"mask=window&w=0x10",
    b"mask=window&w=" + b"9" * 5000,
    b"mask=combination&rule=__import__",
    b"mask=combination&rule=" + b"causal%26" * 30,
    b"mask=painted&p=%00",
    b"mask=painted&p=99.rGB",
    b"mask=painted&on=nothing",
    b"pos=Learned",
    b"t=0",
    b"t=inf",
    b"off=L6+H0",
    b"off=L0+H0%00",
    b"&".join([b"off=L0+H0"] * 1025),
    b"dev=cuda:99",
    b"dev=meta",
    b"model=../../etc/passwd",
    b"model=",
    b"model=%00",
    b"at=9.9",
    b"at=1.2.3.4.5",
    b"at=1",
    b"at=-1.0",
]


def looked_at(raw: bytes) -> tuple[Settings, At]:
    query = Query(raw)
    return query.settings(), query.at


@pytest.mark.parametrize("raw", BAD, ids=lambda raw: raw[:24].decode("latin-1"))
def test_what_no_control_says_is_one_sentence(raw: bytes) -> None:
    with pytest.raises(HeadlightError) as error:
        looked_at(raw)
    assert len(str(error.value)) < 250


def said(query: str, key: str) -> tuple[Any, str]:
    """What a query says of a key, and why it says nothing."""
    try:
        return Query(query.encode())[key], ""
    except HeadlightError as error:
        return None, str(error)


@pytest.mark.parametrize("key", FIELDS)
def test_hostile_values_of_every_key(key: str) -> None:
    """Each is refused, or is what a control of this kind could say."""
    field = FIELDS[key]
    for value in HOSTILE:
        for query in (f"{key}={value}", f"{key}={value}&{key}={value}"):
            found, why = said(query, key)
            assert len(why) < 400
            if why:
                continue
            texts = found if field.kind == "choices" else [found]
            assert all(len(text) <= field.longest for text in texts if isinstance(text, str))
            assert field.kind != "number" or field.ends[0] <= found <= field.ends[1]
            assert not field.choices or set(texts) <= set(field.choices)


def test_a_query_is_bounded_and_other_keys_are_no_matter() -> None:
    with pytest.raises(HeadlightError, match="bytes"):
        Query(b"x" * (LONGEST + 1))
    with pytest.raises(HeadlightError):
        Query(b"&".join([b"s=a"] * 5000))
    assert Query(b"embed=true&utm=%00&s=hi").pairs == (("s", "hi"),)


def test_every_key_can_be_asked_for() -> None:
    query = Query(b"")
    assert {key: query[key] for key in FIELDS if key != "dev"} == {
        key: field.default for key, field in FIELDS.items() if key != "dev"
    }


def test_a_sentence_that_cannot_be_used_is_told() -> None:
    with pytest.raises(HeadlightError, match="shorten"):
        fitting.within(Query(b"s=" + b"a" * (LONGEST_TEXT + 1)).settings())
    fitted, told = fitting.within(Query(b"s=how+are+you&mask=painted&p=9.rGB").settings())
    assert fitted == Settings("how are you")
    assert "painted for 9 tokens" in told[0]


@pytest.mark.parametrize(("route", "side"), [("maps", ""), ("masked", ""), ("pair", ""), ("pair", "2")])
@pytest.mark.parametrize(
    ("values", "key", "why"),
    [
        ({"s": "x" * 12_001}, "s", "12,000 characters, this one has 12,001"),
        ({"s": "x" * 24_001}, "s", "this one has 24,000 or more"),
        ({"s": "a b " * 300}, "s", "602 tokens; the model can read 512. Remove about 90 words"),
        ({"mask": "combination", "rule": "__import__"}, "rule", "Not a valid rule"),
        ({"mask": "combination", "rule": "causal &"}, "rule", "Not a valid rule"),
        ({"mask": "combination", "rule": ""}, "rule", "Not a valid rule"),
        ({"mask": "combination", "rule": "window:9999"}, "rule", "numbers below 1,000"),
        ({"mask": "combination", "rule": "x" * 201}, "rule", "at most 200 characters"),
        ({"mask": "painted", "on": "<b>*x*</b>"}, "on", "Not a valid rule"),
        ({"mask": "painted", "on": "causal&" * 100}, "on", "Not a valid rule"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_typed_text_that_cannot_be_used_is_refused_by_its_key(
    route: str, side: str, values: dict[str, str], key: str, why: str
) -> None:
    """The view then keeps the last one that could."""
    with pytest.raises(Refused, match=why) as refused:
        picture_of(route, **{f"{name}{side}": value for name, value in values.items()})
    assert refused.value.key == f"{key}{side}"
    text, fits = values.get("s", ""), refused.value.fits
    assert bool(fits) == bool(text)
    if fits:  # the view offers to cut the text there
        assert fits == min(len(text), LONGEST_TEXT) or not text[fits - 1].isspace()
        assert route != "maps" or picture_of("maps", s=text[:fits])[0]["typed"] == text[:fits].rstrip()


@pytest.mark.parametrize(
    ("route", "asked"),
    [
        ("maps", {"mask": "everything", "pos": "learned", "t": "99", "at": "6.0", "look": "hide9.9", "pin": "~~~~~"}),
        (
            "maps",
            {"t": "-1e308", "off": "L6 H0", "at": "3.1.2.3.4", "look": "x" * 5000, "pin": "3.1~evil~trained~1~~x"},
        ),
        ("maps", {"dev": "cuda:9", "pin": "3.1~none~trained~1e999~~x", "unheard": "1-", "temp": "9", "dice": "-1"}),
        ("maps", {"pin": f"3.1~none~trained~1~~{'x' * 12_001}", "model": "nobody"}),
        ("maps", {"pin": "3.1~none~trained~1~~" + "a b " * 400, "model": "A" * 22}),
        ("masked", {"mask": "everything", "w": "0", "first": "x", "gap": "513"}),
        ("masked", {"at": "6.0", "pos": "learned", "t": "99", "off": "L6 H0", "dev": "cuda:9", "unheard": "1-"}),
        ("masked", {"mask": ["causal", "none"], "at": "3", "on": ["causal", "none"], "pad": ["a", "b"]}),
        ("masked", {"p": "x" * 3002, "model": "nobody"}),
    ],
)
def test_what_cannot_be_used_is_told_and_the_nearest_picture_stands(
    route: str, asked: dict[str, str | list[str]]
) -> None:
    unread = {"w": "x"} if route == "maps" else {}  # of a window alone
    said, _ = picture_of(route, **asked, **unread)
    assert said["digest"] == Settings(PRESETS[0]).digest
    assert (said["layer"], said["head"]) == (3, 1)
    assert said.get("pin") is None
    assert {notice.split("=")[0] for notice in said["notices"]} == {f"The link says {key}" for key in asked}
    assert len(said["notices"]) == len(asked)
    assert set(said["unusable"]) == set(asked)
    assert max(map(len, said["notices"])) < 250
