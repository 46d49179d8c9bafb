"""The Shapes page without a browser: every implementation beside every other, links in, and what cannot be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha_core import IMPLEMENTATIONS
from mha_core.attention import AttentionLayer
from pages.kit.picture import pictures
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import traced
from pages.shapes import random_layer
from pages.shapes.reshape_lessons import LESSONS, QUESTIONS

from .conftest import app_at, component, steps_view, told_to, unpacked
from .test_events import act
from .test_steps import read_back

OpenShapes = Callable[..., AppTest]
LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


@pytest.fixture
def open_shapes() -> OpenShapes:
    """Opens the page with the values of a link."""

    def open_with(**values: str | list[str]) -> AppTest:
        return app_at("shapes", **values).run()

    return open_with


def state(app: AppTest) -> dict[str, Any]:
    """What the step view shows; `chosen`: the visitor, not the page, chose the row."""
    now, _ = steps_view(app)
    return {**now, "chosen": now["at"].count(".") > 1}


def traces_of(app: AppTest) -> list[bytes]:
    """The messages with the traces."""
    return steps_view(app)[1]


def shown(app: AppTest) -> list[dict[str, Any]]:
    """The headers of the traces."""
    return [unpacked(trace)[0] for trace in traces_of(app)]


def sheet(app: AppTest) -> dict[str, Any]:
    """The sheet with the lesson."""
    drawn = component(app, "sheet", "lesson_sheet")
    (block,) = told_to(drawn)["blocks"]
    found: dict[str, Any] = block
    return found


def lesson(app: AppTest) -> str:
    """The name of the lesson whose button is pressed."""
    buttons, *_ = sheet(app)["blocks"]
    assert [button["text"] for button in buttons["buttons"]] == list(QUESTIONS.values())
    (name,) = [button["event"]["lesson"] for button in buttons["buttons"] if button["pressed"]]
    return str(name)


def code_of_lesson(app: AppTest) -> str:
    """The source that the lesson says it ran."""
    (ran,) = [expander for expander in app.expander if expander.label == "The code that just ran"]
    return str(ran.code[0].value)


def test_default(open_shapes: OpenShapes) -> None:
    app = open_shapes()
    (header,) = shown(app)
    assert (header["implementation"], header["layer"]) == ("efficient", 3)
    assert header["digest"] == Settings(PRESETS[0]).digest
    now = state(app)
    assert (now["layer"], now["head"], now["feature"], now["key"]) == (3, 1, 0, None)
    assert header["tokens"][now["row"]] == "it"
    assert now["chosen"] is False
    assert now["step"] == "q.transpose"
    assert now["notices"] == []
    assert now["label"] == "layer 3, pretrained weights"
    assert header["label"] == "nothing changed"
    assert lesson(app) == "no transpose"
    assert code_of_lesson(app).startswith("def without_transpose")


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
@pytest.mark.parametrize("first", IMPLEMENTATIONS)
def test_every_implementation_beside_every_other(open_shapes: OpenShapes, first: str, mask: str) -> None:
    """All pairs with one mask; with the others, each beside one."""
    app = open_shapes(impl=first, mask=mask, s="how are you", at="2.4")
    settings = Settings("how are you", "window:3" if mask == "window" else mask)
    for second in ["none", *IMPLEMENTATIONS] if mask == "causal" else ["naive"]:
        app.selectbox(key="vs").set_value(second).run()
        names = [first] if second in ("none", first) else [first, second]
        now, traces = steps_view(app)
        headers = [unpacked(trace)[0] for trace in traces]
        assert [header["implementation"] for header in headers] == names
        assert now["notices"] == []
        for header, name in zip(headers, names, strict=True):
            steps = traced(settings, 2, name).steps
            assert header["digest"] == settings.digest
            assert [step["name"] for step in header["steps"]] == [step.name for step in steps]


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"mask": "window", "w": "1"}, {"mask": "window:1"}),
        ({"pos": "none"}, {"position": "none"}),
        ({"pos": "sinusoidal"}, {"position": "sinusoidal"}),
        ({"t": "0.1"}, {"temperature": 0.1}),
        ({"t": "5"}, {"temperature": 5.0}),
        ({"off": ["L3 H1", "L0 H0"]}, {"heads_off": ((0, 0), (3, 1))}),
        ({"s": ""}, {"text": ""}),
        ({"s": "<b>it</b> $x$ ~"}, {"text": "<b>it</b> $x$ ~"}),
    ],
)
def test_a_link_gives_the_steps(
    open_shapes: OpenShapes, values: dict[str, str | list[str]], settings: dict[str, Any]
) -> None:
    app = open_shapes(**values)
    wanted = Settings(**{"text": PRESETS[0], **settings})
    assert state(app)["notices"] == []
    (trace,) = traces_of(app)
    header, numbers = read_back(trace)
    assert header["digest"] == wanted.digest
    for step, value in zip(traced(wanted, 3, "efficient").steps, numbers, strict=True):
        assert np.array_equal(np.asarray(value), step.value.cpu().numpy()), step.name


@pytest.mark.parametrize(
    ("at", "row", "key"), [("0.0", None, None), ("5.11.14.14", 14, 14), ("2.3.4", 4, None), ("1.2.999", None, None)]
)
def test_the_place_of_a_link(open_shapes: OpenShapes, at: str, row: int | None, key: int | None) -> None:
    app = open_shapes(at=at, f="31", step="weights")
    now = state(app)
    layer, head, *_ = (int(number) for number in at.split("."))
    assert (now["layer"], now["head"], now["key"], now["feature"], now["step"]) == (layer, head, key, 31, "weights")
    assert now["row"] == (shown(app)[0]["tokens"].index("it") if row is None else row)
    assert now["chosen"] == (row is not None)
    assert shown(app)[0]["layer"] == layer
    assert bool(now["notices"]) == (at == "1.2.999")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", "<script>"),
        ("step", "Q"),
        ("step", ""),
        ("step", "x" * 5000),
        ("f", "-1"),
        ("f", "4096"),
        ("f", "x"),
        ("at", "6.0"),
        ("at", "3.1.2.3.4"),
        ("step", "nothing.here"),
        ("step", "q.viewx"),
        ("f", "32"),
        ("lesson", "flash"),
        ("lesson", ""),
        ("impl", "flash"),
        ("impl", "none"),
        ("vs", "flash"),
        ("mask", "everything"),
        ("t", "99"),
        ("off", "L6 H0"),
        ("big", "2"),
    ],
)
def test_garbage_in_a_link_is_told_and_ignored(open_shapes: OpenShapes, key: str, value: str) -> None:
    app = open_shapes(**{key: value})
    (header,) = shown(app)
    assert (header["implementation"], header["layer"]) == ("efficient", 3)
    assert header["digest"] == Settings(PRESETS[0]).digest
    assert lesson(app) == "no transpose"
    (notice,) = state(app)["notices"]
    assert notice.startswith(f"The link says {key}={value[:30]}")
    assert len(notice) < 140


@pytest.mark.parametrize("step", ["qkv.view", "scores.head5", "mixed.contiguous", "masked"])
def test_a_step_that_this_implementation_lacks_is_no_mistake(open_shapes: OpenShapes, step: str) -> None:
    for name in ("einsum", "naive", "fused"):
        now = state(open_shapes(impl=name, step=step))
        assert (now["notices"], now["step"]) == ([], step)


def test_what_torch_cannot_do_is_said_and_its_control_greyed(open_shapes: OpenShapes) -> None:
    app = open_shapes(impl="torch", t="2.0", off=["L3 H1", "L0 H0"])
    temperature, heads = state(app)["notices"]
    assert temperature == "nn.MultiheadAttention has no temperature; shown at temperature 1."
    assert heads == "torch cannot switch heads off: its steps are those with all heads of this layer on."
    assert app.slider(key="t").disabled
    captions = [caption.value for caption in app.caption if caption.value.startswith("torch")]
    assert captions == ["torch cannot divide by a temperature.", "torch cannot switch heads off."]
    assert shown(app)[0]["digest"] == Settings(PRESETS[0], heads_off=((0, 0),)).digest
    app.selectbox(key="impl").set_value("efficient").run()
    assert state(app)["notices"] == []
    assert not app.slider(key="t").disabled
    assert [caption.value for caption in app.caption] == [random_layer.theirs(layer_of_minilm(), "pretrained")]
    assert shown(app)[0]["digest"] == Settings(PRESETS[0], temperature=2.0, heads_off=((0, 0), (3, 1))).digest
    app.selectbox(key="vs").set_value("torch").run()
    both = [header["digest"] for header in shown(app)]
    assert both == [
        Settings(PRESETS[0], temperature=2.0, heads_off=((0, 0), (3, 1))).digest,
        Settings(PRESETS[0], heads_off=((0, 0),)).digest,
    ]
    assert len(state(app)["notices"]) == 2


def layer_of_minilm() -> AttentionLayer:
    return pictures.model_on("auto").encoder.block(3).attention


def test_every_control_deselected(open_shapes: OpenShapes) -> None:
    app = open_shapes()
    before = shown(app)
    for key in ("mask", "dev"):
        app.segmented_control(key=key).set_value(None).run()
        assert shown(app) == before
    app.number_input(key="f").set_value(None).run()
    assert state(app)["feature"] == DEFAULTS["f"]


def test_the_layer_is_the_first_number_of_at(open_shapes: OpenShapes) -> None:
    app = open_shapes(at="3.7.2.1")
    act(app, "step_view", {"at": "0.7.2.1", "turn": 1})
    assert app.text_input(key="at").value == "0.7.2.1"
    assert shown(app)[0]["layer"] == 0
    now = state(app)
    assert (now["layer"], now["head"], now["row"], now["key"]) == (0, 7, 2, 1)


def test_too_long_a_text_keeps_the_last_steps(open_shapes: OpenShapes) -> None:
    app = open_shapes(s="it is short", lesson="wrong axis")
    before = shown(app)
    lesson_before = sheet(app)
    for text, limit in (("x" * 2001, "2,000 characters, this one has 2,001"), ("a b " * 300, "takes at most 512")):
        app.text_input(key="s").set_value(text).run()
        assert shown(app) == before
        assert sheet(app) == lesson_before
        (notice,) = state(app)["notices"]
        assert limit in notice
        assert "it is short" in notice
    app.text_input(key="s").set_value("").run()
    assert shown(app)[0]["tokens"] == ["[CLS]", "[SEP]"]
    assert state(app)["notices"] == []


def test_a_link_with_too_long_a_text(open_shapes: OpenShapes) -> None:
    app = open_shapes(s="a b " * 300)
    assert shown(app)[0]["digest"] == Settings(PRESETS[0]).digest
    assert "takes at most 512" in state(app)["notices"][0]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_an_empty_text(open_shapes: OpenShapes, name: str) -> None:
    app = open_shapes(s="", impl=name, vs="fused", mask="causal")
    assert shown(app)[0]["tokens"] == ["[CLS]", "[SEP]"]
    for which in LESSONS:
        app.text_input(key="lesson").set_value(which).run()
        assert state(app)["notices"] == []
        assert lesson(app) == which
        assert "NaN" not in json.dumps(sheet(app))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_text_of_500_tokens(open_shapes: OpenShapes, name: str) -> None:
    app = open_shapes(s=LONG, impl=name, step="q.transpose", at="1.4")
    (trace,) = traces_of(app)
    header, numbers = read_back(trace)
    assert len(header["tokens"]) == 502
    assert state(app)["notices"] == []
    here = [step["name"] for step in header["steps"]].index("q.transpose" if name == "efficient" else "q")
    wanted = traced(Settings(LONG), 1, name).steps[here].value.cpu().numpy()
    assert np.array_equal(np.asarray(numbers[here]), wanted)


def test_every_lesson(open_shapes: OpenShapes) -> None:
    app = open_shapes()
    for name in LESSONS:
        app.text_input(key="lesson").set_value(name).run()
        assert lesson(app) == name
        wanted = LESSONS[name](traced(Settings(PRESETS[0]), 3, "efficient"), 1)
        assert sheet(app)["blocks"][1:] == json.loads(json.dumps(wanted.blocks))
        assert code_of_lesson(app) == wanted.source


def test_the_lesson_is_on_the_tensors_of_the_page(open_shapes: OpenShapes) -> None:
    app = open_shapes(s="you how are", mask="causal", at="5.2", lesson="wrong axis")
    wanted = LESSONS["wrong axis"](traced(Settings("you how are", "causal"), 5, "efficient"), 2)
    assert sheet(app)["blocks"][1:] == json.loads(json.dumps(wanted.blocks))
