"""Models of transformers by their folder: every one is a `Model`, with what it can do and what its tokens hand over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import Model, load_model
from mha_core.errors import (
    DeviceError,
    HeadlightError,
    MaskError,
    PositionError,
    SizeError,
    TooLong,
    Unsupported,
    WeightsFileError,
)
from mha_core.measure import rounding
from mha_core.measure.value_norms import layer_transformed_values, transformed_norms
from mha_core.models.generation import Generation
from mha_core.pretrained import attention_hook, memory
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import SAME_FUNCTION, identical, relative_error, same_function, within_rounding

from . import pictures, sounds, tiny_models
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

TEXT = "the quick brown fox sat on a mat"
SWITCHES = frozenset(("mask", "heads", "mlps", "layers", "temperature", "values", "positions"))


def plain(model: Model, **given: Any) -> Any:
    """What the library itself makes of it, on the same device."""
    assert isinstance(model, HfModel)
    with torch.no_grad():
        return model.hf_module.module(**given, output_attentions=True, output_hidden_states=True)


def test_a_run_is_the_models_own_pass(loaded: Any) -> None:
    for model_type in ("bert", "gpt2", "llama", "gpt_oss", "albert"):
        model = loaded(model_type)
        run = model.run(TEXT)
        found = plain(model, input_ids=torch.tensor([run.ids]))
        assert run.tokens == TEXT.split()
        identical(run.weights, torch.cat(found.attentions))
        identical(run.hidden, torch.cat(found.hidden_states))
        assert run.key_tokens is None
        assert len(run.extras.paths) == model.sizes.n_layers == len(run.weights)
        shared = {"mlps", "layers"} if model_type == "albert" else set()  # its layers are one module
        assert model.can == (SWITCHES | {"batch"}) - shared
        assert set(model.reasons) == {"steps", *shared}
        if model_type in ("bert", "albert"):
            assert (model.groups, model.own_mask, run.logits) == (("encoder",), "none", None)
        else:
            assert (model.groups, model.own_mask) == (("decoder",), "causal")
            identical(run.logits, found.logits[0, -1:])
            identical(model.run(TEXT, all_logits=True).logits, found.logits[0])


def test_nan_of_a_pass_is_refused_with_the_remedy(tiny_folder: Path, tmp_path: Path) -> None:
    tiny_models.save(tiny_models.model_of("gpt2"), tmp_path / "gpt2")
    for folder in (tmp_path / "gpt2", tiny_folder):
        for dtype, remedy in ((torch.float32, "choose other weights"), (torch.float16, "load it with dtype=torch")):
            model = load_model(str(folder), device="cpu", dtype=dtype)
            layers = model.hf_module.module if isinstance(model, HfModel) else model.encoder
            assert isinstance(layers, torch.nn.Module)
            next(layers.parameters()).data[model.run(TEXT).ids[-1]] = torch.inf
            with pytest.raises(HeadlightError, match=f"computes NaN or infinity from this input; {remedy}"):
                model.run(TEXT)


def test_rows_that_sum_to_less_than_1(loaded: Any) -> None:
    run = loaded("gpt_oss").run(TEXT)
    assert run.extras.unassigned is not None
    assert float(run.extras.unassigned.min()) > 0.01
    sums = run.weights.sum(dim=-1) + run.extras.unassigned
    within_rounding(sums, torch.ones_like(sums), rounding.sum_bound(9, 9))
    assert "goes to no token" in loaded("gpt_oss").facts["checked"]
    assert loaded("llama").run(TEXT).extras.unassigned is None


def test_the_groups_of_an_encoder_decoder(loaded: Any) -> None:
    model = loaded("bart")
    assert model.groups == ("encoder", "decoder", "cross")
    assert model.group == "encoder"
    cross, decoder = model.for_group("cross"), model.for_group("decoder")
    assert cross.hf_module is model.hf_module
    run = cross.run(TEXT, target="a cat")
    read = [*TEXT.split(), "[SEP]"]
    assert run.key_tokens == read
    assert run.tokens == ["[CLS]", "a", "cat"]
    written = torch.tensor([run.ids])
    found = plain(model, input_ids=torch.tensor([model.tokenize(TEXT)[1]]), decoder_input_ids=written)
    identical(run.weights, torch.cat(found.cross_attentions))
    identical(decoder.run(TEXT, target="a cat").weights, torch.cat(found.decoder_attentions))
    encoder = model.run(TEXT)
    assert encoder.tokens == read
    identical(encoder.weights, torch.cat(found.encoder_attentions))
    identical(encoder.hidden, torch.cat(found.encoder_hidden_states))
    identical(run.hidden, torch.cat(found.decoder_hidden_states))
    identical(run.logits, found.logits[0, -1:])
    assert decoder.own_mask == "causal"
    assert "batch" not in model.can
    with pytest.raises(Unsupported, match="one text at a time"):
        model.run_batch([TEXT])
    with pytest.raises(Unsupported, match="has no 'audio' attention; it has encoder, decoder, cross"):
        model.for_group("audio")


@pytest.mark.parametrize(
    ("model_type", "group"),
    [
        ("bert", "encoder"),
        ("llama", "decoder"),
        ("t5", "cross"),
        ("clip_vision_model", "encoder"),
        ("wav2vec2", "encoder"),
    ],
)
def test_every_switch(loaded: Any, model_type: str, group: str) -> None:
    model = loaded(model_type).for_group(group)
    given = {"text": TEXT, "picture": pictures.file(), "sound": sounds.file()}[model.reads]
    target = {"target": "a cat sat"} if group == "cross" else {}
    before = model.run(given, **target)
    n, m = before.weights.shape[-2:]

    def changed(**switches: Any) -> Any:
        run = model.run(given, **target, **switches)
        assert not torch.equal(run.hidden[-1], before.hidden[-1])
        assert run.logits is None or not torch.equal(run.logits, before.logits)
        assert run.interventions.summary.split(", causal")[0] != "nothing changed"
        return run

    masked = changed(mask="window:2")
    rule = (torch.arange(n)[:, None] - torch.arange(m)).abs() < 2
    assert not masked.weights[:, :, ~rule].any()
    own = torch.ones(n, m).tril().bool() if group == "decoder" else torch.ones(n, m, dtype=torch.bool)
    identical(masked.interventions.allow[0], rule & own)
    tensor = torch.rand(before.weights.shape[1], n, m, generator=torch.Generator().manual_seed(0)) < 0.7
    assert not changed(mask=tensor).weights[:, ~tensor].any()
    hot = changed(temperature=3.0)
    wanted = before.weights[0].double() ** (1 / 3)
    within_rounding(hot.weights[0], wanted / wanted.sum(dim=-1, keepdim=True), rounding.sum_bound(m, m))
    off = changed(heads_off=[(1, 2)])
    identical(off.weights[0], before.weights[0])
    assert off.interventions.heads_off == ((1, 2),)
    identical(changed(values_off=[1]).weights[0], before.weights[0])
    if group != "cross" and "positions" in model.can:
        assert not torch.equal(changed(position="none").weights, before.weights)
    identical(model.run(given, **target).weights, before.weights)


def test_without_positions_a_permutation_of_the_words_permutes_the_rest(loaded: Any) -> None:
    model = loaded("bert", torch.float64)
    forth, back = (model.run(text, position="none") for text in ("the cat sat", "sat cat the"))
    same_function(forth.hidden, back.hidden.flip(1))
    assert relative_error(model.run("the cat sat").hidden, model.run("sat cat the").hidden.flip(1)) > SAME_FUNCTION
    llama = loaded("llama", torch.float64)
    with Float64Throughout():
        weights = llama.run("a a a a", position="none").weights[..., 3, :]
    same_function(weights, torch.full_like(weights, 0.25))


def test_each_text_of_a_padded_batch_gives_what_it_gives_alone(loaded: Any) -> None:
    texts = [TEXT, "a cat"]
    for model_type in ("bert", "llama"):
        model = loaded(model_type, torch.float64)
        with Float64Throughout():
            for run, text in zip(model.run_batch(texts, mask="window:3"), texts, strict=True):
                alone = model.run(text, mask="window:3")
                assert run.tokens == alone.tokens
                same_function(run.weights, alone.weights)
                same_function(run.hidden, alone.hidden)
        assert model.run_batch([]) == []
    unmasked = loaded("bert").run_batch(texts, mask_padding=False)[1]
    assert float(unmasked.weights.sum(dim=-1).max()) < 0.9


@pytest.mark.parametrize("model_type", ["llama", "bloom"])
def test_a_growing_text_gives_the_rows_of_the_whole(loaded: Any, model_type: str) -> None:
    model = loaded(model_type, torch.float64)
    switches: dict[str, Any] = (
        {} if model_type == "bloom" else {"mask": "window:4", "heads_off": [(0, 1)], "values_off": [2]}
    )
    with Float64Throughout():
        growing = Generation(model, "the quick brown fox", **switches)
        for _ in range(20):
            new = growing.step()
        growing.cut(21)
        new = growing.append(tiny_models.SPECIAL.index("[SEP]"))
        whole = model.run(growing.ids, **switches)
    assert len(growing.ids) == 22
    same_function(new.weights, whole.weights[:, :, -1])
    same_function(new.hidden, whole.hidden[:, -1])
    assert whole.logits is not None
    same_function(new.logits, whole.logits[0])


def test_maps_that_a_model_hands_out_itself(loaded: Any) -> None:
    model = loaded("bloom")
    run = model.run(TEXT)
    identical(run.weights, torch.cat(plain(model, input_ids=torch.tensor([run.ids])).attentions))
    assert model.can == {"batch"}
    said = "bloom returns its maps, but computes them outside the attention hook, so they cannot be changed"
    assert all(model.reasons[name] == said for name in ("mask", "heads", "temperature", "values"))
    assert model.facts["maps"] == "as the model hands them out"
    for switches in ({"mask": "causal"}, {"heads_off": [(0, 0)]}, {"temperature": 2.0}, {"values_off": [0]}):
        with pytest.raises(Unsupported, match=said):
            model.run(TEXT, **switches)


def test_bad_input_of_a_run(loaded: Any) -> None:
    model = loaded("gpt2")
    with pytest.raises(SizeError, match="no token"):
        model.run("")
    with pytest.raises(TooLong, match="has 161 tokens, special tokens included; the model can read 160"):
        model.run("cat " * 161)
    with pytest.raises(PositionError, match="choose trained or none"):
        model.run(TEXT, position="alibi")
    with pytest.raises(MaskError):
        model.run(TEXT, mask=torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(SizeError, match="heads 0 to 3"):
        model.run(TEXT, heads_off=[(0, 4)])
    with pytest.raises(Unsupported, match="without a trace of their steps"):
        model.run(TEXT, trace_layer=0)


def test_a_sentence_whose_maps_do_not_fit(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded("gpt2")  # before: it would not fit either
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(DeviceError, match=r"8 tokens of .* needs 0 MB of memory, this machine has 0 MB left; shorten"):
        model.run(TEXT)


def test_a_tokenizer_of_other_weights(loaded: Any, tmp_path: Path) -> None:
    file = shutil.copytree(loaded("gpt2").folder, tmp_path / "m") / "tokenizer.json"
    content = json.loads(file.read_text())
    content["model"]["vocab"]["cat"] = 99
    file.write_text(json.dumps(content))
    with pytest.raises(WeightsFileError, match="token 99 has no embedding, there are 99"):
        load_model(str(tmp_path / "m"), device="cpu").run("a cat")


class WithoutDouble(torch.Tensor):
    """Of a device that has no float64, as mps: `cpu()` brings it where there is."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        if func is torch.Tensor.cpu:
            return found.as_subclass(torch.Tensor)
        if isinstance(found, torch.Tensor) and found.dtype == torch.float64:
            raise TypeError(
                "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
            )
        return found


