"""MLPs and whole layers that are off: of our stacks and of models of transformers, against hooks and edited copies."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from mha_core import Model, load_model
from mha_core.errors import SizeError, Unsupported
from mha_core.models.generation import Generation
from mha_core.models.layer_pass import LayerPass
from mha_core.pretrained.hf_module import HfModule
from tests.closeness import identical, same_function

from . import llama, pictures, sounds
from .conftest import TIRED
from .runs import TINY, differ, trained
from .test_encoder_decoder import translator
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

TEXT = "the quick brown fox sat on a mat"
OFF: tuple[dict[str, Any], ...] = (
    {"mlps_off": (1,)},
    {"layers_off": (0,)},
    {"mlps_off": (0, 1), "layers_off": (1,), "heads_off": ((0, 2),)},
)
# type -> parameters of the last matrix of an MLP, with its bias, in a layer
DOWN = {
    "bert": r"layer\.{}\.output\.dense\.", "gpt2": r"h\.{}\.mlp\.c_proj\.", "llama": r"layers\.{}\.mlp\.down_proj\.",
    "opt": r"layers\.{}\.fc2\.", "gpt_neox": r"layers\.{}\.mlp\.dense_4h_to_h\.", "ctrl": r"h\.{}\.ffn\.2\.",
    "gpt_oss": r"layers\.{}\.mlp\.experts\.down_proj", "mixtral": r"layers\.{}\.mlp\.experts\.down_proj",
    "deepseek_v3": r"layers\.{}\.mlp\.(down_proj|.*experts\.down_proj)", "vit": r"layers\.{}\.mlp\.fc2\.",
    "wav2vec2": r"layers\.{}\.feed_forward\.output_dense\.", "bart": r"encoder\.layers\.{}\.fc2\.",
    "t5": r"encoder\.block\.{}\.layer\.1\.DenseReluDense\.wo\.",
}  # fmt: skip

UNCLEAR = {"albert": ("layers", "mlps"), "wav2vec2-conformer": ("mlps",), "bloom": ("layers", "mlps")}


@contextmanager
def hooked(blocks: nn.ModuleList, down: str, mlps_off: Any = (), layers_off: Any = ()) -> Iterator[None]:
    """Hooks on transformers' blocks and on the last matrix of their MLPs."""

    def hand_on(module: nn.Module, args: Any, output: Any) -> Any:
        return (args[0], *output[1:]) if isinstance(output, tuple) else args[0]

    def nothing(module: nn.Module, args: Any, output: Any) -> Any:
        return output * 0

    hooks = [blocks[n].register_forward_hook(hand_on, prepend=True) for n in layers_off]
    hooks += [blocks[n].get_submodule(down).register_forward_hook(nothing) for n in mlps_off]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize("off", [*OFF[:2], {"mlps_off": range(6)}, {"mlps_off": (3, 1), "layers_off": (5, 2)}])
def test_minilm_equals_hooks_on_transformers(minilm64: Model, reference64: Any, off: Any) -> None:
    run = minilm64.run(TIRED, **off)
    with torch.no_grad(), hooked(reference64.encoder.layer, "output.dense", **off):
        theirs = reference64(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    same_function(run.weights, torch.cat(theirs.attentions))
    same_function(run.hidden, torch.cat(theirs.hidden_states))
    differ(run.hidden[-1], minilm64.run(TIRED).hidden[-1])


@pytest.mark.parametrize("off", OFF[:2])
def test_a_llama_equals_hooks_on_transformers_in_one_pass_a_layer_at_a_time_and_cached(off: Any) -> None:
    model, ids = llama.model(torch.float64), llama.random_ids(9)
    with Float64Throughout(), hooked(llama.reference(torch.float64).model.layers, "mlp.down_proj", **off):
        theirs = llama.asked(ids, torch.float64)
    run = model.run(llama.text_of(ids), all_logits=True, **off)
    assert run.logits is not None
    same_function(run.weights, torch.cat(theirs.attentions))
    same_function(run.hidden[:-1], torch.cat(theirs.hidden_states[:-1]))
    same_function(run.logits, theirs.logits[0])
    by_layer = LayerPass(model, llama.text_of(ids), **off)
    identical(torch.stack([by_layer.advance() for _ in range(2)]), run.weights)
    identical(by_layer.maps(1), run.weights[1])
    growing = Generation(model, llama.text_of(ids[:4]), **off)
    for number in ids[4:].tolist():
        same_function(growing.append(number).logits, run.logits[len(growing.ids) - 1])


@pytest.mark.parametrize("model_type", DOWN)
def test_a_foreign_mlp_that_is_off_equals_a_copy_whose_last_matrix_is_zero(loaded: Any, model_type: str) -> None:
    experts = model_type in ("gpt_oss", "mixtral", "deepseek_v3")  # their products exist in float32 alone
    model = loaded(model_type, torch.float32 if experts else torch.float64)
    edited = copy.deepcopy(model.hf_module.module)
    wanted = re.compile(DOWN[model_type].format(1))
    zeroed = [weight.zero_() for name, weight in edited.named_parameters() if wanted.search(name)]
    assert zeroed
    text = {"text": TEXT, "picture": pictures.file(), "sound": sounds.file()}[model.reads]
    run, plain = model.run(text, mlps_off=(1,)), model.run(text)
    expected = with_module(model, edited).run(text)
    (identical if experts else same_function)(run.hidden, expected.hidden)
    (identical if experts else same_function)(run.weights, expected.weights)
    differ(run.hidden[-1].double(), plain.hidden[-1].double())
    assert run.interventions.summary.startswith("1 MLP off")


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "llama", "bart", "t5", "gpt_oss"])
def test_a_foreign_layer_that_is_off_hands_on_its_input_as_without_the_layer(loaded: Any, model_type: str) -> None:
    model = loaded(model_type)
    run, plain = model.run(TEXT, layers_off=(1,)), model.run(TEXT)
    identical(run.weights, plain.weights)  # of two layers, the second
    identical(run.hidden[:2], plain.hidden[:2])
    path, _, number = model.findings.blocks[model.group].layers[1].rpartition(".")
    shorter = copy.deepcopy(model.hf_module.module)
    del shorter.get_submodule(path)[int(number)]
    ids = {"input_ids": torch.tensor([run.ids])}
    with torch.no_grad():
        theirs = shorter(**ids, decoder_input_ids=ids["input_ids"]) if model_type in ("bart", "t5") else shorter(**ids)
        last = getattr(theirs, "encoder_last_hidden_state", None)
    if last is not None:
        identical(run.hidden[-1:], last)
    elif run.logits is not None:
        identical(run.logits, theirs.logits[0, -1:])


