"""The Shapes page without a browser: every implementation beside every other, links in, and what cannot be shown."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from mha_core import IMPLEMENTATIONS
from pages.kit.picture import models
from pages.kit.picture.link_query import Refused
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import traced
from pages.kit.wire import routes
from pages.shapes.reshape_lessons import LESSONS, QUESTIONS
from pages.shapes.whole_source import whole_source

from .conftest import answers, unpacked
from .test_steps import read_back

LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


def shapes(**values: str | list[str]) -> tuple[dict[str, Any], list[bytes]]:
    """What is said of the picture of a link, and the messages with its traces."""
    said, *traces = answers("steps", urlencode(values, doseq=True))
    return unpacked(said)[0], traces


def said(**values: str | list[str]) -> dict[str, Any]:
    """What is said of the picture of a link."""
    return shapes(**values)[0]


def shown(**values: str | list[str]) -> list[dict[str, Any]]:
    """The headers of its traces."""
    return [unpacked(trace)[0] for trace in shapes(**values)[1]]


def told(route: str, **values: str | list[str]) -> Any:
    """What a route tells of a link, read as JSON."""
    return json.loads(routes.answer(route, urlencode(values, doseq=True).encode()))


def lesson(**values: str | list[str]) -> dict[str, Any]:
    """The lesson of a link: its blocks but for the choice of the question, its source, and its name."""
    found = told("reshape", **values)
    (panel,) = found["blocks"]
    choice, *blocks = panel["blocks"]
    assert [button["text"] for button in choice["buttons"]] == list(QUESTIONS.values())
    (name,) = [button["event"]["lesson"] for button in choice["buttons"] if button["pressed"]]
    return {**found, "blocks": blocks, "name": name}


def test_default() -> None:
    now = said()
    (header,) = shown()
    assert header["implementation"] == "efficient"
    assert header["digest"] == now["digest"] == Settings(PRESETS[0]).digest
    assert (now["layer"], now["head"], now["key"]) == (3, 1, None)
    assert header["tokens"][now["row"]] == "it"
    assert now["step"] == "q.transpose"
    assert (now["notices"], now["unusable"]) == ([], {})
    assert now["label"] == "layer 3, pretrained weights"
    assert header["label"] == "nothing changed"
    assert lesson()["name"] == "no transpose"
    assert lesson()["source"].startswith("def without_transpose")


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
@pytest.mark.parametrize("first", IMPLEMENTATIONS)
def test_every_implementation_beside_every_other(first: str, mask: str) -> None:
    """All pairs with one mask; with the others, each beside one."""
    settings = Settings("how are you", "window:3" if mask == "window" else mask)
    for second in ["none", *IMPLEMENTATIONS] if mask == "causal" else ["naive"]:
        names = [first] if second in ("none", first) else [first, second]
        now, traces = shapes(impl=first, vs=second, mask=mask, s="how are you", at="2.4")
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
def test_a_link_gives_the_steps(values: dict[str, str | list[str]], settings: dict[str, Any]) -> None:
    wanted = Settings(**{"text": PRESETS[0], **settings})
    now, (trace,) = shapes(**values)
    assert now["notices"] == []
    header, numbers = read_back(trace)
    assert header["digest"] == wanted.digest
    for step, value in zip(traced(wanted, 3, "efficient").steps, numbers, strict=True):
        assert np.array_equal(np.asarray(value), step.value.cpu().numpy()), step.name


@pytest.mark.parametrize(
    ("at", "row", "key"), [("0.0", None, None), ("5.11.14.14", 14, 14), ("2.3.4", 4, None), ("1.2.999", None, None)]
)
def test_the_place_of_a_link(at: str, row: int | None, key: int | None) -> None:
    now = said(at=at, f="31", step="weights")
    (header,) = shown(at=at)
    layer, head, *_ = (int(number) for number in at.split("."))
    assert (now["layer"], now["head"], now["key"], now["step"]) == (layer, head, key, "weights")
    assert now["row"] == (header["tokens"].index("it") if row is None else row)
    assert list(now["unusable"]) == (["at"] if at == "1.2.999" else [])
    assert len(now["notices"]) == len(now["unusable"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", "<script>"), ("step", "Q"), ("step", ""), ("step", "x" * 5000), ("step", "nothing.here"),
        ("step", "q.viewx"), ("f", "-1"), ("f", "4096"), ("f", "x"), ("f", "32"),
        ("at", "6.0"), ("at", "0.12"), ("at", "3"), ("at", ""), ("at", "3.1.2.3.4"), ("at", "٣.1"),
        ("lesson", "flash"), ("lesson", ""), ("wrote", "7.1.1.1"), ("wrote", "<b>"),
        ("impl", "flash"), ("impl", "none"), ("impl", ""), ("vs", "flash"), ("vs", ""),
        ("lw", "9"), ("biases", "9"), ("drop", "9"), ("dice", "x"),
        ("mask", "everything"), ("w", "0"), ("pos", "none of it"), ("t", "99"), ("t", "nan"), ("off", "L6 H0"),
        ("dev", "tpu"), ("model", "nobody"),
    ],
)  # fmt: skip
def test_garbage_in_a_link_is_told_and_left_out(key: str, value: str) -> None:
    now = said(**{key: value})
    (header,) = shown(**{key: value})
    assert header["implementation"] == "efficient"
    assert header["digest"] == Settings(PRESETS[0]).digest
    assert list(now["unusable"]) == [key]
    (notice,) = now["notices"]
    assert notice.startswith(f"The link says {key}={value[:30]}")
    assert len(notice) < 140
    assert lesson(**{key: value})["name"] == "no transpose"


def test_a_key_that_is_said_twice_is_left_out() -> None:
    now = said(vs=["naive", "fused"], step=["q", "k"])
    assert sorted(now["unusable"]) == ["step", "vs"]
    assert now["step"] == "q.transpose"


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("s", {"s": "x" * 12_001}),
        ("s", {"s": "a " * 600}),
        ("rule", {"mask": "combination", "rule": "x"}),
        ("on", {"mask": "painted", "on": "x"}),
    ],
)
def test_a_typed_text_is_refused_by_its_key(key: str, values: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        said(**values)
    assert refused.value.key == key


def test_a_rule_that_is_used_is_said() -> None:
    assert said(mask="combination", rule="causal&window:2", s="how are you")["used"] == {
        "s": "how are you", "rule": "causal & window:2",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["food-learned-1", "words-rotary-1"])
def test_a_trained_model(shipped: object, name: str) -> None:
    now = said(model=name)
    assert (now["model"], now["typed"], now["unusable"]) == (name, models.presets(name)[0], {})
    assert lesson(model=name)["name"] == "no transpose"


@pytest.mark.parametrize("step", ["qkv.view", "scores.head5", "mixed.contiguous", "masked"])
def test_a_step_that_this_implementation_lacks_is_no_mistake(step: str) -> None:
    for name in ("einsum", "naive", "fused"):
        now = said(impl=name, step=step)
        assert (now["notices"], now["step"]) == ([], step)


def test_what_torch_cannot_do_is_said_and_why() -> None:
    link: dict[str, str | list[str]] = {"t": "2.0", "off": ["L3 H1", "L0 H0"]}
    now = said(impl="torch", **link)
    temperature, heads = now["notices"]
    assert temperature == "nn.MultiheadAttention has no temperature; shown at temperature 1."
    assert heads == "torch cannot switch heads off: its steps are those with all heads of this layer on."
    assert now["cannot"] == {
        "t": "torch cannot divide by a temperature.",
        "off": "torch cannot switch heads of this layer off.",
    }
    plain = Settings(PRESETS[0], heads_off=((0, 0),)).digest
    changed = Settings(PRESETS[0], temperature=2.0, heads_off=((0, 0), (3, 1))).digest
    assert [header["digest"] for header in shown(impl="torch", **link)] == [plain]
    assert [header["digest"] for header in shown(**link)] == [changed]
    assert said(**link)["notices"] == []
    assert [header["digest"] for header in shown(vs="torch", **link)] == [changed, plain]
    both = said(vs="torch", **link)
    assert len(both["notices"]) == 2
    assert both["cannot"] == {"t": "", "off": ""}, "one of the two can"


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_an_empty_text(name: str) -> None:
    link = {"s": "", "impl": name, "vs": "fused", "mask": "causal"}
    assert shown(**link)[0]["tokens"] == ["[CLS]", "[SEP]"]
    assert said(**link)["notices"] == []
    for which in LESSONS:
        found = lesson(**link, lesson=which)
        assert found["name"] == which
        assert "NaN" not in json.dumps(found["blocks"])


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_text_of_500_tokens(name: str) -> None:
    now, (trace,) = shapes(s=LONG, impl=name, step="q.transpose", at="1.4")
    header, numbers = read_back(trace)
    assert len(header["tokens"]) == 502
    assert now["notices"] == []
    here = [step["name"] for step in header["steps"]].index("q.transpose" if name == "efficient" else "q")
    wanted = traced(Settings(LONG), 1, name).steps[here].value.cpu().numpy()
    assert np.array_equal(np.asarray(numbers[here]), wanted)


def test_every_lesson_is_on_the_tensors_of_the_page() -> None:
    changed = {"s": "you how are", "mask": "causal", "at": "5.2"}
    for link, settings, layer, head in (
        ({}, Settings(PRESETS[0]), 3, 1),
        (changed, Settings("you how are", "causal"), 5, 2),
    ):
        for name in LESSONS:
            found = lesson(**link, lesson=name)
            wanted = LESSONS[name](traced(settings, layer, "efficient"), head)
            assert found["name"] == name
            assert found["blocks"] == json.loads(json.dumps(wanted.blocks))
            assert found["source"] == wanted.source


def test_the_classes_that_ran() -> None:
    assert told("classes", impl="naive", vs="sdpa") == [
        whole_source(IMPLEMENTATIONS[name]) for name in ("naive", "sdpa")
    ]
    assert told("classes", vs="efficient") == [whole_source(IMPLEMENTATIONS["efficient"])]
