"""The Positions page without a browser: links in, every encoding, every control at its ends, and what cannot be."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import Model
from mha_core.positions import NAMES
from pages.kit.draw.numbers import number
from pages.kit.frame import widgets
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.positions import in_model, portraits
from pages.positions.parts import MEANINGS, TITLES
from pages.positions.portraits import SLOTS

from .conftest import app_at, blocks, component, told_to
from .test_events import act

OWN = "It is shown for d_model 384 and 12 heads instead."


FOLDS = ("lines", "detail", "far", "amplitude")


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """Opens the page with the values of a link, and unfolds all of it."""

    def open_page(**values: str | list[str]) -> AppTest:
        app = app_at("positions", **values)
        app.session_state["maps_drawn"] = True
        for slot in FOLDS:
            app.session_state[f"folded_{slot}"] = True
        return app.run()

    return open_page


@pytest.fixture
def as_it_opens() -> Callable[..., AppTest]:
    """Opens the page with the values of a link, once its maps are drawn."""

    def open_page(**values: str | list[str]) -> AppTest:
        app = app_at("positions", **values)
        app.session_state["maps_drawn"] = True
        return app.run()

    return open_page


def told(app: AppTest) -> list[str]:
    """What stands at the top; a part's own notices are not among them."""
    return next(block["sentences"] for block in blocks(app) if block["kind"] == "notices")


def titles(app: AppTest) -> list[str]:
    """Of the parts of the portraits."""
    return [block["text"] for block in blocks(app) if block["kind"] == "title"][1:]


def charts(app: AppTest) -> list[dict[str, Any]]:
    found = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert "NaN" not in json.dumps(found)
    return found


def text(app: AppTest) -> str:
    return json.dumps(blocks(app), ensure_ascii=False)


def test_default_has_two_portraits_slot_by_slot(opened: Callable[..., AppTest]) -> None:
    app = opened()
    assert told(app) == []
    heads = [title.split(":")[0] for title in titles(app)]
    assert heads[:4] == [TITLES["sinusoidal"], TITLES["learned"]] * 2
    # picture, waves, circle, distance and far of both, and the amplitudes
    assert len(charts(app)) == 11
    assert "Past 512" not in text(app)
    assert "600 positions, but the learned table has 512" in text(app)


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_alone(opened: Callable[..., AppTest], name: str) -> None:
    app = opened(enc=name, enc2="none", s="how are you")
    assert told(app) == []
    assert titles(app)[0] == TITLES[name]
    assert portraits.PAPERS.get(name, "Nothing is added or turned") in text(app)
    assert MEANINGS[name] in text(app)
    assert len(charts(app)) == {"none": 0, "sinusoidal": 6}.get(name, 5)
    assert ("random here" in text(app)) == (name in ("t5", "shaw"))
    assert ("the queries of this sentence in MiniLM's layer 3" in text(app)) == (name == "shaw")


@pytest.mark.parametrize("second", ["none", "rotary", "alibi"])
def test_an_encoding_beside_rotary(opened: Callable[..., AppTest], second: str) -> None:
    app = opened(enc="rotary", enc2=second, s="how are you")
    shown = {"rotary"} if second == "none" else {"rotary", second}
    assert {title.split(":")[0] for title in titles(app)} >= {TITLES[name] for name in shown}
    assert told(app) == []


def test_a_link_gives_the_page(as_it_opens: Callable[..., AppTest]) -> None:
    app = as_it_opens(
        s="it is <b>mine</b>",
        at="5.0",
        enc="shaw",
        enc2="rotary",
        d="24",
        h="3",
        ch=["1", "7"],
        pair="2",
        at_pos="40",
        hd="2",
        far="50",
        amp="0.1",
    )
    assert told(app) == []
    said = text(app)
    assert "random queries, standard normal, seed 0" in said
    assert "head 2 of 0 to 2" in said
    assert "channels 2 (across) and 6 (up)" in said
    assert "of position 0 and each of 50 positions" in said
    names = [trace.get("name") for chart in charts(app) for trace in chart["data"]]
    assert {"channel 1", "channel 7"} <= set(names)
    assert "<b>" not in json.dumps(charts(app))


