"""What a pass recorded of one layer: its steps and their parents, packed, and read back as the browser reads them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
import torch

from headlight.picture.settings import Settings
from headlight.picture.traces import supported_settings, trace_layer
from headlight.ui import packing
from mha_core import IMPLEMENTATIONS, Model, masks
from mha_core.attention import as_implementation
from mha_core.errors import HeadlightError
from mha_core.measure import rounding
from pages.shapes import handlers
from pages.shapes.handlers import pack_trace
from pages.shapes.step_names import find, is_step
from tests.closeness import identical, within_rounding

from .conftest import answers, unpacked

TEXT = "it is can you can that"


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


def memory(value: torch.Tensor) -> int:
    return value.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_step_comes_back_with_its_numbers_and_what_torch_says_of_it(name: str) -> None:
    for mask in ("none", "causal"):
        trace = trace_layer(Settings(TEXT, mask, device="cpu"), 3, name)
        header, values = read_back(pack_trace(trace, "q"))
        assert (header["implementation"], header["heads"], header["dHead"]) == (name, 12, 32)
        assert (header["tokens"], header["digest"]) == (trace.tokens, trace.settings.digest)
        assert len({step.name for step in trace.steps}) == len(trace.steps)
        for at, (own, step, value) in enumerate(zip(trace.steps, header["steps"], values, strict=True)):
            assert value is not None
            assert np.array_equal(value, own.value.numpy()), own.name
            assert (step["name"], step["expression"]) == (own.name, own.expression)
            assert [axis["size"] for axis in step["axes"]] == list(own.value.shape)
            assert tuple(step["strides"]) == own.value.stride()
            assert (step["contiguous"], step["view"]) == (own.value.is_contiguous(), own.is_view)
            assert (step["bytes"], step["parents"]) == (own.value.numel() * own.value.element_size(), trace.parents(at))
            text, source = trace.source(own), header["sources"][step["source"]]
            assert (source["location"], tuple(source["lines"]), tuple(step["marked"])) == (
                text.origin, text.lines, text.marks,
            )  # fmt: skip
            head = own.name.rpartition(".head")[2]
            assert find(trace.steps, own.name, int(head) if head.isdigit() else 0) == at
        assert len(header["pieces"]) == len({memory(step.value) for step in trace.steps}), "shared memory goes once"


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_parents_come_earlier_share_the_memory_of_a_view_and_are_what_the_softmax_reads(name: str) -> None:
    for mask in ("none", "causal"):
        found = trace_layer(Settings(TEXT, mask), 1, name)
        steps, names = found.steps, {step.name for step in found.steps}
        for at, step in enumerate(steps):
            numbers, base = found.parents(at), step.name.split(".")[0]
            assert all(0 <= parent < at for parent in numbers)
            assert len(set(numbers)) == len(numbers)
            assert bool(numbers) == (at > 0 and step.name != "masked.allow"), step.name
            if step.is_view:
                (parent,) = (steps[number] for number in numbers)
                assert memory(parent.value) == memory(step.value)
                assert {parent.name.split(".")[0], base} not in ({"q", "k"}, {"q", "v"}, {"k", "v"})
            if name == "naive" and "." not in step.name and step.name not in ("x", "out"):  # stacked for the record
                of = "mixed" if step.name == "joined" else step.name
                assert [steps[parent].name for parent in numbers] == [f"{of}.head{head}" for head in range(12)]
            elif base == "weights" and step.name != "weights.exp":
                (parent,) = (steps[number] for number in numbers)
                suffix = step.name.removeprefix("weights")
                assert parent.name == f"{'masked' if 'masked' in names else 'scores'}{suffix}"
                wanted = torch.softmax(parent.value.double(), step.axes.split().index("j"))
                within_rounding(step.value, wanted, rounding.sum_bound(len(found.tokens), 81, 1))  # exp of up to 9


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_steps_are_those_of_the_layer_in_the_model(model: Model, name: str) -> None:
    layer = as_implementation(model.stack.block(4).attention, "efficient").double()
    for mask in ("none", "window:2"):
        found = trace_layer(Settings(TEXT, mask, "none"), 4, name)
        run = model.run(TEXT, mask=mask, position="none")
        step = {step.name: step for step in found.steps}
        n = len(run.tokens)
        assert found.tokens == run.tokens
        identical(step["x"].value[0], run.hidden[4])
        weights = step["weights"]
        order = [weights.axes.split().index(letter) for letter in "bhij"]
        spread = rounding.spread(layer, run.hidden[4][None].double(), allow=masks.allow(masks.parse(mask), n, n)).maps
        within_rounding(weights.value.permute(order)[0], run.weights[4], rounding.bound(spread, *[torch.float32] * 2))
        assert step["out"].shape == (1, n, model.sizes.d_model)


@pytest.mark.parametrize("name", ["efficient", "fused"])
def test_too_large_trace_sends_only_the_focused_step_and_its_parents(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    trace = trace_layer(Settings(TEXT), 0, name)
    monkeypatch.setattr(packing, "MEMORY_BYTES", max(step.value.untyped_storage().nbytes() for step in trace.steps))
    for here, step in enumerate(trace.steps):
        head = int(step.name.rpartition(".head")[2]) if ".head" in step.name else 0
        wanted = {memory(trace.steps[at].value) for at in [here, *trace.parents(here)]}
        _, values = read_back(pack_trace(trace, step.name, head=head))
        for own, value in zip(trace.steps, values, strict=True):
            assert (value is not None) == (memory(own.value) in wanted)
            assert value is None or np.array_equal(value, own.value.numpy())


def test_settings_are_cut_to_what_an_implementation_can() -> None:
    wanted = Settings(TEXT, "causal", temperature=2.0, heads_off=((1, 3), (2, 0)), values_off=(2,))
    for name, layer in IMPLEMENTATIONS.items():
        within, left_out = supported_settings(wanted, 1, name)
        trace_layer(within, 1, name)
        assert (within.text, within.mask) == (TEXT, "causal")
        assert (within.temperature == 2.0) == ("temperature" in layer.can)
        assert ((1, 3) in within.heads_off) == ("heads" in layer.can)
        assert (2, 0) in within.heads_off, "another layer is the model's own"
        assert (within.values_off == (2,)) == ("values_off" in layer.can)
        assert len(left_out) == len({"temperature", "heads", "values_off"} - layer.can)
        assert supported_settings(Settings(TEXT), 1, name) == (Settings(TEXT), [])
    own = Settings(TEXT, position="rotary")
    assert supported_settings(own, 1, "naive") == (own, [])
    sentence = "torch cannot apply rotary positions; shown with the trained ones."
    assert supported_settings(own, 1, "torch") == (Settings(TEXT), [sentence])


def test_step_that_an_implementation_lacks_leads_on_and_other_texts_name_none() -> None:
    for row in (
        "efficient q.transpose q.transpose", "efficient qkv.view q", "efficient scores.head3 scores",
        "einsum masked x", "naive scores.head0 scores.head7", "naive nothing.of.it x",
    ):  # fmt: skip
        name, step, shown = row.split()
        steps = trace_layer(Settings(TEXT), 0, name).steps
        assert steps[find(steps, step, 7)].name == shown, row
    texts = ["", "Q", "q.", "q.view.x", "q" * 11, "q.view\n", "<b>"]
    assert [text for text in texts if is_step(text)] == []


# ---- what the wire answers, and what the script says


def test_first_answer_has_the_visible_numbers() -> None:
    """The same as on the wire, but for the numbers of other steps, and small enough for a page."""
    for link in ("", "impl=fused&step=qkv.view", "impl=naive&vs=torch&mask=causal&step=scores.head1"):
        query = f"s=it+is+can+you&at=1.7&{link}"
        brought = handlers.first_message(query.encode())
        assert len(brought) < handlers.MAX_AT_FIRST
        lengths, body = unpacked(brought)
        ends = list(accumulate(lengths["parts"]))
        first, *few = (body[end - length : end] for length, end in zip(lengths["parts"], ends, strict=True))
        whole, *all_of_it = answers("steps", query)
        assert unpacked(first)[0] == {**unpacked(whole)[0], "cut": True}
        assert unpacked(whole)[0]["cut"] is False
        for one, other in zip(few, all_of_it, strict=True):
            (header, numbers), (full, wanted) = read_back(one), read_back(other)
            assert header["steps"] == full["steps"]
            settings = Settings("it is can you", "causal" if "causal" in link else "none")
            steps = trace_layer(settings, 1, header["implementation"]).steps
            assert numbers[find(steps, unpacked(first)[0]["step"], 7)] is not None
            for value, own in zip(numbers, wanted, strict=True):
                assert value is None or (own is not None and np.array_equal(value, own))
    with pytest.raises(HeadlightError, match="at most 262,144 bytes"):
        handlers.first_message(b"step=weights&s=" + b"it+" * 80)
