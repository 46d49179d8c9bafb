"""Folders of the descriptions beside this file: tiny, random, and otherwise as their authors keep them.

Keys of a description:
    description, author: what the folder is, and who writes such ones
    files: contents by name, JSON or text; sizes are small, paths and names of people replaced
    folder: of the model, if it is one inside
    tokenizer: the file of the vocabulary, "tokenizer.json" mostly ("bare": without the special tokens), or "none"
    added tokens: how many tokens tokenizer_config.json adds
    weights: None, or the class whose tensors the file holds, and how: model_type (if config.json says another), config
        (what the file's model has otherwise), strip, prefix, rename, drop, add, dtype, shards, index, name
    reference: the class that transformers is asked for, if it is another
    text: one more to read
    halves: names of the two encoders, each opened and compared
    logits, answer: whether there must be logits; whether its own answer is compared with that of `generate`
    notice: a pattern of what must be told
    expected: "opens"; "refused" with a message of this pattern; "either" (what transformers does not read itself)
    needs: the package without which it is refused
"""

from __future__ import annotations

import json
import re
import struct
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from mha_core.pretrained import offline
from tests.core import tiny_models

Case = dict[str, Any]
FOLDER = Path(__file__).parent
TEXTS = ("The animal didn't cross the street because it was too tired", "the quick brown fox jumps over the lazy dog")
WORDS = tuple(dict.fromkeys(" ".join(TEXTS).replace("'", " ' ").split()))
SPECIAL = ("pad_token", "unk_token", "bos_token", "eos_token", "cls_token", "sep_token", "mask_token")
LETTERS = "etaoinshrdlucmfwypvbgkjqxz'"
VOCABULARY = 300  # tokens that are trained
# entries that ask for code, kernels or packages, which the reference does without
FOREIGN = ("auto_map", "_attn_implementation", "attn_implementation", "quantization_config")


def names() -> list[str]:
    """Names of the cases."""
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def read(name: str) -> Case:
    """The description of a case; whether it opens follows from the packages that are installed."""
    case: Case = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    if "needs" in case:
        case["expected"] = "opens" if find_spec(case["needs"]) else "refused"
    return case


def contents(case: Case, name: str) -> dict[str, Any]:
    """A JSON file of the model's folder, or nothing."""
    content = case["files"].get(case.get("folder", "") + name) or {}
    return content if isinstance(content, dict) else dict(json.loads(content.lstrip("\ufeff")))


def configured(case: Case, changes: Case | None = None) -> Any:
    """The configuration as transformers reads it, without what asks for code, or with changes (None: without)."""
    offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    def plain(part: Mapping[str, Any]) -> dict[str, Any]:
        return {k: plain(v) if isinstance(v, dict) else v for k, v in part.items() if not k.startswith(FOREIGN)}

    description = {k: v for k, v in (plain(contents(case, "config.json")) | (changes or {})).items() if v is not None}
    model_type = case["weights"].get("model_type") or description["model_type"]
    config = CONFIG_MAPPING[model_type].from_dict(description | {"model_type": model_type})
    config._attn_implementation = "eager"
    return config


