"""A stranger's folder made into a `HfModel`: description, class, tokenizer, memory, weights, check."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Any

import torch

from ..device import or_on_the_cpu
from ..errors import WeightsFileError
from . import audio_processor, families, folders, hf_tokens, image_processor, memory, offline
from .audio_processor import AudioProcessor
from .byte_level import Tokens
from .check import Findings, examine
from .families import Family
from .folders import Tensors
from .hf_model import MAX_TOKENS, HfModel
from .hf_module import HfModule
from .image_processor import ImageProcessor

PROBE = "the quick brown fox jumps over the lazy dog"
MAX_PROBED = 12  # tokens
SPARE_PARAMETERS = 16 * 2**20  # what a description may ask for beyond its file: buffers, tables that are computed
MAX_MISSING = 3  # names that a message lists
HASHED = 2 * 2**30  # bytes of weights, above which their sha256 takes too long to be asked for
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length", "max_sequence_length",
           "max_target_positions")  # fmt: skip
READERS: dict[str, Any] = {"text": hf_tokens, "picture": image_processor, "sound": audio_processor}


def open_folder(
    folder: Path, name: str, device: torch.device, dtype: torch.dtype, facts: dict[str, str] | None = None
) -> HfModel:
    """The model of a folder, checked.

    Args:
        name: what it is called.
        facts: more of them, for "about this picture".

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
        Unsupported: it is of a kind that cannot be shown; said before the weights are read where the description
            tells it.
        DeviceError: the memory that it needs is not there.
    """
    family = families.family(folders.describe(folder))
    weights = folders.weights_of(folder)
    reads = READERS[family.reads].read(folder, family.config)
    words = hf_tokens.read(folder, family.config) if family.reads == "sound" and family.answers else None
    needed = weights.parameters * dtype.itemsize
    memory.require_weights(needed, name, dtype, ", or choose a smaller model")
    module = _load(family, weights, dtype)
    module, _ = or_on_the_cpu(module.to, device, allowed=False, smaller="choose a smaller model")
    whole = HfModule(module, family)
    with folders.library(f"{name} cannot be run on a {family.reads}"):  # what it is not made for
        findings = examine(whole, *_probe(whole, reads, words))
    left_out = f"{findings.left_out} of its maps have another size than the others and are not shown."
    about: dict[str, Any] = {
        "max_len": _max_len(whole) if family.reads == "text" or words else reads.get_vocab_size(),
        "folder": folder,
        "facts": _facts(name, family, weights, whole, findings) | (facts or {}),
        "notices": (left_out,) if findings.left_out else (),
        "preprocessor": None if family.reads == "text" else reads,
    }
    return HfModel(name, words or reads, whole, findings, **about)


def _load(family: Family, weights: Tensors, dtype: torch.dtype) -> Any:
    """The model, its weights put where the description wants them without a second copy: mapped from the files where
    their number format is the one that was asked for.

    Raises:
        WeightsFileError: the files do not hold its tensors.
    """
    config = family.config
    for part in (config, families.text_config(config)):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    with folders.library("the weights do not fit config.json"):
        with torch.device("meta"):
            whole = family.kind(config)
        wanted = sum(one.numel() for one in {*whole.parameters(), *whole.buffers()})
        del whole
        if wanted > 1.25 * weights.parameters + SPARE_PARAMETERS:
            raise WeightsFileError(
                f"config.json describes {wanted:,} numbers, the weights are {weights.parameters:,}; "
                "they do not belong together"
            )
        model, told = family.kind.from_pretrained(
            None, config=config, state_dict=folders.read_tensors(weights.files), attn_implementation="eager",
            dtype=dtype, output_loading_info=True,
        )  # fmt: skip
    missing = sorted(name for name in told["missing_keys"] if "pooler" not in name)
    if missing:
        names = ", ".join(missing[:MAX_MISSING])
        raise WeightsFileError(f"the weights lack {len(missing):,} tensors of {family.kind.__name__}, as {names}")
    return model.eval().requires_grad_(False)


def _probe(
    whole: HfModule, reads: Tokens | ImageProcessor | AudioProcessor, words: Tokens | None
) -> tuple[torch.Tensor, torch.Tensor | None, int]:
    """A few ids to check it with, or a picture or sound; for a decoder beside an encoder others, of another length; how
    many tokens the first are.
    """
    tokens = reads if isinstance(reads, Tokens) else words
    ids = [] if tokens is None else [one for one in tokens.encode(PROBE).ids if one < whole.vocabulary][:MAX_PROBED]
    if len(ids) < 4:
        ids = [(7 * place + 5) % max(1, whole.vocabulary) for place in range(8)]
    if isinstance(reads, Tokens):
        read, length = torch.tensor([ids]), len(ids)
    else:
        read, length = reads.noise()
        maps = whole.family.config.num_hidden_layers * whole.family.config.num_attention_heads * length**2
        needed = maps * (2 * whole.dtype.itemsize + 18)  # of two passes; in float64 each, all as one; which are below 0
        what = f"a {whole.family.reads} of {length:,} tokens"
        memory.require(needed, what, "close other programs or choose a smaller model")
    if not whole.family.answers:
        return read, None, length
    written = [whole.start, *ids[: len(ids) - 3]]
    return read, torch.tensor([written[: len(written) - (len(written) == length)]]), length


def _max_len(whole: HfModule) -> int:
    """The most tokens of a text: ours, or what the model's table of positions has rows for."""
    lengths = [MAX_TOKENS]
    for part in (whole.family.config, families.text_config(whole.family.config)):
        lengths += [one for name in LENGTHS if isinstance(one := getattr(part, name, None), int) and one > 0]
    for name, module in whole.module.named_modules():
        rows, padding = getattr(module, "num_embeddings", 0), getattr(module, "padding_idx", None)
        if "position" in name and rows and padding is not None:  # as RoBERTa counts: from behind the padding's number
            lengths.append(rows - padding - 1)
    return max(1, min(lengths))


def _facts(name: str, family: Family, weights: Tensors, whole: HfModule, findings: Findings) -> dict[str, str]:
    parameters = {id(one): one.numel() for one in whole.module.parameters()}
    layers = ", ".join(
        f"{group}: {len(known.paths)} layers of {known.heads} heads"
        + (f", {known.kv_heads} for keys and values" if known.kv_heads != known.heads else "")
        for group, known in findings.groups.items()
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
        "positions": " and ".join(kinds[place] for place in sorted(findings.acts)) or "in no place that is known",
        "maps": "recorded as they are computed" if findings.by_seam else "as the model hands them out",
        "checked": _checked(findings),
        "sha256": _sha256(weights),
        "transformers": str(offline.transformers().__version__),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def _checked(findings: Findings) -> str:
    rows = (
        "some rows sum to less than 1: the rest goes to no token"
        if any(known.sinks for known in findings.groups.values())
        else "every row sums to 1"
    )
    moved = "" if findings.moved is None else f"; with all heads off the output moves by {100 * findings.moved:.2g} %"
    return f"{rows}{moved}"


def _sha256(weights: Tensors) -> str:
    if weights.bytes > HASHED:
        return f"not computed, {weights.bytes / 1e9:.1f} GB"
    first, *others = digests = [folders.sha256(file) for file in weights.files]
    return hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest() if others else first
