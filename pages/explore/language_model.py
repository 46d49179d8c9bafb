"""The answer's part on language modelling: next tokens, surprise and heads of known kinds."""

import math
from typing import TypedDict

import torch
from cachetools import LRUCache

from headlight.picture import next_token, pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.next_token import NextToken, Stages
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.heads import kinds
from mha_core.measure import surprise

MAX_HEADS = 10  # heads of a kind
KINDS = ("previous", "itself", "first", "induction")

ScoredHead = tuple[int, int, float]  # layer, head, score
# with the changes, and without them; None for the first token, and without changes for all tokens
Loss = tuple[float | None, float | None]


class LanguageModelPart(TypedDict):
    """Next tokens, surprise and heads of known kinds; a model that predicts no tokens has `found` alone."""

    next: list[NextToken]  # the most probable ones
    stages: Stages | None  # of sampling; None for a model that predicts no tokens
    word: str  # whose probability is requested
    wordSentence: str
    surprise: list[Loss] | None  # of each token; None if not requested
    topHeads: dict[str, list[ScoredHead]]  # kind -> the heads with the highest scores


def payload(query: LinkQuery, picture: Picture, baseline: Picture | None) -> LanguageModelPart:
    """Return the part of the answer on language modelling. Raises what `pictures.picture` raises.

    `baseline` is the picture of the unmodified model, or None if nothing is changed. A long text has no maps to find
    heads in. The surprise of each token is computed on demand, as it costs a pass.
    """
    is_long = not picture.run.weights.numel()
    sides = {"": picture} if baseline is None else {"now": picture, "in the unchanged model": baseline}
    return {
        "next": next_token.likeliest_tokens(baseline, picture),
        "stages": next_token.stages(picture, query),
        "word": query["word"],
        "wordSentence": next_token.describe_word(query["word"], sides) if next_token.continues_text(picture) else "",
        "surprise": surprises(picture) if "surprise" in query.look.switches and not is_long else None,
        "topHeads": {} if is_long else top_heads(picture),
    }


@single_flight(LRUCache(64), lambda picture: picture.settings.baseline)
def top_heads(picture: Picture) -> dict[str, list[ScoredHead]]:
    """Return the unmodified model's heads with the highest scores of each of `KINDS`, sorted by score.

    Kinds that no cell of the text belongs to are omitted. Raises what `pictures.picture` raises.
    """
    best: dict[str, list[ScoredHead]] = {}
    run = pictures.picture(picture.settings.baseline).run
    weights = pictures.among_tokens(run)
    if weights is None:
        return best
    all_scores = kinds.head_scores(weights, run.ids)
    for kind in KINDS:
        scores = all_scores[kind]
        if not scores.isnan().any():
            top = torch.topk(scores.flatten(), min(MAX_HEADS, scores.numel()))
            pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            best[kind] = [(*divmod(index, scores.shape[1]), round(score, 4)) for index, score in pairs]
    return best


def surprises(picture: Picture) -> list[Loss]:
    """Return the loss of every token in nats; an empty list for models that predict no tokens.

    Raises what `pictures.picture` raises.
    """
    if not next_token.continues_text(picture) or picture.model.encoder is None:
        return []
    settings = picture.settings
    current = _losses(picture)
    baseline = [None] * len(current) if settings == settings.baseline else _losses(pictures.picture(settings.baseline))
    return list(zip(current, baseline, strict=True))


@single_flight(LRUCache(64), lambda picture: picture.settings)
def _losses(picture: Picture) -> list[float | None]:
    with pass_slot(len(picture.run.tokens), models.count_heads(picture.model)):
        losses = surprise.surprise(picture.model, picture.run).tolist()
    return [None if math.isnan(loss) else round(loss, 4) for loss in losses]
