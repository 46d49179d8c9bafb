"""What layers add to the residual stream, and the logit lens: against hooks on transformers' modules, by properties."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from mha_core import Model, Run
from mha_core.errors import Unsupported
from mha_core.measure import logit_lens, residual
from mha_core.measure.residual import Addition
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical, same_function

from . import llama
from .conftest import TIRED
from .runs import shipped
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

IDS = (5, 6, 7, 8, 9, 6)
# type -> modules of a layer whose outputs attention and MLP add, and the last of the MLP, whose inputs are its neurons
MODULES = {
    "bert": ("encoder.layer.{}.attention.output.dense", *["encoder.layer.{}.output.dense"] * 2),
    "llama": ("layers.{}.self_attn", "layers.{}.mlp", "layers.{}.mlp.down_proj"),
    "gpt2": ("h.{}.attn", "h.{}.mlp", "h.{}.mlp.c_proj"),
    "gpt_neox": ("layers.{}.attention", "layers.{}.mlp", "layers.{}.mlp.dense_4h_to_h"),
    "olmo2": ("layers.{}.post_attention_layernorm", "layers.{}.post_feedforward_layernorm", ""),
}  # fmt: skip
SWITCHES: dict[str, Any] = {"mask": "window:2", "heads_off": ((0, 1), (1, 0)), "temperature": 2.0, "values_off": (1,)}


def observed(model: Model, source: Any, **switches: Any) -> tuple[Run, list[dict[str, Addition]]]:
    run = model.run(source, **switches)
    return run, residual.additions(model, run, lambda: model.run(source, **switches))


def hooked(base: nn.Module, names: dict[str, str], run: Any) -> dict[str, tuple[Tensor, Tensor]]:
    """The input and output (i, c) of modules in one pass."""
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def hook(name: str) -> Any:
        def keep(module: nn.Module, args: Any, output: Any) -> None:
            out = output[0] if isinstance(output, tuple) else output
            seen[name] = (args[0][0] if args else out[0], out[0])

        return keep

    with ExitStack() as stack:
        for name, path in names.items():
            handle = base.get_submodule(path).register_forward_hook(hook(name))
            stack.callback(handle.remove)
        run()
    return seen


@pytest.mark.parametrize("model_type", MODULES)
@pytest.mark.parametrize("switches", [{}, SWITCHES], ids=["as trained", "changed"])
def test_additions_are_the_outputs_of_transformers_modules(loaded: Any, model_type: str, switches: Any) -> None:
    model = loaded(model_type, torch.float64)
    assert isinstance(model, HfModel)
    base = model.hf_module.module.base_model
    _, layers = observed(model, IDS, **switches)
    assert [list(layer) for layer in layers] == [["attention", "mlp"]] * len(layers)
    for number, layer in enumerate(layers):
        names = {
            name: path.format(number)
            for name, path in zip(("attention", "mlp", "last"), MODULES[model_type], strict=True)
        }
        seen = hooked(base, {name: path for name, path in names.items() if path}, lambda: model.run(IDS, **switches))
        for part in ("attention", "mlp"):
            same_function(layer[part].added, seen[part][1])
            same_function(layer[part].norms, seen[part][1].norm(dim=-1))
        if "last" in seen:
            activations, weight = (
                seen["last"][0].reshape(len(IDS), -1),
                base.get_submodule(names["last"]).get_parameter("weight"),
            )
            same_function(layer["mlp"].activations, activations)
            columns = weight if model_type == "gpt2" else weight.T  # (m, c)
            neurons = layer["mlp"].neurons(3)
            assert neurons is not None
            same_function(neurons.norm, (activations[..., None] * columns).norm(dim=-1).topk(3).values)
        else:
            assert layer["mlp"].neurons(3) is None, "its output is normed before it is added"


def test_additions_of_minilm_are_those_of_transformers(minilm64: Model, reference64: Any) -> None:
    run, layers = observed(minilm64, TIRED)
    ids = torch.tensor([run.ids])
    for number, layer in enumerate(layers):
        names = {part: path.format(number) for part, path in zip(("attention", "mlp"), MODULES["bert"], strict=False)}
        seen = hooked(reference64, names, lambda: reference64(input_ids=ids))
        for part, (_, added) in seen.items():
            same_function(layer[part].added, added)
        middle = minilm64.stack.block(number).attention_norm(layer["attention"].total)
        same_function(middle, layer["mlp"].stream)


@given(st.lists(st.integers(0, llama.CONFIG.vocabulary - 1), min_size=1, max_size=12), st.data())
def test_the_embedding_and_all_additions_sum_to_the_last_state(ids: list[int], data: st.DataObject) -> None:
    layers = st.sets(st.integers(0, llama.CONFIG.n_layers - 1))
    model = llama.model(torch.float64)
    switches: dict[str, Any] = {
        "mask": data.draw(st.sampled_from(("none", "window:2", "sinks:1"))),
        "position": data.draw(st.sampled_from(("trained", "none", "alibi"))),
        "temperature": data.draw(st.sampled_from((0.5, 1.0, 3.0))),
        "heads_off": tuple((layer, 2) for layer in data.draw(layers)),
        "mlps_off": tuple(data.draw(layers)),
        "layers_off": tuple(data.draw(layers)),
    }
    run, found = observed(model, ids, **switches)
    total = run.hidden[0]
    for number, layer in enumerate(found):
        assert list(layer) == ([] if number in switches["layers_off"] else ["attention", "mlp"])
        if layer and number in switches["mlps_off"]:
            assert not layer["mlp"].norms.any()
            assert layer["mlp"].neurons(3) is None
        for part in layer.values():
            same_function(part.stream, total)
            total = total + part.added
        same_function(total, run.hidden[number + 1])


def test_layers_without_an_mlp_add_attention_alone() -> None:
    model = shipped("words-2layers-1", torch.float64)
    run, layers = observed(model, "boat drum key")
    assert [list(layer) for layer in layers] == [["attention"]] * 2
    same_function(run.hidden[0] + sum(layer["attention"].added for layer in layers), run.hidden[-1])
    assert run.logits is not None
    identical(logit_lens.logits(model, run, 2, slice(-1, None)), run.logits)


@pytest.mark.parametrize("model_type", ["llama", "gpt2", "gpt_neox"])
def test_the_lens_is_transformers_norm_and_head(loaded: Any, model_type: str) -> None:
    model = loaded(model_type, torch.float64)
    library = model.hf_module.module
    norm = {"llama": "norm", "gpt2": "ln_f", "gpt_neox": "final_layer_norm"}[model_type]
    run = model.run(IDS, all_logits=True)
    with torch.no_grad():
        states = library(input_ids=torch.tensor([IDS]), output_hidden_states=True).hidden_states
        wanted = [
            library.get_output_embeddings()(library.base_model.get_submodule(norm)(state))[0] for state in states[:-1]
        ]
    for level, logits in enumerate(wanted):
        same_function(logit_lens.logits(model, run, level), logits)
    identical(logit_lens.logits(model, run, len(run.hidden) - 1), run.logits)
    lens = logit_lens.lens(model, run, slice(1, 4), 3)
    chances = wanted[0][1:4].softmax(-1)
    same_function(lens.probability[0], chances.topk(3).values)
    final = run.logits[1:4].argmax(-1)
    same_function(lens.followed_probability[0], chances.gather(1, final[:, None])[:, 0])
    order = chances.argsort(dim=-1, descending=True)
    assert lens.followed_rank[0].tolist() == [
        1 + order[row].tolist().index(token) for row, token in enumerate(final.tolist())
    ]
    assert lens.followed_rank[-1].tolist() == [1, 1, 1]


def test_the_lens_of_our_decoder_ends_in_its_own_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama.model(torch.float64)
    run = model.run(IDS, all_logits=True)
    assert run.logits is not None
    identical(logit_lens.logits(model, run, 2), run.logits)
    reference = llama.reference(torch.float64)
    with Float64Throughout():
        same_function(logit_lens.logits(model, run, 1), reference.lm_head(reference.model.norm(run.hidden[1])))
    whole = logit_lens.lens(model, run)
    monkeypatch.setattr(logit_lens, "ROWS_AT_ONCE", 2)  # fewer rows of the vocabulary in memory
    in_parts = logit_lens.lens(model, run)
    assert torch.equal(in_parts.ids, whole.ids)
    same_function(in_parts.probability, whole.probability)


def test_what_is_not_known_is_said_in_a_sentence(loaded: Any, minilm: Model) -> None:
    with pytest.raises(Unsupported, match="as two vectors that can be observed"):
        observed(loaded("falcon", torch.float64), IDS)
    with pytest.raises(Unsupported, match="choose the model’s encoder"):
        observed(loaded("t5", torch.float64).for_group("decoder"), IDS)
    with pytest.raises(Unsupported, match="choose a language model"):
        logit_lens.lens(minilm, minilm.run("how are you"))
    _, layers = observed(loaded("mixtral"), IDS)
    assert all(layer["mlp"].neurons(3) is None for layer in layers), "experts end in no one matrix"
    gemma = loaded("gemma2", torch.float64)  # caps its logits
    with pytest.raises(Unsupported, match="more than one norm and one matrix"):
        logit_lens.lens(gemma, gemma.run(IDS))
