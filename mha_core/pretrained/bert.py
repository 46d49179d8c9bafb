"""A folder with config.json, tokenizer.json and model.safetensors of a BERT encoder, read into our own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..errors import Unsupported, WeightsFileError
from ..models.encoder import Encoder, EncoderSizes
from .folders import CONFIG, TOKENIZER, WEIGHTS, read_json, refuse_code, weights_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

OUR_NAMES = {  # of a layer's parts -> BERT's
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.1": "intermediate.dense",
    "feed_forward.3": "output.dense",
    "output_norm": "output.LayerNorm",
}


def is_plain(folder: Path) -> bool:
    """Whether a folder says that it is a BERT encoder alone, as MiniLM's: no head, gelu.

    Raises:
        WeightsFileError: its description or its weights cannot be read. Unsupported: it asks for code of its own.
    """
    config = read_json(folder, CONFIG)
    refuse_code(config, CONFIG)
    plain = config.get("model_type") == "bert" and config.get("hidden_act", "gelu") == "gelu"
    return plain and not any(name.startswith("bert.") for name in weights_of(folder).shapes)


def sha256(folder: Path) -> str:
    """The sha256 of the folder's weights.

    Raises:
        WeightsFileError: they are missing.
    """
    try:
        with (folder / WEIGHTS).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise WeightsFileError(f"cannot read {WEIGHTS}: {error.strerror}") from error


def read(folder: Path) -> tuple[Encoder, Tokenizer]:
    """The encoder, in eval mode and without gradients, and its tokenizer, without padding and truncation.

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
        Unsupported: it is another kind of model.
    """
    sizes = _read_sizes(folder / CONFIG)
    tokenizer = _read_tokenizer(folder / TOKENIZER)
    return _read_encoder(folder / WEIGHTS, sizes), tokenizer


def _read_sizes(file: Path) -> EncoderSizes:
    config = read_json(file.parent, file.name)
    if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
        kind = f"model_type={config.get('model_type')!r}"
        raise Unsupported(f"{file.name} describes {kind}; only plain BERT encoders with gelu are read")
    try:
        sizes = EncoderSizes(
            vocabulary=int(config["vocab_size"]),
            d_model=int(config["hidden_size"]),
            n_heads=int(config["num_attention_heads"]),
            n_layers=int(config["num_hidden_layers"]),
            d_feed_forward=int(config["intermediate_size"]),
            max_len=int(config["max_position_embeddings"]),
            eps=float(config.get("layer_norm_eps", 1e-12)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise WeightsFileError(f"{file.name} lacks a size of the model: {error!r}") from error
    counts = (sizes.vocabulary, sizes.d_model, sizes.n_heads, sizes.d_feed_forward, sizes.max_len)
    if not (all(0 < count <= 10**6 for count in counts) and 0 < sizes.n_layers <= 1000):
        raise WeightsFileError(f"{file.name} has impossible sizes: {sizes}")
    if sizes.d_model % sizes.n_heads:
        raise WeightsFileError(f"{file.name}: hidden_size {sizes.d_model} is no multiple of {sizes.n_heads} heads")
    return sizes


def _read_tokenizer(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    read_json(file.parent, file.name)
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception
        raise WeightsFileError(f"cannot read {file.name}: {error}") from error
    # the file asks for a fixed length of 128; a visitor's text is neither cut nor filled up
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_encoder(file: Path, sizes: EncoderSizes) -> Encoder:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        raise WeightsFileError(f"cannot read {file.name}: {error}") from error
    with torch.device("meta"):  # no random numbers for weights that are replaced at once
        encoder = Encoder(sizes)
    try:
        encoder.load_state_dict(_canonical(tensors, sizes), assign=True)
    except (KeyError, IndexError, RuntimeError) as error:
        raise WeightsFileError(f"{file.name} does not hold the tensors of this encoder: {error}") from error
    return encoder.eval().requires_grad_(False)


def _canonical(tensors: dict[str, Tensor], sizes: EncoderSizes) -> dict[str, Tensor]:
    """BERT's names -> ours. q, k and v become one matrix; the others are used as they lie in the mapped file."""
    embeddings = "embeddings."
    state = {
        "words.weight": tensors[f"{embeddings}word_embeddings.weight"],
        "segment": tensors[f"{embeddings}token_type_embeddings.weight"][0],
        "position.table": tensors[f"{embeddings}position_embeddings.weight"],
        "norm.weight": tensors[f"{embeddings}LayerNorm.weight"],
        "norm.bias": tensors[f"{embeddings}LayerNorm.bias"],
    }
    if f"encoder.layer.{sizes.n_layers}.output.dense.weight" in tensors:
        raise KeyError(f"more than {sizes.n_layers} layers in the file")
    for number in range(sizes.n_layers):
        theirs = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [tensors[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"layers.{number}.attention.qkv.{kind}"] = torch.cat(parts)
            for ours, name in OUR_NAMES.items():
                state[f"layers.{number}.{ours}.{kind}"] = tensors[f"{theirs}{name}.{kind}"]
    return state
