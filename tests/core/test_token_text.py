"""Tokens in sentences: text of any kind, whatever it is, can be seen and turns no sentence around."""

import unicodedata

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core import Model, load_model
from mha_core.models.words import words_from_offsets
from mha_core.token_text import make_visible, quote

ENGLAND = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
CASES: dict[object, str] = {
    "\ufe0f": "<U+FE0F>", "❤\ufe0f": "❤\ufe0f", "1\ufe0f\u20e3": "1\ufe0f\u20e3", "\u20e3": "◌\u20e3",
    "\u093e": "◌\u093e", "हि": "हि", "\u3164": "<U+3164>", "\u200b": "<U+200B>", "\0": "<U+0000>",
    "a\u202eb\u2069": "a<U+202E>b<U+2069>", "\ud800": "<U+D800>", "👨\u200d👩\u200d👧": "👨\u200d👩\u200d👧",
    ENGLAND: ENGLAND, ENGLAND[1:2]: "<U+E0067>", "a" + ENGLAND[1]: "a<U+E0067>", "\n\n": "↵↵", " ": "␣", " a b": " a b",
    "\u00a0": "<U+00A0>", "می\u200cخواهم": "می\u200cخواهم", 5: "5", torch.tensor(3): "tensor(3)",
}  # fmt: skip


@pytest.mark.parametrize("token", CASES, ids=ascii)
def test_a_token_is_text_that_can_be_seen(token: object) -> None:
    assert make_visible(token) == CASES[token]


@given(st.text(st.characters(), min_size=1))
def test_any_token_has_ink_and_moves_no_text_around_it(token: str) -> None:
    text = make_visible(token)
    assert make_visible(text) == text
    assert any(unicodedata.category(char)[0] in "LNPSC" and not char.isspace() for char in text)
    assert not [char for char in text if unicodedata.bidirectional(char) in {"LRE", "RLE", "LRO", "RLO", "PDF", "PDI"}]
    quoted = quote(token)
    assert quoted.count("\u2068") == quoted.count("\u2069")
    assert ("\u2068" in quoted) or not {unicodedata.bidirectional(char) for char in text} & {"R", "AL"}
    quoted.encode()


def test_the_tokens_of_a_byte_level_tokenizer_can_be_seen() -> None:
    model: Model = load_model("smollm2")
    assert model.tokenize("I love you ❤️")[0][-1] == "<U+FE0F>"


def test_a_flag_is_one_word() -> None:
    text = f"🇩🇪🇫🇷 {ENGLAND}!"
    words = words_from_offsets(text, [(place, place + 1) for place in range(len(text))])
    assert [word.text for word in words] == ["🇩🇪", "🇫🇷", f" {ENGLAND}", "!"]
