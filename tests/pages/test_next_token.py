"""What comes next, on the real decoder: the figures that the page tells, and what becomes of them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mha_core.errors import SizeError
from mha_core.heads import kinds
from mha_core.models.generation import Generation
from mha_core.training import Training, tasks
from mha_core.training.recipe import defaults
from pages.explore import found_heads, repeated
from pages.explore.goes_on import surprises
from pages.kit.draw import numbers
from pages.kit.picture import models, next_token, pictures
from pages.kit.picture.models import MINILM, SMOLLM2
from pages.kit.picture.presets import CONTINUED
from pages.kit.picture.settings import Settings

from .test_other_views import strongest

PRIVET, PARIS = next(iter(CONTINUED)), "The capital of France is"
COPYING = ((18, 6), (17, 5), (17, 4), (17, 3), (20, 6), (23, 2), (18, 7))  # the seven heads that carry copying


def picture(text: str = PRIVET, **changes: object) -> pictures.Picture:
    return pictures.picture(Settings(text, model=SMOLLM2, **changes))  # type: ignore[arg-type]


def likeliest(now: pictures.Picture, most: int = next_token.LIKELIEST) -> list[next_token.NextToken]:
    """As Explore tells them, beside those of the untouched model where something is changed."""
    before = pictures.picture(now.settings.untouched)
    return next_token.compared(None if before.settings == now.settings else before, now, most)


def chance(found: list[next_token.NextToken], label: str) -> float:
    return next(token["chance"] for token in found if token["label"] == label)


@pytest.mark.parametrize(
    ("measure", "head", "link"),
    [("previous", (16, 0), {}), ("induction", (18, 6), {}), ("induction", (18, 6), {"look": "random"})],
)
def test_heads_that_others_have_named_are_where_they_are(
    measure: str, head: tuple[int, int], link: dict[str, str]
) -> None:
    layer, at, value = strongest(measure, model=SMOLLM2, s=PRIVET, **link)
    assert (layer, at) == head
    assert value > 0.8


def test_the_likeliest_tokens_are_those_of_the_run() -> None:
    shown = picture()
    found = likeliest(shown)
    assert shown.run.logits is not None
    chances = shown.run.logits[-1].double().softmax(-1)
    best = chances.sort(descending=True)
    tokenizer = shown.model.tokenizer
    named = [tokenizer.id_to_token(int(at)) for at in best.indices[: len(found)]]
    assert [f"␣{token['label']}" for token in found] == named, "the space before a word is not read"
    assert [token["chance"] for token in found] == pytest.approx(best.values[: len(found)].tolist(), abs=2e-5)
    assert all(token["before"] is None for token in found)
    assert found[0]["text"] == " Drive"
    assert found[0]["chance"] == pytest.approx(0.844, abs=0.01)


def test_seven_heads_carry_copying_and_nothing_else() -> None:
    off = likeliest(picture(heads_off=tuple(sorted(COPYING))))
    assert chance(off, "Drive") == pytest.approx(0.018, abs=0.01)
    assert next(token["before"] for token in off if token["label"] == "Drive") == pytest.approx(0.844, abs=0.01)
    still = likeliest(picture(PARIS, heads_off=tuple(sorted(COPYING))))
    assert chance(still, "Paris") == pytest.approx(0.759, abs=0.01)


def test_without_positions_the_capital_is_less_certain() -> None:
    assert chance(likeliest(picture(PARIS)), "Paris") == pytest.approx(0.773, abs=0.01)
    assert chance(likeliest(picture(PARIS, position="none")), "Paris") == pytest.approx(0.273, abs=0.01)


def test_what_was_the_likeliest_stays_in_sight() -> None:
    shuffled = likeliest(picture(mask="window:1"))
    assert "Drive" in {token["label"] for token in shuffled}


def test_other_models_say_nothing_next() -> None:
    assert likeliest(pictures.picture(Settings("how are you", model=MINILM))) == []


def test_our_own_language_models_say_whole_words() -> None:
    name = next(name for name in models.shipped() if name.startswith("words"))
    found = likeliest(pictures.picture(Settings(models.presets(name)[0], model=name)))
    assert sum(token["chance"] for token in found) <= 1 + 1e-6
    assert all(token["text"] == f" {token['label']}" for token in found)


OF_CHARACTERS = secrets.token_urlsafe(16)  # like the name of a run; all processes read one store


def test_a_model_of_characters_says_characters_that_can_be_seen(tmp_path: Path) -> None:
    text = "to be or not to be,\nthat is the question\n" * 20
    training = Training(replace(defaults("text"), max_len=16, steps=2, d_model=8), tasks.from_text(text, length=16))
    assert list(training.events())
    training.save(tmp_path / "run")
    models.keep(OF_CHARACTERS, tmp_path / "run")
    shown = pictures.picture(Settings("to be or", model=OF_CHARACTERS))
    found = {token["label"]: token for token in likeliest(shown, 100)}
    assert sum(token["chance"] for token in found.values()) == pytest.approx(1, abs=1e-5)
    assert [found[label]["text"] for label in ("␣", "↵", "t")] == [" ", "\n", "t"]
    grown = pictures.picture(Settings("to be or" + found["↵"]["text"], model=OF_CHARACTERS))
    assert grown.run.tokens[-1] == "\n"
    assert torch.allclose(grown.run.weights[:, :, :8, :8], shown.run.weights, atol=1e-6), "the map grows by a row"


def test_the_heads_that_copy_are_found() -> None:
    run = picture().run
    found = found_heads.of(picture(heads_off=((18, 6),)))  # of the untouched model, whatever is switched off
    assert [(layer, head) for layer, head, _ in found["induction"]][: len(COPYING)] == list(COPYING)
    layer, head, score = found["induction"][0]
    rows = [
        sum(float(run.weights[layer, head, i, j]) for j in range(1, i) if run.ids[j - 1] == run.ids[i])
        for i in range(2, len(run.ids))
        if run.ids[i] in run.ids[: i - 1]
    ]
    assert score == pytest.approx(sum(rows) / len(rows), abs=1e-4)
    layer, head, score = found["previous"][0]
    assert score == pytest.approx(float(torch.diagonal(run.weights[layer, head], -1).mean()), abs=1e-4)


def test_a_sentence_without_a_repeat_has_nobody_who_copies() -> None:
    assert "induction" not in found_heads.of(picture(PARIS))


LOOKS_AT = {"13.8": "animal", "23.4": "France", "9.0": "Thursday", "26.6": "(", "24.4": "Mary", "18.6": "Drive"}


@pytest.mark.parametrize(("text", "place"), CONTINUED.items())
def test_each_sentence_opens_at_the_head_that_shows_it(text: str, place: str) -> None:
    run = picture(text).run
    layer, head = map(int, place.split("."))
    row = run.weights[layer, head, -1]
    assert run.tokens[int(row.argmax())] == LOOKS_AT[place]
    assert row.max() > 0.7


def test_the_loss_of_every_token() -> None:
    shown, off = picture(), picture(heads_off=tuple(sorted(COPYING)))
    logits = shown.model.run(PRIVET, all_logits=True).logits
    assert logits is not None
    expected = torch.nn.functional.cross_entropy(
        logits[:-1].double(), torch.tensor(shown.run.ids[1:]), reduction="none"
    )
    found = surprises(shown)
    assert found[0] == (None, None)
    assert [now for now, _ in found[1:]] == pytest.approx(expected.tolist(), abs=1e-3)
    changed = surprises(off)
    assert [before for _, before in changed] == [now for now, _ in found]
    # the second time round each word was foreseen, until the heads that copy were off
    assert sum(now or 0 for now, _ in changed[16:]) > 2 * sum(now or 0 for now, _ in found[16:])
    assert surprises(pictures.picture(Settings("how are you"))) == []


def probability(text: str, word: str, **switches: object) -> float:
    """Of a word behind a text: the product over its tokens, from one pass over both."""
    model = pictures.model_on("auto", SMOLLM2)
    n, ids = len(model.tokenize(text)[1]), model.tokenize(text + word)[1]
    logits = model.run(text + word, all_logits=True, **switches).logits  # type: ignore[arg-type]
    assert logits is not None
    logs = logits.double().log_softmax(-1)
    return float(torch.stack([logs[at - 1, ids[at]] for at in range(n, len(ids))]).sum().exp())


@pytest.mark.parametrize(("word", "behind"), [("Paris", " Paris"), ("the", " the"), (",", ","), (" Lyon ", " Lyon")])
def test_the_probability_of_a_word(word: str, behind: str) -> None:
    said = next_token.word_in_words(word, {"": picture(PARIS)})
    expected = numbers.weight(probability(PARIS, behind))
    assert said.startswith(f"“{word.strip()}” comes next with probability {expected}.")


def test_a_word_of_several_tokens_is_their_product() -> None:
    off = {"now": picture(PARIS, position="none"), "in the untouched model": picture(PARIS)}
    said = next_token.word_in_words("Rotterdam", off)
    now, before = (probability(PARIS, " Rotterdam", position=name) for name in ("none", "trained"))
    assert f"{now:.1e}"[:3] in said
    assert f"{before:.1e}"[:3] in said
    assert "It takes 3 tokens, Rot ##ter ##dam, whose probabilities are multiplied." in said


def test_what_cannot_be_told_of_a_word_is_said() -> None:
    assert next_token.word_in_words("  ", {"": picture(PARIS)}) == ""
    painted = {"": picture(PARIS, painted="5.rBB")}
    said = next_token.word_in_words("Rotterdam", painted)
    assert said == "“Rotterdam”: it takes 3 tokens, and the painted mask is for 5 alone."
    assert next_token.word_in_words("Paris", painted).startswith("“Paris” comes next with probability 0.")
    said = next_token.word_in_words(".", {"": picture("The capital.")})
    assert said == "“.”: it does not stand alone: with the end of the sentence it is read as other tokens."
    long = next_token.word_in_words("Rotterdam", {"": picture("a " * 511 + "a")})
    assert "512" in long


def test_a_draw_is_that_of_the_generation() -> None:
    shown = picture("Once upon a time")
    assert next_token.drawn(shown, 0.0, 3) is None
    labels = set()
    for seed in range(8):
        drawn = next_token.drawn(shown, 1.5, seed)
        step = Generation(shown.model, "Once upon a time").step(1.5, seed)
        assert drawn is not None
        assert drawn["label"] == step.token
        assert shown.run.logits is not None
        chances = (shown.run.logits[-1].double() / 1.5).softmax(-1)
        assert drawn["chance"] == pytest.approx(float(chances[step.id]), abs=1e-5)
        labels.add(drawn["label"])
    assert len(labels) > 1, "other seeds draw others"


def test_two_sides_are_compared_token_by_token() -> None:
    left, right = picture(PARIS), picture(PARIS, position="none")
    found = next_token.compared(left, right)
    of_left = {token["label"]: token["chance"] for token in next_token.compared(None, left, most=1000)}
    assert "Paris" in {token["label"] for token in found}, "the left side's first choice stays in sight"
    assert all(token["before"] == pytest.approx(of_left.get(token["label"], 0), abs=1e-3) for token in found)


def test_random_tokens_said_twice_are_copied_by_the_heads_that_are_found() -> None:
    now = repeated.of(picture(PARIS))
    assert now.second < 5 < 10 < now.first, "in nats: it knows the second time, and could not know the first"
    assert now.found["induction"][0][2] > 0.9
    off = repeated.of(picture(PARIS, heads_off=tuple(sorted((at, own) for at, own, _ in now.found["induction"]))))
    assert off.second > now.second + 2
    assert repeated.of(picture(PRIVET)) is now, "whatever the sentence is"
    said = repeated.in_words(picture(PARIS, position="none"))
    assert "so it does not copy. In the untouched model: " in said
    assert repeated.in_words(picture(PARIS)).endswith("so it copies.")


@pytest.mark.parametrize(("layers", "copies"), [("1layer", "it does not copy"), ("2layers", "it copies")])
def test_a_small_model_is_given_as_many_as_it_reads(layers: str, copies: str) -> None:
    """Two layers copy what one layer cannot, on words that were drawn anew."""
    shown = pictures.picture(Settings("wolf fox", model=f"words-{layers}-1"))
    n = shown.model.sizes.max_len // 2
    now = repeated.of(shown)
    assert now.tokens == n
    ids = kinds.repeated_ids(shown.model.sizes.vocabulary, n)
    logits = shown.model.run(ids, all_logits=True).logits
    assert logits is not None
    expected = torch.nn.functional.cross_entropy(logits[:-1].double(), torch.tensor(ids[1:]), reduction="none")
    assert now.first == pytest.approx(float(expected[: n - 1].mean()), abs=1e-4)
    assert now.second == pytest.approx(float(expected[n:].mean()), abs=1e-4)
    assert f"{n} random tokens, written twice" in repeated.in_words(shown)
    assert repeated.in_words(shown).endswith(f", so {copies}.")


def test_where_random_tokens_cannot_be_run_the_picture_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(vocabulary: int, period: int) -> list[int]:
        raise SizeError("period=0: choose 1 to 3 tokens, at least once")

    monkeypatch.setattr(kinds, "repeated_ids", refuse)
    shown = picture(PARIS, temperature=1.7)  # nobody has asked for it yet
    assert repeated.heads(shown) == {}
    assert repeated.in_words(shown) == "Random tokens, written twice: period=0: choose 1 to 3 tokens, at least once."
