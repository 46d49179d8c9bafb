"""Opening of an untrusted model folder as a `HfModel`: config, class, tokenizer, memory, weights, checks."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..device import run_with_cpu_fallback
from ..errors import WeightsFileError
from . import adapters, answer, audio_processor, families, folders, hf_tokens, image_processor, memory, offline
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
SPARE_PARAMETERS = 16 * 2**20  # tolerated excess over the weight files: computed tables
MAX_BUFFER_BYTES = 2**29  # of tables that no file holds, such as masks; more if the weights are larger
MAX_CALLS = 20  # of torch for each tensor while a model is made; three to six are usual
MIN_LARGE_BYTES = 2**29  # of files in bfloat16, which keep their format
MAX_NAMES = 3  # tensor names listed in a message
# computed tables and constants that older versions saved
COMPUTED = re.compile(
    r"(position_ids|token_type_ids|inv_freq|masked_bias|(attn|attention)\.bias|embed_positions\.(weights|_float_tensor)"
    r"|num_batches_tracked|rotary_emb\.\w+|final_logits_bias|causal_mask|attn_mask)$"
)
LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?|resblocks)\.(\d+)\.")
MAX_HASHED_BYTES = 2 * 2**30  # bytes of weights; the sha256 of larger files takes too long
READERS: dict[str, Any] = {"text": hf_tokens, "picture": image_processor, "sound": audio_processor}


def open_folder(
    folder: Path,
    name: str,
    device: torch.device,
    dtype: torch.dtype | None,
    facts: dict[str, str] | None = None,
    adapter: Path | None = None,
    part: str = "",
) -> HfModel:
    """Return the model of a folder, checked.

    Args:
        folder: with the model's files.
        name: of the model.
        device: of the weights.
        dtype: of the weights, see `load_model`.
        facts: further facts for "about this picture".
        adapter: folder of an adapter that is added to the weights.
        part: half of a dual encoder, see `folders.PARTS`; "" = its text half.

    Raises:
        WeightsFileError: a file is missing or damaged, or they do not fit each other.
        Unsupported: the kind of model is not supported; raised before the weights are read if the config tells.
        DeviceError: it does not fit into the free memory.
    """
    description = folders.describe(folder)
    family = families.family(description, part)
    weights = folders.read_weight_headers(folder)
    is_large = weights.formats == {"BF16"} and weights.bytes > MIN_LARGE_BYTES
    dtype = dtype or (torch.bfloat16 if is_large else torch.float32)
    texts = adapter if adapter and family.input_kind == "text" and (adapter / folders.TOKENIZER).exists() else folder
    reader = READERS[family.input_kind].read(texts, family.config)
    writes_text = family.input_kind == "sound" and family.is_encoder_decoder
    tokenizer = hf_tokens.read(folder, family.config) if writes_text else None
    needed = weights.parameters * dtype.itemsize
    memory.require_weights(needed, name, dtype, ", or choose a smaller model")
    module, family, lines, changes = _load(family, weights, dtype)
    if adapter:
        adapters.merge(module, adapter)
        facts = {"adapter": folders.sha256(adapter / adapters.WEIGHTS)} | (facts or {})
    module, _ = run_with_cpu_fallback(module.to, device, allowed=False, smaller="choose a smaller model")
    own_answer = answer.read(folder) if family.is_generative else None
    if own_answer:
        module.generation_config = own_answer.config  # `generate` would fill gaps from config.json's entries
    model = HfModule(module, family, own_answer)
    with folders.library_errors(f"{name} cannot be run on a {family.input_kind}"):
        probe = _probe(model, reader, tokenizer)
        findings = examine(model, *probe)
    if dtype.itemsize < 4:
        changes.append(f"This model runs in {str(dtype).removeprefix('torch.')}, with two to three digits.")
    if family.part:
        others = " and ".join(f"#{other} behind its name opens the {other} half" for other in family.other_parts)
        changes.append(f"This is the {family.part} half of a dual encoder{others and f'; {others}'}.")
    sources = (description, weights, reader, tokenizer, findings)
    lines += [line for source in sources for line in getattr(source, "notices", ())]
    skipped = f"{findings.n_skipped} of its maps have another size than the others and are not shown."
    options: dict[str, Any] = {
        "max_len": _max_len(model) if family.input_kind == "text" or tokenizer else reader.get_vocab_size(),
        "folder": folder,
        "facts": _facts(name, family, weights, model, findings)
        | ({"left aside": "\n".join(dict.fromkeys(lines))} if lines else {})
        | (facts or {}),
        "notices": (*changes, *((skipped,) if findings.n_skipped else ())),
        "preprocessor": None if family.input_kind == "text" else reader,
    }
    opened = HfModel(name, tokenizer or reader, model, findings, **options)
    opened.try_runs(*probe)
    return opened


def _load(family: Family, weights: Tensors, dtype: torch.dtype) -> tuple[Any, Family, list[str], list[str]]:
    """Load the model without a second copy of its weights; mapped from the files if they have the dtype.

    Returns:
        The model; its family, without a head that the files lack; and sentences about tensors that are not used: those
        that leave the maps as they are, and those that may not.

    Raises:
        WeightsFileError: the files do not hold its tensors.
    """
    for part in (family.config, families.text_config(family.config)):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    missing: list[str] = []
    for candidate in filter(None, (family, family.without_head())):
        kind = candidate.kind
        with folders.library_errors("the weights do not fit config.json"):
            names = {f"{kind.base_model_prefix}.", *_tensor_names(candidate, weights)}
            tensors = folders.read_tensors(weights.files)
            if family.part:
                half = f"{family.part}_model."
                start = 0 if half in names else len(half)
                tensors = {name[start:]: tensor for name, tensor in tensors.items() if name.startswith(half)}
            tensors, prefix = _without_prefix(tensors, names)
            model, info = kind.from_pretrained(
                None, config=candidate.config, state_dict=tensors, attn_implementation="eager", dtype=dtype,
                output_loading_info=True, ignore_mismatched_sizes=True,
            )  # fmt: skip
        for name, shape, expected in sorted(info["mismatched_keys"]):
            raise WeightsFileError(
                f"the weights do not fit config.json: {name} is {tuple(shape)}, by config.json {tuple(expected)}"
            )
        absent = sorted(name for name in info["missing_keys"] if "pooler" not in name)
        if absent:
            missing = missing or absent
            continue
        lines = [f"The prefix {prefix!r} of all names of the weights is left aside."] if prefix else []
        if missing:
            lines.append(f"The weights lack the head of {family.kind.__name__} ({_some(missing)}): it is not shown.")
        heads, changes = _unused(model, info["unexpected_keys"])
        return model.eval().requires_grad_(False), candidate, lines + heads, changes
    raise WeightsFileError(
        f"by config.json the weights lack {len(missing):,} tensors of {family.kind.__name__}, as {_some(missing)}"
    )


def _tensor_names(family: Family, weights: Tensors) -> set[str]:
    """Return the names of the class's tensors; refuse sizes that the files do not have, before anything is made."""
    with torch.device("meta"), _Limit(MAX_CALLS * (len(weights.shapes) + 1000)):
        empty = family.kind(family.config)
    n_described = sum(parameter.numel() for parameter in set(empty.parameters()))
    if n_described > 1.25 * weights.parameters + SPARE_PARAMETERS:
        raise WeightsFileError(
            f"config.json describes {n_described:,} numbers, the weights are {weights.parameters:,}; "
            "they do not belong together"
        )
    n_bytes = sum(buffer.nbytes for buffer in set(empty.buffers()))
    if n_bytes > max(MAX_BUFFER_BYTES, weights.bytes):
        raise WeightsFileError(f"config.json has impossible sizes: computed tables of {n_bytes:,} bytes")
    return set(empty.state_dict())


