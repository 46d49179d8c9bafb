"""The Positions page without a browser: links in, every encoding, every control at its ends, and what cannot be."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
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
from pages.kit.picture.words import NOT_TRAINED, position_title
from pages.positions import in_model, portraits
from pages.positions.parts import MEANINGS, TITLES
from pages.positions.portraits import SLOTS

from .conftest import app_at, blocks, component, told_to
from .test_events import act

OWN = "It is shown for d_model 384 and 12 heads instead."
FOLDS = ("lines", "detail", "far", "amplitude")


def as_it_opens(unfolded: Sequence[str] = (), **values: str | list[str]) -> AppTest:
    """The page with the values of a link, once its maps are drawn."""
    app = app_at("positions", **values)
    for name in ("maps_drawn", *(f"folded_{slot}" for slot in unfolded)):
        app.session_state[name] = True
    return app.run()


def opened(**values: str | list[str]) -> AppTest:
    """The same with all of it unfolded."""
    return as_it_opens(FOLDS, **values)


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


def test_default_has_two_portraits_slot_by_slot() -> None:
    app = opened()
    assert told(app) == []
    heads = [title.split(":")[0] for title in titles(app)]
    assert heads[:4] == [TITLES["sinusoidal"], TITLES["learned"]] * 2
    # picture, waves, circle, distance and far of both, and the amplitudes
    assert len(charts(app)) == 11
    assert "Past 512" not in text(app)
    assert "600 positions, but the learned table has 512" in text(app)
    # a preset is pressed while its controls say it
    (tried,) = [block for block in blocks(app) if block["kind"] == "buttons"]
    assert [button["pressed"] for button in tried["buttons"]] == [True, False, False, False, False]
    app.session_state["enc"], app.session_state["enc2"] = "alibi", "t5"
    (tried,) = [block for block in blocks(app.run()) if block["kind"] == "buttons"]
    assert [button["pressed"] for button in tried["buttons"]] == [False, False, True, False, False]


def test_every_encoding_alone() -> None:
    for name in NAMES:
        app = opened(enc=name, enc2="none", s="how are you")
        assert told(app) == [], name
        assert titles(app)[0] == TITLES[name], name
        assert portraits.PAPERS.get(name, "Nothing is added or turned") in text(app), name
        assert MEANINGS[name] in text(app), name
        assert len(charts(app)) == {"none": 0, "sinusoidal": 6}.get(name, 5), name
        assert ("random here" in text(app)) == (name in ("t5", "shaw")), name
        assert ("the queries of this sentence in MiniLM's layer 3" in text(app)) == (name == "shaw"), name
        keys = [chart.proto.id for chart in app.get("plotly_chart")]
        order = [
            next(at for at, slot in enumerate(SLOTS) if f"_{slot}" in key) for key in keys if "amplitude" not in key
        ]
        assert order == sorted(order), name


def test_an_encoding_beside_rotary() -> None:
    for second in ("none", "rotary", "alibi"):
        app = opened(enc="rotary", enc2=second, s="how are you")
        shown = {"rotary"} if second == "none" else {"rotary", second}
        assert {title.split(":")[0] for title in titles(app)} >= {TITLES[name] for name in shown}, second
        assert told(app) == [], second


def test_a_link_gives_the_page() -> None:
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


def test_garbage_in_a_link_is_told_and_ignored() -> None:
    garbage = {"enc": "absolute", "ch": "1024", "at_pos": "512", "far": "1e9", "amp": "0", "h": "x", "at": "6.0"}
    app = opened(**garbage)
    notices = told(app)
    assert sorted(notice.split("=")[0] for notice in notices) == sorted(f"The link says {key}" for key in garbage)
    assert len(charts(app)) == 11
    app.run()  # a text is told once more
    assert told(app.run()) == notices


def test_sizes_that_do_not_go_are_told_and_others_drawn() -> None:
    for values, why in (
        ({"enc": "sinusoidal", "d": "51"}, "d_model=51: sines and cosines come in pairs; choose an even number."),
        ({"enc": "rotary", "d": "51", "h": "3"}, "d_head=17: channels turn in pairs; choose an even number"),
        (
            {"enc": "shaw", "d": "50", "h": "6"},
            "d_model=50 cannot be split into 6 equal heads; choose a multiple of 6.",
        ),
        ({"enc": "alibi", "h": "64", "s": "a " * 500}, "b · h · n² = 16,128,256, at most 4,000,000 are computed here"),
    ):
        app = opened(enc2="none", **values)
        (notice,) = told(app)
        assert notice.startswith(f"The {values['enc']} encoding cannot be made: {why}"), values
        assert notice.endswith(OWN), values
        assert len(charts(app)) == (6 if values["enc"] == "sinusoidal" else 5), values


def test_of_two_of_which_neither_goes_both_are_told_and_drawn_in_sizes_that_do() -> None:
    app = opened(enc="rotary", enc2="sinusoidal", d="51", h="3")
    assert [one.split(":")[0] for one in told(app)] == [
        f"The {name} encoding cannot be made" for name in ("rotary", "sinusoidal")
    ]
    assert len(charts(app)) == 11


def test_short_sentences() -> None:
    for name, words in (("sinusoidal", ""), ("rotary", "a"), ("alibi", ""), ("shaw", "a b")):
        assert titles(opened(enc=name, enc2="t5", s=words))[0] == TITLES[name], name


def test_too_long_keeps_the_last_sentence(model: Model) -> None:
    app = opened(s="a " * 600)
    (notice,) = told(app)
    assert notice.startswith("The text has 602 tokens")
    assert f"“{PRESETS[0]}”" in notice
    assert len(charts(app)) == 11


def test_what_is_not_needed_is_hidden_and_stays_in_the_link() -> None:
    app = opened(enc="alibi", enc2="none", pair="7", hd="3")
    assert app.number_input(key="pair").value == 7
    app.selectbox(key="enc").set_value("rotary").run()
    assert "pair 7, position by position" in text(app)
    assert app.number_input(key="hd").value == 3


def test_it_opens_with_the_problem_the_maps_and_four_charts() -> None:
    app = as_it_opens()
    assert len(charts(app)) == 4
    panels = [block["heading"] for block in blocks(app) if block["kind"] == "panel"]
    assert panels == ["The problem: attention alone does not see the order", "The same word in two places"]
    assert len(told_to(component(app, "encodings"))["tiles"]) == len(POSITIONS)
    ((label, link),) = next(block["links"] for block in blocks(app) if block["kind"] == "links")
    assert label == "Try another order on Compare →"
    assert parse_qs(urlsplit(link).query)["order"] == ["tired too was it because street the cross didn't animal The"]


def test_a_link_unfolds_what_it_speaks_of() -> None:
    for link, slot in (
        ({"ch": ["2"]}, "lines"),
        ({"at_pos": "3"}, "detail"),
        ({"far": "700"}, "far"),
        ({"amp": "0.1"}, "amplitude"),
    ):
        app = as_it_opens(**link)
        assert len(charts(app)) == (5 if slot == "amplitude" else 6), link
        assert ("sinusoids × 0.1" in text(app)) == (slot == "amplitude"), link
        assert [name for name in FOLDS if app.session_state[f"unfolded_{name}"]] == [slot], link


def test_only_the_controls_that_act_are_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_map_that_is_pressed_brings_its_portrait() -> None:
    app = act(as_it_opens(), "encodings_view", {"chosen": "alibi", "turn": 1})
    assert app.selectbox(key="enc").value == "alibi"
    assert told_to(component(app, "encodings"))["chosen"] == "alibi"
    app = act(app, "encodings_view", {"chosen": "halved", "turn": 2})
    assert app.selectbox(key="enc").value == "learned"
    assert told_to(component(app, "encodings"))["chosen"] == "halved"
    app.selectbox(key="enc").set_value("rotary").run()
    assert told_to(component(app, "encodings"))["chosen"] == "rotary"


def test_the_maps_are_those_of_the_model() -> None:
    app = as_it_opens(s="how are you", enc="t5")
    told = told_to(component(app, "encodings"))
    found = in_model.on_model(Settings("how are you"))
    sent = torch.frombuffer(bytearray(base64.b64decode(told["maps"])), dtype=torch.float32).reshape(-1, 5, 5)
    assert torch.equal(sent, torch.stack(found.maps))
    assert [tile["name"] for tile in told["tiles"]] == list(POSITIONS)
    assert [tile["figure"] for tile in told["tiles"]] == [number(row[3]) for row in found.rows]
    assert (told["place"], told["chosen"]) == (f"Layer {found.layer} head {found.head}", "t5")
    # what the model never saw stands apart from what it learnt with, and is said once in the numbers
    assert [tile["name"] for tile in told["tiles"] if tile["learnt"]] == ["as trained"]
    assert all((NOT_TRAINED in tile["note"]) != tile["learnt"] for tile in told["tiles"])
    (table,) = [block for block in blocks(app) if block["kind"] == "table" and block["prose"]]
    assert [row[0] for row in table["rows"]] == list(map(position_title, POSITIONS))
    assert json.dumps(table).lower().count(NOT_TRAINED.lower()) == 1
    assert f"With all encodings but “As trained”: {NOT_TRAINED[0].lower()}{NOT_TRAINED[1:]}." in table["caption"]


def test_the_charts_come_after_the_maps() -> None:
    app = app_at("positions").run()
    assert told_to(component(app, "encodings"))["asks"]
    assert charts(app) == []
    act(app, "encodings_view", {"drawn": True, "turn": 1})
    assert not told_to(component(app, "encodings"))["asks"]
    assert len(charts(app)) == 4


def test_a_long_sentence_has_no_maps_to_wait_for() -> None:
    app = app_at("positions", s="a " * 100).run()
    assert len(charts(app)) == 4
    assert not [one for one in app.get("bidi_component") if one.proto.component_name == "headlight_encodings"]
    assert "Shown up to 64 tokens, here are 102" in text(app)


def test_neighbouring_charts_of_one_unit_have_one_upright_axis() -> None:
    for first, second, compared in (
        ("rotary", "learned", 2),
        ("sinusoidal", "rotary", 2),
        ("alibi", "t5", 3),
        ("alibi", "sinusoidal", 0),
    ):
        app = as_it_opens(("lines", "far"), enc=first, enc2=second, s="how are you")
        by_key = {chart.proto.id: json.loads(chart.proto.spec) for chart in app.get("plotly_chart")}
        alike = []
        for slot in ("lines", "distance", "far"):
            sides = [spec for key, spec in by_key.items() if f"_{slot}" in key]
            assert len(sides) == 2, first
            ranges = [side["layout"]["yaxis"].get("range") for side in sides]
            if ranges[0] is not None:
                values = [y for side in sides for line in side["data"] for y in line["y"]]
                assert ranges[0] == ranges[1], first
                assert ranges[0][0] < min(values) <= max(values) < ranges[0][1], first
                alike.append(slot)
        assert len(alike) == compared, first
