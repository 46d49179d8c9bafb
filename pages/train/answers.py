"""What trained models say to a typed text: answers, the same words in two orders, padding, continuations, maps.

Every function takes the models by the names of their candidates. A model is asked once: what it said is kept for all
visitors. No streamlit.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from cachetools import LRUCache
from cachetools import cached as kept_in

from mha_core import Model
from mha_core.training import inference
from mha_core.training.tasks import Labelled
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block, Mark, share
from pages.kit.picture import pictures

__all__ = [
    "Trained",
    "answers",
    "beginning",
    "beside",
    "both_orders",
    "chances",
    "continuations",
    "forget",
    "head_names",
    "maps",
]

KEPT_BYTES = 24 * 2**20
ENTRY_BYTES = 1024  # of the smallest answer with its key, so that their number is bounded too
BYTES_A_CHARACTER = 8  # that Python needs for what JSON writes with one
_SAME = 1e-5  # logits of one sentence in two orders that differ by no more are called the same
_MEAN = "mean of layer "

P = ParamSpec("P")
Said = TypeVar("Said")


@dataclass(frozen=True)
class Trained:
    """A model that can be asked. id: its name in the list, which stands for its weights; own ones cannot be guessed."""

    id: str
    model: Model


Models = Mapping[str, Trained]

_kept: LRUCache[bytes, Any] = LRUCache(
    KEPT_BYTES, getsizeof=lambda said: ENTRY_BYTES + BYTES_A_CHARACTER * len(json.dumps(said))
)
_lock = threading.Lock()


def forget() -> None:
    """Drops every answer."""
    with _lock:
        _kept.clear()


def _once(ask: Callable[Concatenate[Trained, P], Said]) -> Callable[Concatenate[Trained, P], Said]:
    """Asks a model once for each input, in one of the process's places for a pass, and keeps what it says."""

    def key(trained: Trained, *args: P.args, **kwargs: P.kwargs) -> bytes:
        given = repr((ask.__name__, trained.id, args, sorted(kwargs.items())))
        return hashlib.blake2b(given.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def say(trained: Trained, *args: P.args, **kwargs: P.kwargs) -> Said:
        with pictures.turn():
            return ask(trained, *args, **kwargs)

    return kept_in(_kept, key, _lock)(say)  # computed without the lock


def answers(models: Models, texts: Sequence[str], task: Labelled | None) -> Block:
    """The likeliest class and its probability for each text and candidate; a known wrong answer is crossed."""
    known = task.labels if task else {}
    rows, marks = [[text or "(nothing)"] for text in texts], dict[tuple[int, int], Mark]()
    for column, one in enumerate(models.values(), 1):
        classes, chances = inference.classes(one.model), [_alone(one, text) for text in texts]
        for at, (text, own) in enumerate(zip(texts, chances, strict=True)):
            best = max(range(len(own)), key=own.__getitem__)
            wrong = task is not None and text in known and task.classes[known[text]] != classes[best]
            rows[at].append(f"{classes[best]} {share(own[best], 2)}{' ✗' if wrong else ''}")
            if wrong:
                marks[at, column] = "bad"
    caption = "The likeliest answer and its probability; ✗ = the data say otherwise." if known else ""
    return sheet.table(["text", *models], rows, caption, marks)


def chances(models: Models, texts: Sequence[str]) -> list[Block]:
    """The probability of every class: for each text a matrix, a column for each candidate."""
    found = []
    for text in texts:
        columns = [_alone(one, text) for one in models.values()]
        classes = inference.classes(next(iter(models.values())).model)
        found.append(
            sheet.matrix(
                f"“{_short(text)}”",
                [list(line) for line in zip(*columns, strict=True)],
                rows=list(classes),
                cols=list(models),
                axes="",
                write=lambda value: share(value, 3),
                colour="weights",
                compact=True,
            )
        )
    return found


def both_orders(models: Models, text: str, mirror: str) -> list[str]:
    """How far the logits of two texts lie apart, a sentence for each candidate."""
    same_words = sorted(text.lower().split()) == sorted(mirror.lower().split())
    found = []
    for name, trained in models.items():
        model = trained.model
        logits = zip(*(_logits(trained, each) for each in (text, mirror)), strict=True)
        difference = max(abs(one - other) for one, other in logits)
        said = f"“{name}”: the logits " + (f"differ by at most {difference:.2g}" if difference else "are identical")
        if model.tokenize(text)[1] == model.tokenize(mirror)[1]:
            said += "; both are the same tokens to it"
        elif same_words and difference <= _SAME:
            said += "; it cannot tell the two orders apart"
        found.append(f"{said}.")
    return found


def beside(models: Models, text: str, long: str) -> Block:
    """The answer to a text alone, and beside a long one in the same batch, with the padding masked and not."""
    rows = []
    for name, one in models.items():
        classes = inference.classes(one.model)
        row = [name]
        for texts, mask in (((text,), None), ((text, long), True), ((text, long), False)):
            own = _first(one, texts, mask)
            best = max(range(len(own)), key=own.__getitem__)
            row.append(f"{classes[best]} {share(own[best], 3)}")
        rows.append(row)
    caption = "In a batch the short text is filled up with padding; without the mask its tokens attend to that padding."
    return sheet.table(["", "alone", "beside, padding masked", "beside, without the mask"], rows, caption)


def beginning(models: Models, text: str) -> str:
    """As much of a text as all of these models take."""
    for one in models.values():
        text = text[: _most(one, text)]
    return text


def continuations(models: Models, text: str, tokens: int, temperature: float, seed: int, joined_by: str) -> list[Block]:
    """How each language model goes on with a text."""
    found = []
    for name, one in models.items():
        new = _continuation(one, text, tokens, temperature, seed)
        found.append(sheet.panel(name, [sheet.text(f"{text} ▸ {joined_by.join(new)}")]))
    return found


def head_names(models: Models) -> list[str]:
    """What can be looked at in these models: each head, and the mean of each layer."""
    sizes = [one.model.sizes for one in models.values()]
    layers, heads = max(size.n_layers for size in sizes), max(size.n_heads for size in sizes)
    found = []
    for layer in range(layers):
        found += [f"{_MEAN}{layer}", *(f"layer {layer} head {head}" for head in range(heads))]
    return found


def maps(models: Models, text: str, head: str) -> list[Block]:
    """The weights of one head, or the mean over a layer's heads, of every model: rows are queries, columns keys."""
    found = []
    mean = head.startswith(_MEAN)
    layer, number = (int(head.removeprefix(_MEAN)), 0) if mean else (int(part) for part in head.split()[1::2])
    for name, one in models.items():
        sizes = one.model.sizes
        if layer >= sizes.n_layers or number >= sizes.n_heads:
            found.append(sheet.text(f"{name} has no {head.removeprefix('mean of ')}."))
        else:
            found.append({**_map(one, text, layer, None if mean else number), "name": name})
    return found


def _in_a_cell(weight: float) -> str:
    """As the film writes it: ".12", nothing for what would be ".00", and "≈1" for what would be 1."""
    fixed = f"{weight:.2f}"
    return "" if fixed == "0.00" else fixed[1:] if fixed != "1.00" else "1" if weight == 1 else "≈1"


def _alone(one: Trained, text: str) -> list[float]:
    return _first(one, (text,), None)


@_once
def _first(one: Trained, texts: tuple[str, ...], mask_padding: bool | None) -> list[float]:
    """The probabilities of the first of these texts, which are one batch."""
    chances: list[float] = inference.probabilities(one.model, texts, mask_padding=mask_padding)[0].tolist()
    return chances


@_once
def _logits(one: Trained, text: str) -> list[float]:
    logits: list[float] = inference.logits(one.model, [text])[0].tolist()
    return logits


@_once
def _continuation(one: Trained, text: str, tokens: int, temperature: float, seed: int) -> list[str]:
    return inference.continuation(one.model, text, tokens, temperature=temperature, seed=seed)


@_once
def _map(one: Trained, text: str, layer: int, head: int | None) -> Block:
    """The weights of one head, of None the mean over the layer's heads, as a matrix without a name."""
    run = one.model.run(text)
    weights = run.weights[layer].mean(dim=0) if head is None else run.weights[layer, head]
    return sheet.matrix(
        "", weights.tolist(), rows=run.tokens, cols=run.tokens, write=_in_a_cell, colour="weights", compact=True
    )


@_once
def _most(one: Trained, text: str) -> int:
    """How many characters of a text the model takes."""
    coded, most = one.model.tokenizer.encode(text), one.model.sizes.max_len
    return coded.offsets[most - 2][1] if len(coded.ids) > most else len(text)  # the last place is for [SEP]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
