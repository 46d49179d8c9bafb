"""Opening of an untrusted model folder as a `HfModel`: config, class, tokenizer, memory, weights, checks."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Any

import torch

from ..device import run_with_cpu_fallback
from ..errors import WeightsFileError
from . import audio_processor, families, folders, hf_tokens, image_processor, memory, offline
from .audio_processor import AudioProcessor
from .byte_level import ReadableTokenizer
from .check import Findings, examine
from .families import Family
from .folders import Tensors
from .hf_model import MAX_TOKENS, HfModel
from .hf_module import HfModule
from .image_processor import ImageProcessor

PROBE = "the quick brown fox jumps over the lazy dog"
MAX_PROBED = 12  # tokens
SPARE_PARAMETERS = 16 * 2**20  # tolerated excess over the weight files: buffers and computed tables
MAX_MISSING = 3  # tensor names listed in a message
MAX_HASHED_BYTES = 2 * 2**30  # bytes of weights; the sha256 of larger files takes too long
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length", "max_sequence_length",
           "max_target_positions")  # fmt: skip
READERS: dict[str, Any] = {"text": hf_tokens, "picture": image_processor, "sound": audio_processor}


def open_folder(
    folder: Path, name: str, device: torch.device, dtype: torch.dtype, facts: dict[str, str] | None = None
) -> HfModel:
    """Return the model of a folder, checked.

    Args:
        folder: with the model's files.
        name: of the model.
        device: of the weights.
        dtype: of the weights.
        facts: further facts for "about this picture".

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
        Unsupported: the kind of model is not supported; raised before the weights are read if the config tells.
        DeviceError: it does not fit into the free memory.
    """
    family = families.family(folders.describe(folder))
    weights = folders.read_weight_headers(folder)
    reader = READERS[family.input_kind].read(folder, family.config)
    writes_text = family.input_kind == "sound" and family.is_encoder_decoder
    tokenizer = hf_tokens.read(folder, family.config) if writes_text else None
    needed = weights.parameters * dtype.itemsize
    memory.require_weights(needed, name, dtype, ", or choose a smaller model")
    module = _load(family, weights, dtype)
    module, _ = run_with_cpu_fallback(module.to, device, allowed=False, smaller="choose a smaller model")
    model = HfModule(module, family)
    with folders.library_errors(f"{name} cannot be run on a {family.input_kind}"):
        findings = examine(model, *_probe(model, reader, tokenizer))
    notice = f"{findings.n_skipped} of its maps have another size than the others and are not shown."
    options: dict[str, Any] = {
        "max_len": _max_len(model) if family.input_kind == "text" or tokenizer else reader.get_vocab_size(),
        "folder": folder,
        "facts": _facts(name, family, weights, model, findings) | (facts or {}),
        "notices": (notice,) if findings.n_skipped else (),
        "preprocessor": None if family.input_kind == "text" else reader,
    }
    return HfModel(name, tokenizer or reader, model, findings, **options)


def _load(family: Family, weights: Tensors, dtype: torch.dtype) -> Any:
    """Load the model without a second copy of its weights; mapped from the files if they have the dtype.

    Raises:
        WeightsFileError: the files do not hold its tensors.
    """
    config = family.config
    for part in (config, families.text_config(config)):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    with folders.library_errors("the weights do not fit config.json"):
        with torch.device("meta"):
            empty = family.kind(config)
        n_described = sum(tensor.numel() for tensor in {*empty.parameters(), *empty.buffers()})
        del empty
        if n_described > 1.25 * weights.parameters + SPARE_PARAMETERS:
            raise WeightsFileError(
                f"config.json describes {n_described:,} numbers, the weights are {weights.parameters:,}; "
                "they do not belong together"
            )
        model, info = family.kind.from_pretrained(
            None, config=config, state_dict=folders.read_tensors(weights.files), attn_implementation="eager",
            dtype=dtype, output_loading_info=True,
        )  # fmt: skip
    missing = sorted(name for name in info["missing_keys"] if "pooler" not in name)
    if missing:
        names = ", ".join(missing[:MAX_MISSING])
        raise WeightsFileError(f"the weights lack {len(missing):,} tensors of {family.kind.__name__}, as {names}")
    return model.eval().requires_grad_(False)


def _probe(
    model: HfModule, reader: ReadableTokenizer | ImageProcessor | AudioProcessor, tokenizer: ReadableTokenizer | None
) -> tuple[torch.Tensor, torch.Tensor | None, int]:
    """Return sample input for the checks, a target of another length for a decoder, and the input's token count."""
    tokens = reader if isinstance(reader, ReadableTokenizer) else tokenizer
    probe = [] if tokens is None else tokens.encode(PROBE).ids
    ids = [number for number in probe if number < model.vocabulary][:MAX_PROBED]
    if len(ids) < 4:
        ids = [(7 * place + 5) % max(1, model.vocabulary) for place in range(8)]
    if isinstance(reader, ReadableTokenizer):
        read, length = torch.tensor([ids]), len(ids)
    else:
        read, length = reader.noise()
        maps = model.family.config.num_hidden_layers * model.family.config.num_attention_heads * length**2
        needed = maps * (2 * model.dtype.itemsize + 18)  # two passes; float64 copies, stacked copy, bool mask
        subject = f"a {model.family.input_kind} of {length:,} tokens"
        memory.require(needed, subject, "close other programs or choose a smaller model")
    if not model.family.is_encoder_decoder:
        return read, None, length
    target = [model.start, *ids[: len(ids) - 3]]
    return read, torch.tensor([target[: len(target) - (len(target) == length)]]), length


