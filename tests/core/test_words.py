"""Words of a text out of a tokenizer's pieces, in twelve scripts and three spellings, and maps merged by them."""

from typing import Any

import pytest
import torch

from mha_core import Model, load_model
from mha_core.errors import SizeError, Unsupported
from mha_core.measure.reading import merged, renormalised
from mha_core.models.words import Word, in_common, of_offsets, words_of
from mha_core.pretrained.byte_level import Tokens

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
    return Tokens(whole, "▁")


def joined(words: list[Word]) -> str:
    return "".join(word.text for word in words)


def is_partition(words: list[Word], tokens: int) -> bool:
    return [at for word in words for at in range(word.first, word.stop)] == list(range(tokens))


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_words_of_twelve_scripts_are_the_text(
    script: str, minilm: Model, smollm2: Model, sentence_piece: Any
) -> None:
    text = SCRIPTS[script]
    for model in (minilm, smollm2):
        words = words_of(model, text)
        tokens, ids = model.tokenize(text)
        assert joined(words) == text
        assert is_partition(words, len(tokens))
        assert [text[word.start :].startswith(word.text) for word in words] == [True] * len(words)
        if model is smollm2:  # whose tokens are all the bytes of the text: those of a word are the word's
            assert [model.tokenizer.decode(ids[word.first : word.stop]) for word in words] == [w.text for w in words]
    coded = sentence_piece.encode(text)
    words = of_offsets(text, coded.offsets)
    assert (joined(words), is_partition(words, len(coded.ids))) == (text, True)


def test_pieces_of_one_word_are_one_and_signs_stand_alone(minilm: Model, smollm2: Model, sentence_piece: Any) -> None:
    plain = ["Unbelievably", ",", "the", "animals", "didn't", "cross", "2024", "streets"]
    assert [word.text.strip() for word in words_of(minilm, TEXT)] == ["", *plain, ""]
    assert [word.text.strip() for word in words_of(smollm2, TEXT)] == plain
    coded = sentence_piece.encode(TEXT)
    assert [word.text.strip() for word in of_offsets(TEXT, coded.offsets)] == plain


@pytest.mark.parametrize("script", SCRIPTS)
def test_two_models_have_words_in_common(script: str, minilm: Model, smollm2: Model) -> None:
    text = SCRIPTS[script]
    left, right = (words_of(model, text) for model in (minilm, smollm2))
    both = [in_common(left, right), in_common(right, left)]
    ours, theirs = ([word.text for word in words if word.text] for words in both)
    assert ours == theirs
    assert "".join(ours) == text
    for words, model in zip(both, (minilm, smollm2), strict=True):
        assert is_partition(words, len(model.tokenize(text)[0]))
    if script not in ("Thai", "Chinese", "Japanese", "emoji"):
        assert len(ours) >= len(text.split())


def test_scripts_without_spaces_keep_their_tokens_but_no_part_of_a_character(smollm2: Model) -> None:
    assert [word.text for word in words_of(smollm2, "你好世界")] == list("你好世界")
    thai = [word.text for word in words_of(smollm2, "ที่นี่")]  # a letter, its vowel and its tone are one
    assert thai == ["ที่", "นี่"]
    assert [word.text for word in words_of(smollm2, "👨\u200d👩\u200d👧👍🏽")] == ["👨\u200d👩\u200d👧", "👍🏽"]


def test_a_tokenizer_that_does_not_say_where_its_tokens_stand(minilm: Model) -> None:
    class Slow:
        name, ends, tokenizer = "slow", (0, 0), None

        def tokenize(self, text: str) -> tuple[list[str], list[int]]:
            return [text], [0]

    slow: Any = Slow()
    slow.tokenizer = type("Own", (), {"encode": lambda self, text: None})()
    with pytest.raises(Unsupported, match="slow does not say where"):
        words_of(slow, "a")
    assert words_of(minilm, "") == [Word("", 0, 0, 1), Word("", 0, 1, 2)]


def looped(weights: torch.Tensor, rows: list[Word], columns: list[Word]) -> torch.Tensor:
    """The rule in float64, cell by cell."""
    found = torch.zeros(len(rows), len(columns), dtype=torch.float64)
    for i, own in enumerate(rows):
        for j, other in enumerate(columns):
            for query in range(own.first, own.stop):
                for key in range(other.first, other.stop):
                    found[i, j] += float(weights[query, key]) / own.size
    return found


def test_merged_is_a_direct_loop_and_its_rows_sum_to_1(minilm: Model) -> None:
    words = words_of(minilm, TEXT)
    weights = minilm.run(TEXT).weights
    found, n = merged(weights, words, words), weights.shape[-1]
    unit = torch.finfo(weights.dtype).eps / 2
    for layer, head in ((0, 2), (3, 1)):
        loop = looped(weights[layer, head], words, words)
        # of numbers that are not negative, each of at most n + n sums and one division moves a cell by u of itself
        assert bool(((found[layer, head].double() - loop).abs() <= (2 * n + 1) * unit * loop).all())
    assert found.shape == (*weights.shape[:2], len(words), len(words))
    # a softmax divides by a sum of n numbers, each within u of its own; merging adds what is said above
    assert float((found.double().sum(-1) - 1).abs().max()) <= (3 * n + 4) * unit


def test_merged_leaves_alone_what_is_no_words_and_takes_maps_that_are_not_square() -> None:
    weights = torch.rand(2, 3, 5)
    alone = [Word("a", 0, at, at + 1) for at in range(5)]
    assert torch.equal(merged(weights, None, None), weights)
    assert torch.equal(merged(weights, alone[:3], alone), weights)
    pair = [Word("ab", 0, 0, 2), Word("cde", 2, 2, 5)]
    assert torch.equal(merged(weights, None, pair)[..., 0], weights[..., 0] + weights[..., 1])
    with pytest.raises(SizeError, match="the words have 5 tokens, the map has 3"):
        merged(weights, pair, None)


def test_renormalised_rows_sum_to_1_and_say_what_sank() -> None:
    weights = torch.rand(4, 6, 6).softmax(-1)
    weights[0, 0] = torch.tensor([0.25, 0, 0, 0, 0, 0.75])
    found, sunk = renormalised(weights, (0, 5))
    unit, n = torch.finfo(torch.float32).eps / 2, 6
    for row in range(6):
        rest = weights[1, row, 1:5].double()
        assert bool(((found[1, row, 1:5].double() - rest / rest.sum()).abs() <= (n + 1) * unit).all())
        assert abs(float(sunk[1, row]) - float(weights[1, row, 0].double() + weights[1, row, 5].double())) <= unit
    assert float(found[..., (0, 5)].abs().max()) == 0
    assert float((found[1:].double().sum(-1) - 1).abs().max()) <= (n + 1) * unit
    assert (float(found[0, 0].abs().max()), float(sunk[0, 0])) == (0.0, 1.0)  # nothing is left of it
    assert torch.equal(renormalised(weights, ())[1], torch.zeros(4, 6))
    with pytest.raises(SizeError, match="all 6 keys are hidden"):
        renormalised(weights, range(6))
    with pytest.raises(SizeError, match="the keys are 0 to 5"):
        renormalised(weights, (6,))
