"""What comes next, on a small decoder of ours and on SmolLM2, and what changes it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from headlight.lessons.evaluate import number, truth
from headlight.lessons.grammar import parse
from headlight.lessons.quantities.scene import page_scene
from headlight.link.presets import NEXT_TOKEN_CURSORS
from headlight.picture import next_token, pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.registry import SMOLLM2, trained
from headlight.ui import numbers
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import rounding
from mha_core.models import sampling
from mha_core.models.generation import Generation
from mha_core.training import Training, tasks
from mha_core.training.recipe import defaults
from pages.explore.language_model import surprises, top_heads
from tests.closeness import quoted, same_function, within_rounding

from .test_other_views import strongest

PRIVET, PARIS = next(iter(NEXT_TOKEN_CURSORS)), "The capital of France is"
COPYING = ((18, 6), (17, 5), (17, 4), (17, 3), (20, 6), (23, 2), (18, 7))  # the seven heads that carry copying
OURS = Settings("ring wolf sun fish ball cloud ring wolf", model="words-2layers-1")
REAL = pytest.mark.thorough("SmolLM2 computes thirty layers for each text; a small decoder of ours stands for it.")
OF_BOTH = pytest.mark.parametrize(
    "of", [OURS, pytest.param(Settings(PRIVET, model=SMOLLM2), marks=REAL)], ids=["ours", "smollm2"]
)


def picture(text: str = PRIVET, **changes: Any) -> pictures.Picture:
    return pictures.picture(Settings(text, model=SMOLLM2, **changes))


def likeliest(now: pictures.Picture, most: int = next_token.LIKELIEST) -> list[next_token.NextToken]:
    """As Explore lists them, beside those of the untouched model where something is changed."""
    before = pictures.picture(now.settings.baseline)
    return next_token.likeliest_tokens(None if before.settings == now.settings else before, now, most)


def chance(found: list[next_token.NextToken], label: str) -> float:
    return next(token["chance"] for token in found if token["label"] == label)


def logits_of(model: Model, text: str | list[int], **switches: Any) -> Tensor:
    """Of every token, from one pass of its own, in float64."""
    logits = model.run(text, all_logits=True, **switches).logits
    assert logits is not None
    return logits.double()


def of_pass(model: Model) -> float:
    """What rounding does to logits: the sums of every layer, one behind the other."""
    own = model.sizes
    width = own.d_model
    feed_forward = max(parameter.shape[0] for parameter in model.stack.parameters() if parameter.dim() == 2)
    return rounding.sum_bound(*[width, width, own.max_len, width, width, width, feed_forward] * own.n_layers, width)


def test_the_likeliest_tokens_are_those_of_the_run_and_what_was_first_stays() -> None:
    of = OURS
    shown = pictures.picture(of)
    found = likeliest(shown)
    assert shown.run.logits is not None
    best = shown.run.logits[-1].double().softmax(-1).sort(descending=True)
    tokens = [shown.model.tokenizer.id_to_token(int(at)) for at in best.indices[: len(found)]]
    assert [token["label"] for token in found] == [str(token).removeprefix("␣") for token in tokens]
    same_function(torch.tensor([token["chance"] for token in found], dtype=torch.float64), best.values[: len(found)])
    assert (len(found), [token["baseline"] for token in found]) == (next_token.LIKELIEST, [None] * len(found))
    changed = pictures.picture(replace(of, mask="window:1"))
    others = likeliest(changed)
    assert changed.run.logits is not None
    for token, at in zip(others[:-1], changed.run.logits[-1].topk(len(others) - 1).indices, strict=True):
        assert token["baseline"] == float(shown.run.logits[-1].double().softmax(-1)[at])
    assert found[0]["label"] in {token["label"] for token in others}


@REAL
def test_the_documents_numbers_of_heads_and_probabilities() -> None:
    for measure, head in (("previous", (16, 0)), ("induction", (18, 6))):
        layer, at, value = strongest(measure, model=SMOLLM2, s=PRIVET)
        assert ((layer, at), value > 0.8) == (head, True)
    now, off = likeliest(picture()), likeliest(picture(heads_off=tuple(sorted(COPYING))))
    assert now[0]["text"] == " Drive"
    quoted(now[0]["chance"], "0.844")
    quoted(chance(off, "Drive"), "0.018")
    quoted(next(token["baseline"] or 0 for token in off if token["label"] == "Drive"), "0.844")
    quoted(chance(likeliest(picture(PARIS, heads_off=tuple(sorted(COPYING)))), "Paris"), "0.759")
    quoted(chance(likeliest(picture(PARIS)), "Paris"), "0.773")
    quoted(chance(likeliest(picture(PARIS, position="none")), "Paris"), "0.273")


OF_CHARACTERS = secrets.token_urlsafe(16)  # like the name of a run; all processes read one store


@pytest.mark.thorough("A model of characters is trained for it; the other decoders' tokens are whole words.")
def test_a_model_of_characters_says_characters_that_can_be_seen(tmp_path: Path) -> None:
    text = "to be or not to be,\nthat is the question\n" * 20
    training = Training(replace(defaults("text"), max_len=16, steps=2, d_model=8), tasks.Characters(text, length=16))
    assert list(training.events())
    training.save(tmp_path / "run")
    trained.save_to_store(OF_CHARACTERS, tmp_path / "run")
    shown = pictures.picture(Settings("to be or", model=OF_CHARACTERS))
    found = {token["label"]: token for token in likeliest(shown, 100)}
    same_function(sum(token["chance"] for token in found.values()), 1.0)
    assert [found[label]["text"] for label in ("␣", "↵", "t")] == [" ", "\n", "t"]
    grown = pictures.picture(Settings("to be or" + found["↵"]["text"], model=OF_CHARACTERS))
    assert grown.run.tokens[-1] == "\n"
    within_rounding(grown.run.weights[:, :, :8, :8], shown.run.weights, of_pass(shown.model))  # it grows by a row


@OF_BOTH
def test_the_heads_that_copy_are_found(of: Settings) -> None:
    run = pictures.picture(of).run
    found = top_heads(pictures.picture(replace(of, heads_off=((1, 3),))))  # of the untouched model
    layer, head, score = found["induction"][0]
    rows = [
        sum(float(run.weights[layer, head, i, j]) for j in range(1, i) if run.ids[j - 1] == run.ids[i])
        for i in range(2, len(run.ids))
        if run.ids[i] in run.ids[: i - 1]
    ]
    quoted(sum(rows) / len(rows), f"{score:.4f}")
    scores = [score for *_, score in found["induction"]]
    assert scores == sorted(scores, reverse=True)
    layer, head, score = found["previous"][0]
    quoted(float(torch.diagonal(run.weights[layer, head], -1).mean()), f"{score:.4f}")
    assert "induction" not in top_heads(pictures.picture(replace(of, text="ring wolf"))), "nothing is repeated"
    if of.model == SMOLLM2:
        assert [tuple(at) for *at, _ in found["induction"]][: len(COPYING)] == list(COPYING)


@OF_BOTH
def test_the_loss_of_every_token(of: Settings) -> None:
    heads = ((0, 1), (1, 0)) if of is OURS else tuple(sorted(COPYING))
    shown, off = pictures.picture(of), pictures.picture(replace(of, heads_off=heads))
    logits = logits_of(shown.model, of.text)
    expected = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(shown.run.ids[1:]), reduction="none")
    (nothing, *now), before = surprises(shown), [own for _, own in surprises(off)]
    assert nothing == (None, None)
    found = torch.tensor([loss for loss, _ in now], dtype=torch.float64)
    within_rounding(found, expected, of_pass(shown.model) * float(logits.norm() / expected.norm()))
    assert [own for _, own in now] == [None] * len(now)
    assert before == [None, *found.tolist()], "beside a change stands the untouched model"
    if of.model == SMOLLM2:  # the second time round each word was foreseen, until the heads that copy were off
        assert sum(own or 0 for own, _ in surprises(off)[16:]) > 2 * float(found[15:].sum())


def test_the_probability_of_a_word_and_of_several_tokens() -> None:
    of, several = OURS, "sun fish"
    model, text = pictures.model_for(of), of.text
    n = len(model.tokenize(text)[1])

    def probability(words: str, **switches: Any) -> float:
        """The product over its tokens, from one pass over both."""
        ids = model.tokenize(f"{text} {words}")[1]
        logs = logits_of(model, f"{text} {words}", **switches).log_softmax(-1)
        return float(torch.stack([logs[at - 1, ids[at]] for at in range(n, len(ids))]).sum().exp())

    def as_text(value: float) -> str:
        return numbers.number(value, 4)

    expected = as_text(probability("fish"))
    assert next_token.describe_word(" fish ", {"": pictures.picture(of)}).endswith(f"with probability {expected}.")
    both = {"now": pictures.picture(replace(of, position="none")), "before": pictures.picture(of)}
    now, before = (as_text(probability(several, position=name)) for name in ("none", "trained"))
    assert f"with probability {now} now, {before} before. It takes 2" in next_token.describe_word(several, both)


def stages(**link: float | str) -> next_token.Stages:
    query = LinkQuery(urlencode({"s": OURS.text, "model": OURS.model, **link}).encode())
    found = next_token.stages(pictures.picture(OURS), query)
    assert found is not None
    return found


def drawn_of(found: next_token.Stages) -> next_token.StageToken:
    return found["tokens"][found["sample"]]


def test_a_draw_is_that_of_the_generation() -> None:
    model, labels = pictures.model_for(OURS), set()
    for seed in range(4):
        labels.add(drawn_of(stages(temp=1.5, dice=seed))["label"])
        for k, p in ((0, 1.0), (9, 0.6)):
            step = Generation(model, OURS.text).step(1.5, seed, top_k=k, top_p=p)
            assert drawn_of(stages(temp=1.5, dice=seed, topk=k, topp=p))["label"] == step.token
    assert len(labels) > 1, "other seeds draw others"


def test_what_each_stage_leaves_and_says_and_a_lesson_asks() -> None:
    found, logits = stages(temp=1, topk=5, topp=0.97), pictures.picture(OURS).run.logits
    assert logits is not None
    core, ids = sampling.stages(logits[-1], 1, 5, 0.97), logits[-1].topk(6).indices
    scene = page_scene("explore", {"s": OURS.text, "model": OURS.model, "temp": "1", "topk": "5", "topp": "0.97"})
    word = drawn_of(found)["label"]
    for at, (name, left) in enumerate(core.items()):
        chances = [token["chances"][at] for token in found["tokens"]]
        same_function(torch.tensor(chances[:6], dtype=torch.float64), left.softmax(0)[ids])
        same_function(sum(chances) + found["others"][at], 1.0)
        assert found["counts"][at] == left.isfinite().sum() == number(parse(f'tokens_left("{name}")'), scene)
        assert number(parse(f'chance_after("{word}", "{name}")'), scene) == drawn_of(found)["chances"][at]
    v, *_, nucleus = found["counts"]
    assert [token["cut"] for token in found["tokens"][:6]] == [*nucleus * [""], *(5 - nucleus) * ["top-p"], "top-k"]
    held = float(core["model"].softmax(0)[ids[:5]].sum())
    keeps = f"Top-k 5 keeps 5 of {v} tokens, which hold {numbers.share(held, 3)} of the probability."
    assert f"{keeps} Top-p 0.97 keeps {nucleus} of 5 tokens, which hold " in found["sentence"]
    same_function(number(parse('probability_left("top-k")'), scene), held)
    assert truth(parse(f'draws("{word}") and with("temp=0", tokens_left("top-p") == 1)'), scene)
    with pytest.raises(HeadlightError, match="does not predict the next word"):
        number(parse('tokens_left("top-k")'), page_scene("explore", {"s": "how are you"}))


def test_the_extremes_of_sampling_say_what_they_do() -> None:
    v, greedy, alone = stages()["counts"][0], stages(topk=3, topp=0.5, dice=4), stages(temp=5, topp=0)
    assert stages(temp=1)["sentence"].startswith(f"Each of the {v} tokens can be drawn. Seed 0 draws ")
    assert stages(temp=1, topk=v + 1)["sentence"].startswith(f"Top-k {v + 1} cuts none of {v} tokens. Seed 0 draws ")
    assert f"Top-p 0 keeps 1 of {v} tokens, which holds " in alone["sentence"]
    assert greedy["sentence"].startswith(f"Greedy: the likeliest token, “{drawn_of(greedy)['label']}” (")
    assert (alone["counts"][-1], greedy["counts"]) == (1, [v, 1, 1, 1])
    assert drawn_of(alone)["rank"] == drawn_of(greedy)["rank"] == 1
