"""The byte-level tokenizer: nothing is lost, labels can be read, and a text that is none is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.pretrained.byte_level import ByteLevel, label

from .llama_files import MERGES, TOKENS, alphabet

SPECIAL = TOKENS[:2]


@pytest.fixture(scope="module")
def tokenizer() -> ByteLevel:
    return ByteLevel(TOKENS, MERGES, SPECIAL)


LETTERS = alphabet()


def test_the_letters_are_those_of_transformers() -> None:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    table: Any = bytes_to_unicode
    assert dict(enumerate(LETTERS)) == table()


def spelled(data: bytes) -> str:
    """Bytes in the vocabulary's letters."""
    return "".join(LETTERS[byte] for byte in data)


@given(st.text(min_size=1).filter(lambda text: not any(name in text for name in SPECIAL)))
def test_nothing_is_lost(tokenizer: ByteLevel, text: str) -> None:
    coded = tokenizer.encode(text)
    assert tokenizer.decode(coded.ids) == text
    assert len(coded.tokens) == len(coded.ids) == len(coded.offsets)
    for number, token in zip(coded.ids, coded.tokens, strict=True):
        alone = str(tokenizer.id_to_token(number))
        assert token in {alone, alone.removeprefix("␣"), f"##{alone}"}
    assert coded.offsets[0][0] == 0
    assert coded.offsets[-1][1] == len(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the the", ["t", "##he", "the"]),
        (" th e", ["t", "##h", "␣", "e"]),
        ("a  12", ["a", "␣", "␣", "1", "##2"]),
    ],
)
def test_merges_in_their_order_and_digits_alone(tokenizer: ByteLevel, text: str, tokens: list[str]) -> None:
    assert tokenizer.encode(text).tokens == tokens


def test_special_tokens_are_kept_whole(tokenizer: ByteLevel) -> None:
    coded = tokenizer.encode("he<|endoftext|>he")
    assert coded.tokens == ["he", "<|endoftext|>", "he"]
    assert tokenizer.decode(coded.ids) == "he<|endoftext|>he"
    assert coded.ids[1] == 0 == tokenizer.token_to_id("<|endoftext|>")


LABELS = {
    b"Paris": "Paris",
    b" Paris": "␣Paris",
    b"\n\n\t ": "↵↵⇥␣",
    "größer 東京 🙂".encode(): "größer␣東京␣🙂",
    "🙂".encode()[:2]: "<0xF0><0x9F>",
    "🙂".encode()[2:]: "<0x99><0x82>",
    b" " + "é".encode()[:1]: "␣<0xC3>",
    b"\xff\xfe": "<0xFF><0xFE>",
    b"\r\x00": "<U+000D><U+0000>",
    "\u200b\u202e\u00a0".encode(): "<U+200B><U+202E><U+00A0>",
    "\ud800".encode("utf-8", "surrogatepass"): "<0xED><0xA0><0x80>",
    b"": "",
}


@pytest.mark.parametrize("data", LABELS, ids=ascii)
def test_a_label(data: bytes) -> None:
    assert label(spelled(data)) == LABELS[data]


def test_a_label_never_hides_or_breaks_anything() -> None:
    drawn = random.Random(2)
    for _ in range(2000):
        data = drawn.randbytes(drawn.randrange(1, 6))
        shown = label(spelled(data))
        assert shown.isprintable()
        assert " " not in shown


def test_a_token_in_other_letters_is_its_own_label() -> None:
    assert "東" not in LETTERS
    assert label("東") == "東"


def test_an_empty_text(tokenizer: ByteLevel) -> None:
    with pytest.raises(HeadlightError, match="empty, and this model adds no token of its own"):
        tokenizer.encode("")


def test_bytes_that_the_vocabulary_lacks() -> None:
    lacking = ByteLevel([token for token in TOKENS if token != LETTERS[4]], MERGES, SPECIAL)
    assert lacking.unknown("a\x04b\x04") == ["\x04"]
    assert lacking.unknown("ab") == []
    assert lacking.encode("a\x04b").tokens == ["a", "##b"]
    with pytest.raises(HeadlightError, match="only characters that the vocabulary lacks"):
        lacking.encode("\x04")


@pytest.mark.parametrize("text", [None, 7, b"bytes", "half \ud83d"])
def test_what_is_no_text(tokenizer: ByteLevel, text: object) -> None:
    with pytest.raises(TypeError):
        tokenizer.encode(text)  # type: ignore[arg-type]


def test_numbers_and_names(tokenizer: ByteLevel) -> None:
    assert tokenizer.get_vocab_size() == len(TOKENS)
    assert [tokenizer.token_to_id(token) for token in TOKENS] == list(range(len(TOKENS)))
    assert tokenizer.token_to_id("[PAD]") is None
    assert tokenizer.id_to_token(len(TOKENS)) is None
    assert tokenizer.id_to_token(TOKENS.index("Ġthe")) == "␣the"


def test_vocabularies_that_do_not_fit() -> None:
    with pytest.raises(WeightsFileError, match="a token twice"):
        ByteLevel([*TOKENS, "he"], MERGES, SPECIAL)
    for merges in (["x yz"], ["nospace"], [""]):
        with pytest.raises(WeightsFileError, match="merges do not fit"):
            ByteLevel(TOKENS, merges, SPECIAL)