def _max_len(model: HfModule) -> int:
    """Return the maximum number of tokens: ours, or the size of the model's position table."""
    lengths = [MAX_TOKENS]
    for part in (model.family.config, families.text_config(model.family.config)):
        lengths += [length for name in LENGTHS if isinstance(length := getattr(part, name, None), int) and length > 0]
    for name, module in model.module.named_modules():
        rows, padding = getattr(module, "num_embeddings", 0), getattr(module, "padding_idx", None)
        if "position" in name and rows and padding is not None:  # RoBERTa starts its positions after the padding id
            lengths.append(rows - padding - 1)
    return max(1, min(lengths))


def _facts(name: str, family: Family, weights: Tensors, model: HfModule, findings: Findings) -> dict[str, str]:
    parameters = {id(weight): weight.numel() for weight in model.module.parameters()}
    layers = ", ".join(
        f"{name}: {len(group.paths)} layers of {group.heads} heads"
        + (f", {group.kv_heads} for keys and values" if group.kv_heads != group.heads else "")
        for name, group in findings.groups.items()
    )
    kinds = {
        "add": "added to the embeddings",
        "rotate": "rotated into queries and keys",
        "bias": "a bias on the scores",
    }
    return {
        "model": name,
        "architecture": family.kind.__name__,
        "attention": layers,
        "parameters": f"{sum(parameters.values()):,}",
        "positions": " and ".join(kinds[place] for place in sorted(findings.mechanisms)) or "in no place that is known",
        "maps": "recorded as they are computed" if findings.by_hook else "as the model hands them out",
        "checked": _check_summary(findings),
        "sha256": _sha256(weights),
        "transformers": str(offline.transformers().__version__),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def _check_summary(findings: Findings) -> str:
    rows = (
        "some rows sum to less than 1: the rest goes to no token"
        if any(group.sinks for group in findings.groups.values())
        else "every row sums to 1"
    )
    shift = findings.output_shift
    return rows if shift is None else f"{rows}; with all heads off the output moves by {100 * shift:.2g} %"


def _sha256(weights: Tensors) -> str:
    if weights.bytes > MAX_HASHED_BYTES:
        return f"not computed, {weights.bytes / 1e9:.1f} GB"
    first, *others = digests = [folders.sha256(file) for file in weights.files]
    return hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest() if others else first