@pytest.mark.parametrize(
    ("key", "value"),
    [("enc", "absolute"), ("ch", "1024"), ("at_pos", "512"), ("far", "1e9"), ("amp", "0"), ("h", "x"), ("at", "6.0")],
)
def test_garbage_in_a_link_is_told_and_ignored(opened: Callable[..., AppTest], key: str, value: str) -> None:
    app = opened(**{key: value})
    (notice,) = told(app)
    assert notice.startswith(f"The link says {key}=")
    assert len(charts(app)) == 11
    if key == "at":
        app.run()
    assert told(app.run()) == [notice]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"enc": "sinusoidal", "d": "51"}, "d_model=51: sines and cosines come in pairs; choose an even number."),
        ({"enc": "rotary", "d": "51", "h": "3"}, "d_head=17: channels turn in pairs; choose an even number"),
        (
            {"enc": "shaw", "d": "50", "h": "6"},
            "d_model=50 cannot be split into 6 equal heads; choose a multiple of 6.",
        ),
        ({"enc": "alibi", "h": "64", "s": "a " * 500}, "b · h · n² = 16,128,256, at most 4,000,000 are computed here"),
    ],
)
def test_sizes_that_do_not_go_are_told_and_others_drawn(
    opened: Callable[..., AppTest], values: dict[str, str], why: str
) -> None:
    app = opened(enc2="none", **values)
    (notice,) = told(app)
    assert notice.startswith(f"The {values['enc']} encoding cannot be made: {why}")
    assert notice.endswith(OWN)
    assert len(charts(app)) == (6 if values["enc"] == "sinusoidal" else 5)


def test_of_two_of_which_neither_goes_both_are_told_and_drawn_in_sizes_that_do(opened: Callable[..., AppTest]) -> None:
    app = opened(enc="rotary", enc2="sinusoidal", d="51", h="3")
    assert [one.split(":")[0] for one in told(app)] == [
        f"The {name} encoding cannot be made" for name in ("rotary", "sinusoidal")
    ]
    assert len(charts(app)) == 11


@pytest.mark.parametrize(("name", "words"), [("sinusoidal", ""), ("rotary", "a"), ("alibi", ""), ("shaw", "a b")])
def test_short_sentences(opened: Callable[..., AppTest], name: str, words: str) -> None:
    assert titles(opened(enc=name, enc2="t5", s=words))[0] == TITLES[name]


def test_too_long_keeps_the_last_sentence(opened: Callable[..., AppTest], model: Model) -> None:
    app = opened(s="a " * 600)
    (notice,) = told(app)
    assert notice.startswith("The text has 602 tokens")
    assert f"“{PRESETS[0]}”" in notice
    assert len(charts(app)) == 11


def test_a_preset_sets_its_controls(opened: Callable[..., AppTest]) -> None:
    app = opened()
    (tried,) = [block for block in blocks(app) if block["kind"] == "buttons"]
    assert [button["pressed"] for button in tried["buttons"]] == [True, False, False, False, False]
    app.session_state["enc"], app.session_state["enc2"] = "alibi", "t5"
    (tried,) = [block for block in blocks(app.run()) if block["kind"] == "buttons"]
    assert [button["pressed"] for button in tried["buttons"]] == [False, False, True, False, False]


def test_what_is_not_needed_is_hidden_and_stays_in_the_link(opened: Callable[..., AppTest]) -> None:
    app = opened(enc="alibi", enc2="none", pair="7", hd="3")
    assert app.number_input(key="pair").value == 7
    app.selectbox(key="enc").set_value("rotary").run()
    assert "pair 7, position by position" in text(app)
    assert app.number_input(key="hd").value == 3


def test_slots_are_in_order(opened: Callable[..., AppTest]) -> None:
    keys = [chart.proto.id for chart in opened(enc="t5", enc2="none").get("plotly_chart")]
    order = [next(at for at, slot in enumerate(SLOTS) if f"_{slot}" in key) for key in keys if "amplitude" not in key]
    assert order == sorted(order)


