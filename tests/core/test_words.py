"""Words of a text out of a tokenizer's pieces, in twelve scripts and three spellings, and maps merged by them."""

from typing import Any

import pytest
import torch

from mha_core import Model, load_model
from mha_core.errors import SizeError
from mha_core.measure.reading import merge_words, renormalise
from mha_core.models.words import Word, join_to_common, split_words, words_from_offsets
from mha_core.pretrained.byte_level import ReadableTokenizer
from tests.closeness import same_function

SCRIPTS = {  # with spaces at all ends, signs, marks, and characters of four bytes
    "Latin": "  The animal didn’t cross: unbelievably naïve, étude… e\u0301tude ",
    "Greek": "Το ζώο δεν διέσχισε τον δρόμο;",
    "Cyrillic": "Животное не перешло улицу, потому что устало.",
    "Arabic": "لم يعبر الحيوان الشارع لأنه كان مُتْعَبًا",
    "Hebrew": "החיה לא חצתה את הרחוב כִּי הייתה עייפה",
    "Devanagari": "जानवर ने सड़क पार नहीं की क्योंकि वह थका हुआ था।",
    "Thai": "สัตว์ไม่ได้ข้ามถนนเพราะมันเหนื่อยเกินไป",
    "Chinese": "动物没有过马路，因为它太累了。𠀀",
    "Japanese": "動物は疲れすぎていたので、ガードを渡らなかった。",
    "Korean": "동물은 너무 피곤해서 길을 건너지 않았다.",
    "Georgian": "ცხოველმა ქუჩა არ გადაკვეთა, რადგან დაიღალა",
    "emoji": "hi 👨\u200d👩\u200d👧 and 👍🏽, ❤️\n\n🏳️‍🌈 2024",
}
TEXT = "Unbelievably, the animals didn't cross 2024 streets"


@pytest.fixture(scope="module")
def smollm2() -> Model:
    return load_model("smollm2")


@pytest.fixture(scope="module")
def sentence_piece() -> Any:
    """▁ before words, a few merges, and bytes for what it has no letter for, as Llama's."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    letters = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"Unbelivaythdomscr", "▁t", "▁th", "▁the"]
    numbers = {letter: number for number, letter in enumerate(letters)}
    whole: Any = Tokenizer(
        models.BPE(numbers, [("▁", "t"), ("▁t", "h"), ("▁th", "e")], unk_token="<unk>", byte_fallback=True)
    )
    whole.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    whole.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return ReadableTokenizer(whole, "▁")


def joined(words: list[Word]) -> str:
    return "".join(word.text for word in words)


def is_partition(words: list[Word], tokens: int) -> bool:
    return [at for word in words for at in range(word.first, word.stop)] == list(range(tokens))


def test_the_words_of_twelve_scripts_are_the_text(minilm: Model, smollm2: Model, sentence_piece: Any) -> None:
    """And those that two models have in common."""
    for script, text in SCRIPTS.items():
        for model in (minilm, smollm2):
            words = split_words(model, text)
            tokens, ids = model.tokenize(text)
            assert joined(words) == text, script
            assert is_partition(words, len(tokens)), script
            assert all(text[word.start :].startswith(word.text) for word in words), script
            if model is smollm2:  # whose tokens are all the bytes of the text: those of a word are the word's
                decoded = [model.tokenizer.decode(ids[word.first : word.stop]) for word in words]
                assert decoded == [word.text for word in words], script
        coded = sentence_piece.encode(text)
        words = words_from_offsets(text, coded.offsets)
        assert (joined(words), is_partition(words, len(coded.ids))) == (text, True), script
        left, right = (split_words(model, text) for model in (minilm, smollm2))
        both = [join_to_common(left, right), join_to_common(right, left)]
        ours, theirs = ([word.text for word in words if word.text] for words in both)
        assert ours == theirs, script
        assert "".join(ours) == text, script
        for words, model in zip(both, (minilm, smollm2), strict=True):
            assert is_partition(words, len(model.tokenize(text)[0])), script
        if script not in ("Thai", "Chinese", "Japanese", "emoji"):
            assert len(ours) >= len(text.split()), script


def test_pieces_of_one_word_are_one_and_signs_stand_alone(minilm: Model, smollm2: Model, sentence_piece: Any) -> None:
    plain = ["Unbelievably", ",", "the", "animals", "didn't", "cross", "2024", "streets"]
    assert [word.text.strip() for word in split_words(minilm, TEXT)] == ["", *plain, ""]
    assert [word.text.strip() for word in split_words(smollm2, TEXT)] == plain
    coded = sentence_piece.encode(TEXT)
    assert [word.text.strip() for word in words_from_offsets(TEXT, coded.offsets)] == plain


def test_scripts_without_spaces_keep_their_tokens_but_no_part_of_a_character(smollm2: Model) -> None:
    assert [word.text for word in split_words(smollm2, "你好世界")] == list("你好世界")
    thai = [word.text for word in split_words(smollm2, "ที่นี่")]  # a letter, its vowel and its tone are one
    assert thai == ["ที่", "นี่"]
    assert [word.text for word in split_words(smollm2, "👨\u200d👩\u200d👧👍🏽")] == ["👨\u200d👩\u200d👧", "👍🏽"]


def looped(weights: torch.Tensor, rows: list[Word], columns: list[Word]) -> torch.Tensor:
    """The rule in float64, cell by cell."""
    found = torch.zeros(len(rows), len(columns), dtype=torch.float64)
    for i, own in enumerate(rows):
        for j, other in enumerate(columns):
            for query in range(own.first, own.stop):
                for key in range(other.first, other.stop):
                    found[i, j] += float(weights[query, key]) / own.size
    return found


def test_merged_is_a_direct_loop_and_its_rows_sum_to_1(minilm64: Model) -> None:
    words, weights = split_words(minilm64, TEXT), minilm64.run(TEXT).weights
    found = merge_words(weights, words, words)
    for layer, head in ((0, 2), (3, 1)):
        same_function(found[layer, head], looped(weights[layer, head], words, words))
    assert found.shape == (*weights.shape[:2], len(words), len(words))
    same_function(found.sum(-1), torch.ones_like(found[..., 0]))
    with pytest.raises(SizeError, match="the map has 3"):
        merge_words(weights[..., :3], words, words)


def test_renormalised_rows_sum_to_1_and_say_what_sank() -> None:
    weights = torch.rand(4, 6, 6, dtype=torch.float64).softmax(-1)
    weights[0, 0] = torch.tensor([0.25, 0, 0, 0, 0, 0.75])
    found, sunk = renormalise(weights, (0, 5))
    rest = weights[1:, :, 1:5]
    same_function(found[1:, :, 1:5], rest / rest.sum(-1, keepdim=True))
    same_function(sunk, weights[..., 0] + weights[..., 5])
    assert float(found[..., (0, 5)].abs().max()) == 0
    assert (float(found[0, 0].abs().max()), float(sunk[0, 0])) == (0.0, 1.0)  # nothing is left of it
    with pytest.raises(SizeError, match="all 6 keys are hidden"):
        renormalise(weights, range(6))
