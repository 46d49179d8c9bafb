"""What is told of a model that goes on with the sentence: its next tokens, its surprise, and which heads copy."""

import math
from typing import TypedDict

import torch
from cachetools import LRUCache

from headlight.picture import next_token, pictures
from headlight.picture.next_token import NextToken
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.heads import kinds
from mha_core.measure import surprise

MAX_HEADS = 10  # heads of a kind
KINDS = ("previous", "itself", "first", "induction")  # what heads of a model that writes are searched for

Found = tuple[int, int, float]  # layer, head, and its mean weight
# now, and in the unchanged model; None of the first token, and of all where nothing is changed
Loss = tuple[float | None, float | None]


class GoesOn(TypedDict):
    """Of a model that does not say what comes next all of it is empty but for `found`."""

    next: list[NextToken]  # the likeliest
    drawn: NextToken | None  # where the sampling temperature is above 0
    sampling: tuple[float, int, str]  # temperature, seed, and the word that is asked about
    wordSaid: str
    surprise: list[Loss] | None  # of each token, now and before; None where it was not asked for
    found: dict[str, list[Found]]  # kind -> layer, head and score of those that do it most


def continuation(picture: Picture, before: Picture | None, query: Query, *, is_long: bool, surprised: bool) -> GoesOn:
    """Its part of the message.

    Args:
        before: the picture in the unchanged model, None where nothing is changed.
        is_long: not all maps of the text are kept.
        surprised: the surprise of each token is asked for, which costs a pass of its own.

    Raises what `pictures.picture` raises.
    """
    sides = {"": picture} if before is None else {"now": picture, "in the unchanged model": before}
    return {
        "next": next_token.compared(before, picture),
        "drawn": next_token.drawn(picture, query["temp"], query["dice"]),
        "sampling": (query["temp"], query["dice"], query["word"]),
        "wordSaid": next_token.word_in_words(query["word"], sides) if next_token.writes(picture) else "",
        "surprise": surprises(picture) if surprised else None,
        "found": {} if is_long else found_heads(picture),
    }


@single_flight(LRUCache(64), lambda picture: picture.settings.baseline)
def found_heads(picture: Picture) -> dict[str, list[Found]]:
    """For each of `KINDS` the heads of the untouched model that are it most, the first first.

    A kind of which the text has no cell is left out. Raises what `pictures.picture` raises.
    """
    best: dict[str, list[Found]] = {}
    run = pictures.picture(picture.settings.baseline).run
    weights = pictures.among_tokens(run)
    if weights is None:
        return best
    found = kinds.head_scores(weights, run.ids)
    for kind in KINDS:
        scores = found[kind]
        if not scores.isnan().any():
            top = torch.topk(scores.flatten(), min(MAX_HEADS, scores.numel()))
            pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            best[kind] = [(*divmod(at, scores.shape[1]), round(score, 4)) for at, score in pairs]
    return best


def surprises(picture: Picture) -> list[Loss]:
    """The loss of every token in nats; empty of models that do not say what comes next.

    Raises what `pictures.picture` raises.
    """
    if not next_token.writes(picture) or picture.model.encoder is None:
        return []
    settings = picture.settings
    now = _losses(picture)
    before = [None] * len(now) if settings == settings.baseline else _losses(pictures.picture(settings.baseline))
    return list(zip(now, before, strict=True))


@single_flight(LRUCache(64), lambda picture: picture.settings)
def _losses(picture: Picture) -> list[float | None]:
    with pass_slot(len(picture.run.tokens), models.heads(picture.model)):
        found = surprise.surprise(picture.model, picture.run).tolist()
    return [None if math.isnan(loss) else round(loss, 4) for loss in found]
