"""Quantities of the trained models that Headlight brings along: no picture is needed."""

from functools import lru_cache
from typing import cast

import torch

from mha_core.errors import HeadlightError
from mha_core.training import inference, tasks
from mha_core.training.tasks import Labelled
from pages.kit.lessons.grammar import RuleError
from pages.kit.lessons.values import Value
from pages.kit.picture import models, pictures
from pages.kit.picture.sharing import turn


def accuracy(name: str) -> Value:
    """`accuracy("who-none-1")`: the share of unseen rows that a model which Headlight brings along answers rightly."""
    if name not in models.shipped():
        raise RuleError(f"there is no trained model “{name:.40}”")
    return Value.number(_accuracy(name))


@lru_cache(maxsize=64)
def _accuracy(name: str) -> float:
    """Kept: neither the model nor its rows change while the server runs."""
    model = pictures.model_on("auto", name)
    rows = cast(Labelled, tasks.build(name.split("-")[0])).test
    if not inference.classes(model):
        raise RuleError(f"“{name}” has no classes, so it has no accuracy")
    with turn():
        found = inference.probabilities_of_each(model, [row.text for row in rows]).argmax(dim=-1)
    return float((found == torch.tensor([row.label for row in rows])).float().mean())


def answers(name: str, text: str, label: str) -> Value:
    """`answers("who-none-1", "sentence", "dog")`: the probability that a trained model gives this answer."""
    if name not in models.shipped():
        raise RuleError(f"there is no trained model “{name:.40}”")
    model = pictures.model_on("auto", name)
    if label not in (classes := inference.classes(model)):
        raise RuleError(f"“{name}” has no answer “{label:.20}”")
    try:
        with turn():
            return Value.number(float(inference.probabilities(model, [text])[0, classes.index(label)]))
    except HeadlightError as error:
        raise RuleError(str(error)) from None