def with_module(model: Any, module: Any) -> Any:
    """The model around another module."""
    twin = copy.copy(model)
    twin.hf_module = HfModule(module, model.hf_module.family, model.hf_module.answer)
    return twin


@pytest.mark.parametrize("group", ["encoder", "decoder", "cross"])
def test_every_group_of_an_encoder_decoder(loaded: Any, group: str) -> None:
    model = loaded("t5", torch.float64).for_group(group)
    target = {} if group == "encoder" else {"target": "a cat"}
    run = model.run(TEXT, layers_off=(0,), **target)
    identical(run.hidden[1], run.hidden[0])
    differ(model.run(TEXT, mlps_off=(1,), **target).hidden[-1], model.run(TEXT, **target).hidden[-1])


def test_where_it_is_not_clear_a_sentence_says_so(loaded: Any) -> None:
    for model_type, lacks in UNCLEAR.items():
        model = loaded(model_type)
        text = sounds.file() if model.reads == "sound" else TEXT
        assert model.can.isdisjoint(lacks)
        for ability in lacks:
            assert len(model.reasons[ability].split()) > 5
            with pytest.raises(Unsupported, match=re.escape(model.reasons[ability])):
                model.run(text, **{f"{ability}_off": (0,)})
    assert "layers" in loaded("wav2vec2-conformer").can


def test_a_layer_that_is_off_hands_on_its_input_and_everything_off_hands_on_the_embeddings(minilm: Model) -> None:
    plain = minilm.run(TIRED)
    for layer in range(6):
        run = minilm.run(TIRED, layers_off=(layer,))
        identical(run.hidden[layer + 1], run.hidden[layer])
        identical(run.weights[: layer + 1], plain.weights[: layer + 1])
        identical(run.weights[layer], minilm.run(TIRED, layers_off=(layer,), mlps_off=(layer,)).weights[layer])
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    nothing = minilm.run(TIRED, heads_off=heads, mlps_off=range(6), layers_off=range(6))
    for state in nothing.hidden:
        identical(state, plain.hidden[0])
    assert nothing.interventions.summary == "72 heads off, 6 MLPs off, 6 layers off"
    assert (nothing.interventions.mlps_off, nothing.interventions.layers_off) == (tuple(range(6)),) * 2
    batch = minilm.run_batch([TIRED, "how are you"], mlps_off=iter((2,)), layers_off=iter((4,)))
    identical(batch[0].hidden[5], batch[0].hidden[4])
    same = minilm.run(TIRED, mlps_off=(2,), layers_off=(4,)).hidden.double()
    assert float((batch[0].hidden.double() - same).abs().max()) < 1e-4


def test_each_head_beside_an_mlp_and_a_layer_that_are_off(minilm64: Model) -> None:
    off: dict[str, Any] = {"mlps_off": (2,), "layers_off": (1,)}
    each = minilm64.ablate_each_head("how are you", **off)
    for layer, head in ((0, 3), (1, 3), (2, 0)):
        same_function(each[layer, head], minilm64.run("how are you", heads_off=[(layer, head)], **off).sentence)


def test_a_decoder_layer_of_ours_is_its_self_and_cross_attention_with_the_mlp() -> None:
    model = translator()
    for group in ("decoder", "cross"):
        part = model.for_group(group)
        states = part.run("3 may", target="0305", layers_off=(1,)).hidden
        identical(states[2], states[1])
        run, edited = part.run("3 may", target="0305", mlps_off=(0,)), copy.deepcopy(translator())
        for weight in edited.encoder.cross_layers[0].feed_forward[-1].parameters():
            weight.zero_()
        same = edited.for_group(group).run("3 may", target="0305").hidden
        identical(run.hidden, same)
        differ(run.hidden[1], part.run("3 may", target="0305").hidden[1])


def test_a_stack_without_mlps_says_so(tmp_path: Path) -> None:
    trained(TINY).save(tmp_path / "run")
    model = load_model(str(tmp_path / "run"), device="cpu")
    assert "mlps" not in model.can
    assert "layers" in model.can
    with pytest.raises(Unsupported, match="its layers are attention alone, without an MLP"):
        model.run("the dog bit the man", mlps_off=(0,))


@pytest.mark.parametrize("switch", ["mlps_off", "layers_off"])
@pytest.mark.parametrize("layer", [6, -1, "0", 1.5, (0, 0)])
def test_a_layer_that_the_model_lacks(minilm: Model, switch: str, layer: Any) -> None:
    with pytest.raises(SizeError, match=f"{switch} has .*; give layers, 0 to 5"):
        minilm.run(TIRED, **{switch: [layer]})
