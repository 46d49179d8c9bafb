"""Words that a text says twice: how surely a model foresees them, and who looks at what followed the first time."""

from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.places import turn
from headlight.registry import models
from mha_core import Run


def foreseen(query: Query, settings: Settings) -> Value:
    """`foreseen`: the mean probability that the model gives to the words of the second round."""
    rows, chances = _said_again(settings)
    return Value.number(float(chances.gather(1, rows[:, None]).mean()))


def hits(query: Query, settings: Settings) -> Value:
    """`hits`: the share of the words of the second round that were the model's first choice."""
    rows, chances = _said_again(settings)
    return Value.number(float((chances.argmax(dim=-1) == rows).double().mean()))


def looks_behind(query: Query, settings: Settings, layer: float) -> Value:
    """`looks_behind(1)`, (h): the mean weight of a repeated word on what followed its first mention, in a layer."""
    run = pictures.picture(settings).run
    if layer not in range(len(run.weights)):
        raise RuleError(f"this model has the layers 0 to {len(run.weights) - 1}")
    found = [run.weights[int(layer), :, row, key] for row, key in _answers(run.ids)]
    return Value.of(torch.stack(found).mean(dim=0), "h")


def _answers(ids: Sequence[int]) -> list[tuple[int, int]]:
    """(row, key): each place whose token stood earlier, once, and what followed it then follows now.

    The row says the next token, and the key is the place where that token is to be found.

    Raises:
        RuleError: there is none.
    """
    found = []
    for row in range(1, len(ids) - 1):
        earlier = [at for at in range(row) if ids[at] == ids[row]]
        if len(earlier) == 1 and ids[earlier[0] + 1] == ids[row + 1]:
            found.append((row, earlier[0] + 1))
    if not found:
        raise RuleError("this text says no words a second time in the same order")
    return found


def _said_again(settings: Settings) -> tuple[Tensor, Tensor]:
    """The tokens of the second round (rows,), and in front of each what the model says comes next (rows, v)."""
    model = pictures.model_of(settings)
    ids = model.tokenize(settings.text)[1]
    rows = [row for row, _ in _answers(ids)]
    with turn(len(ids), models.heads(model)):
        run: Run = settings.run(model, all_logits=True)
    if run.logits is None:
        raise RuleError("this model says no next word")
    return torch.tensor([ids[row + 1] for row in rows]), run.logits[rows].double().softmax(dim=-1)
