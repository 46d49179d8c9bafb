"""Made-up news in five classes: headlines and paragraphs that a seeded generator fills from a table of words.

It is as hard as real news for a small model: most sentences have the same patterns in every class, a third has no
topic, many words belong to several topics, and most texts end with sentences about a second topic.
"""

import random
import re
import tomllib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from .base import Labelled
from .table import from_rows

ROWS = 1225
_TABLE = Path(__file__).with_suffix(".toml")
_MIN_SENTENCES, _MAX_SENTENCES = 4, 16  # sentences after the headline
_PLAIN_SHARE = 0.35  # of the sentences have no topic
_MAX_ASIDE_SHARE = 0.2  # of the sentences, at most, are about the second topic
_STRAY_SHARE = 0.1  # of the words come out of any topic
_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeio])")

_Words = dict[str, list[str]]  # slot -> the words that may fill it


def made_up(seed: int = 0) -> Labelled:
    """Generate texts of about 30 to 180 words, equally many per class, without duplicates.

    Args:
        seed: of the texts and of their split.
    """
    generator = random.Random(seed)
    names = list(_table()["topics"])
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        topic = names[len(rows) % len(names)]
        second = generator.choice([name for name in names if name != topic])
        rows.setdefault(_article(topic, second, generator), topic)
    task = from_rows(rows.items(), "made_up", "Made-up news", seed)
    shortest = {row.label: row.text for row in sorted(task.test, key=lambda row: -len(row.text))}
    # whole texts, as the models do not learn to read a headline alone
    questions = (*task.questions[:3], *sorted(shortest.values(), key=len)[:3])
    note = "All texts are made up: a generator puts words into patterns, and nobody and nothing in them is real."
    return replace(task, questions=questions, notes=(note, *task.notes))


def _article(topic: str, second: str, generator: random.Random) -> str:
    """Generate a headline and sentences about one topic, then some about a second one."""
    count = generator.randint(_MIN_SENTENCES, _MAX_SENTENCES)
    aside = generator.randint(0, max(1, round(_MAX_ASIDE_SHARE * count)))
    plain = round(_PLAIN_SHARE * count)
    main = max(1, count - aside - plain)
    sentences = _phrases("sentence", topic, main, generator) + _phrases("plain", topic, plain, generator)
    generator.shuffle(sentences)
    (headline,) = _phrases("headline", topic, 1, generator)
    behind = _phrases("aside", second, min(aside, 1), generator) + _phrases("sentence", second, aside - 1, generator)
    return " ".join([f"{headline}.", *sentences, *behind])


def _phrases(kind: str, topic: str, count: int, generator: random.Random) -> list[str]:
    """Return that many different filled patterns of a kind, each with a capital first letter."""
    patterns = generator.sample(_table()[kind], max(0, count))
    texts = [_ARTICLE.sub(r"\1n ", _fill(pattern, topic, generator)) for pattern in patterns]
    return [text[0].upper() + text[1:] for text in texts]


def _fill(pattern: str, topic: str, generator: random.Random) -> str:
    def word(slot: re.Match[str]) -> str:
        stray = generator.random() < _STRAY_SHARE
        source = generator.choice(list(_table()["topics"])) if stray else topic
        words: _Words = _table()["topics"][source]
        return _fill(generator.choice(words[slot[1]]), topic, generator)

    return _SLOT.sub(word, pattern)


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    """Load the table of words; each topic includes the shared ones."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    shared: _Words = table["shared"]
    return {**shared, "topics": {name: {**shared, **words} for name, words in sorted(table["topics"].items())}}
