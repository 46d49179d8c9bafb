"""The byte-level tokenizer: nothing is lost, labels can be read, and a text that is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError
from mha_core.pretrained.byte_level import ByteLevel, label

from .llama_files import MERGES, TOKENS, alphabet

SPECIAL = TOKENS[:2]


@pytest.fixture(scope="module")
def tokenizer() -> ByteLevel:
    return ByteLevel(TOKENS, MERGES, SPECIAL)


LETTERS = alphabet()


def spelled(data: bytes) -> str:
    """Bytes in the vocabulary's letters."""
    return "".join(LETTERS[byte] for byte in data)


@given(st.text(min_size=1).filter(lambda text: not any(name in text for name in SPECIAL)))
def test_round_trip_preserves_every_text(tokenizer: ByteLevel, text: str) -> None:
    coded = tokenizer.encode(text)
    assert tokenizer.decode(coded.ids) == text
    assert len(coded.tokens) == len(coded.ids) == len(coded.offsets)
    for number, token in zip(coded.ids, coded.tokens, strict=True):
        alone = str(tokenizer.id_to_token(number))
        assert token in {alone, alone.removeprefix("␣"), f"##{alone}"}
    assert coded.offsets[0][0] == 0
    assert coded.offsets[-1][1] == len(text)


def test_merges_in_their_order_digits_alone_and_special_tokens_whole(tokenizer: ByteLevel) -> None:
    for text, tokens in {
        "the the": ["t", "##he", "the"],
        " th e": ["t", "##h", "␣", "e"],
        "a  12": ["a", "␣", "␣", "1", "##2"],
        "he<|endoftext|>he": ["he", "<|endoftext|>", "he"],
    }.items():
        coded = tokenizer.encode(text)
        assert coded.tokens == tokens, text
        assert tokenizer.decode(coded.ids) == text
    assert coded.ids[1] == 0 == tokenizer.token_to_id("<|endoftext|>")


LABELS = {
    b" Paris": "␣Paris",
    b"\n\n\t ": "↵↵⇥␣",
    "größer 東京 🙂".encode(): "größer␣東京␣🙂",
    "🙂".encode()[:2]: "<0xF0><0x9F>",
    b"\r\x00": "<U+000D><U+0000>",
    "\u200b\u202e\u00a0".encode(): "<U+200B><U+202E><U+00A0>",
    "\ud800".encode("utf-8", "surrogatepass"): "<0xED><0xA0><0x80>",
    b"": "",
}


def test_labels() -> None:
    for data, expected in LABELS.items():
        assert label(spelled(data)) == expected, data
    assert "東" not in LETTERS
    assert label("東") == "東", "a token in other letters is its own label"


def test_invalid_text_raises(tokenizer: ByteLevel) -> None:
    with pytest.raises(HeadlightError, match="empty, and this model adds no special token"):
        tokenizer.encode("")
    for text in (7, "half \ud83d"):
        with pytest.raises(TypeError):
            tokenizer.encode(text)  # type: ignore[arg-type]


def test_bytes_that_the_vocabulary_lacks() -> None:
    lacking = ByteLevel([token for token in TOKENS if token != LETTERS[4]], MERGES, SPECIAL)
    assert lacking.unknown("a\x04b\x04") == ["\x04"]
    assert lacking.unknown("ab") == []
    assert lacking.encode("a\x04b").tokens == ["a", "##b"]
    with pytest.raises(HeadlightError, match="only characters that the vocabulary lacks"):
        lacking.encode("\x04")
