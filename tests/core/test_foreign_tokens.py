"""Tokens of a folder: the ids are those of transformers' AutoTokenizer, and what was left aside is told."""

from __future__ import annotations

import base64
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mha_core.errors import HeadlightError
from mha_core.pretrained import hf_tokens, offline

from .tiny_models import check_refusals

TEXTS = ("How are you? <|im_start|>the fox", "Ünïted  naïve [MASK] 12,345", "日本 don't ")
TOKEN = {"content": "<|im_start|>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = "How how are you ? the fox united ##s naive < | im _ start > , 1 ##2 don ' t"
WORDS = (*SPECIAL, *PIECES.split())
IDS = {word: number for number, word in enumerate(WORDS)}


def pieces(lower: bool = True, **parts: Any) -> dict[str, Any]:
    """The tokenizer.json of a BERT."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made: Any = Tokenizer(models.WordPiece(IDS, unk_token="[UNK]"))
    made.add_special_tokens(list(SPECIAL))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=lower), pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return {**json.loads(made.to_str()), **parts}


def pairs() -> dict[str, Any]:
    """The tokenizer.json of a GPT-2."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made: Any = Tokenizer(models.BPE(letters | {"ho": 256, "Ġt": 257}, [("h", "o"), ("Ġ", "t")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return dict(json.loads(made.to_str()))


def write(folder: Path, contents: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, content in contents.items():
        if isinstance(content, str):
            (folder / name).write_text(content, "utf-8")
        else:
            (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return folder


CUT = {"max_length": 4, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
PAD = {"strategy": {"Fixed": 40}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
       "pad_to_multiple_of": None}  # fmt: skip
HARMLESS = {"model_max_length": int(1e30), "tokenizer_file": "/home/a/b", "special_tokens_map_file": "/content/c.json"}
ENDS = {"add_bos_token": True, "add_eos_token": True, "unk_token": "h", "bos_token": "h", "eos_token": "o"}
ADDED = {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": {"258": TOKEN}}
CODE = {"auto_map": {"AutoTokenizer": ["own.Own", None]}, "tokenizer_class": "BertTokenizer"}
LEVEL = {"type": "WordLevel", "vocab": IDS, "unk_token": "[UNK]"}
MANY = {"added_tokens_decoder": {str(258 + at): TOKEN | {"content": f"<{at}>"} for at in range(28_000)}}
CASES: dict[str, tuple[str, dict[str, Any], bool]] = {  # config, files, whether something is told
    "as saved": ("Bert", {"tokenizer": pieces(), "tokenizer_config": HARMLESS}, False),
    "settings lower": ("Bert", {"tokenizer": pieces(lower=False), "tokenizer_config": {"do_lower_case": True}}, True),
    "file lowers": ("Bert", {"tokenizer": pieces(), "tokenizer_config": {"do_lower_case": False}}, True),
    "added in settings": ("Llama", {"tokenizer": pairs(), "tokenizer_config": ADDED}, True),
    "added in a file": ("Llama", {"tokenizer": pairs(), "added_tokens": {"<|im_start|>": 258}}, True),
    "named special": ("Llama", {"tokenizer": pairs(), "special_tokens_map": {"bos_token": TOKEN}}, True),
    "ends": ("GPT2", {"tokenizer": pairs(), "tokenizer_config": ENDS}, False),
    "cut and padded": ("Bert", {"tokenizer": pieces(truncation=CUT, padding=PAD)}, False),
    "28,000 tokens": ("Llama", {"tokenizer": pairs(), "tokenizer_config": MANY}, True),
    "code of a known class": ("Bert", {"tokenizer": pieces(), "tokenizer_config": CODE}, True),
    "another kind of vocabulary": ("Bert", {"tokenizer": pieces(model=LEVEL)}, True),
    "vocab.txt": ("Bert", {"vocab.txt": "\n".join(WORDS)}, False),
    "merges": ("GPT2", {"vocab": pairs()["model"]["vocab"], "merges.txt": "h o\nĠ t"}, False),
    "no vocabulary": ("T5", {"tokenizer_config": {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 125}}, False),
}
THOROUGH = pytest.mark.thorough("adding so many takes seconds")


@pytest.mark.parametrize("name", [pytest.param(n, marks=THOROUGH) if n.startswith("28") else n for n in CASES])
def test_the_ids_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    library: Any = offline.transformers()
    kind, contents, is_told = CASES[name]
    folder, config = write(tmp_path / "m", contents), getattr(library, f"{kind}Config")()
    found = hf_tokens.read(folder, config)
    assert bool(found.notices) == is_told, found.notices
    if "auto_map" in contents.get("tokenizer_config", {}):
        (folder / "tokenizer_config.json").unlink()  # the library would ask
    expected: Any = library.AutoTokenizer.from_pretrained(folder, config=config)
    if name.startswith("another"):  # the library would read its words as pieces
        expected = library.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    for text in TEXTS:
        assert found.encode(text).ids == expected(text, truncation=False, padding=False)["input_ids"], text


BAD: list[tuple[dict[str, Any], str]] = [
    ({"tokenizer": pieces(), "tokenizer_config": CODE | {"tokenizer_class": "Own"}}, "asks for code of its own"),
    ({"tokenizer": pieces(), "tokenizer_config": {"tokenizer_class": "BertModel"}}, "BertModel, which is not a token"),
    ({"tokenizer_config": {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 10**9}}, "extra_ids=1,000,000,000, at"),
    ({"vocab.txt": "a", "added_tokens": {"<a>": 10**12}}, "added_tokens.json has impossible sizes: <a>=1,000,000,000"),
    ({"vocab.txt": "a", "special_tokens_map": {"vocab_file": "/etc/passwd"}}, "names a file outside the folder"),
    ({"merges.txt": "a b"}, "the folder has no tokenizer; copy it beside"),  # the library would make one of 5 tokens
    ({"tokenizer_config": {"tokenizer_class": "GPT2Tokenizer"}, "vocab": {}}, "it lacks merges.txt"),
    ({"tokenizer": pieces(), "tokenizer_config": {"added_tokens_decoder": {"9" * 5000: TOKEN}}}, "cannot read the tok"),
    ({"vocab.txt": "a", "tokenizer_config": {"do_lower_case": 10**30}}, "at most 1,048,576 is read"),
    (
        {"vocab.txt": "a", "tokenizer_config": {"additional_special_tokens": [f"<{n}>" for n in range(10_001)]}},
        "10,001 tokens in one entry, at most 10,000",
    ),
]


def test_tokenizers_that_are_refused(tmp_path: Path) -> None:
    config = offline.transformers().BertConfig()
    cases = [((tmp_path / str(number), contents), expected) for number, (contents, expected) in enumerate(BAD)]
    check_refusals(cases, lambda case: hf_tokens.read(write(*case), config))


def test_vocabularies_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = offline.transformers()
    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    folder = write(tmp_path / "m", {"tokenizer.model": "\n".join(lines), "tokenizer_config": settings})
    if find_spec("tiktoken"):
        config, expected = library.LlamaConfig(), library.AutoTokenizer.from_pretrained(folder)
        assert all(hf_tokens.read(folder, config).encode(t).ids == expected(t)["input_ids"] for t in TEXTS)
        (folder / "tokenizer.model").write_bytes(b"\0")
    monkeypatch.setattr(hf_tokens, "find_spec", lambda name: None)
    with pytest.raises(HeadlightError, match=r"needs sentencepiece and tiktoken, the extra \[tokenizers\].*: pip"):
        hf_tokens.read(folder, library.LlamaConfig())