def test_a_model_is_examined_without_float64(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(loaded(model_type).folder) for model_type in ("bert", "gpt2", "t5")]
    real = attention_hook.Call
    monkeypatch.setattr(
        attention_hook, "Call", lambda path, weights, *others: real(path, weights.as_subclass(WithoutDouble), *others)
    )
    for folder in folders:
        assert load_model(folder, device="cpu").groups, folder


OUTPUTS = {  # of the second layer, as each file names them; albert has one for all
    "bert": "bert.encoder.layer.1.attention.output.dense",
    "gpt2": "transformer.h.1.attn.c_proj",
    "llama": "model.layers.1.self_attn.o_proj",
    "gpt_oss": "model.layers.1.self_attn.o_proj",
    "albert": "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
    "t5": "encoder.block.1.layer.0.SelfAttention.o",
}


def added(model: Model, name: str, **switches: Any) -> tuple[Any, Tensor]:
    """A run, and what the module of that name gave in its last call, without its bias: (i, c)."""
    assert isinstance(model, HfModel)
    module, given = model.hf_module.module.get_submodule(name), []
    hook = module.register_forward_hook(lambda own, args, output: given.append(output[0].detach()))
    try:
        run = model.run(TEXT, **switches)
    finally:
        hook.remove()
    bias = module.bias
    return run, given[-1] if bias is None else given[-1] - bias.detach()


