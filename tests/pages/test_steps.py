"""What the step view is told: traces, read back as the browser reads them, the step that a link names, mistakes."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from pages.kit.draw import packing
from pages.kit.draw.packing import MEMORY_BYTES
from pages.kit.picture import traces
from pages.kit.picture.pictures import model_of
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import Traced, traced
from pages.shapes import message
from pages.shapes.message import pack_trace
from pages.shapes.step_names import find, usable

from .conftest import answers, app_at, component, told_to, unpacked

TEXT = "it is can you can that"
LONG = "the cat ran a far way it was so we " * 50  # 500 words and the two special tokens


def read_back(packed: bytes) -> tuple[dict[str, Any], list[np.ndarray | None]]:
    """The header, and each step's numbers by its piece, offset and strides; None where its piece was not sent."""
    header, body = unpacked(packed)
    floats = np.frombuffer(body, "<f4")
    ends = np.cumsum(header["pieces"])
    assert ends[-1] == len(floats)
    pieces = np.split(floats, ends[:-1])
    found: list[np.ndarray | None] = []
    for step, (piece, offset) in zip(header["steps"], header["places"], strict=True):
        sizes = [axis["size"] for axis in step["axes"]]
        if not len(pieces[piece]):
            found.append(None)
            continue
        place = np.full(sizes, offset)
        for axis, (size, stride) in enumerate(zip(sizes, step["strides"], strict=True)):
            place += (np.arange(size) * stride).reshape([-1 if own == axis else 1 for own in range(len(sizes))])
        found.append(pieces[piece][place])
    return header, found


@pytest.mark.parametrize("mask", ["none", "causal", "window:2"])
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_number_of_every_step_comes_back(name: str, mask: str) -> None:
    trace = traced(Settings(TEXT, mask, device="cpu"), 3, name)
    header, values = read_back(pack_trace(trace, "q"))
    assert len(values) == len(trace.steps)
    for step, value in zip(trace.steps, values, strict=True):
        assert value is not None
        assert np.array_equal(value, step.value.numpy()), step.name
    shared = {step.value.untyped_storage().data_ptr() for step in trace.steps}
    assert len(header["pieces"]) == len(shared), "memory that steps share goes over once"


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_header_says_what_torch_says(name: str) -> None:
    trace = traced(Settings(TEXT), 0, name)
    header, _ = unpacked(pack_trace(trace, "q"))
    assert header["implementation"] == name
    assert header["tokens"] == trace.tokens
    assert header["digest"] == trace.settings.digest
    assert (header["heads"], header["dHead"]) == (12, 32)
    for at, (own, told) in enumerate(zip(trace.steps, header["steps"], strict=True)):
        assert (told["name"], told["expression"]) == (own.name, own.expression)
        assert [axis["size"] for axis in told["axes"]] == list(own.value.shape)
        assert tuple(told["strides"]) == own.value.stride()
        assert told["contiguous"] == own.value.is_contiguous()
        assert told["view"] == own.is_view
        assert told["bytes"] == 4 * own.value.numel()
        assert told["parents"] == trace.parents(at)
        text, source = trace.source(own), header["sources"][told["source"]]
        assert (source["where"], source["first"], tuple(source["lines"])) == (text.where, text.first, text.lines)
        assert tuple(told["marked"]) == text.marked
        assert tuple(source["records"]) == text.records
        assert told["recorded"] == own.line - text.first
    names = [source["where"] for source in header["sources"]]
    assert len(names) == len(set(names)), "each function goes over once"


def test_an_axis_is_its_letters_its_colour_and_its_size() -> None:
    header, _ = unpacked(pack_trace(traced(Settings(TEXT), 0, "fused"), "q"))
    axes = {step["name"]: [(axis["text"], axis["letter"]) for axis in step["axes"]] for step in header["steps"]}
    assert axes["qkv.project"] == [("b", "b"), ("i", "i"), ("3 c", "c")]
    assert axes["qkv.view"] == [("b", "b"), ("i", "i"), ("3", ""), ("h", "h"), ("d", "d")]
    assert axes["k"] == [("b", "b"), ("h", "h"), ("j", "j"), ("d", "d")]


def test_equal_traces_are_equal_bytes_and_a_short_text_s_do_not_depend_on_the_step() -> None:
    trace = traced(Settings(TEXT), 0, "efficient")
    again = Traced(trace.settings, 0, "efficient", trace.tokens, trace.steps)
    assert pack_trace(trace, "q") == pack_trace(again, "out", head=3)


