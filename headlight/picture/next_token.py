"""Predictions of the next token: the likeliest tokens, a sampled one, and the probability of a word."""

import math
from dataclasses import replace
from typing import TypedDict

import torch
from torch import Tensor

from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers
from mha_core.errors import HeadlightError
from mha_core.measure import surprise
from mha_core.models.generation import choose
from mha_core.pretrained.byte_level import ByteLevel, in_text
from mha_core.token_text import isolate, quote

from . import pictures
from .pictures import Picture

LIKELIEST = 6  # number of tokens shown
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}  # invisible characters that are tokens


class NextToken(TypedDict):
    """A candidate for the next token."""

    label: str  # readable form
    text: str  # text that it adds to the sentence, "" if it is not a whole character
    chance: float
    baseline: float | None  # probability in the baseline, None without one


def likeliest_tokens(baseline: Picture | None, picture: Picture, count: int = LIKELIEST) -> list[NextToken]:
    """Return the likeliest next tokens, the likeliest first; none for a model that does not predict one.

    The likeliest token of the baseline, a picture of the same model, is always included.
    """
    chances, earlier = next_probabilities(picture), None if baseline is None else next_probabilities(baseline)
    if chances is None:
        return []
    ids = torch.topk(chances, min(count, len(chances))).indices.tolist()
    if earlier is not None and (first := int(earlier.argmax())) not in ids:
        ids[-1] = first
    return [_next_token(picture, number, chances, earlier) for number in ids]


def sample(picture: Picture, temperature: float, seed: int) -> NextToken | None:
    """Return the token sampled with this seed and temperature, and its probability there; None at temperature 0."""
    logits = picture.run.logits
    if logits is None or not temperature or not continues_text(picture):
        return None
    number = choose(logits[-1], temperature, seed, len(picture.run.ids), picture.model.suppressed_ids)
    return _next_token(picture, number, torch.softmax(logits[-1].double() / temperature, dim=-1), None)


def next_probabilities(picture: Picture) -> Tensor | None:
    """Return the probabilities of the next token, (v,) in float64; None for a model that does not predict one.

    Some kernels add float32 one by one: over 49,152 tokens that changes the fifth digit.
    """
    logits = picture.run.logits
    return None if logits is None or not continues_text(picture) else logits[-1].double().softmax(-1)


def continues_text(picture: Picture) -> bool:
    """Return whether the model continues its input text, unlike an encoder-decoder."""
    run = picture.run
    return run.logits is not None and run.extras.image is None and len(picture.model.groups) == 1


def describe_word(word: str, by_label: dict[str, Picture]) -> str:
    """Return a sentence with the probability that a word comes next in each picture, "" without a word.

    The pictures, each with its label, are of one model.
    """
    if not word.strip():
        return ""
    try:
        probabilities = {name: word_probability(picture, word) for name, picture in by_label.items()}
    except HeadlightError as error:
        return f"{quote(word.strip())}: {error}."
    listing = ", ".join(f"{numbers.number(p, 4)} {name}".strip() for name, (p, _) in probabilities.items())
    pieces = next(iter(probabilities.values()))[1]
    note = f" It takes {len(pieces)} tokens, {' '.join(map(isolate, pieces))}, and their probabilities are multiplied."
    return f"{quote(word.strip())} comes next with probability {listing}.{note if len(pieces) > 1 else ''}"


def word_probability(picture: Picture, word: str) -> tuple[float, list[str]]:
    """Return the probability that a word comes next, and its tokens.

    Raises:
        HeadlightError: the model does not predict it, or it does not begin a token.
    """
    settings, run, model = picture.settings, picture.run, picture.model
    needs_no_space = settings.text[-1:].isspace() or not settings.text or not word.strip()[:1].isalnum()
    text = settings.text + ("" if needs_no_space else " ") + word.strip()
    tokens, ids = model.tokenize(text)
    n = len(run.ids)
    if list(ids[:n]) != list(run.ids) or len(ids) == n:
        raise HeadlightError(
            "it cannot be appended as it is, because together with the end of the sentence it splits into other tokens"
        )
    first = next_probabilities(picture)
    if first is None:
        raise HeadlightError("this model does not predict the next word")
    if len(ids) == n + 1:
        return float(first[ids[n]]), list(tokens[n:])
    if settings.painted:
        raise HeadlightError(f"it takes {len(ids) - n} tokens, and the painted mask is for {n} alone")
    extended = pictures.picture(replace(settings, text=text))
    with pass_slot(len(ids), models.count_heads(model)):
        losses = surprise.surprise(model, extended.run)
    return math.exp(-float(losses[n:].sum())), list(tokens[n:])


def token_label(picture: Picture, number: int) -> str:
    """Return the readable form of a token as the next one of a picture's text."""
    tokenizer = picture.model.tokenizer
    label = tokenizer.id_to_token(number) or str(number)
    if isinstance(tokenizer, ByteLevel):
        label = in_text(label, picture.settings.text)
    return _VISIBLE.get(label, label)


def _next_token(picture: Picture, number: int, current: Tensor, baseline: Tensor | None) -> NextToken:
    model = picture.model
    text, earlier = str(model.tokenizer.decode([number])), None if baseline is None else float(baseline[number])
    if model.history is not None:  # vocabularies of models trained here hold words, or characters
        label = model.tokenizer.id_to_token(number) or str(number)
        text = label if model.history.recipe.task == "text" else f" {label}"
    elif "�" in text:
        text = ""
    chance = float(current[number])
    return {"label": token_label(picture, number), "text": text, "chance": chance, "baseline": earlier}
