"""MLPs and whole layers that are off: of our stacks and of models of transformers, against hooks and edited copies."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import Any, cast

import pytest
import torch
from torch import nn

from mha_core import Model
from mha_core.errors import SizeError, Unsupported
from mha_core.models.generation import Generation
from mha_core.models.layer_pass import LayerPass
from mha_core.pretrained.hf_module import HfModule
from tests.closeness import identical, same_function

from . import llama, pictures, sounds
from .conftest import TIRED
from .runs import differ
from .test_encoder_decoder import translator
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

TEXT = "the quick brown fox sat on a mat"
OFF: tuple[dict[str, Any], ...] = ({"mlps_off": (1,)}, {"layers_off": (0,)})
# type -> parameters of the last matrix of an MLP, with its bias, in a layer
DOWN = {
    "bert": r"layer\.{}\.output\.dense\.", "gpt2": r"h\.{}\.mlp\.c_proj\.", "llama": r"layers\.{}\.mlp\.down_proj\.",
    "gpt_neox": r"layers\.{}\.mlp\.dense_4h_to_h\.", "gpt_oss": r"layers\.{}\.mlp\.experts\.down_proj",
    "deepseek_v3": r"layers\.{}\.mlp\.(down_proj|.*experts\.down_proj)", "vit": r"layers\.{}\.mlp\.fc2\.",
    "bart": r"encoder\.layers\.{}\.fc2\.", "t5": r"encoder\.block\.{}\.layer\.1\.DenseReluDense\.wo\.",
}  # fmt: skip


@contextmanager
def hooked(blocks: nn.ModuleList, down: str, mlps_off: Any = (), layers_off: Any = ()) -> Iterator[None]:
    """Hooks on transformers' blocks and on the last matrix of their MLPs."""
    with ExitStack() as hooks:
        for n in layers_off:
            hooks.enter_context(blocks[n].register_forward_hook(lambda _, args, output: args[0], prepend=True))
        for n in mlps_off:
            part = blocks[n].get_submodule(down)
            hooks.enter_context(part.register_forward_hook(lambda _, args, output: output * 0))
        yield


@pytest.mark.parametrize("off", [*OFF, {"mlps_off": range(6)}, {"mlps_off": (3, 1), "layers_off": (5, 2)}])
def test_minilm_equals_hooks_on_transformers(minilm64: Model, reference64: Any, off: Any) -> None:
    run = minilm64.run(TIRED, **off)
    with torch.no_grad(), hooked(reference64.encoder.layer, "output.dense", **off):
        theirs = reference64(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    same_function(run.weights, torch.cat(theirs.attentions))
    same_function(run.hidden, torch.cat(theirs.hidden_states))
    differ(run.hidden[-1], minilm64.run(TIRED).hidden[-1])


@pytest.mark.parametrize("off", OFF)
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
    experts = model_type in ("gpt_oss", "deepseek_v3")  # their products exist in float32 alone
    model = loaded(model_type, torch.float32 if experts else torch.float64)
    edited, wanted = copy.deepcopy(model.hf_module.module), re.compile(DOWN[model_type].format(1))
    assert [weight.zero_() for name, weight in edited.named_parameters() if wanted.search(name)]
    twin = copy.copy(model)
    twin.hf_module = HfModule(edited, model.hf_module.family, model.hf_module.answer)
    text = pictures.file() if model.reads == "picture" else TEXT
    run, expected = model.run(text, mlps_off=(1,)), twin.run(text)
    for ours, theirs in ((run.hidden, expected.hidden), (run.weights, expected.weights)):
        (identical if experts else same_function)(ours, theirs)
    differ(run.hidden[-1].double(), model.run(text).hidden[-1].double())


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "llama", "gpt_oss"])
def test_a_foreign_model_without_a_layer_equals_one_whose_list_lacks_it(loaded: Any, model_type: str) -> None:
    model = loaded(model_type)
    run = model.run(TEXT, layers_off=(1,))
    identical(run.weights, model.run(TEXT).weights)  # of two layers, the second
    shorter = copy.deepcopy(model.hf_module.module)
    del shorter.get_submodule(model.findings.blocks[model.group].layers[1].rpartition(".")[0])[1]
    theirs = shorter(torch.tensor([run.ids]), output_hidden_states=True)
    identical(run.hidden[-1], theirs.hidden_states[-1][0])


def test_a_layer_of_each_group_of_an_encoder_decoder(loaded: Any) -> None:
    for model_type, group in product(("t5", "bart"), ("encoder", "decoder", "cross")):
        run = loaded(model_type).for_group(group).run(TEXT, layers_off=(0,), target="a cat")
        identical(run.hidden[1], run.hidden[0])


def test_where_it_is_not_clear_a_sentence_says_so(loaded: Any) -> None:
    for model_type, ability in (("albert", "layers"), ("wav2vec2-conformer", "mlps"), ("bloom", "mlps")):
        model = loaded(model_type)
        assert ability not in model.can
        with pytest.raises(Unsupported, match=re.escape(model.reasons[ability])):
            model.run(sounds.file() if model.reads == "sound" else TEXT, **{f"{ability}_off": (0,)})


def test_a_layer_that_is_off_hands_on_its_input_and_everything_off_hands_on_the_embeddings(minilm: Model) -> None:
    plain = minilm.run(TIRED)
    for layer in range(6):
        run = minilm.run(TIRED, layers_off=(layer,))
        identical(run.hidden[layer + 1], run.hidden[layer])
        identical(run.weights[: layer + 1], plain.weights[: layer + 1])
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    nothing = minilm.run(TIRED, heads_off=heads, mlps_off=range(6), layers_off=range(6))
    identical(nothing.hidden, plain.hidden[:1].expand_as(nothing.hidden))
    assert nothing.interventions.summary == "72 heads off, 6 MLPs off, 6 layers off"


def test_a_batch_and_each_head_beside_an_mlp_and_a_layer_that_are_off(minilm64: Model) -> None:
    off: dict[str, Any] = {"mlps_off": (2,), "layers_off": (1,)}
    batch = minilm64.run_batch([TIRED, "how are you"], mlps_off=iter((2,)), layers_off=iter((1,)))
    same_function(batch[1].hidden, minilm64.run("how are you", **off).hidden)
    each = minilm64.ablate_each_head("how are you", **off)
    for layer, head in ((0, 3), (1, 3), (2, 0)):
        same_function(each[layer, head], minilm64.run("how are you", heads_off=[(layer, head)], **off).sentence)


def test_a_decoder_layer_of_ours_is_its_self_and_cross_attention_with_the_mlp() -> None:
    model = translator()
    for group in ("decoder", "cross"):
        part = model.for_group(group)
        states = part.run("3 may", target="0305", layers_off=(1,)).hidden
        identical(states[2], states[1])
        edited = copy.deepcopy(model)
        for name, weight in edited.encoder.cross_layers[0].named_parameters():
            weight.mul_(float(not name.startswith("feed_forward.3")))
        states = part.run("3 may", target="0305", mlps_off=(0,)).hidden
        identical(states, edited.for_group(group).run("3 may", target="0305").hidden)


@pytest.mark.parametrize("switch", ["mlps_off", "layers_off"])
@pytest.mark.parametrize("layer", [6, -1, "0", 1.5, (0, 0)])
def test_a_layer_that_the_model_lacks(minilm: Model, switch: str, layer: Any) -> None:
    with pytest.raises(SizeError, match=f"{switch} has .*; give layers, 0 to 5"):
        minilm.run(TIRED, **cast(Any, {switch: [layer]}))
