"""Questions to trained models: a class for a text, a text that goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from mha_core import Model
from mha_core.errors import HeadlightError, SizeError, TooLong, Unsupported
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import inference
from mha_core.training.loop import on_threads

from .runs import TINY, TINY_WORDS, task, trained

TEXTS = ["the dog chased the cat", "the cat", "the farmer was followed by the horse", ""]
TEXT = "apple ball bird"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


@pytest.fixture(scope="module")
def classifier() -> Model:
    return trained(TINY).model()


@pytest.fixture(scope="module")
def language_model() -> Model:
    return trained(TINY_WORDS).model()


def test_classes(classifier: Model, language_model: Model, minilm: Model) -> None:
    assert inference.classes(classifier) == task("who").classes  # type: ignore[union-attr]
    assert inference.classes(language_model) == inference.classes(minilm) == ()


def test_probabilities(classifier: Model) -> None:
    found = inference.probabilities(classifier, TEXTS)
    assert found.shape == (4, 10)
    assert (found >= 0).all()
    assert (found.sum(dim=-1) - 1).abs().max() <= 1e-6
    logits = inference.logits(classifier, TEXTS).double()
    torch.testing.assert_close(found.double(), logits.exp() / logits.exp().sum(dim=-1, keepdim=True))


def test_each_alone_is_what_one_by_one_gives(classifier: Model, language_model: Model) -> None:
    texts = [*TEXTS, "the horse", "the dog", "the cat " * 60]
    found = inference.probabilities_of_each(classifier, texts)
    for text, row in zip(texts[:-1], found, strict=False):
        assert (inference.probabilities(classifier, [text])[0] - row).abs().max() <= 1e-6
    ids = torch.tensor([classifier.coded(texts[-1])[1]])  # of which the model has read the first ones
    assert ids.shape[1] > classifier.sizes.max_len
    first = ids[:, : classifier.sizes.max_len]
    assert isinstance(classifier.encoder, Classifier)
    torch.testing.assert_close(found[-1:], classifier.encoder.logits(first, first >= 0).softmax(dim=-1))
    assert inference.probabilities_of_each(classifier, []).shape == (0, 10)
    with pytest.raises(Unsupported):
        inference.probabilities_of_each(language_model, texts)


def test_one_batch_or_one_by_one(classifier: Model) -> None:
    together = inference.probabilities(classifier, TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        alone = inference.probabilities(classifier, [text])[0]
        assert (alone - row).abs().max() <= 1e-6
        assert (inference.probabilities(classifier, [text], mask_padding=False)[0] - alone).abs().max() <= 1e-6


def test_without_the_mask_a_text_feels_what_stands_beside_it(classifier: Model) -> None:
    unmasked = inference.logits(classifier, TEXTS, mask_padding=False)
    masked = inference.logits(classifier, TEXTS)
    assert torch.equal(inference.logits(classifier, TEXTS, mask_padding=True), masked)
    longest = max(range(4), key=lambda row: len(classifier.tokenize(TEXTS[row])[1]))
    difference = (unmasked - masked).abs().amax(dim=1)
    assert difference[longest] <= 1e-6
    assert all(difference[row] > 1e-3 for row in range(4) if row != longest)


def test_as_it_was_trained() -> None:
    bug = trained(replace(TINY, mask_padding=False)).model()
    assert torch.equal(inference.logits(bug, TEXTS), inference.logits(bug, TEXTS, mask_padding=False))
    assert not torch.allclose(inference.logits(bug, TEXTS), inference.logits(bug, TEXTS, mask_padding=True))


def test_the_last_look_at_the_test_rows_again(classifier: Model) -> None:
    """A saved model and a typed sentence give what the training counted."""
    rows, end = task("who").test, trained(TINY).history.end
    assert end
    found = inference.logits(classifier, [row.text for row in rows])  # type: ignore[union-attr]
    assert found.argmax(dim=-1).tolist() == end.predicted


def test_what_cannot_be_classified(classifier: Model, language_model: Model, minilm: Model) -> None:
    with pytest.raises(TooLong, match="can read 32"):
        inference.probabilities(classifier, ["short", "the dog " * 20])
    with pytest.raises(SizeError, match="give at least one"):
        inference.probabilities(classifier, [])
    for model in (language_model, minilm):
        with pytest.raises(Unsupported, match="has no classes; ask a classifier"):
            inference.probabilities(model, TEXTS)
    with pytest.raises(HeadlightError, match="whole characters"):
        inference.probabilities(classifier, ["\ud800"])


def test_the_most_likely_token_each_time(language_model: Model) -> None:
    stack, ids = language_model.encoder, language_model.tokenize(TEXT)[1]
    assert isinstance(stack, LanguageModel)
    expected = []
    for _ in range(40):
        seen = ids[-language_model.sizes.max_len :]
        chosen = int(stack.logits(torch.tensor([seen]))[0, -1].argmax())
        ids = [*ids, chosen]
        expected.append(task("words").vocabulary[chosen])  # type: ignore[union-attr]
    assert len(ids) > language_model.sizes.max_len == 32
    assert [token for token, _ in inference.continuation(language_model, TEXT, 40, temperature=0, seed=5)] == expected
    assert [token for token, _ in inference.continuation(language_model, TEXT, 7, temperature=0)] == expected[:7]


def test_the_chance_of_each_token_is_the_models_own(language_model: Model) -> None:
    stack, ids = language_model.encoder, language_model.tokenize(TEXT)[1]
    assert isinstance(stack, LanguageModel)
    told = inference.continuation(language_model, TEXT, 8, temperature=2.0, seed=3)
    for token, chance in told:
        number = language_model.tokenizer.token_to_id(token)
        assert number is not None
        chances = stack.logits(torch.tensor([ids[-language_model.sizes.max_len :]]))[0, -1].softmax(dim=-1)
        assert chance == pytest.approx(float(chances[number]), abs=1e-5)
        ids = [*ids, number]


def test_nearly_without_temperature(language_model: Model) -> None:
    expected = inference.continuation(language_model, TEXT, 5, temperature=0)
    for temperature in (1e-320, 1e-45, 1e-9):
        assert inference.continuation(language_model, TEXT, 5, temperature=temperature) == expected


def test_a_seed_decides_the_draws(language_model: Model) -> None:
    before = torch.get_rng_state()
    one = inference.continuation(language_model, TEXT, 30, seed=1)
    assert inference.continuation(language_model, TEXT, 30, seed=1) == one
    assert inference.continuation(language_model, TEXT, 30, seed=2) != one
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_probabilities(
    language_model: Model, monkeypatch: pytest.MonkeyPatch, temperature: float
) -> None:
    likely = torch.tensor([0.6, 0.3, 0.1])
    logits = torch.full((1, 1, 33), -torch.inf)
    logits[..., 4:7] = likely.log() + 3
    monkeypatch.setattr(language_model.encoder, "logits", lambda seen: logits)
    drawn = [token for token, _ in inference.continuation(language_model, TEXT, 500, temperature=temperature)]
    expected = likely ** (1 / temperature) / (likely ** (1 / temperature)).sum()
    for number, share in enumerate(expected.tolist()):
        spread = (share * (1 - share) / 500) ** 0.5
        assert abs(drawn.count(task("words").vocabulary[4 + number]) / 500 - share) <= 4 * spread  # type: ignore[union-attr]


def test_a_text_longer_than_the_model_sees(language_model: Model) -> None:
    long = "wolf " * 50 + "apple " * 32
    assert inference.continuation(language_model, long, 3, temperature=0) == inference.continuation(
        language_model, "apple " * 32, 3, temperature=0
    )


def test_numbers_out_of_bounds(language_model: Model) -> None:
    for tokens in (-1, 501):
        with pytest.raises(HeadlightError, match="up to 500"):
            inference.continuation(language_model, TEXT, tokens)
    for temperature in (-1.0, 101.0, float("nan"), float("inf")):
        with pytest.raises(HeadlightError, match="at 0 to 100"):
            inference.continuation(language_model, TEXT, 1, temperature=temperature)


def test_what_does_not_go_on(classifier: Model, language_model: Model, minilm: Model) -> None:
    assert inference.continuation(language_model, TEXT, 0) == []
    for text in ("", "  "):
        with pytest.raises(HeadlightError, match="the text is empty"):
            inference.continuation(language_model, text, 1)
    with pytest.raises(HeadlightError, match="whole characters"):
        inference.continuation(language_model, "\ud800", 1)
    for model in (classifier, minilm):
        with pytest.raises(Unsupported, match="does not go on with a text; ask a language model"):
            inference.continuation(model, TEXT, 1)
