"""What is told of a model that goes on with the sentence: its next tokens, how surprised it was, and what it copies."""

import math
from typing import TypedDict

from cachetools import LRUCache

from headlight.picture import next_token, pictures
from headlight.picture.next_token import NextToken
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from headlight.registry import models
from mha_core.measure import surprise

from . import found_heads, repeated
from .found_heads import Found

# now, and in the untouched model; None of the first token, and of all where nothing is changed
Loss = tuple[float | None, float | None]


class GoesOn(TypedDict):
    """Of a model that does not say what comes next all of it is empty but for `found`."""

    next: list[NextToken]  # the likeliest
    drawn: NextToken | None  # where the sampling temperature is above 0
    sampling: tuple[float, int, str]  # temperature, seed, and the word that is asked about
    wordSaid: str
    surprise: list[Loss] | None  # of each token, now and before; None where it was not asked for
    found: dict[str, list[Found]]  # kind -> layer, head and score of those that do it most
    randomSaid: str | None  # of random tokens, said twice; `found` is then of these


def continuation(picture: Picture, before: Picture | None, query: Query, wanted: frozenset[str] | None) -> GoesOn:
    """Its part of the message.

    Args:
        before: the picture in the untouched model, None where nothing is changed.
        wanted: the switches of `look`; what costs a pass of its own is told where it is asked for. None for a text
            whose maps are not all kept, of which what its own pass tells is told alone.

    Raises what `pictures.picture` raises.
    """
    says, is_long, wanted = next_token.writes(picture), wanted is None, wanted or frozenset()
    random = says and "random" in wanted
    sides = {"": picture} if before is None else {"now": picture, "in the untouched model": before}
    return {
        "next": next_token.compared(before, picture),
        "drawn": next_token.drawn(picture, query["temp"], query["dice"]),
        "sampling": (query["temp"], query["dice"], query["word"]),
        "wordSaid": next_token.word_in_words(query["word"], sides) if says else "",
        "surprise": surprises(picture) if "surprise" in wanted else None,
        "found": {} if is_long else repeated.heads(picture) if random else found_heads.of(picture),
        "randomSaid": repeated.in_words(picture) if random else None,
    }


def surprises(picture: Picture) -> list[Loss]:
    """The loss of every token in nats; empty of models that do not say what comes next.

    Raises what `pictures.picture` raises.
    """
    if not next_token.writes(picture) or picture.model.encoder is None:
        return []
    settings = picture.settings
    now = _losses(picture)
    before = [None] * len(now) if settings == settings.untouched else _losses(pictures.picture(settings.untouched))
    return list(zip(now, before, strict=True))


@shared(LRUCache(64), lambda picture: picture.settings)
def _losses(picture: Picture) -> list[float | None]:
    with turn(len(picture.run.tokens), models.heads(picture.model)):
        found = surprise.surprise(picture.model, picture.run).tolist()
    return [None if math.isnan(loss) else round(loss, 4) for loss in found]
