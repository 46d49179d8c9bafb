"""GGUF files that the tests write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from torch import Tensor

from .llama import CONFIG

U32, I32, F32, TEXT, ARRAY = 4, 5, 6, 8, 9  # GGUF's numbers of field types
LETTERS = {U32: "I", I32: "i", F32: "f"}
ALIGNMENT = 32


class Field(NamedTuple):
    """A field of that type; of an array, `kind` is the type of its values."""

    kind: int
    value: Any
    array: bool = False


class Block(NamedTuple):
    """A tensor as it stands in a file: sizes with the slowest axis first, number of its format, bytes."""

    shape: Sequence[int]
    number: int
    data: bytes


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def field(name: str, one: Field) -> bytes:
    def plain(value: Any) -> bytes:
        return text(value) if one.kind == TEXT else struct.pack("<" + LETTERS[one.kind], value)

    if not one.array:
        return text(name) + struct.pack("<I", one.kind) + plain(one.value)
    return text(name) + struct.pack("<IIQ", ARRAY, one.kind, len(one.value)) + b"".join(map(plain, one.value))


def gguf(fields: Mapping[str, Field], tensors: Mapping[str, Block]) -> bytes:
    """A whole file."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    head += b"".join(field(name, one) for name, one in fields.items())
    data = b""
    for name, tensor in tensors.items():
        data += bytes(-len(data) % ALIGNMENT)
        sizes = tuple(reversed(tensor.shape))
        head += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, tensor.number, len(data))
        data += tensor.data
    return head + bytes(-len(head) % ALIGNMENT) + data


def plain(values: Tensor) -> Block:
    """A tensor as float32."""
    return Block(values.shape, 0, struct.pack(f"<{values.numel()}f", *values.flatten().tolist()))


def turned(weight: Tensor, heads: int) -> Tensor:
    """The rows of q or k as llama.cpp's converter writes them (its `permute`)."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).transpose(1, 2).reshape(weight.shape)


def alphabet() -> list[str]:
    """The letters in which a byte-level vocabulary spells the bytes 0 to 255: what can be printed stands for itself."""
    others, printed = count(256), {*range(33, 127), *range(161, 173), *range(174, 256)}
    return [chr(byte if byte in printed else next(others)) for byte in range(256)]


TOKENS = ["<|endoftext|>", "<|im_end|>", *alphabet(), "Ġt", "he", "Ġthe"]
TOKENS += [f"<{number}>" for number in range(len(TOKENS), CONFIG.vocabulary)]  # of no text: there are no merges to them
MERGES = ["Ġ t", "h e", "Ġt he"]


def described() -> dict[str, Field]:
    """The fields of the Llama of `llama.py`."""
    return {
        "general.architecture": Field(TEXT, "llama"),
        "llama.block_count": Field(U32, CONFIG.n_layers),
        "llama.context_length": Field(U32, 8192),
        "llama.embedding_length": Field(U32, CONFIG.d_model),
        "llama.feed_forward_length": Field(U32, CONFIG.d_feed_forward),
        "llama.attention.head_count": Field(U32, CONFIG.n_heads),
        "llama.attention.head_count_kv": Field(U32, CONFIG.n_kv_heads),
        "llama.rope.freq_base": Field(F32, CONFIG.rope_base),
        "llama.attention.layer_norm_rms_epsilon": Field(F32, CONFIG.eps),
        "tokenizer.ggml.model": Field(TEXT, "gpt2"),
        "tokenizer.ggml.pre": Field(TEXT, "smollm"),
        "tokenizer.ggml.tokens": Field(TEXT, TOKENS, array=True),
        "tokenizer.ggml.token_type": Field(I32, [3, 3, *[1] * (len(TOKENS) - 2)], array=True),
        "tokenizer.ggml.merges": Field(TEXT, MERGES, array=True),
    }


def written(model: Any) -> dict[str, Block]:
    """The tensors of transformers' Llama as llama.cpp writes them, in float32."""
    names = {"embed_tokens": "token_embd", "norm": "output_norm"}
    parts = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    heads = {"self_attn.q_proj": CONFIG.n_heads, "self_attn.k_proj": CONFIG.n_kv_heads}
    for layer in range(CONFIG.n_layers):
        names |= {f"layers.{layer}.{part}": f"blk.{layer}.{theirs}" for part, theirs in parts.items()}
    state, found = model.model.state_dict(), {}
    for name, theirs in names.items():
        weight, part = state[f"{name}.weight"], name.split(".", 2)[-1]
        found[f"{theirs}.weight"] = plain(turned(weight, heads[part]) if part in heads else weight)
    return found
