"""What a pass recorded of one layer: kept, within what an implementation can, and every step with its parents."""

from __future__ import annotations

import pytest
import torch

from mha_core import IMPLEMENTATIONS, Model, Step
from mha_core.errors import HeadlightError
from mha_core.measure.measures import largest_difference
from pages.kit.picture.settings import Settings
from pages.kit.picture.traces import TRACED_BYTES, Traced, settings_within, traced

TEXT = "how are you"


def base(step: Step) -> str:
    return step.name.split(".")[0]


def stacked(found: Traced, at: int) -> bool:
    """True for what "naive" makes of all heads at once: the steps that it stacks for the record, and joined."""
    name = found.steps[at].name
    return found.implementation == "naive" and "." not in name and name not in ("x", "out")


def memory(step: Step) -> int:
    return step.value.untyped_storage().data_ptr()


@pytest.fixture(params=[(name, mask) for name in IMPLEMENTATIONS for mask in ("none", "causal")], ids="-".join)
def found(request: pytest.FixtureRequest) -> Traced:
    name, mask = request.param
    return traced(Settings(TEXT, mask), 1, name)


def test_parents_come_earlier_and_only_the_input_has_none(found: Traced) -> None:
    steps = found.steps
    for at in range(len(steps)):
        numbers = found.parents(at)
        assert all(0 <= parent < at for parent in numbers)
        assert len(set(numbers)) == len(numbers)
        assert bool(numbers) == (at > 0 and steps[at].name != "masked.allow"), steps[at].name


def test_a_view_has_one_parent_and_shares_its_memory(found: Traced) -> None:
    steps = found.steps
    for at, step in enumerate(steps):
        if not step.is_view:
            continue
        (parent,) = (steps[number] for number in found.parents(at))
        assert memory(parent) == memory(step)
        assert {base(parent), base(step)} not in ({"q", "k"}, {"q", "v"}, {"k", "v"})


def test_what_naive_stacks_comes_from_every_head(model: Model) -> None:
    found = traced(Settings(TEXT, "causal"), 1, "naive")
    for at, step in enumerate(found.steps):
        if stacked(found, at):
            of = "mixed" if step.name == "joined" else step.name
            names = [found.steps[parent].name for parent in found.parents(at)]
            assert names == [f"{of}.head{head}" for head in range(model.sizes.n_heads)]


def test_weights_come_from_what_the_softmax_reads(found: Traced) -> None:
    steps = found.steps
    names = {step.name for step in steps}
    for at, step in enumerate(steps):
        if base(step) != "weights" or stacked(found, at) or step.name == "weights.exp":
            continue
        (parent,) = (steps[number] for number in found.parents(at))
        suffix = step.name.removeprefix("weights")
        assert parent.name == f"{'masked' if 'masked' in names else 'scores'}{suffix}"
        keys = step.axes.split().index("j")
        torch.testing.assert_close(step.value, torch.softmax(parent.value, keys))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("mask", ["none", "causal", "window:2"])
def test_the_steps_are_those_of_the_layer_in_the_model(model: Model, name: str, mask: str) -> None:
    settings = Settings(TEXT, mask, "none")
    found = traced(settings, 4, name)
    run = model.run(TEXT, mask=mask, position="none")
    value = {step.name: step for step in found.steps}
    assert found.tokens == run.tokens
    assert largest_difference(value["x"].value[0], run.hidden[4]) == 0
    weights = value["weights"]
    order = [weights.axes.split().index(letter) for letter in "bhij"]
    assert largest_difference(weights.value.permute(order)[0], run.weights[4]) <= 2e-6
    assert value["out"].shape == (1, len(run.tokens), model.sizes.d_model)


def test_equal_settings_are_computed_once() -> None:
    settings = Settings("a sentence that no other test has", "causal")
    assert traced(settings, 0, "einsum") is traced(Settings(settings.text, "causal"), 0, "einsum")
    assert traced(settings, 0, "einsum") is not traced(settings, 1, "einsum")
    assert traced(settings, 0, "einsum") is not traced(settings, 0, "fused")


def test_what_would_fill_the_memory_is_not_kept() -> None:
    asked = Settings("a long sentence " * 165)
    assert traced(asked, 0, "naive").nbytes > TRACED_BYTES
    assert traced(asked, 0, "naive") is not traced(asked, 0, "naive")


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_shared_memory_counts_once(name: str) -> None:
    found = traced(Settings(TEXT), 0, name)
    own = [step.value.numel() * step.value.element_size() for step in found.steps if not step.is_view]
    assert found.nbytes == sum(own), "in these layers every piece of memory is first recorded whole"


def test_settings_are_cut_to_what_an_implementation_can() -> None:
    asked = Settings(TEXT, "causal", temperature=2.0, heads_off=((1, 3), (2, 0)), values_off=(2,))
    for name, layer in IMPLEMENTATIONS.items():
        within, left_out = settings_within(asked, 1, name)
        traced(within, 1, name)
        assert (within.text, within.mask) == (TEXT, "causal")
        assert (within.temperature == 2.0) == ("temperature" in layer.can)
        assert ((1, 3) in within.heads_off) == ("heads" in layer.can)
        assert (2, 0) in within.heads_off, "another layer is the model's own"
        assert (within.values_off == (2,)) == ("values_off" in layer.can)
        assert len(left_out) == len({"temperature", "heads", "values_off"} - layer.can)
        assert all(
            sentence.startswith((name, "nn.MultiheadAttention")) and sentence.endswith(".") for sentence in left_out
        )
        assert settings_within(Settings(TEXT), 1, name) == (Settings(TEXT), [])


def test_nothing_is_left_out_where_only_other_layers_have_heads_off() -> None:
    asked = Settings(TEXT, heads_off=((2, 0),))
    assert settings_within(asked, 1, "torch") == (asked, [])


def test_what_cannot_be_traced_raises() -> None:
    with pytest.raises(HeadlightError):
        traced(Settings("a b " * 300), 0, "efficient")
    with pytest.raises(HeadlightError):
        traced(Settings(TEXT), 6, "efficient")
    with pytest.raises(HeadlightError):
        traced(Settings(TEXT, temperature=2.0), 0, "torch")


@pytest.mark.parametrize("position", ["rotary", "alibi", "t5", "shaw"])
def test_positions_that_an_implementation_cannot_do_are_left_out(position: str) -> None:
    asked = Settings(TEXT, position=position)
    assert settings_within(asked, 1, "naive") == (asked, [])
    within, told = settings_within(asked, 1, "torch")
    assert within == Settings(TEXT)
    assert told == [f"torch cannot apply {position} positions; shown with the trained ones."]
    assert settings_within(Settings(TEXT, position="shuffled"), 1, "torch")[1] == []
