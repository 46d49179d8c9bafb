"""What is told of a model that goes on with the sentence: its next tokens, how surprised it was, and what it copies."""

from dataclasses import asdict
from typing import Any

from pages.kit.picture import next_token
from pages.kit.picture.pictures import Picture
from pages.kit.picture.query import Query

from . import found_heads, losses, repeated


def told(picture: Picture, query: Query, wanted: frozenset[str]) -> dict[str, Any]:
    """Its part of the message.

    Args:
        wanted: the switches of `look`; what costs a pass of its own is told where it is asked for.

    Raises what `pictures.picture` raises.
    """
    says = picture.run.logits is not None
    random = says and "random" in wanted
    drawn = next_token.drawn(picture, query["temp"], query["dice"])
    return {
        "next": [asdict(token) for token in next_token.likeliest(picture)],
        "drawn": None if drawn is None else asdict(drawn),
        "sampling": [query["temp"], query["dice"], query["word"]],
        "wordSaid": _of_word(picture, query["word"]) if says else "",
        "surprise": losses.of(picture) if "surprise" in wanted else None,
        "found": repeated.found(picture) if random else found_heads.of(picture),
        "randomSaid": repeated.in_words(picture) if random else None,
    }


def _of_word(picture: Picture, word: str) -> str:
    before = next_token.untouched(picture)
    sides = {"": picture} if before is None else {"now": picture, "in the untouched model": before}
    return next_token.word_in_words(word, sides)
