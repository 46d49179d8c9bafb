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

from headlight.link.limits import POSITIONS
from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.picture.words import NOT_TRAINED
from headlight.ui.numbers import weight
from mha_core.positions import NAMES
from pages.positions import in_model
from pages.positions.portraits import TEXTS

from .conftest import app_at, blocks, component, told_to
from .test_events import act

OWN = "It is shown for d_model 384 and 12 heads instead."
FOLDS = ("lines", "detail", "far")
whole_pages = pytest.mark.thorough("many runs of the whole page with all its charts")


def as_it_opens(unfolded: Sequence[str] = (), **values: str | list[str]) -> AppTest:
    """The page with the values of a link."""
    app = app_at("positions", **values)
    for slot in unfolded:
        app.session_state[f"folded_{slot}"] = True
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


def test_page_opens_on_problem_maps_and_charts() -> None:
    app = as_it_opens()
    assert "Waves as long as the learned rows need amplitude" in text(app)
    assert len(charts(app)) == 4
    assert len(view(app)["tiles"]) == len(POSITIONS)
    ((label, link),) = next(block["links"] for block in blocks(app) if block["kind"] == "links")
    assert label == "Try another order on Compare →"
    assert parse_qs(urlsplit(link).query)["order"] == ["tired too was it because street the cross didn't animal The"]


def test_two_portraits_slot_by_slot() -> None:
    app = opened()
    shown = [TEXTS[name]["title"] for name in ("sinusoidal", "learned")] * 2
    assert (notices(app), [title.split(":")[0] for title in titles(app)][:4]) == ([], shown)
    assert len(charts(app)) == 10  # picture, waves, circle, distance and far of both
    assert "600 positions, but the learned table has 512" in text(app)


@whole_pages
def test_every_encoding_alone() -> None:
    for name in NAMES:
        app = opened(enc=name, enc2="none", s="how are you")
        assert (notices(app), titles(app)[0]) == ([], TEXTS[name]["title"])
        assert TEXTS[name].get("paper", "Nothing is added or rotated") in text(app)
        assert TEXTS[name]["meaning"] in text(app)
        assert len(charts(app)) == {"none": 0, "sinusoidal": 5, "learned": 5, "rotary": 5}.get(name, 4), name


def test_a_link_gives_the_page() -> None:
    values: dict[str, str | list[str]] = {
        "s": "it is <b>mine</b>", "at": "5.0", "enc": "shaw", "enc2": "rotary", "d": "24", "h": "3",
        "ch": ["1", "7"], "pair": "2", "at_pos": "40", "hd": "2", "far": "50", "amp": "0.1",
    }  # fmt: skip
    app = as_it_opens(**values)
    assert notices(app) == []
    assert (view(app)["layer"], view(app)["head"], view(app)["layers"]) == (5, 0, 6)
    for part in ("head 2 of 0 to 2", "channels 2 (across) and 6 (up)", "of position 0 and each of 50 positions"):
        assert part in text(app), part
    assert "<b>" not in json.dumps(charts(app))


def test_link_with_garbage_says_so_and_a_long_text_keeps_the_last_sentence() -> None:
    garbage = {"enc": "absolute", "ch": "1024", "at_pos": "512", "far": "1e9", "amp": "0", "h": "x", "at": "6.0"}
    app = as_it_opens(**garbage, s="a " * 600)
    warnings = notices(app)
    keys = sorted(warning.split("=")[0] for warning in warnings if warning.startswith("The link says"))
    assert keys == sorted(f"The link says {key}" for key in garbage)
    (too_long,) = [warning for warning in warnings if warning.startswith("The text has 602 tokens")]
    assert f"“{PRESETS[0]}”" in too_long


def test_another_model_has_its_own_heads_and_encodings() -> None:
    state = view(as_it_opens(model="words-2layers-1", s="wolf sun wolf", pos="none"))
    assert (state["layers"], state["selection"], len(state["forbidden"])) == (2, "none", 1), "its mask is causal"
    assert "shuffled" not in [tile["name"] for tile in state["tiles"]]


def test_sizes_that_cannot_be_are_named_and_others_drawn() -> None:
    for name, sizes, why in (
        ("rotary", {"d": "51", "h": "3"}, "d_head=17: channels turn in pairs; choose an even number"),
        ("shaw", {"d": "50", "h": "6"}, "d_model=50 cannot be split into 6 equal heads; choose a multiple of 6."),
        ("alibi", {"h": "64", "s": "a " * 500}, "b · h · n² = 16,128,256, at most 4,000,000 are allowed here"),
    ):
        app = opened(enc=name, enc2="none", **sizes)
        (notice,) = notices(app)
        assert notice.startswith(f"The {name} encoding cannot be made: {why}")
        assert notice.endswith(OWN)
        assert len(charts(app)) == (5 if name == "rotary" else 4)


def test_map_that_is_pressed_brings_its_portrait() -> None:
    app = as_it_opens()
    for turn, (chosen, encoding) in enumerate((("alibi", "alibi"), ("halved", "learned")), 1):
        app = act(app, "encodings_view", {"selection": chosen, "turn": turn})
        assert (app.selectbox(key="enc").value, view(app)["selection"]) == (encoding, chosen)
    app = act(app, "encodings_view", {"layer": 3, "head": 1, "turn": 3})
    assert (app.query_params["pos"], app.query_params["at"]) == ("halved", "3.1")
    assert (view(app)["layer"], view(app)["head"], view(app)["selection"]) == (3, 1, "halved")
    app.selectbox(key="enc").set_value("rotary").run()
    assert view(app)["selection"] == "rotary"


def test_maps_are_those_of_the_model_and_a_long_sentence_has_none() -> None:
    app = as_it_opens(s="how are you", enc="t5")
    state, found = view(app), in_model.on_model(Settings("how are you"), None)
    sent = torch.frombuffer(bytearray(base64.b64decode(state["maps"])), dtype=torch.float32).reshape(-1, 5, 5)
    assert torch.equal(sent, torch.stack(found.maps))
    assert [tile["name"] for tile in state["tiles"]] == list(POSITIONS)
    assert [tile["figure"] for tile in state["tiles"]] == [weight(row[3]) for row in found.rows]
    assert (state["layer"], state["head"], state["selection"]) == (found.layer, found.head, "t5") == (0, 2, "t5")
    assert [tile["name"] for tile in state["tiles"] if tile["learnt"]] == ["as trained"]
    assert all((NOT_TRAINED in tile["note"]) != tile["learnt"] for tile in state["tiles"])
    app = as_it_opens(s="a " * 100)
    assert len(charts(app)) == 4
    assert not [one for one in app.get("bidi_component") if one.proto.component_name == "headlight_encodings"]
    assert "At most 64 tokens are shown here, not 102" in text(app)
