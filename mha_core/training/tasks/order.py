"""Three tasks whose label depends only on word order, with mirror pairs of the same words and different labels.

A model that does not see order gives both members of a pair the same answer, so it is right once in every pair.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import accumulate, combinations, product

from .base import WORDS, Labelled, Row

_TRAIN_SHARE = 0.75

_NOUNS = ("dog", "cat", "fox", "horse", "boy", "girl", "king", "queen", "farmer", "doctor")
# their past tense equals their participle, so that active and passive have the same words
_VERBS = ("chased", "followed", "watched", "helped", "called", "pushed", "liked", "visited")

_GOOD, _BAD = WORDS["food"]["good"], WORDS["food"]["bad"]

_MIN_BRACKETS, _MAX_BRACKETS = 3, 7

_Pair = tuple[tuple[str, int], tuple[str, int]]  # (text, label) and its mirror


def who_did_what(seed: int = 0) -> Labelled:
    """Generate sentences whose class is the agent: "the dog chased the cat", "the cat was chased by the dog".

    The mirror swaps the two nouns.
    """
    pairs: list[_Pair] = []
    templates = ("the {0} {verb} the {1}", "the {1} was {verb} by the {0}")
    for (number, agent), (other, patient) in combinations(enumerate(_NOUNS), 2):
        for verb, template in product(_VERBS, templates):
            text, mirror = (template.format(*nouns, verb=verb) for nouns in ((agent, patient), (patient, agent)))
            pairs.append(((text, number), (mirror, other)))
    return _split("who", "Who did what", _NOUNS, pairs, random.Random(seed))


def food(seed: int = 0) -> Labelled:
    """Generate reviews labelled by whether they praise the food: "the food was fine but the service was poor".

    The mirror swaps the two adjectives.
    """
    templates = ("the food was {0} but the service was {1}", "the service was {1} but the food was {0}")
    pairs: list[_Pair] = [
        ((template.format(good, bad), 0), (template.format(bad, good), 1))
        for good, bad, template in product(_GOOD, _BAD, templates)
    ]
    return _split("food", "Food review", ("good food", "bad food"), pairs, random.Random(seed))


def brackets(seed: int = 0) -> Labelled:
    """Generate balanced and unbalanced brackets: "( ( ) )"; the mirror has the same brackets in another order.

    Each balanced text of 3 to 7 pairs occurs once, with an unbalanced shuffle of it.
    """
    generator = random.Random(seed)
    pairs: list[_Pair] = []
    seen: set[str] = set()
    for count in range(_MIN_BRACKETS, _MAX_BRACKETS + 1):
        for text in _balanced(count, 0):
            symbols = list(text)
            while is_balanced(symbols) or "".join(symbols) in seen:
                generator.shuffle(symbols)
            seen.add("".join(symbols))
            pairs.append(((" ".join(text), 0), (" ".join(symbols), 1)))
    return _split("brackets", "Brackets", ("balanced", "not balanced"), pairs, generator)


def is_balanced(symbols: Iterable[str]) -> bool:
    """Return whether every bracket is closed after it was opened."""
    depths = list(accumulate((1 if symbol == "(" else -1 for symbol in symbols), initial=0))
    return min(depths) == depths[-1] == 0


def _balanced(n_unopened: int, n_open: int) -> Iterator[str]:
    """Yield every sequence that opens `n_unopened` more brackets and closes these and `n_open` open ones."""
    if not n_unopened:
        yield ")" * n_open
        return
    for rest in _balanced(n_unopened - 1, n_open + 1):
        yield "(" + rest
    if n_open:
        for rest in _balanced(n_unopened, n_open - 1):
            yield ")" + rest


def _split(name: str, title: str, classes: tuple[str, ...], pairs: list[_Pair], generator: random.Random) -> Labelled:
    """Split the pairs at random, and choose a few test pairs as questions."""
    generator.shuffle(pairs)
    rows = [tuple(Row(text, label, number) for text, label in pair) for number, pair in enumerate(pairs)]
    count = round(_TRAIN_SHARE * len(rows))
    short = sorted(rows[count:], key=lambda pair: len(pair[0].text.split()))
    return Labelled(
        name=name,
        title=title,
        version=1,
        classes=classes,
        train=tuple(row for pair in rows[:count] for row in pair),
        test=tuple(row for pair in rows[count:] for row in pair),
        questions=tuple(row.text for pair in (*short[:2], short[-1]) for row in pair),
        probes=tuple(row.text for row in short[0]),
    )
