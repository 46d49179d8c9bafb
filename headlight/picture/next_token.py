"""What a model says next: the likeliest tokens behind a text, one that is drawn, and how likely a word is."""

import math
from dataclasses import replace
from typing import TypedDict

import torch
from torch import Tensor

from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import surprise
from mha_core.models.generation import choose
from mha_core.pretrained.byte_level import ByteLevel, in_text

from . import pictures
from .pictures import Picture

LIKELIEST = 6  # that are told
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}  # characters that are tokens and cannot be seen


class NextToken(TypedDict):
    """A token that may come next."""

    label: str  # as a person reads it
    text: str  # what it adds to the sentence, "" where it is no whole character
    chance: float
    before: float | None  # in the picture that it is compared with, None without one


def compared(before: Picture | None, now: Picture, most: int = LIKELIEST) -> list[NextToken]:
    """The tokens most likely to come next, the likeliest first; none from a model that does not say one.

    The first choice of `before`, a picture of the same model, is among them, so that what a change drove out stays in
    sight.
    """
    chances, earlier = chances_of(now), None if before is None else chances_of(before)
    if chances is None:
        return []
    found = torch.topk(chances, min(most, len(chances))).indices.tolist()
    if earlier is not None and (first := int(earlier.argmax())) not in found:
        found[-1] = first
    return [_next(now, number, chances, earlier) for number in found]


def drawn(picture: Picture, temperature: float, seed: int) -> NextToken | None:
    """The token that this seed draws at this sampling temperature, with its probability at that; None at 0."""
    logits = picture.run.logits
    if logits is None or not temperature or not writes(picture):
        return None
    number = choose(logits[-1], temperature, seed, len(picture.run.ids))
    return _next(picture, number, torch.softmax(logits[-1].double() / temperature, dim=-1), None)


def chances_of(picture: Picture) -> Tensor | None:
    """The probability of each token of the vocabulary, (v,) in float64, to come next; None from other models.

    Some kernels add float32 one by one: over 49,152 tokens that moves the fifth digit.
    """
    logits = picture.run.logits
    return None if logits is None or not writes(picture) else logits[-1].double().softmax(-1)


def writes(picture: Picture) -> bool:
    """Tells whether it goes on with the text itself: what reads one text and writes another does not."""
    run = picture.run
    return run.logits is not None and run.extras.patches is None and len(picture.model.groups) == 1


def word_in_words(word: str, pictures_of_it: dict[str, Picture]) -> str:
    """How likely a word is to come next, in each of these pictures of one model: {how it is called: picture}.

    What cannot be told is said in its place; "" without a word.
    """
    if not word.strip():
        return ""
    try:
        found = {name: chance_of(picture, word) for name, picture in pictures_of_it.items()}
    except HeadlightError as error:
        return f"“{word.strip()}”: {error}."
    told = ", ".join(f"{_written(chance)} {name}".strip() for name, (chance, _) in found.items())
    pieces = next(iter(found.values()))[1]
    of_pieces = f" It takes {len(pieces)} tokens, {' '.join(pieces)}, and their probabilities are multiplied."
    return f"“{word.strip()}” comes next with probability {told}.{of_pieces if len(pieces) > 1 else ''}"


def _written(chance: float) -> str:
    """Of tokens that are multiplied the probability may be far below what a weight is written with."""
    return numbers.weight(chance) if chance >= 1e-4 else numbers.number(chance)


def chance_of(picture: Picture, word: str) -> tuple[float, list[str]]:
    """The probability of a word to come next, and its tokens. Raises a HeadlightError where it cannot be told."""
    settings, run, model = picture.settings, picture.run, picture.model
    goes_on = settings.text[-1:].isspace() or not settings.text or not word.strip()[:1].isalnum()
    text = settings.text + ("" if goes_on else " ") + word.strip()
    tokens, ids = model.tokenize(text)
    n = len(run.ids)
    if list(ids[:n]) != list(run.ids) or len(ids) == n:
        raise HeadlightError(
            "it cannot be appended as it is, because together with the end of the sentence it splits into other tokens"
        )
    first = chances_of(picture)
    if first is None:
        raise HeadlightError("this model does not predict the next word")
    if len(ids) == n + 1:
        return float(first[ids[n]]), list(tokens[n:])
    if settings.painted:
        raise HeadlightError(f"it takes {len(ids) - n} tokens, and the painted mask is for {n} alone")
    longer = pictures.picture(replace(settings, text=text))
    with pass_slot(len(ids), models.heads(model)):
        losses = surprise.surprise(model, longer.run)
    return math.exp(-float(losses[n:].sum())), list(tokens[n:])


def _next(picture: Picture, number: int, now: Tensor, before: Tensor | None) -> NextToken:
    model = picture.model
    label = model.tokenizer.id_to_token(number) or str(number)
    adds, was = _adds(model, number, label), None if before is None else float(before[number])
    if isinstance(model.tokenizer, ByteLevel):
        label = in_text(label, picture.settings.text)
    return {"label": _VISIBLE.get(label, label), "text": adds, "chance": float(now[number]), "before": was}


def _adds(model: Model, number: int, label: str) -> str:
    """What a token adds to the sentence."""
    if model.history is not None:  # our own vocabularies hold words, or characters
        return label if model.history.recipe.task == "text" else f" {label}"
    text = str(model.tokenizer.decode([number]))
    return "" if "�" in text else text
