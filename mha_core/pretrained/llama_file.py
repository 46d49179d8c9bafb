"""A Llama in a GGUF file: its sizes, and its tensors by transformers' names with q, k and v of a layer joined."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..models.decoder import DecoderConfig
from .gguf import GGUF

OUTSIDE = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
}  # of the layers: transformers' -> llama.cpp's
INSIDE = {  # of a layer
    "input_layernorm": "attn_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
QKV = "self_attn.qkv_proj"


def config(file: GGUF, max_len: int) -> DecoderConfig:
    """The model's sizes; `max_len` is the most tokens that we allow, if it was trained on no fewer."""
    fields = file.fields
    return DecoderConfig(
        vocabulary=len(fields["tokenizer.ggml.tokens"]),
        d_model=fields["llama.embedding_length"],
        n_heads=fields["llama.attention.head_count"],
        n_kv_heads=fields["llama.attention.head_count_kv"],
        n_layers=fields["llama.block_count"],
        d_feed_forward=fields["llama.feed_forward_length"],
        max_len=min(max_len, fields["llama.context_length"]),
        rope_base=fields["llama.rope.freq_base"],
        eps=fields["llama.attention.layer_norm_rms_epsilon"],
    )


def shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what `tensors` gives, known before any of it is made."""
    c, f = config.d_model, config.d_feed_forward
    joined = c + 2 * config.n_kv_heads * (c // config.n_heads)
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocabulary, c)}
    parts = {
        "input_layernorm": (c,),
        QKV: (joined, c),
        "self_attn.o_proj": (c, c),
        "post_attention_layernorm": (c,),
        "mlp.gate_proj": (f, c),
        "mlp.up_proj": (f, c),
        "mlp.down_proj": (c, f),
    }
    for layer in range(config.n_layers):
        found |= {f"model.layers.{layer}.{part}.weight": shape for part, shape in parts.items()}
    return found | {"model.norm.weight": (c,)}


def tensors(file: GGUF, config: DecoderConfig) -> Iterator[tuple[str, Tensor]]:
    """The tensors that `from_llama` takes, float32 (out, in), one after the other in the order of `shapes`."""
    for name in shapes(config):
        yield name, _made(file, config, name.removesuffix(".weight"))


def _made(file: GGUF, config: DecoderConfig, name: str) -> Tensor:
    if name in OUTSIDE:
        return file.tensor(f"{OUTSIDE[name]}.weight")
    layer, _, part = name.removeprefix("model.layers.").partition(".")
    if part != QKV:
        return file.tensor(f"blk.{layer}.{INSIDE[part]}.weight")
    q, k, v = (file.tensor(f"blk.{layer}.attn_{one}.weight") for one in "qkv")
    return torch.cat((_halves(q, config.n_heads), _halves(k, config.n_kv_heads), v))


def _halves(weight: Tensor, heads: int) -> Tensor:
    """The rows (h · d, c) of q or k, for a rotation that pairs channel m with m + d/2.

    llama.cpp's turns 2 m with 2 m + 1, so its files hold the rows of each head in that order: (d/2, 2) instead of
    (2, d/2).
    """
    return weight.view(heads, weight.shape[0] // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape)
