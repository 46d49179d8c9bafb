"""Quantities of a language model's next word, and of its predictions for a repeated text."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import next_token, pictures
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Run
from mha_core.models import sampling
from mha_core.token_text import quote


def choice(query: Query, settings: Settings, word: str, temperature: float = 1.0) -> Value:
    """Return `choice("Paris")`: the rank of a word among all next words, 1 = the most probable.

    A word of several tokens counts by its first one. `temperature` divides the logits, as in `softened`.
    """
    picture = pictures.picture(settings)
    chances = _chances(picture, temperature)
    return Value.number(float(1 + (chances > chances[token_id(picture, word)]).sum()))


def softened(query: Query, settings: Settings, word: str, temperature: float) -> Value:
    """Return `softened("cold", 2)`: the probability of a word at this sampling temperature, not that of attention."""
    picture = pictures.picture(settings)
    return Value.number(float(_chances(picture, temperature)[token_id(picture, word)]))


Stage = Literal["model", "temperature", "top-k", "top-p"]  # what the model computes, and the stages in their order


def tokens_left(query: Query, settings: Settings, stage: Stage) -> Value:
    """Return `tokens_left("top-k")`: how many tokens can still be drawn after this stage of the link's sampling."""
    return Value.number(float(_stage(query, settings, stage).isfinite().sum()))


def probability_left(query: Query, settings: Settings, stage: Stage) -> Value:
    """Return `probability_left("top-p")`: the model's probability, all tokens together, of those left by a stage."""
    left = _stage(query, settings, stage).isfinite()
    return Value.number(float(_stage(query, settings, "model").softmax(-1)[left].sum()))


def chance_after(query: Query, settings: Settings, word: str, stage: Stage) -> Value:
    """Return `chance_after("Paris", "top-k")`: the probability of a word once this stage has acted; 0 if it is cut."""
    logits = _stage(query, settings, stage)
    return Value.number(float(logits.softmax(-1)[token_id(pictures.picture(settings), word)]))


def draws(query: Query, settings: Settings, word: str) -> Value:
    """Return `draws("Paris")`: whether the link's seed draws this word; at temperature 0 always the likeliest."""
    picture = pictures.picture(settings)
    token = sampling.sample(_stage(query, settings, "top-p"), query["dice"], len(picture.run.ids))
    return Value.number(token == token_id(picture, word))


def _stage(query: Query, settings: Settings, stage: Stage) -> Tensor:
    """Return the logits that a stage leaves, (v,), in float64."""
    return next_token.stage_logits(pictures.picture(settings), query)[stage]


def first_choice(query: Query, settings: Settings) -> Value:
    """Return `first_choice`: the probability of the word that is most probable in the baseline."""
    untouched = _chances(pictures.picture(settings.baseline), 1.0)
    return Value.number(float(_chances(pictures.picture(settings), 1.0)[untouched.argmax()]))


def _chances(picture: Picture, temperature: float) -> Tensor:
    """Return the probabilities of the next token, (v,), in float64."""
    if picture.run.logits is None:
        raise RuleError("this model does not predict a next word")
    if not temperature > 0:
        raise RuleError(f"a temperature must be above 0, not {temperature:g}")
    return torch.softmax(picture.run.logits[-1].double() / temperature, dim=-1)


def token_id(picture: Picture, word: str) -> int:
    """Return the id of the first token of a word that follows the text."""
    text, ids = picture.settings.text, list(picture.run.ids)
    gap = "" if not text or text[-1:].isspace() or not word[:1].isalnum() else " "
    longer = list(picture.model.tokenize(f"{text}{gap}{word}")[1])
    if len(longer) <= len(ids) or longer[: len(ids)] != ids:
        raise RuleError(f"{quote(word)} cannot follow this text as a word of its own")
    return longer[len(ids)]


def foreseen(query: Query, settings: Settings) -> Value:
    """Return `foreseen`: the mean probability of the repeated words."""
    rows, chances = _repetition(settings)
    return Value.number(float(chances.gather(1, rows[:, None]).mean()))


def hits(query: Query, settings: Settings) -> Value:
    """Return `hits`: the share of the repeated words that were the most probable ones."""
    rows, chances = _repetition(settings)
    return Value.number(float((chances.argmax(dim=-1) == rows).double().mean()))


def looks_behind(query: Query, settings: Settings, layer: int) -> Value:
    """Return `looks_behind(1)`, (h): the mean weight of repeated words on the successor of their first occurrence."""
    run = pictures.picture(settings).run
    if layer not in range(len(run.weights)):
        raise RuleError(f"this model has the layers 0 to {len(run.weights) - 1}")
    weights = [run.weights[layer, :, row, key] for row, key in _repeated_pairs(run.ids)]
    return Value.from_tensor(torch.stack(weights).mean(dim=0), "h")


def _repeated_pairs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return (row, key) for each token that occurs once before, with the same successor; the key is that successor.

    Raises:
        RuleError: there are none.
    """
    pairs = []
    for row in range(1, len(ids) - 1):
        earlier = [position for position in range(row) if ids[position] == ids[row]]
        if len(earlier) == 1 and ids[earlier[0] + 1] == ids[row + 1]:
            pairs.append((row, earlier[0] + 1))
    if not pairs:
        raise RuleError("this text repeats no words in the same order")
    return pairs


def _repetition(settings: Settings) -> tuple[Tensor, Tensor]:
    """Return the ids of the repeated tokens, (rows,), and the predictions for them, (rows, v)."""
    model = pictures.model_for(settings)
    ids = model.tokenize(settings.text)[1]
    rows = [row for row, _ in _repeated_pairs(ids)]
    with pass_slot(len(ids), models.count_heads(model)):
        run: Run = settings.run(model, all_logits=True)
    if run.logits is None:
        raise RuleError("this model does not predict a next word")
    return torch.tensor([ids[row + 1] for row in rows]), run.logits[rows].double().softmax(dim=-1)
