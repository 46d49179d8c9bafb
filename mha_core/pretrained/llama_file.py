"""A Llama in a GGUF file: its sizes, and its tensors by transformers' names with q, k and v of a layer joined."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported, WeightsFileError
from ..models.decoder import DecoderConfig
from .gguf import GGUF

LARGEST_SIZE = 10**6
MOST_LAYERS = 1000
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
    """The model's sizes; `max_len` is the most tokens that we allow, if it was trained on no fewer.

    Raises:
        WeightsFileError: a size is missing, impossible, or does not fit the others.
        Unsupported: it is another kind of model.
    """
    kind = file.fields.get("general.architecture")
    if kind != "llama" or "output.weight" in file.entries:
        raise Unsupported(f"{file.name} holds a {kind!r:.40}; only Llamas whose embeddings are their head too are read")
    tokens = file.fields.get("tokenizer.ggml.tokens")
    try:
        found = DecoderConfig(
            vocabulary=len(tokens) if isinstance(tokens, list) else 0,
            d_model=_size(file, "embedding_length"),
            n_heads=_size(file, "attention.head_count"),
            n_kv_heads=_size(file, "attention.head_count_kv"),
            n_layers=_size(file, "block_count", MOST_LAYERS),
            d_feed_forward=_size(file, "feed_forward_length"),
            max_len=min(max_len, _size(file, "context_length")),
            rope_base=_number(file, "rope.freq_base"),
            eps=_number(file, "attention.layer_norm_rms_epsilon"),
        )
    except SizeError as error:
        raise WeightsFileError(f"{file.name}: {error}") from error
    if found.vocabulary < 1 or found.d_model % found.n_heads or found.n_heads % found.n_kv_heads:
        raise WeightsFileError(f"{file.name} has sizes that do not fit each other: {found}")
    turned = file.fields.get("llama.rope.dimension_count", found.d_model // found.n_heads)
    if turned != found.d_model // found.n_heads or turned % 2:
        raise Unsupported(f"{file.name} turns {turned} channels of a head; only heads that turn whole are read")
    return found


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
    """The tensors that `from_llama` takes, float32 (out, in), one after the other in the order of `shapes`.

    Raises:
        WeightsFileError: the file lacks one of them, or has it in another shape.
    """
    for name, shape in shapes(config).items():
        made = _made(file, config, name.removesuffix(".weight"))
        if made.shape != shape:
            raise WeightsFileError(f"{file.name}: {name} has shape {tuple(made.shape)}, expected {shape}")
        yield name, made


def _made(file: GGUF, config: DecoderConfig, name: str) -> Tensor:
    if name in OUTSIDE:
        return file.tensor(f"{OUTSIDE[name]}.weight")
    layer, _, part = name.removeprefix("model.layers.").partition(".")
    if part != QKV:
        return file.tensor(f"blk.{layer}.{INSIDE[part]}.weight")
    q, k, v = (file.tensor(f"blk.{layer}.attn_{one}.weight") for one in "qkv")
    try:
        return torch.cat((_halves(q, config.n_heads), _halves(k, config.n_kv_heads), v))
    except RuntimeError as error:
        raise WeightsFileError(f"{file.name}: q, k and v of layer {layer} do not fit each other") from error


def _halves(weight: Tensor, heads: int) -> Tensor:
    """The rows (h · d, c) of q or k, for a rotation that pairs channel m with m + d/2.

    llama.cpp's turns 2 m with 2 m + 1, so its files hold the rows of each head in that order: (d/2, 2) instead of
    (2, d/2).
    """
    rows = weight.shape[0]
    if weight.ndim != 2 or rows % (2 * heads):
        raise WeightsFileError(f"q or k of sizes {tuple(weight.shape)} does not consist of {heads} heads of pairs")
    return weight.view(heads, rows // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape)


def _size(file: GGUF, name: str, largest: int = LARGEST_SIZE) -> int:
    value = file.fields.get(f"llama.{name}")
    if type(value) is not int or not 0 < value <= largest:
        raise WeightsFileError(f"{file.name} has {name}={value!r:.40}; expected a whole number from 1 to {largest:,}")
    return value


def _number(file: GGUF, name: str) -> float:
    value = file.fields.get(f"llama.{name}")
    if not isinstance(value, float) or not 0 < value < float("inf"):
        raise WeightsFileError(f"{file.name} has {name}={value!r:.40}; expected a number above 0")
    return value