def wanted(found: Traced, here: int) -> set[int]:
    """The pieces of memory of a step and of those that it was made from."""
    return {found.steps[at].value.untyped_storage().data_ptr() for at in [here, *found.parents(here)]}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_of_too_much_memory_only_the_step_in_sight_and_its_parents_go(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    trace = traced(Settings(TEXT), 0, name)
    largest = max(step.value.untyped_storage().nbytes() for step in trace.steps)
    monkeypatch.setattr(packing, "MEMORY_BYTES", largest)
    for here, step in enumerate(trace.steps):
        head = int(step.name.rpartition(".head")[2]) if ".head" in step.name else 0
        for most in (None, 0):  # 0 for what comes with a page
            _, values = read_back(pack_trace(trace, step.name, head=head, most=most))
            for own, value in zip(trace.steps, values, strict=True):
                assert (value is not None) == (own.value.untyped_storage().data_ptr() in wanted(trace, here))
                assert value is None or np.array_equal(value, own.value.numpy())


def test_what_is_too_large_by_itself_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traced(Settings(TEXT), 0, "efficient")
    scores = next(step.value for step in trace.steps if step.name == "scores")
    monkeypatch.setattr(packing, "MEMORY_BYTES", 4 * scores.numel() - 1)
    header, values = read_back(pack_trace(trace, "scores"))
    assert set(header["pieces"]) == {0}
    assert values == [None] * len(trace.steps)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        *((name, "scores") for name in IMPLEMENTATIONS),
        *(("efficient", step) for step in ("x", "q.transpose", "weights.head7", "out")),
    ],
)
def test_a_long_text_keeps_to_the_limit(name: str, step: str) -> None:
    trace = traced(Settings(LONG), 0, name)
    packed = pack_trace(trace, step, head=7)
    header, values = read_back(packed)
    assert len(header["tokens"]) == 502
    assert all(4 * piece <= MEMORY_BYTES for piece in header["pieces"])
    assert len(packed) <= 3 * MEMORY_BYTES + 2**18
    here = find(trace.steps, step, 7)
    if 4 * trace.steps[here].value.numel() <= MEMORY_BYTES:
        assert np.array_equal(np.asarray(values[here]), trace.steps[here].value.cpu().numpy())


@pytest.mark.parametrize(
    ("name", "step", "shown"),
    [
        ("efficient", "q.transpose", "q.transpose"),
        ("efficient", "qkv.view", "q"),
        ("efficient", "scores.head3", "scores"),
        ("fused", "q.transpose", "q"),
        ("fused", "k.view", "k"),
        ("einsum", "mixed.contiguous", "mixed"),
        ("einsum", "masked", "x"),
        ("sequence_first", "qkv.project", "q"),
        ("torch", "out.project", "out"),
        ("naive", "scores.head0", "scores.head7"),
        ("naive", "scores.head11", "scores.head7"),
        ("naive", "out.head3", "out"),
        ("naive", "nothing.of.it", "x"),
        ("sdpa", "", "x"),
    ],
)
def test_a_step_that_an_implementation_lacks_leads_on(name: str, step: str, shown: str) -> None:
    steps = traced(Settings(TEXT), 0, name).steps
    assert steps[find(steps, step, 7)].name == shown


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_step_can_be_named_in_a_link(name: str) -> None:
    steps = traced(Settings(TEXT, "causal"), 0, name).steps
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    for at, step in enumerate(steps):
        assert usable(step.name)
        head = step.name.rpartition(".head")[2]
        assert find(steps, step.name, int(head) if head.isdigit() else 0) == at


@pytest.mark.parametrize(
    "step", ["", "Q", "q.", ".q", "q.view.x", "q view", "q" * 11, "q.view\n", "ｑ", "q.head123", "<b>"]
)
def test_what_cannot_name_a_step(step: str) -> None:
    assert not usable(step)


@given(step=st.text(max_size=30), head=st.integers(0, 11))
def test_any_text_finds_some_step(step: str, head: int) -> None:
    steps = traced(Settings(TEXT), 0, "naive").steps
    assert 0 <= find(steps, step, head) < len(steps)


def test_numbers_that_are_not_finite_survive() -> None:
    """What a mask forbids is −∞, and not NaN."""
    trace = traced(Settings(TEXT, "causal"), 0, "efficient")
    _, values = read_back(pack_trace(trace, "masked"))
    masked = values[find(trace.steps, "masked")]
    n = len(trace.tokens)
    forbidden = np.triu(np.ones((n, n), bool), 1)
    assert masked is not None
    assert np.isneginf(masked[0][:, forbidden]).all()
    assert np.isfinite(masked[0][:, ~forbidden]).all()
    assert torch.equal(torch.from_numpy(masked), trace.steps[find(trace.steps, "masked")].value.cpu())


# ---- what the wire answers, and what the script says


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


def test_what_is_looked_at_changes_no_number() -> None:
    told = answers("steps", "")
    assert answers("steps", "f=7&lesson=wrong+axis&wrote=1.1.1.1&look=x&pin=x") == told
    assert answers("steps", "step=weights&at=3.5.2")[1] == told[1]


def test_what_a_pass_says_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "The GPU had too little memory."
    monkeypatch.setattr(traces, "traced", lambda *of: replace(traced(*of), notices=(sentence,)))
    told, *_ = answers("steps", "vs=naive")
    assert unpacked(told)[0]["notices"] == [sentence]


def test_the_script_knows_nothing_of_what_is_shown() -> None:
    app = app_at("shapes", impl="naive", vs="fused", s="how are you", lesson="wrong axis", t="99").run()
    assert list(told_to(component(app, "steps"))) == ["visit"]
