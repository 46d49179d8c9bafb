"""The Positions page without a browser: links, every encoding, every control at its ends, and what cannot be drawn."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import torch
from streamlit.testing.v1 import AppTest

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
whole_pages = pytest.mark.thorough("many runs of the whole page with all its charts")


def as_it_opens(unfolded: Sequence[str] = (), **values: str | list[str]) -> AppTest:
    """The page with the values of a link, once its maps are drawn."""
    app = app_at("positions", **values)
    for name in ("maps_drawn", *(f"folded_{slot}" for slot in unfolded)):
        app.session_state[name] = True
    return app.run()


def opened(**values: str | list[str]) -> AppTest:
    """The same with all of it unfolded."""
    return as_it_opens(FOLDS, **values)


def notices(app: AppTest) -> list[str]:
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


def view(app: AppTest) -> dict[str, Any]:
    return told_to(component(app, "encodings"))


def pressed(app: AppTest) -> list[bool]:
    (presets,) = [block for block in blocks(app) if block["kind"] == "buttons"]
    return [button["pressed"] for button in presets["buttons"]]


def test_it_opens_on_the_problem_then_the_maps_and_the_charts_after_them() -> None:
    app = app_at("positions").run()
    assert view(app)["asks"]
    assert charts(app) == []
    act(app, "encodings_view", {"drawn": True, "turn": 1})
    assert not view(app)["asks"]
    assert len(charts(app)) == 4
    panels = [block["heading"] for block in blocks(app) if block["kind"] == "panel"]
    assert panels == ["The problem: attention alone does not see the order", "The same word in two places"]
    assert len(view(app)["tiles"]) == len(POSITIONS)
    ((label, link),) = next(block["links"] for block in blocks(app) if block["kind"] == "links")
    assert label == "Try another order on Compare →"
    assert parse_qs(urlsplit(link).query)["order"] == ["tired too was it because street the cross didn't animal The"]


def test_two_portraits_slot_by_slot_and_presets_that_follow_the_controls() -> None:
    app = opened()
    assert notices(app) == []
    assert [title.split(":")[0] for title in titles(app)][:4] == [TITLES["sinusoidal"], TITLES["learned"]] * 2
    assert len(charts(app)) == 11  # picture, waves, circle, distance and far of both, and the amplitudes
    assert "Past 512" not in text(app)
    assert "600 positions, but the learned table has 512" in text(app)
    assert pressed(app) == [True, False, False, False, False]
    app.session_state["enc"], app.session_state["enc2"] = "alibi", "t5"
    assert pressed(app.run()) == [False, False, True, False, False]


@whole_pages
def test_every_encoding_alone() -> None:
    for name in NAMES:
        app = opened(enc=name, enc2="none", s="how are you")
        assert (notices(app), titles(app)[0]) == ([], TITLES[name])
        assert portraits.PAPERS.get(name, "Nothing is added or turned") in text(app)
        assert MEANINGS[name] in text(app)
        assert len(charts(app)) == {"none": 0, "sinusoidal": 6}.get(name, 5), name
        assert ("random here" in text(app)) == (name in ("t5", "shaw"))
        assert ("the queries of this sentence in MiniLM's layer 3" in text(app)) == (name == "shaw")
        keys = [chart.proto.id for chart in app.get("plotly_chart") if "amplitude" not in chart.proto.id]
        order = [next(at for at, slot in enumerate(SLOTS) if f"_{slot}" in key) for key in keys]
        assert order == sorted(order)


def test_a_link_gives_the_page() -> None:
    values: dict[str, str | list[str]] = {
        "s": "it is <b>mine</b>", "at": "5.0", "enc": "shaw", "enc2": "rotary", "d": "24", "h": "3",
        "ch": ["1", "7"], "pair": "2", "at_pos": "40", "hd": "2", "far": "50", "amp": "0.1",
    }  # fmt: skip
    app = as_it_opens(**values)
    assert notices(app) == []
    for part in (
        "random queries, standard normal, seed 0", "head 2 of 0 to 2", "channels 2 (across) and 6 (up)",
        "of position 0 and each of 50 positions",
    ):  # fmt: skip
        assert part in text(app), part
    names = [trace.get("name") for chart in charts(app) for trace in chart["data"]]
    assert {"channel 1", "channel 7"} <= set(names)
    assert "<b>" not in json.dumps(charts(app))


def test_a_link_with_garbage_says_so_and_a_long_text_keeps_the_last_sentence() -> None:
    garbage = {"enc": "absolute", "ch": "1024", "at_pos": "512", "far": "1e9", "amp": "0", "h": "x", "at": "6.0"}
    app = as_it_opens(**garbage, s="a " * 600)
    warnings = notices(app)
    keys = sorted(warning.split("=")[0] for warning in warnings if warning.startswith("The link says"))
    assert keys == sorted(f"The link says {key}" for key in garbage)
    (too_long,) = [warning for warning in warnings if warning.startswith("The text has 602 tokens")]
    assert f"“{PRESETS[0]}”" in too_long
    app.run()  # a text is named once more
    assert notices(app.run()) == warnings


@pytest.mark.parametrize(
    "rows",
    [
        [("rotary", {"d": "51", "h": "3"}, "d_head=17: channels turn in pairs; choose an even number")],
        pytest.param(
            [
                ("sinusoidal", {"d": "51"}, "d_model=51: sines and cosines come in pairs; choose an even number."),
                (
                    "shaw",
                    {"d": "50", "h": "6"},
                    "d_model=50 cannot be split into 6 equal heads; choose a multiple of 6.",
                ),
                ("alibi", {"h": "64", "s": "a " * 500}, "b · h · n² = 16,128,256, at most 4,000,000 are computed here"),
            ],
            marks=whole_pages,
        ),
    ],
)
def test_sizes_that_cannot_be_are_named_and_others_drawn(rows: list[tuple[str, dict[str, str], str]]) -> None:
    for name, sizes, why in rows:
        app = opened(enc=name, enc2="none", **sizes)
        (notice,) = notices(app)
        assert notice.startswith(f"The {name} encoding cannot be made: {why}")
        assert notice.endswith(OWN)
        assert len(charts(app)) == (6 if name == "sinusoidal" else 5)
    app = opened(enc="rotary", enc2="sinusoidal", d="51", h="3")
    both = [f"The {name} encoding cannot be made" for name in ("rotary", "sinusoidal")]
    assert ([notice.split(":")[0] for notice in notices(app)], len(charts(app))) == (both, 11)


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_what_is_not_needed_is_hidden_and_stays_in_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(enc="alibi", enc2="none", pair="7", hd="3")
    assert app.number_input(key="pair").value == 7
    app.selectbox(key="enc").set_value("rotary").run()
    assert "pair 7, position by position" in text(app)
    assert app.number_input(key="hd").value == 3
    places: dict[str, bool] = {}
    mounted = widgets.kept_mounted

    def noted(name: str, shown: bool) -> Any:
        places[name] = shown
        return mounted(name, shown)

    monkeypatch.setattr(widgets, "kept_mounted", noted)
    for link, hidden in (
        ({}, {"n_heads", "biases", "queries"}),
        ({"enc": "alibi", "enc2": "t5"}, {"amplitude", "d_model", "queries", "at_pos"}),
        ({"enc": "shaw", "enc2": "none"}, {"amplitude", "at_pos"}),
    ):
        as_it_opens(**link)
        controls = ("amplitude", "d_model", "n_heads", "biases", "queries", "at_pos")
        assert {name for name in controls if not places[name]} == hidden


@whole_pages
def test_a_link_unfolds_what_it_speaks_of() -> None:
    links: tuple[tuple[dict[str, str | list[str]], str], ...] = (
        ({"ch": ["2"]}, "lines"), ({"at_pos": "3"}, "detail"), ({"far": "700"}, "far"), ({"amp": "0.1"}, "amplitude"),
    )  # fmt: skip
    for link, slot in links:
        app = as_it_opens(**link)
        assert len(charts(app)) == (5 if slot == "amplitude" else 6)
        assert ("sinusoids × 0.1" in text(app)) == (slot == "amplitude")
        assert [name for name in FOLDS if app.session_state[f"unfolded_{name}"]] == [slot]


def test_a_map_that_is_pressed_brings_its_portrait() -> None:
    app = as_it_opens()
    for turn, (chosen, encoding) in enumerate((("alibi", "alibi"), ("halved", "learned")), 1):
        app = act(app, "encodings_view", {"chosen": chosen, "turn": turn})
        assert (app.selectbox(key="enc").value, view(app)["chosen"]) == (encoding, chosen)
    app.selectbox(key="enc").set_value("rotary").run()
    assert view(app)["chosen"] == "rotary"


def test_the_maps_are_those_of_the_model_and_a_long_sentence_has_none() -> None:
    app = as_it_opens(s="how are you", enc="t5")
    state, found = view(app), in_model.on_model(Settings("how are you"))
    sent = torch.frombuffer(bytearray(base64.b64decode(state["maps"])), dtype=torch.float32).reshape(-1, 5, 5)
    assert torch.equal(sent, torch.stack(found.maps))
    assert [tile["name"] for tile in state["tiles"]] == list(POSITIONS)
    assert [tile["figure"] for tile in state["tiles"]] == [number(row[3]) for row in found.rows]
    assert (state["place"], state["chosen"]) == (f"Layer {found.layer} head {found.head}", "t5")
    assert [tile["name"] for tile in state["tiles"] if tile["learnt"]] == ["as trained"]
    assert all((NOT_TRAINED in tile["note"]) != tile["learnt"] for tile in state["tiles"])
    (table,) = [block for block in blocks(app) if block["kind"] == "table" and block["prose"]]
    assert [row[0] for row in table["rows"]] == list(map(position_title, POSITIONS))
    assert json.dumps(table).lower().count(NOT_TRAINED.lower()) == 1
    assert f"With all encodings but “As trained”: {NOT_TRAINED[0].lower()}{NOT_TRAINED[1:]}." in table["caption"]
    app = app_at("positions", s="a " * 100).run()
    assert len(charts(app)) == 4
    assert not [one for one in app.get("bidi_component") if one.proto.component_name == "headlight_encodings"]
    assert "Shown up to 64 tokens, here are 102" in text(app)


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_neighbouring_charts_of_one_unit_have_one_upright_axis() -> None:
    for first, second, compared in (
        ("rotary", "learned", 2), ("sinusoidal", "rotary", 2), ("alibi", "t5", 3), ("alibi", "sinusoidal", 0),
    ):  # fmt: skip
        app = as_it_opens(("lines", "far"), enc=first, enc2=second, s="how are you")
        by_key = {chart.proto.id: json.loads(chart.proto.spec) for chart in app.get("plotly_chart")}
        alike = 0
        for slot in ("lines", "distance", "far"):
            sides = [spec for key, spec in by_key.items() if f"_{slot}" in key]
            low, high = (side["layout"]["yaxis"].get("range") for side in sides)
            if low is not None:
                values = [y for side in sides for line in side["data"] for y in line["y"]]
                assert low == high
                assert low[0] < min(values) <= max(values) < low[1]
                alike += 1
        assert alike == compared, (first, second)
