"""The Explore page without a browser: every control at its ends and deselected, links in, and limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mha_core import Model
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

from .conftest import OpenApp, messages, state, unpacked

ALL_HEADS = [f"L{layer} H{head}" for layer in range(6) for head in range(12)]


def test_default(open_app: OpenApp, model: Model) -> None:
    app = open_app()
    shown = state(app)
    run = model.run(PRESETS[0])
    assert shown["digest"] == Settings(PRESETS[0]).digest
    assert (shown["layer"], shown["head"], shown["row"]) == (3, 1, run.tokens.index("it"))
    assert shown["origin"] == "pretrained"
    assert shown["label"] == "nothing changed"
    assert shown["notices"] == []
    assert shown["presets"] == list(PRESETS)
    _, body = unpacked(messages(app)[1])
    assert np.array_equal(np.frombuffer(body, "<f4").reshape(15, 15), run.weights[3, 1].cpu().numpy())


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"mask": "causal"}, {"mask": "causal"}),
        ({"mask": "window", "w": "1", "t": "0.1"}, {"mask": "window:1", "temperature": 0.1}),
        ({"pos": "sinusoidal", "t": "5"}, {"position": "sinusoidal", "temperature": 5.0}),
        ({"off": ["L5 H11", "L0 H2"]}, {"heads_off": ((0, 2), (5, 11))}),
        ({"s": ""}, {"text": ""}),
        ({"s": "<b>it</b> $x$ ~"}, {"text": "<b>it</b> $x$ ~"}),
    ],
)
def test_a_link_gives_the_picture(
    open_app: OpenApp, values: dict[str, str | list[str]], settings: dict[str, Any]
) -> None:
    shown = state(open_app(**values))
    assert shown["digest"] == Settings(**{"text": PRESETS[0], **settings}).digest
    assert shown["notices"] == []


@pytest.mark.parametrize("at", ["0.0", "5.11.14.14", "2.3.999", "2.3.1.999"])
def test_any_layer_head_row_and_key(open_app: OpenApp, at: str) -> None:
    shown = state(open_app(at=at))
    layer, head, *_ = (int(number) for number in at.split("."))
    assert (shown["layer"], shown["head"]) == (layer, head)
    assert 0 <= shown["row"] < 15
    assert shown["key"] is None or 0 <= shown["key"] < 15


def test_every_control_at_its_ends(open_app: OpenApp) -> None:
    app = open_app(mask="window")
    for width in (1, 512, 3):
        app.number_input(key="w").set_value(width).run()
        assert state(app)["digest"] == Settings(PRESETS[0], f"window:{width}").digest
    for kind in ("none", "causal"):
        app.segmented_control(key="mask").set_value(kind).run()
        assert state(app)["digest"] == Settings(PRESETS[0], kind).digest
    for degrees in (0.1, 5.0, 1.0):
        app.slider(key="t").set_value(degrees).run()
        assert state(app)["digest"] == Settings(PRESETS[0], "causal", temperature=degrees).digest
    for position in ("none", "sinusoidal", "as trained"):
        app.selectbox(key="pos").set_value(position).run()
        state(app)
    for large in (True, False):
        app.toggle(key="big").set_value(large).run()
        state(app)


def test_all_heads_off_and_on_again(open_app: OpenApp) -> None:
    app = open_app()
    app.multiselect(key="off").set_value(ALL_HEADS).run()
    shown = state(app)
    assert shown["figures"][1]["value"] == "72 of 72"
    assert len(shown["off"].split("-")) == 72
    assert math.isfinite(float(shown["figures"][0]["value"]))
    app.multiselect(key="off").set_value([]).run()
    assert state(app)["digest"] == Settings(PRESETS[0]).digest


def test_deselected_choices_keep_a_value(open_app: OpenApp) -> None:
    app = open_app()
    for key in ("mask", "dev"):
        app.segmented_control(key=key).set_value(None).run()
        assert state(app)["digest"] == Settings(PRESETS[0]).digest
    app = open_app(mask="window", w="7")
    app.number_input(key="w").set_value(None).run()
    assert state(app)["digest"] == Settings(PRESETS[0], "window:3").digest


@pytest.mark.parametrize(
    "asked",
    [
        {"mask": "everything", "pos": "learned", "t": "99", "at": "6.0", "look": "hide9.9", "pin": "~~~~~", "big": "2"},
        {"t": "-1e308", "off": "L6 H0", "at": "3.1.2.3.4", "look": "x" * 5000, "pin": "3.1~evil~trained~1~~x"},
        {"dev": "cuda:9", "pin": "3.1~none~trained~1e999~~x"},
        {"pin": f"3.1~none~trained~1~~{'x' * 2001}"},
        {"pin": "3.1~none~trained~1~~" + "a b " * 400},
    ],
)
def test_garbage_in_a_link_is_told_and_ignored(open_app: OpenApp, asked: dict[str, str]) -> None:
    app = open_app(**asked)
    shown = state(app)
    assert shown["digest"] == Settings(PRESETS[0]).digest
    assert (shown["layer"], shown["head"]) == (3, 1)
    assert shown["pin"] is None
    notices = shown["notices"]
    assert {notice.split("=")[0] for notice in notices} == {f"The link says {key}" for key in asked}
    assert len(notices) == len(asked)
    assert max(map(len, notices)) < 140
    if shown["unusable"]:  # the view then writes the default into the link; that run says it once more
        assert state(app.run())["notices"] == notices
    assert state(app.run())["notices"] == []


def test_too_long_a_sentence_keeps_the_last_picture(open_app: OpenApp) -> None:
    app = open_app(s="it is short")
    for text, limit in (("x" * 2001, "2,000 characters, this one has 2,001"), ("a b " * 300, "takes at most 512")):
        app.text_input(key="s").set_value(text).run()
        shown = state(app)
        assert shown["digest"] == Settings("it is short").digest
        assert app.text_input(key="s").value == text
        assert limit in shown["notices"][0]
        assert "it is short" in shown["notices"][0]
    app.text_input(key="s").set_value("a b " * 100).run()
    assert state(app)["notices"] == []


def test_a_pinned_picture_has_its_own_numbers(open_app: OpenApp, model: Model) -> None:
    app = open_app(pin=f"0.2.3~causal~none~0.5~1.1-0.0~{PRESETS[3]}", at="1.4")
    shown = state(app)
    run = model.run(PRESETS[3], mask="causal", position="none", temperature=0.5, heads_off=((0, 0), (1, 1)))
    assert shown["pin"]["tokens"] == run.tokens
    assert shown["pin"]["at"] == "0.2.3"
    _, body = unpacked(messages(app)[1])
    values = np.frombuffer(body, "<f4")
    size = len(run.tokens)
    assert np.array_equal(values[-size * size :].reshape(size, size), run.weights[0, 2].cpu().numpy())


def test_equal_pictures_are_equal_bytes(open_app: OpenApp) -> None:
    first, second = open_app(), open_app()
    assert messages(first)[0] == messages(second)[0]
    assert messages(first)[0] == messages(first.run())[0]


def test_hidden_texts_do_not_change_the_maps(open_app: OpenApp) -> None:
    app = open_app()
    before = messages(app)[0]
    app.text_input(key="look").set_value("linear_sort").run()
    app.text_input(key="at").set_value("1.2.3").run()
    assert messages(app)[0] == before
    assert state(app)["at"] == "1.2.3"


def test_the_map_before_the_changes_comes_where_the_difference_is_wanted(open_app: OpenApp, model: Model) -> None:
    app = open_app(look="difference_linear", pos="none", mask="causal", at="3.1", pin="0.2~none~trained~1~~how are you")
    shown, (_, body) = state(app), unpacked(messages(app)[1])
    assert shown["look"] == "linear_difference"
    assert shown["notices"] == []
    now, before = (
        model.run(PRESETS[0], position="none", mask="causal").weights[3, 1],
        model.run(PRESETS[0]).weights[3, 1],
    )
    values = np.frombuffer(body, "<f4")
    assert np.array_equal(values[: 2 * 225].reshape(2, 15, 15), np.stack([now.cpu().numpy(), before.cpu().numpy()]))
    assert shown["before"]["distances"] == pytest.approx(((now - before).abs().sum(-1) / 2).tolist())
    assert shown["before"]["forbidden"] == [""], "a cell that was seen is no cell without a difference"
    assert len(values) == 2 * 225 + len(shown["pin"]["tokens"]) ** 2


@pytest.mark.parametrize("values", [{"look": "difference"}, {"pos": "none"}, {"pos": "none", "look": "differences"}])
def test_otherwise_nothing_more_comes(open_app: OpenApp, values: dict[str, str]) -> None:
    app = open_app(**values)
    assert state(app)["before"] is None
    assert len(unpacked(messages(app)[1])[1]) == 4 * 15 * 15
