"""What the wire answers the step view: the core's own steps, a sentence for every mistake; and what the script says."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
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

from .conftest import answers, app_at, component, told_to, unpacked
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
    assert unpacked(message.first(b"s=it&step=nothing.here"))[0]


def test_the_lesson_and_the_channel_change_no_number() -> None:
    assert answers("steps", "f=7&lesson=wrong+axis&wrote=1.1.1.1&look=x&pin=x") == answers("steps", "")


def test_what_a_pass_says_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "The GPU had too little memory."
    monkeypatch.setattr(traces, "traced", lambda *of: replace(traced(*of), notices=(sentence,)))
    told, *_ = answers("steps", "vs=naive")
    assert unpacked(told)[0]["notices"] == [sentence]


def test_the_script_knows_nothing_of_what_is_shown() -> None:
    app = app_at("shapes", impl="naive", vs="fused", s="how are you", lesson="wrong axis", t="99").run()
    assert list(told_to(component(app, "steps"))) == ["visit"]


def test_equal_steps_are_equal_bytes() -> None:
    _, trace = answers("steps", "")
    assert answers("steps", "step=weights&at=3.5.2")[1] == trace, "what is looked at changes no number"