class _Limit(TorchFunctionMode):
    """Limit on the calls of torch that making an empty model takes, in this thread: each tensor takes a few."""

    def __init__(self, maximum: int) -> None:
        super().__init__()
        self.left = maximum

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count a call, and make it."""
        self.left -= 1
        if self.left < 0:
            raise WeightsFileError("config.json has impossible sizes: it describes many more tensors than the weights")
        return function(*args, **(kwargs or {}))


def _without_prefix(tensors: dict[str, Any], names: set[str]) -> tuple[dict[str, Any], str]:
    """Return the tensors without the prefixes of wrappers, and these prefixes."""
    removed, prefixes = "", folders.NAMES["weights"]["prefixes"]
    while prefix := next((p for p in prefixes if tensors and all(name.startswith(p) for name in tensors)), ""):
        if any(name.startswith(prefix) for name in names):
            break
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
        removed += prefix
    return tensors, removed


def _unused(model: Any, unexpected: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return sentences about tensors that the class does not use: heads, and those inside its layers."""
    names = sorted(name for name in unexpected if not COMPUTED.search(name))
    numbers = {match[1] for name, _ in model.named_parameters() if (match := LAYER.search(name))}
    layers = {name: match[1] for name in names if (match := LAYER.search(name))}
    beyond = set(layers.values()) - numbers
    inside = [name for name in names if layers.get(name) in numbers or (name not in layers and "att" in name.lower())]
    heads = [name for name in names if name not in layers and name not in inside]
    sentences = {
        f"The weights have more layers than config.json says: {len(beyond)} are not computed.": beyond,
        f"{type(model).__name__} does not use {len(inside):,} tensors of the weights ({_some(inside)}).": inside,
    }
    line = f"{len(heads):,} tensors of the weights are of a head that {type(model).__name__} lacks ({_some(heads)})."
    return [line] if heads else [], [sentence for sentence, tensors in sentences.items() if tensors]


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + ", …" * (len(names) > MAX_NAMES)


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
    lengths, names = [MAX_TOKENS], folders.NAMES["config"]["lengths"]
    for part in (model.family.config, families.text_config(model.family.config)):
        lengths += [length for name in names if isinstance(length := getattr(part, name, None), int) and length > 0]
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
