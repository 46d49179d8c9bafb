"""SmolLM2 as its package carries it, against transformers with the same weights, and what is known of it."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest
import torch

from mha_core import Model, load_model
from mha_core.pretrained import byte_level, offline, smollm2
from mha_core.pretrained.byte_level import ReadableTokenizer
from mha_core.pretrained.check import examine
from mha_core.pretrained.families import Family
from mha_core.pretrained.gguf import GGUF
from mha_core.pretrained.hf_model import HfModel
from mha_core.pretrained.hf_module import HfModule
from tests.closeness import quoted, same_function

from .llama import in_transformers
from .tiny_models import Float64Throughout

pytestmark = pytest.mark.numeric

CAPITAL = "The capital of France is"
DURSLEY = "Mr Dursley of number four Privet Drive said hello. Then Mr Dursley of number four Privet"
COPYING = [(18, 6), (17, 3), (17, 4), (17, 5), (18, 7), (20, 6), (23, 2)]  # the heads that carry it
OTHERS = [(18, 0), (17, 0), (17, 1), (17, 2)]  # of the same layers


@pytest.fixture
def model(writer: Model) -> Model:
    return writer


def chance(model: Model, text: str, word: str, **switches: Any) -> float:
    """The probability that the model gives to `word`, spelled as in the vocabulary, after the text."""
    run, number = model.run(text, **switches), model.tokenizer.token_to_id(word)
    assert run.logits is not None
    assert number is not None
    return float(run.logits.double().softmax(dim=-1)[-1, number])


@pytest.mark.thorough("a model of 30 layers twice in float64")
def test_weights_give_the_same_in_transformers_and_through_the_hook() -> None:
    model = load_model("smollm2", device="cpu", dtype=torch.float64)
    offline.transformers()  # with the seam in it
    with Float64Throughout():
        llama = in_transformers(model)
        wrapped = HfModule(llama, Family(type(llama), llama.config, True, False))
        ids = torch.tensor([model.tokenize(CAPITAL)[1]])
        findings = examine(wrapped, ids, None, ids.shape[1])
    tokens = cast(ReadableTokenizer, model.tokenizer)
    theirs = HfModel("smollm2", tokens, wrapped, findings, max_len=512, folder=None, facts={})
    changed: dict[str, Any] = {"heads_off": COPYING, "mask": "window:8", "temperature": 1.5, "values_off": [2]}
    for switches in ({}, changed):
        one = model.run(DURSLEY, **switches)
        with Float64Throughout():
            other = theirs.run(DURSLEY, **switches)
        assert other.extras.paths[7] == "model.layers.7.self_attn"
        assert (one.tokens, one.extras.kv_heads) == (other.tokens, other.extras.kv_heads)
        same_function(one.weights, other.weights)
        same_function(one.hidden[:-1], other.hidden[:-1])
        same_function(one.logits, other.logits)


def test_next_token_probabilities(model: Model) -> None:
    quoted(chance(model, CAPITAL, "ĠParis"), "0.773")
    quoted(chance(model, CAPITAL, "ĠParis", heads_off=COPYING), "0.759")
    quoted(chance(model, CAPITAL, "ĠParis", position="none"), "0.273")
    quoted(chance(model, DURSLEY, "ĠDrive"), "0.844")
    for off, expected in ((1, "0.729"), (4, "0.431"), (len(COPYING), "0.018")):
        quoted(chance(model, DURSLEY, "ĠDrive", heads_off=COPYING[:off]), expected)
    assert chance(model, DURSLEY, "ĠDrive", heads_off=OTHERS) > 0.8, "other heads carry no copying"


PARTS = [
    ["the", " animal", " didn't", " Größe", " naïve", "\n", ". ", " мир", " 東京", "I'LL", " we've"],
    ["def f(x):", "\n    ", "return ", "x**2", " == ", "\"'", "{}", "[i]", " // ", "0x1F", "\t", "# ", "\r\n"],
    [*"0123456789", " ", "  ", ".", ",", "\n", "²", "½", "Ⅷ", "٣", "一"],
    ["🙂", "👩‍👩‍👧", "🏳️‍🌈", "e\u0301", "é", "\u200b", "\u202e", " ", "🇫🇷"],
    [" ", "  ", "   ", "\n", "\n\n", "\t", "\u00a0", "\u3000", "a", "'s", "1"],
    ["<|endoftext|>", "<|im_start|>", "<|", "|>", "<repo_name>", "user", "\n"],
]


def some_text(drawn: random.Random) -> str:
    """Words, code, numbers, pictures, spaces, special tokens, or any characters."""
    kind, length = drawn.randrange(len(PARTS) + 1), drawn.randrange(1, 60)
    if kind < len(PARTS):
        return "".join(drawn.choice(PARTS[kind]) for _ in range(length))
    ranges = [(0x20, 0x250), (0x250, 0xD800), (0xE000, 0x110000)]
    return "".join(chr(drawn.randrange(*drawn.choice(ranges))) for _ in range(length))


@pytest.mark.thorough("transformers builds a tokenizer of 49,152 tokens")
def test_the_tokenizer_on_1000_texts() -> None:
    """Against transformers' reading of the file, with the split of a text that llama.cpp has for "smollm"."""
    from tokenizers import Regex, pre_tokenizers
    from transformers.integrations.gguf.gguf_tokenizer_mapping import convert_gguf_tokenizer, get_gguf_tokenizer

    read: Any = get_gguf_tokenizer
    convert: Any = convert_gguf_tokenizer
    architecture, described, _ = read(str(smollm2.file()))
    theirs = convert(architecture, described)[0]
    ours, drawn = byte_level.from_gguf(GGUF(smollm2.file())), random.Random(14)
    texts = [some_text(drawn) for _ in range(1000)]
    coded = [ours.encode(text) for text in texts]
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
            pre_tokenizers.Split(Regex(gpt2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    for text, one, two in zip(texts, coded, theirs.encode_batch(texts), strict=True):
        assert (one.ids, one.offsets) == (two.ids, two.offsets), text
        assert ours.unknown(text) or ours.decode(one.ids) == text
