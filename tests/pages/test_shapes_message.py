"""What the wire answers the step view: the core's own steps, a sentence for every mistake; and what the script says."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from mha_core.errors import HeadlightError
from pages.kit.picture import traces
from pages.kit.picture.pictures import model_of
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import traced
from pages.shapes import message
from pages.shapes.step_names import find

from .conftest import answers, app_at, component, control, unpacked
from .test_events import act
from .test_shapes import lesson, shown, state, traces_of
from .test_steps import read_back


@pytest.mark.parametrize("names", [("torch", "none"), ("naive", "einsum"), ("fused", "fused")])
def test_the_wire_answers_with_the_steps_of_the_core(names: tuple[str, str]) -> None:
    query = {"s": "it is can you", "mask": "causal", "off": "L0 H0", "t": "2", "at": "1.7", "step": "weights"}
    told, *packed = answers("steps", urlencode({**query, "impl": names[0], "vs": names[1]}))
    settings = Settings("it is can you", "causal", temperature=2.0, heads_off=((0, 0),))
    assert [unpacked(one)[0]["implementation"] for one in packed] == [
        name for name in dict.fromkeys(names) if name != "none"
    ]
    for one in packed:
        header, numbers = read_back(one)
        within = replace(settings, temperature=1.0) if header["implementation"] == "torch" else settings
        steps = within.run(model_of(within), trace_layer=1, implementation=header["implementation"]).steps
        assert [step["name"] for step in header["steps"]] == [step.name for step in steps]
        for step, value in zip(steps, numbers, strict=True):
            assert np.array_equal(np.asarray(value), step.value.cpu().numpy()), step.name
    said = unpacked(told)[0]
    assert said["layers"] == 6
    assert {key: said[key] for key in ("layer", "head", "step", "row", "key")} == {
        "layer": 1, "head": 7, "step": "weights", "row": 1, "key": None,
    }  # fmt: skip
    assert len(said["notices"]) == ("torch" in names)


@pytest.mark.parametrize(
    "query",
    [
        "impl=flash", "impl=none", "impl=", "vs=flash", "vs=", "vs=naive&vs=fused",
        "step=", "step=Q", "step=nothing.here", "step=%ED%A0%80", "step=q&step=k", "step=" + "x" * 5000,
        "at=6.0", "at=0.12", "at=3", "at=", "at=3.1.2.3.4", "at=%D9%A3.1",
        "s=" + "a%20" * 600, "s=" + "x" * 2001, "mask=everything", "mask=window&w=0", "mask=combination&rule=x",
        "mask=painted&p=x", "pos=none%20of%20it", "t=0", "t=nan", "off=L6%20H0", "dev=tpu", "model=nobody",
    ],
)  # fmt: skip
def test_what_no_link_says_is_refused(query: str) -> None:
    with pytest.raises(HeadlightError):
        answers("steps", query)


@pytest.mark.parametrize("link", ["", "impl=fused&step=qkv.view", "impl=naive&vs=torch&mask=causal&step=scores.head1"])
def test_a_page_begins_with_the_numbers_in_sight(link: str) -> None:
    """The same as the wire says, but for the numbers of other steps, and small enough for a page."""
    query = f"s=it+is+can+you&at=1.7&{link}"
    brought = message.first(query.encode())
    assert len(brought) < message.MOST_AT_FIRST
    lengths, body = unpacked(brought)
    ends = list(accumulate(lengths["parts"]))
    said, *few = (body[end - length : end] for length, end in zip(lengths["parts"], ends, strict=True))
    whole, *all_of_it = answers("steps", query)
    assert unpacked(said)[0] == {**unpacked(whole)[0], "cut": True}
    assert unpacked(whole)[0]["cut"] is False
    step = unpacked(said)[0]["step"]
    for one, other in zip(few, all_of_it, strict=True):
        (header, numbers), (full, wanted) = read_back(one), read_back(other)
        assert header["steps"] == full["steps"]
        mask = "causal" if "causal" in link else "none"
        here = find(traced(Settings("it is can you", mask), 1, header["implementation"]).steps, step, 7)
        assert numbers[here] is not None
        for value, own in zip(numbers, wanted, strict=True):
            assert value is None or (own is not None and np.array_equal(value, own))


def test_what_is_too_much_for_a_page_comes_later() -> None:
    with pytest.raises(HeadlightError, match="at most 262,144 bytes"):
        message.first(b"step=weights&s=" + b"it+" * 80)
    with pytest.raises(HeadlightError, match="at most 128 tokens"):
        message.first(b"s=" + b"it+" * 200)
    with pytest.raises(HeadlightError):
        message.first(b"step=nothing.here")


def test_the_lesson_and_the_channel_are_no_business_of_the_wire() -> None:
    assert answers("steps", "f=99999&lesson=x&look=x&pin=x") == answers("steps", "")


def test_what_a_pass_says_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "The GPU had too little memory."
    monkeypatch.setattr(traces, "traced", lambda *of: replace(traced(*of), notices=(sentence,)))
    told, *_ = answers("steps", "vs=naive")
    assert unpacked(told)[0]["notices"] == [sentence]


def test_the_script_sends_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass of the lesson is the only one that it makes."""
    made = []

    def noted(*of: Any) -> traces.Traced:
        made.append(of)
        return traced(*of)

    monkeypatch.setattr(traces, "traced", noted)
    app = app_at("shapes", impl="naive", vs="fused", s="how are you", lesson="wrong axis").run()
    assert set(made) == {(Settings("how are you"), 3, "efficient")}
    told = component(app, "steps")
    assert not told.bytes
    assert len(told.json) < 2000
    assert control(app, "steps")["typed"] == "how are you"


def test_a_question_at_a_step_opens_its_lesson() -> None:
    app = app_at("shapes").run()
    act(app, "step_view", {"at": "3.1", "step": "weights", "lesson": "wrong axis", "turn": 1})
    assert lesson(app) == "wrong axis"
    act(app, "step_view", {"at": "3.1", "step": "weights", "lesson": "flash", "turn": 2})
    assert lesson(app) == "wrong axis"


def test_an_event_writes_what_was_chosen() -> None:
    app = app_at("shapes").run()
    act(app, "step_view", {"s": "how are you", "at": "2.5.1", "step": "weights", "feature": 7, "turn": 1})
    now = state(app)
    assert (now["box"], now["typed"], now["at"], now["step"], now["feature"]) == (
        "how are you", "how are you", "2.5.1", "weights", 7,
    )  # fmt: skip
    assert shown(app)[0]["digest"] == Settings("how are you").digest
    assert now["label"] == "layer 2, pretrained weights"
    assert lesson(app) == "no transpose"
    act(app, "step_view", {"s": "x" * 2001, "turn": 2})
    now = state(app)
    assert (now["box"], now["typed"]) == ("x" * 2001, "how are you")
    assert "2,000 characters" in now["notices"][0]


def test_equal_steps_are_equal_bytes() -> None:
    first, second = app_at("shapes").run(), app_at("shapes").run()
    bytes_of = [traces_of(app)[0] for app in (first, second, first.run())]
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]
    first.text_input(key="step").set_value("weights").run()
    first.text_input(key="at").set_value("3.5.2").run()
    assert traces_of(first)[0] == bytes_of[0], "what is looked at changes no number"