def test_it_opens_with_the_problem_the_maps_and_four_charts(as_it_opens: Callable[..., AppTest]) -> None:
    app = as_it_opens()
    assert len(charts(app)) == 4
    panels = [block["heading"] for block in blocks(app) if block["kind"] == "panel"]
    assert panels == ["The problem: attention alone does not see the order", "The same word in two places"]
    assert len(told_to(component(app, "encodings"))["tiles"]) == len(POSITIONS)
    ((label, link),) = next(block["links"] for block in blocks(app) if block["kind"] == "links")
    assert label == "Try another order on Compare →"
    assert parse_qs(urlsplit(link).query)["order"] == ["tired too was it because street the cross didn't animal The"]


@pytest.mark.parametrize(
    ("link", "slot"),
    [({"ch": ["2"]}, "lines"), ({"at_pos": "3"}, "detail"), ({"far": "700"}, "far"), ({"amp": "0.1"}, "amplitude")],
)
def test_a_link_unfolds_what_it_speaks_of(
    as_it_opens: Callable[..., AppTest], link: dict[str, str | list[str]], slot: str
) -> None:
    app = as_it_opens(**link)
    assert len(charts(app)) == (5 if slot == "amplitude" else 6)
    assert ("sinusoids × 0.1" in text(app)) == (slot == "amplitude")
    assert [name for name in FOLDS if app.session_state[f"unfolded_{name}"]] == [slot]


def test_only_the_controls_that_act_are_in_sight(
    as_it_opens: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    places: dict[str, bool] = {}
    seen = widgets.kept_mounted

    def noted(name: str, shown: bool) -> Any:
        places[name] = shown
        return seen(name, shown)

    monkeypatch.setattr(widgets, "kept_mounted", noted)

    def hidden(**link: str) -> set[str]:
        as_it_opens(**link)
        return {name for name in ("amplitude", "d_model", "n_heads", "biases", "queries", "at_pos") if not places[name]}

    assert hidden() == {"n_heads", "biases", "queries"}
    assert hidden(enc="alibi", enc2="t5") == {"amplitude", "d_model", "queries", "at_pos"}
    assert hidden(enc="shaw", enc2="none") == {"amplitude", "at_pos"}


def test_a_map_that_is_pressed_brings_its_portrait(as_it_opens: Callable[..., AppTest]) -> None:
    app = act(as_it_opens(), "encodings_view", {"chosen": "alibi", "turn": 1})
    assert app.selectbox(key="enc").value == "alibi"
    assert told_to(component(app, "encodings"))["chosen"] == "alibi"
    app = act(app, "encodings_view", {"chosen": "halved", "turn": 2})
    assert app.selectbox(key="enc").value == "learned"
    assert told_to(component(app, "encodings"))["chosen"] == "halved"
    app.selectbox(key="enc").set_value("rotary").run()
    assert told_to(component(app, "encodings"))["chosen"] == "rotary"


def test_the_maps_are_those_of_the_model(as_it_opens: Callable[..., AppTest]) -> None:
    told = told_to(component(as_it_opens(s="how are you", enc="t5"), "encodings"))
    found = in_model.on_model(Settings("how are you"))
    sent = torch.frombuffer(bytearray(base64.b64decode(told["maps"])), dtype=torch.float32).reshape(-1, 5, 5)
    assert torch.equal(sent, torch.stack(found.maps))
    assert [tile["name"] for tile in told["tiles"]] == list(POSITIONS)
    assert [tile["figure"] for tile in told["tiles"]] == [number(row[3]) for row in found.rows]
    assert (told["place"], told["chosen"]) == (f"Layer {found.layer} head {found.head}", "t5")


def test_the_charts_come_after_the_maps() -> None:
    app = app_at("positions").run()
    assert told_to(component(app, "encodings"))["asks"]
    assert charts(app) == []
    act(app, "encodings_view", {"drawn": True, "turn": 1})
    assert not told_to(component(app, "encodings"))["asks"]
    assert len(charts(app)) == 4
    assert len(charts(app_at("positions", s="a " * 100).run())) == 4  # there are no maps to wait for


def test_a_long_sentence_has_no_maps(as_it_opens: Callable[..., AppTest]) -> None:
    app = as_it_opens(s="a " * 100)
    assert not [one for one in app.get("bidi_component") if one.proto.component_name == "headlight_encodings"]
    assert "Shown up to 64 tokens, here are 102" in text(app)
