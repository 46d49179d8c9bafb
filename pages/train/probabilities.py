"""The probabilities that trained classifiers give to test rows and typed texts, each asked alone.

Those of test rows are computed once for all visitors.
"""

from collections.abc import Mapping, Sequence

import torch
from cachetools import LRUCache
from cachetools.keys import hashkey
from torch import Tensor

from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from headlight.ui.numbers import count
from mha_core.training import inference
from mha_core.training.tasks import Labelled

from . import confusion
from .answers import Trained
from .predictions import PredictedRows

CACHE_BYTES = 16 * 2**20
ENTRY_BYTES = 1024  # of the smallest with its key
MOST_ROWS = 5_000  # test rows that are asked: a table of a visitor may have more
AT_ONCE = 256  # texts of one turn

_known: LRUCache[object, Tensor] = LRUCache(CACHE_BYTES, getsizeof=lambda found: ENTRY_BYTES + found.nbytes)


def of_texts(trained: Trained, texts: Sequence[str]) -> Tensor:
    """(rows, classes) of a few texts that were typed."""
    with turn():
        return inference.probabilities_of_each(trained.model, texts, told=trained.hear)


@shared(_known, lambda trained, task: hashkey(trained.id, str(trained.model.device), task.fingerprint))
def of_test_rows(trained: Trained, task: Labelled) -> Tensor:
    """(rows, classes) of the first `MOST_ROWS` test rows."""
    texts = [row.text for row in task.test[:MOST_ROWS]]
    found = [of_texts(trained, texts[first : first + AT_ONCE]) for first in range(0, len(texts), AT_ONCE)]
    return torch.cat(found)


def answered(models: Mapping[str, Trained], task: Labelled | None, typed: Sequence[str]) -> list[PredictedRows]:
    """What these models make of the test rows, and of typed texts after them; those with other classes are left out.

    Raises what `inference.probabilities_of_each` raises.
    """
    rows = task.test[:MOST_ROWS] if task else ()
    texts, labels = (*(row.text for row in rows), *typed), (*(row.label for row in rows), *[None] * len(typed))
    parts = list[PredictedRows]()
    for name, one in models.items():
        classes = inference.classes(one.model)
        if classes == (task.classes if task else parts[0].classes if parts else classes):
            own = of_texts(one, typed)
            found = own if task is None else torch.cat([of_test_rows(one, task), own])
            parts.append(PredictedRows(name, classes, texts, labels, found, len(typed)))
    return parts


def notes(models: Mapping[str, Trained], parts: Sequence[PredictedRows], task: Labelled | None) -> list[str]:
    """Sentences on what was asked: which models, which rows, and where the answers are not those of the report."""
    said = []
    if task is not None and len(task.test) > MOST_ROWS:
        said.append(f"Only the first {MOST_ROWS:,} of {len(task.test):,} test rows were asked.")
    for part in parts:
        history = models[part.model].model.history
        start = history.start if history else None
        if history is None or start is None:
            continue
        one = f"“{part.model}”: seed {history.recipe.seed}, every text asked alone."
        if start.longest == history.recipe.max_len:
            one += f" Of texts of more than {start.longest} tokens these are read, as in training."
        if task is not None and history.end is not None and confusion.usable(history, task):
            answers = part.probabilities.argmax(dim=-1).tolist()[: len(part.texts) - part.typed]
            others = sum(alone != beside for alone, beside in zip(answers, history.end.predicted, strict=False))
            if others:
                one += f" In a batch, beside padding, it answers otherwise in {count(others, 'row')}: see the report."
        said.append(one)
    return [*dict.fromkeys(notice for one in models.values() for notice in one.notices), *said]
