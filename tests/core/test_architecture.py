"""The boxes of a model are those that its pass computes, in order, with all its parameters and its own sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mha_core import Model, load_model
from mha_core.measure import box_states
from mha_core.measure.box_states import modules, record
from mha_core.measure.module_boxes import architecture
from mha_core.models.architecture import BRANCH, SIDE, STREAM, Architecture
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical, same_function

from .runs import SHIPPED, case, shipped

TEXT = "The dog bit the man"
POST = ["attention", "attention add", "attention norm", "mlp", "mlp add", "mlp norm"]
PRE = ["attention norm", "attention", "attention add", "mlp norm", "mlp", "mlp add"]
ROTARY = ["attention norm", "positions", "attention", "attention add", "mlp norm", "mlp", "mlp add"]
DECODER = [
    "decoder attention norm", "decoder attention", "decoder attention add", "decoder cross-attention norm",
    "decoder cross-attention", "decoder cross-attention add", "decoder mlp norm", "decoder mlp", "decoder mlp add",
]  # fmt: skip
# name -> boxes of a layer, those before and behind it, order of the norms
OWN: dict[str, tuple[list[str], list[str], list[str], str]] = {
    "minilm": (POST, ["tokens", "embedding", "positions", "embedding norm"], ["pooling"], "post-norm"),
    "smollm2": (ROTARY, ["tokens", "embedding"], ["final norm", "head", "probabilities"], "pre-norm"),
    "brackets-learned-1": (
        ["attention"], ["tokens", "embedding", "positions"], ["pooling", "head", "probabilities"], "",
    ),
    "words-2layers-1": (ROTARY[:4], ["tokens", "embedding"], ["final norm", "head", "probabilities"], "pre-norm"),
}  # fmt: skip


def model_named(name: str, dtype: torch.dtype = torch.float32) -> Model:
    return shipped(name, dtype) if (SHIPPED / name).exists() else load_model(name, device="cpu", dtype=dtype)


def check(model: Model, plan: Architecture) -> None:
    """Every parameter once, boxes in the order in which their modules run, and arrows between boxes that exist."""
    total = sum(weight.numel() for weight in modules(model)[""].parameters())
    assert plan.n_parameters == total == sum(sum(box.parameters) for box in plan.boxes)
    names = [box.name for box in plan.boxes]
    assert len(names) == len(set(names))
    assert {name for arrow in plan.arrows for name in arrow} <= set(names)
    calls = list[str]()
    paths = {box.paths[0].format(0): box.name for box in reversed(plan.boxes) if box.paths and box.lane != SIDE}
    box_states.hooked(model, paths, lambda path, *_: calls.append(path)).run(TEXT)
    fired = [paths[path] for path in dict.fromkeys(calls)]
    assert fired == [name for name in names if name in fired]


def test_our_models_have_the_boxes_that_their_sizes_say() -> None:
    for name, (layer, start, end, norm) in OWN.items():
        with case(name):
            model = model_named(name)
            plan = architecture(model)
            check(model, plan)
            places = {
                place: [box.name for box in plan.boxes if box.place == place] for place in ("before", "layer", "after")
            }
            assert (places["layer"], places["before"], places["after"]) == (layer, start, end)
            assert (plan.n_layers, plan.norm) == (model.sizes.n_layers, norm)
            branch = [box.name for box in plan.boxes if box.lane == BRANCH]
            expected = [
                part for part in layer if part in ("attention", "mlp") or (norm == "pre-norm" and "norm" in part)
            ]
            assert branch == (expected if model.sizes.residual else [])
            assert all(len(plan.sources(box.name)) == 2 for box in plan.boxes if box.kind == "add")


def test_an_encoder_decoder_has_two_columns_and_the_memory_enters_the_second() -> None:
    model = shipped("dates-sinusoidal-1")
    plan = architecture(model)
    check(model, plan)
    columns = [[box.name for box in plan.boxes if (box.place, box.column) == ("layer", column)] for column in (0, 1)]
    assert columns == [PRE, DECODER]
    assert plan.sources("decoder cross-attention") == ["decoder cross-attention norm", "final norm"]


@pytest.mark.parametrize("name", ["minilm", "words-2layers-1", "dates-sinusoidal-1~decoder", "dates-sinusoidal-1"])
def test_what_leaves_the_last_box_of_a_layer_is_its_hidden_state(name: str) -> None:
    base, _, group = name.partition("~")
    model = model_named(base)
    model = model.for_group(group or model.groups[0])
    plan, text = architecture(model), "3 May" if base.startswith("dates") else TEXT
    for layer in range(model.sizes.n_layers):
        run, states = record(model, plan, text, layer, heads_off=[(0, 0)])
        plain = model.run(text, heads_off=[(0, 0)])
        identical(run.hidden, plain.hidden)
        last = [box for box in plan.boxes if box.place == "layer" and box.column == (group == "decoder")][-1]
        identical(states[last.name].leaving, plain.hidden[layer + 1])


# model type -> boxes of a layer; an addition with more than two sources; whether a box of the layer reads experts
FOREIGN: dict[str, tuple[list[str], int]] = {
    "gpt2": (PRE, 2),
    "distilbert": (POST, 2),
    "gpt_oss": (ROTARY, 2),
    "gptj": (["attention norm", "attention", "mlp", "mlp add"], 3),
    "t5": (PRE, 2),
}


@pytest.mark.parametrize("model_type", FOREIGN)
def test_a_foreign_model_has_the_boxes_of_its_modules(loaded: Any, model_type: str) -> None:
    model: HfModel = loaded(model_type)
    plan = architecture(model)
    check(model, plan)
    layer, n_sources = FOREIGN[model_type]
    assert [box.name for box in plan.boxes if (box.place, box.column) == ("layer", 0)] == layer
    sources = [plan.sources(box.name) for box in plan.boxes if box.kind == "add"]
    assert {len(names) for names in sources} == {n_sources}
    mlp = next(box for box in plan.boxes if box.kind == "mlp")
    assert ("experts" in mlp.note) == (model_type == "gpt_oss")
    if model_type == "t5":
        assert [box.name for box in plan.boxes if (box.place, box.column) == ("layer", 1)] == DECODER
        assert plan.sources("decoder cross-attention")[-1] == "final norm"


def test_the_sums_of_a_foreign_model_are_its_hidden_states(loaded: Any) -> None:
    model: HfModel = loaded("gpt2", torch.float64)
    plan = architecture(model, layer=1)
    run, states = record(model, plan, TEXT, 0)
    same_function(states["mlp add"].leaving, run.hidden[1])
    same_function(states["attention add"].leaving, states["attention"].leaving + run.hidden[0])
    assert [box.lane for box in plan.boxes if box.place == "layer"] == [BRANCH, BRANCH, STREAM] * 2


def test_the_model_itself_stays_as_it_is(minilm: Model) -> None:
    calls = list[str]()
    twin = box_states.hooked(minilm, ["words"], lambda path, *_: calls.append(path))
    identical(minilm.run(TEXT).weights, twin.run(TEXT).weights)
    assert calls == ["words"], "only the twin reports its calls"
