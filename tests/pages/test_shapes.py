"""The Shapes page by the wire: implementations side by side, links in, lessons, and what cannot be used."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from headlight.link.presets import PRESETS
from headlight.picture.link_query import UnusableText
from headlight.picture.settings import Settings
from headlight.picture.traces import trace_layer
from mha_core import IMPLEMENTATIONS
from pages.shapes.lesson import whole_source
from pages.shapes.reshape_lessons import LESSONS, QUESTIONS

from .conftest import answer, answers, unpacked

Link = str | list[str]


def shapes(**values: Link) -> tuple[dict[str, Any], list[bytes]]:
    """The header of the picture of a link, and the messages with its traces."""
    header, *traces = answers("steps", urlencode(values, doseq=True))
    return unpacked(header)[0], traces


def both(**values: Link) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header of the picture of a link, and those of its traces."""
    header, traces = shapes(**values)
    return header, [unpacked(trace)[0] for trace in traces]


def told(route: str, **values: Link) -> Any:
    """What a route answers, read as JSON."""
    return json.loads(answer(route, urlencode(values, doseq=True).encode()))


def lesson(**values: Link) -> dict[str, Any]:
    """The lesson of a link: its blocks but for the choice of the question, its source, and its name."""
    found = told("reshape", **values)
    (panel,) = found["blocks"]
    choice, *blocks = panel["blocks"]
    assert [button["text"] for button in choice["buttons"]] == list(QUESTIONS.values())
    (name,) = [button["event"]["lesson"] for button in choice["buttons"] if button["pressed"]]
    return {**found, "blocks": blocks, "name": name}


def test_default() -> None:
    now, (header,) = both()
    assert header["implementation"] == "efficient"
    assert header["digest"] == now["digest"] == Settings(PRESETS[0]).digest
    assert (now["layer"], now["head"], now["key"], now["step"]) == (3, 1, None, "q.transpose")
    assert (header["tokens"][now["row"]], now["notices"], now["unusable"]) == ("it", [], {})
    assert lesson()["name"] == "no transpose"


def test_implementations_beside_others() -> None:
    settings = Settings("how are you", "causal")
    for first in IMPLEMENTATIONS:
        for second in ("none", "naive"):
            names = [first] if second in ("none", first) else [first, second]
            now, headers = both(impl=first, vs=second, mask="causal", s="how are you", at="2.4")
            assert ([header["implementation"] for header in headers], now["notices"]) == (names, [])
            for header, name in zip(headers, names, strict=True):
                steps = [step.name for step in trace_layer(settings, 2, name).steps]
                assert (header["digest"], [step["name"] for step in header["steps"]]) == (settings.digest, steps)


GARBAGE = {
    "step": ["<script>", "", "x" * 5000, "nothing.here"], "f": ["-1", "x"], "at": ["6.0", "", "3.1.2.3.4"],
    "lesson": ["flash"], "wrote": ["7.1.1.1"], "impl": ["flash"], "vs": ["flash"], "lw": ["9"], "biases": ["9"],
    "drop": ["9"], "dice": ["x"],
    "mask": ["everything"], "w": ["0"], "pos": ["none of it"], "t": ["99", "nan"], "off": ["L6 H0"], "dev": ["tpu"],
    "model": ["nobody"],
}  # fmt: skip


def test_garbage_in_a_link_is_named_and_left_out() -> None:
    for key, values in GARBAGE.items():
        for value in values:
            now, (header,) = both(**{key: value})
            assert (header["implementation"], header["digest"]) == ("efficient", Settings(PRESETS[0]).digest)
            assert list(now["unusable"]) == [key], value
            (notice,) = now["notices"]
            assert notice.startswith(f"The link says {key}={value[:30]}")
            assert len(notice) < 140
            assert lesson(**{key: value})["name"] == "no transpose"
    with pytest.raises(UnusableText) as refused:
        shapes(mask="combination", rule="x")
    assert refused.value.key == "rule"
    used = shapes(mask="combination", rule="causal&window:2", s="how are you")[0]["texts"]
    assert used == {"s": "how are you", "rule": "causal & window:2"}


def test_unsupported_by_torch_is_named_with_the_reason() -> None:
    link: dict[str, Link] = {"t": "2.0", "off": ["L3 H1", "L0 H0"]}
    plain = Settings(PRESETS[0], heads_off=((0, 0),)).digest
    changed = Settings(PRESETS[0], temperature=2.0, heads_off=((0, 0), (3, 1))).digest
    now, (header,) = both(impl="torch", **link)
    assert (len(now["notices"]), all(now["inert"].values())) == (2, True)
    assert header["digest"] == plain
    now, (header,) = both(**link)
    assert (now["notices"], header["digest"]) == ([], changed)
    now, headers = both(vs="torch", **link)
    assert ([header["digest"] for header in headers], len(now["notices"])) == ([changed, plain], 2)
    assert now["inert"] == {"t": "", "off": ""}, "one of the two can"


def test_an_empty_text() -> None:
    for name in ("efficient", "naive", "torch"):
        link = {"s": "", "impl": name, "vs": "fused", "mask": "causal"}
        now, (header, *_) = both(**link)
        assert (header["tokens"], now["notices"]) == (["[CLS]", "[SEP]"], [])
        for which in LESSONS:
            found = lesson(**link, lesson=which)
            assert found["name"] == which
            assert "NaN" not in json.dumps(found["blocks"])


def test_every_lesson_is_on_the_tensors_of_the_page_and_the_classes_are_those_that_ran() -> None:
    link = {"s": "you how are", "mask": "causal", "at": "5.2"}
    trace = trace_layer(Settings("you how are", "causal"), 5, "efficient")
    for name in LESSONS:
        found, wanted = lesson(**link, lesson=name), LESSONS[name](trace, 2)
        assert (found["name"], found["source"]) == (name, wanted.source)
        assert found["blocks"] == json.loads(json.dumps(wanted.blocks))
    for names in (["naive", "sdpa"], ["efficient"]):
        classes = [whole_source(IMPLEMENTATIONS[name]) for name in names]
        assert told("classes", **dict(zip(("impl", "vs"), names, strict=False))) == classes
