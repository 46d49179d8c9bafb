"""Questions to trained models: a class for a text, a text that goes on."""

from __future__ import annotations

import pytest
import torch

from mha_core import Model, load_model
from mha_core.errors import HeadlightError, SizeError, TooLong, Unsupported
from mha_core.measure import rounding
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.training import inference
from tests.closeness import same_function, within_rounding

from .runs import TINY, TINY_WORDS, task, trained

pytestmark = [pytest.mark.numeric, pytest.mark.usefixtures("one_thread")]

TEXTS = ["the dog chased the cat", "the cat", "the farmer was followed by the horse", ""]
TEXT = "apple ball bird"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """In float64."""
    folder = tmp_path_factory.mktemp("classifier") / "run"
    trained(TINY).save(folder)
    return load_model(str(folder), device="cpu", dtype=torch.float64)


@pytest.fixture(scope="module")
def language_model() -> Model:
    return trained(TINY_WORDS).model()


def vocabulary() -> tuple[str, ...]:
    return tuple(task("words").vocabulary)  # type: ignore[union-attr]


def test_probabilities_in_one_batch_and_one_by_one(classifier: Model) -> None:
    together = inference.probabilities(classifier, TEXTS)
    assert together.shape == (4, 10)
    exps = inference.logits(classifier, TEXTS).exp()
    same_function(together, exps / exps.sum(dim=-1, keepdim=True))
    for text, row in zip(TEXTS, together, strict=True):
        alone = inference.probabilities(classifier, [text])[0]
        same_function(alone, row)


def test_each_alone_is_what_one_by_one_gives(classifier: Model) -> None:
    texts = [*TEXTS, "the horse", "the dog", "the cat " * 60]
    found = inference.unpadded_probabilities(classifier, texts)
    ids = torch.tensor([classifier.encode(texts[-1])[1]])  # of which the model reads the first ones
    assert ids.shape[1] > classifier.sizes.max_len
    first = ids[:, : classifier.sizes.max_len]
    assert isinstance(classifier.encoder, Classifier)
    expected = [inference.probabilities(classifier, [text]) for text in texts[:-1]]
    expected.append(classifier.encoder.logits(first, first >= 0).softmax(dim=-1))
    within_rounding(found, torch.cat(expected), rounding.sum_bound(1))  # to float32


def test_invalid_texts_are_not_classified(classifier: Model, language_model: Model, minilm: Model) -> None:
    with pytest.raises(TooLong, match="can read 32"):
        inference.probabilities(classifier, ["short", "the dog " * 20])
    with pytest.raises(SizeError, match="give at least one"):
        inference.probabilities(classifier, [])
    for model in (language_model, minilm):
        with pytest.raises(Unsupported, match="has no classes; choose a classifier"):
            inference.probabilities(model, TEXTS)
    with pytest.raises(HeadlightError, match="whole characters"):
        inference.probabilities(classifier, ["\ud800"])


def test_the_most_likely_token_each_time_and_its_probability(language_model: Model) -> None:
    stack, ids = language_model.encoder, language_model.tokenize(TEXT)[1]
    assert isinstance(stack, LanguageModel)
    expected, chances = [], []
    for _ in range(40):
        last = stack.logits(torch.tensor([ids[-language_model.sizes.max_len :]]))[0, -1]
        chosen = int(last.argmax())
        ids = [*ids, chosen]
        expected.append(vocabulary()[chosen])
        chances.append(float(last.double().exp()[chosen] / last.double().exp().sum()))
    assert len(ids) > language_model.sizes.max_len == 32
    found = inference.continuation(language_model, TEXT, 40, temperature=0, seed=5)
    assert [token for token, _ in found] == expected
    same_function(
        torch.tensor([chance for _, chance in found], dtype=torch.float64), torch.tensor(chances, dtype=torch.float64)
    )
    assert inference.continuation(language_model, TEXT, 5, temperature=1e-320) == found[:5], "nearly without one"


def test_a_seed_decides_the_draws(language_model: Model) -> None:
    before = torch.get_rng_state()
    one = inference.continuation(language_model, TEXT, 30, seed=1)
    assert inference.continuation(language_model, TEXT, 30, seed=1) == one
    assert inference.continuation(language_model, TEXT, 30, seed=2) != one
    assert torch.equal(torch.get_rng_state(), before)


def test_continuation_refuses_invalid_arguments(classifier: Model, language_model: Model, minilm: Model) -> None:
    assert inference.continuation(language_model, TEXT, 0) == []
    for tokens in (-1, 501):
        with pytest.raises(HeadlightError, match="0 to 500"):
            inference.continuation(language_model, TEXT, tokens)
    for temperature in (-1.0, 101.0, float("nan")):
        with pytest.raises(HeadlightError, match="and 0 to 100"):
            inference.continuation(language_model, TEXT, 1, temperature=temperature)
    with pytest.raises(HeadlightError, match="the text is empty"):
        inference.continuation(language_model, "  ", 1)
    for model in (classifier, minilm):
        with pytest.raises(Unsupported, match="cannot continue a text; choose a language model"):
            inference.continuation(model, TEXT, 1)
