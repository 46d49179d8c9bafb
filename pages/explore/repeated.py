"""Random tokens, said twice: what a model can know of the second time it must have copied from the first."""

from dataclasses import dataclass, replace

from cachetools import LRUCache

from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from headlight.registry import models
from headlight.ui.numbers import fixed
from mha_core import Model, Run
from mha_core.errors import HeadlightError
from mha_core.heads import kinds
from mha_core.measure import surprise

from . import found_heads
from .found_heads import Found

LONGEST = 25  # random tokens, each once; fewer where the model cannot read or tell so many


@dataclass(frozen=True)
class Repetition:
    """The mean loss of a token, in nats, of either time, and which heads do what on so many tokens, said twice."""

    tokens: int
    first: float
    second: float
    found: dict[str, list[Found]]


def of(picture: Picture) -> Repetition:
    """Under the picture's rule, encoding, temperature and heads off. Raises a HeadlightError where it cannot be run."""
    return _of(replace(picture.settings, text="", painted=""), picture)


def heads(picture: Picture) -> dict[str, list[Found]]:
    """The heads that do a thing most on such a text; none where it cannot be run."""
    try:
        return of(picture).found
    except HeadlightError:
        return {}


def in_words(picture: Picture) -> str:
    """Both losses in a sentence, beside those of the untouched model; why not where there are none."""
    try:
        now = of(picture)
        before = _of(replace(picture.settings.untouched, text=""), picture)
    except HeadlightError as error:
        return f"Random tokens, written twice: {error}."
    left = now.second / now.first
    gained = "it copies" if left < 0.5 else "it copies a little" if left < 0.8 else "it does not copy"
    changed = (
        "" if now is before else f" In the untouched model: {fixed(before.first, 1)} and {fixed(before.second, 1)}."
    )
    painted = " Painted cells are left out here." if picture.settings.painted else ""
    return (
        f"{now.tokens} random tokens, written twice: a token costs {fixed(now.first, 1)} nats the first time and "
        f"{fixed(now.second, 1)} the second, so {gained}.{changed}{painted}"
    )


def ids_of(model: Model) -> list[int]:
    """As many random tokens, said twice, as the model can read and tell."""
    sizes = model.sizes
    return kinds.repeated_ids(sizes.vocabulary, min(LONGEST, sizes.vocabulary, sizes.max_len // 2))


@shared(LRUCache(64), lambda settings, picture: settings)
def _of(settings: Settings, picture: Picture) -> Repetition:
    model = picture.model
    ids = ids_of(model)
    period = len(ids) // 2
    with turn(len(ids), models.heads(model)):
        run: Run = settings.run(model, ids)
        losses = surprise.surprise(model, run)
    halves = losses[1:period], losses[period + 1 :]  # before the first token, and in front of the repeat, nothing tells
    first, second = (float(half.mean()) for half in halves)
    return Repetition(period, first, second, found_heads.most(run))