def build(folder: Path, case: Case) -> Path | None:
    """Make the folder of a case, and return another with the same model as transformers saves it."""
    for name, content in case["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    if count := case.get("added tokens"):
        added = {128_000 + n: {"content": f"<custom_token_{n}>", "special": True} for n in range(count)}
        tiny_models.edit(folder / "tokenizer_config.json", added_tokens_decoder=added)
    folder /= case.get("folder", "")
    if case["tokenizer"] != "none":
        write_tokenizer(folder, case)
    if not case["weights"]:
        return None
    pristine = Path(tempfile.mkdtemp())
    write_weights(folder, case["weights"], saved_weights(case, pristine))
    return pristine


def saved_weights(case: Case, place: Path) -> dict[str, torch.Tensor]:
    """Tensors of a random model saved by its library in a place, rounded to the dtype of the case."""
    config = configured(case, case["weights"].get("config"))
    model = tiny_models.randomised(getattr(offline.transformers(), case["weights"]["class"])(config).eval())
    if dtype := case["weights"].get("dtype"):
        with torch.no_grad():
            for tensor in (*model.parameters(), *model.buffers()):
                tensor.copy_(tensor.to(getattr(torch, dtype)).to(tensor.dtype))
    model.save_pretrained(place)
    return {name: tensor for file in place.glob("*.safetensors") for name, tensor in load_file(file).items()}


def write_weights(folder: Path, weights: dict[str, Any], state: dict[str, torch.Tensor]) -> None:
    """Write tensors under the names, in the dtype and the files of the case."""
    strip = weights.get("strip", "")
    state = {name.removeprefix(strip): tensor for name, tensor in state.items() if name.startswith(strip)}
    for old, new in weights.get("rename", ()):
        state = {name.replace(old, new): tensor for name, tensor in state.items()}
    state = {k: v for k, v in state.items() if not re.search(weights.get("drop", "$^"), k)}
    state |= {name: torch.ones(shape) for name, shape in weights.get("add", {}).items()}
    if dtype := weights.get("dtype"):
        state = {k: v.to(getattr(torch, dtype)) if v.is_floating_point() else v for k, v in state.items()}
    state = {weights.get("prefix", "") + name: tensor.contiguous().clone() for name, tensor in state.items()}
    name, shards = weights.get("name", "model.safetensors"), weights.get("shards", 1)
    listed, files = sorted(state), dict[str, str]()
    for part in range(shards):
        file = name if shards == 1 else f"model-{part + 1:05}-of-{shards:05}.safetensors"
        save_file({key: state[key] for key in listed[part::shards]}, folder / file, metadata={"format": "pt"})
        files |= dict.fromkeys(listed[part::shards], file)
    if shards > 1 and weights.get("index", True):
        index = {"metadata": {"total_size": 1}, "weight_map": files}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")


@cache
def trained(kind: str) -> Any:
    """A tokenizer of that class, trained on a few words; of words where the class cannot be trained."""
    library = offline.transformers()
    lines = [*WORDS, *(f" {word}" for word in WORDS)]
    try:
        return getattr(library, kind)().train_new_from_iterator(lines, VOCABULARY, show_progress=False)
    except Exception:  # of a class that lacks a package, or needs a vocabulary
        from tokenizers import Tokenizer, models, pre_tokenizers

        words = {word: number for number, word in enumerate((*tiny_models.SPECIAL, *WORDS))}
        backend: Any = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
        backend.pre_tokenizer = pre_tokenizers.Whitespace()
        return library.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


def tokenizer_class(case: Case) -> str:
    """The class that the files name, else that of the type."""
    offline.transformers()
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    classes = (contents(case, file).get("tokenizer_class") for file in ("tokenizer_config.json", "config.json"))
    family = TOKENIZER_MAPPING_NAMES.get(str(contents(case, "config.json").get("model_type")))
    return next((name for name in (*classes, family) if name), "PreTrainedTokenizerFast")


def write_tokenizer(folder: Path, case: Case) -> None:
    """Write the vocabulary in the file that the author has."""
    name, kind = case["tokenizer"].removeprefix("bare "), tokenizer_class(case)
    target = folder / name
    if name.endswith(".model"):
        target.write_bytes(sentencepiece_model())
        return
    if kind.startswith(("Wav2Vec2", "Phobert")):
        pieces = ["<pad>", "<s>", "</s>", "<unk>", "|", *LETTERS, *(f"{letter}@@" for letter in LETTERS)]
        if kind.startswith("Phobert"):
            (folder / "bpe.codes").write_text("t h 9\n", "utf-8")
            target.write_text("".join(f"{piece} 1\n" for piece in pieces[5:]), "utf-8")
        else:
            target.write_text(json.dumps({piece: n for n, piece in enumerate(pieces[:32])}), "utf-8")
        return
    backend = trained(kind).backend_tokenizer
    if name == "tokenizer.json":
        copy = type(backend).from_str(backend.to_str())
        if name == case["tokenizer"]:
            copy.add_special_tokens([token for token in special_tokens(case) if copy.token_to_id(token) is None])
        copy.save(str(target))
    elif name == "vocab.txt":
        vocabulary = backend.get_vocab()
        target.write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), "utf-8")
    else:
        backend.model.save(str(folder))


def special_tokens(case: Case) -> list[str]:
    """The special tokens that the author's files name, each once."""
    tokens: list[Any] = []
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        content = contents(case, name)
        tokens += [content.get(key) for key in SPECIAL] + list(content.get("additional_special_tokens") or ())
        tokens += (content.get("added_tokens_decoder") or {}).values()
    texts = (token.get("content") if isinstance(token, dict) else token for token in tokens)
    return list(dict.fromkeys(text for text in texts if isinstance(text, str)))


def sentencepiece_model() -> bytes:
    """A model file of SentencePiece with a few words, written by hand."""

    def field(number: int, data: bytes) -> bytes:
        assert len(data) < 128
        return bytes([number << 3 | 2, len(data)]) + data

    def piece(text: str, kind: int, score: float) -> bytes:
        return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))

    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3), *((f"▁{word}", 1) for word in WORDS), *((x, 1) for x in LETTERS)]
    return b"".join(piece(text, kind, -float(n)) for n, (text, kind) in enumerate(pieces)) + field(2, b"\x18\x01")
