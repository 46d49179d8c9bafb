"""A small Llama of transformers with random weights, our decoder around the same ones, and hooks for its switches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from mha_core import Model
from mha_core.models.decoder import Decoder, DecoderConfig
from mha_core.models.own_model import OwnModel

from .tiny_models import Float64Throughout

CONFIG = DecoderConfig(
    vocabulary=320, d_model=64, n_heads=8, n_layers=2, max_len=512, d_feed_forward=96, n_kv_heads=2, rope_base=1e5
)
D_HEAD = CONFIG.d_model // CONFIG.n_heads
LAYER_NAMES = {  # ours -> transformers', of one layer; q, k and v are joined beside them
    "attention_norm.weight": "input_layernorm.weight",
    "attention.out.weight": "self_attn.o_proj.weight",
    "feed_forward.0.weight": "post_attention_layernorm.weight",
    "feed_forward.1.gate.weight": "mlp.gate_proj.weight",
    "feed_forward.1.up.weight": "mlp.up_proj.weight",
    "feed_forward.1.down.weight": "mlp.down_proj.weight",
}


def config_of(sizes: DecoderConfig) -> Any:
    """transformers' description of a decoder of these sizes, eager."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=sizes.vocabulary, hidden_size=sizes.d_model, intermediate_size=sizes.d_feed_forward,
        num_hidden_layers=sizes.n_layers, num_attention_heads=sizes.n_heads, num_key_value_heads=sizes.n_kv_heads,
        rms_norm_eps=sizes.eps, tie_word_embeddings=True, max_position_embeddings=sizes.max_len, use_cache=False,
        rope_parameters={"rope_type": "default", "rope_theta": sizes.rope_base},
        attn_implementation="eager",  # type: ignore[call-arg]  # it goes to the base class
    )  # fmt: skip


@cache
def reference(dtype: torch.dtype) -> Any:
    """transformers' LlamaForCausalLM, eager, its maps neither flat nor sharp; not to be changed.

    In float64 the angles of its rotation are float64 too.
    """
    from transformers import LlamaForCausalLM

    with Float64Throughout() if dtype == torch.float64 else nullcontext():
        model: Any = LlamaForCausalLM(config_of(CONFIG))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.14 * noise if parameter.dim() > 1 else 1 + 0.1 * noise)
    return model.to(dtype).eval().requires_grad_(False)


@cache
def decoder(dtype: torch.dtype = torch.float32) -> Decoder:
    """Ours with the same weights."""
    theirs = {name.removeprefix("model."): one.clone() for name, one in reference(dtype).state_dict().items()}
    state = {"words.weight": theirs["embed_tokens.weight"], "norm.weight": theirs["norm.weight"]}
    for layer in (f"layers.{number}." for number in range(CONFIG.n_layers)):
        joined = [theirs[f"{layer}self_attn.{part}_proj.weight"] for part in "qkv"]
        state[f"{layer}attention.qkv.weight"] = torch.cat(joined)
        state |= {layer + own: theirs[layer + name] for own, name in LAYER_NAMES.items()}
    return Decoder.from_state(CONFIG, state)


@cache
def model(dtype: torch.dtype = torch.float32) -> OwnModel:
    """A model of our decoder, whose words are w0, w1, …: each its own token, and none is added."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.WordLevel({f"w{n}": n for n in range(CONFIG.vocabulary)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return OwnModel("llama", tokenizer, decoder(dtype), origin="random")


def in_transformers(model: Model) -> Any:
    """transformers' Llama, eager, with the weights of a model of our decoder, in its dtype."""
    from transformers import LlamaForCausalLM

    sizes, ours = model.sizes, model.stack.state_dict()
    assert isinstance(sizes, DecoderConfig)
    kv_rows = sizes.d_model // sizes.n_heads * sizes.n_kv_heads
    state = {"model.embed_tokens.weight": ours["words.weight"], "model.norm.weight": ours["norm.weight"]}
    for layer in range(sizes.n_layers):
        joined = ours[f"layers.{layer}.attention.qkv.weight"]
        for part, rows in zip("qkv", joined.split((sizes.d_model, kv_rows, kv_rows)), strict=True):
            state[f"model.layers.{layer}.self_attn.{part}_proj.weight"] = rows
        for own, name in LAYER_NAMES.items():
            state[f"model.layers.{layer}.{name}"] = ours[f"layers.{layer}.{own}"]
    theirs: Any = LlamaForCausalLM.from_pretrained(None, config=config_of(sizes), state_dict=state, dtype=model.dtype)
    return theirs.eval().requires_grad_(False)


def text_of(ids: Tensor | list[int]) -> str:
    """The words with these numbers."""
    return " ".join(f"w{int(one)}" for one in ids)


def random_ids(length: int, seed: int = 1) -> Tensor:
    """int64 (length,)."""
    return torch.randint(CONFIG.vocabulary, (length,), generator=torch.Generator().manual_seed(seed))


def asked(ids: Tensor, dtype: torch.dtype, **arguments: Any) -> Any:
    """What transformers' model answers: attentions, hidden_states (the last one normed) and logits."""
    with torch.no_grad():
        return reference(dtype)(ids[None], output_attentions=True, output_hidden_states=True, **arguments)


@contextmanager
def hooked(
    dtype: torch.dtype, heads_off: Iterable[tuple[int, int]] = (), temperature: float = 1.0, rope: bool = True
) -> Iterator[None]:
    """transformers' model with heads off (their columns of Wᵒ see zeros), another temperature, or all angles 0."""
    llama, handles = reference(dtype).model, []

    def muted(head: int) -> Callable[..., Any]:
        def hook(module: Any, inputs: tuple[Tensor]) -> tuple[Tensor]:
            joined = inputs[0].clone()
            joined[..., head * D_HEAD : (head + 1) * D_HEAD] = 0
            return (joined,)

        return hook

    for layer, head in heads_off:
        handles.append(llama.layers[layer].self_attn.o_proj.register_forward_pre_hook(muted(head)))
    if not rope:
        no_turn = llama.rotary_emb.register_forward_hook(
            lambda module, inputs, found: (torch.ones_like(found[0]), torch.zeros_like(found[1]))
        )
        handles.append(no_turn)
    for layer in llama.layers:
        layer.self_attn.scaling /= temperature
    try:
        yield
    finally:
        for layer in llama.layers:
            layer.self_attn.scaling *= temperature
        for handle in handles:
            handle.remove()