def check_sums(weights: Tensor, values: Tensor, sums: Tensor) -> None:
    """Weights (h, i, j) times f(x) (h, j, c), over all heads, are what the attention adds (i, c), but for rounding."""
    h, n, c = values.shape
    expected, sizes = (torch.einsum("hij,hjc->ic", weights.double(), x.double()) for x in (values, values.abs()))
    within_rounding(sums, expected, rounding.sum_bound(c, n, c, h * n) * float(sizes.norm() / expected.norm()))


def test_weights_times_projected_values_equal_the_output(loaded: Any) -> None:
    for model_type, name in OUTPUTS.items():
        model = loaded(model_type)
        run, sums = added(model, name)
        values = layer_transformed_values(model, run, 1)
        h, n, c = model.sizes.n_heads, len(run.tokens), model.sizes.d_model
        assert values.shape == (h, n, c)
        check_sums(run.weights[1], values, sums)
        lengths = transformed_norms(model, run)
        assert lengths.shape == (model.sizes.n_layers, h, n)
        within_rounding(lengths[1], values.double().square().sum(dim=-1).sqrt(), rounding.sum_bound(c, 1))


def test_values_outside_the_hook_are_unsupported(loaded: Any) -> None:
    model = loaded("falcon")
    assert "outside the attention hook" in model.reasons["lengths"]
    with pytest.raises(Unsupported, match="its maps are available, its values are not"):
        layer_transformed_values(model, model.run(TEXT), 0)
