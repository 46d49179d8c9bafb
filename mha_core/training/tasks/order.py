"""Three tasks that only word order decides: texts in mirror pairs, the same words in two orders with two labels.

A model that does not see order gives both members of a pair the same answer, so it is right once in every pair.
"""

import random
from collections.abc import Iterable, Iterator

from .base import Labelled, Row

_TRAIN_SHARE = 0.75

_NOUNS = ("dog", "cat", "fox", "horse", "boy", "girl", "king", "queen", "farmer", "doctor")
# their past tense is their participle too, so that both voices hold the same word
_VERBS = ("chased", "followed", "watched", "helped", "called", "pushed", "liked", "visited")

_GOOD = (
    "good", "great", "lovely", "fine", "superb", "tasty", "perfect", "excellent", "wonderful", "delightful",
    "pleasant", "amazing",
)  # fmt: skip
_BAD = (
    "bad", "awful", "nasty", "terrible", "dreadful", "dull", "weak", "hopeless", "disappointing", "miserable", "poor",
    "horrid",
)  # fmt: skip

_MIN_BRACKETS, _MAX_BRACKETS = 3, 7

_Pair = tuple[tuple[str, int], tuple[str, int]]  # (text, label) and its mirror


def who(seed: int = 0) -> Labelled:
    """The one who did it: "the dog chased the cat", "the cat was chased by the dog"; the mirror swaps the two nouns."""
    pairs: list[_Pair] = []
    for number, doer in enumerate(_NOUNS):
        for other in range(number + 1, len(_NOUNS)):
            done_to = _NOUNS[other]
            for verb in _VERBS:
                for template in ("the {0} {verb} the {1}", "the {1} was {verb} by the {0}"):
                    text = template.format(doer, done_to, verb=verb)
                    mirror = template.format(done_to, doer, verb=verb)
                    pairs.append(((text, number), (mirror, other)))
    return _split("who", "Who did what", 1, _NOUNS, pairs, random.Random(seed))


def food(seed: int = 0) -> Labelled:
    """Was the food good: "the food was fine but the service was poor"; the mirror swaps the two adjectives."""
    pairs: list[_Pair] = []
    for good in _GOOD:
        for bad in _BAD:
            for template in ("the food was {0} but the service was {1}", "the service was {1} but the food was {0}"):
                pairs.append(((template.format(good, bad), 0), (template.format(bad, good), 1)))
    return _split("food", "Food review", 1, ("good food", "bad food"), pairs, random.Random(seed))


def brackets(seed: int = 0) -> Labelled:
    """Is every bracket closed: "( ( ) )"; the mirror holds the same brackets in another order.

    Each balanced text of 3 to 7 pairs is there once, with one of its orders that do not balance.
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
    return _split("brackets", "Brackets", 1, ("balanced", "not balanced"), pairs, generator)


def is_balanced(symbols: Iterable[str]) -> bool:
    """No bracket closes before one was opened for it, and none stays open."""
    depth = 0
    for symbol in symbols:
        depth += 1 if symbol == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _balanced(to_open: int, opened: int) -> Iterator[str]:
    """Every way to go on with so many brackets to open and so many that are open."""
    if not to_open:
        yield ")" * opened
        return
    for rest in _balanced(to_open - 1, opened + 1):
        yield "(" + rest
    if opened:
        for rest in _balanced(to_open, opened - 1):
            yield ")" + rest


def _split(
    name: str, title: str, version: int, classes: tuple[str, ...], pairs: list[_Pair], generator: random.Random
) -> Labelled:
    """The pairs by chance into two parts, and a few of the second to ask about."""
    generator.shuffle(pairs)
    rows = [tuple(Row(text, label, number) for text, label in pair) for number, pair in enumerate(pairs)]
    count = round(_TRAIN_SHARE * len(rows))
    short = sorted(rows[count:], key=lambda pair: len(pair[0].text.split()))
    return Labelled(
        name=name,
        title=title,
        version=version,
        classes=classes,
        train=tuple(row for pair in rows[:count] for row in pair),
        test=tuple(row for pair in rows[count:] for row in pair),
        questions=tuple(row.text for pair in (*short[:2], short[-1]) for row in pair),
        probes=tuple(row.text for row in short[0]),
    )
