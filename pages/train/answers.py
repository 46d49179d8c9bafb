"""Answers of trained models to a typed text: classes, two orders, continuations, translations, maps.

Every function takes the models by the names of their candidates. A model is asked once: its answer is kept for all
visitors.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.picture import words
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import sheet
from headlight.ui.numbers import count, cut, number, share
from headlight.ui.sheet import Block, Mark
from mha_core import Model
from mha_core.models.translator import CROSS, DECODER, ENCODER, END, Translator
from mha_core.models.vision import PictureModel
from mha_core.training import inference
from mha_core.training.tasks import Labelled, Translation, shapes

CACHE_BYTES = 24 * 2**20
ENTRY_BYTES = 1024  # of the smallest answer with its key, so that their number is bounded too
BYTES_A_CHARACTER = 8  # that Python needs for what JSON writes with one
SAME = 1e-5  # logits of one sentence in two orders that differ by no more are called the same
_MEAN = "mean of layer "

P = ParamSpec("P")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Trained:
    """A model that can be asked.

    Attributes:
        id: its name in the list, which stands for its weights; own ones cannot be guessed.
        notices: what must be said of its answers so far, each sentence once.
    """

    id: str
    model: Model
    notices: dict[str, None] = field(default_factory=dict, compare=False)

    def hear(self, sentence: str) -> None:
        """Takes what must be said of an answer."""
        self.notices[sentence] = None


Models = Mapping[str, Trained]

_answers: LRUCache[bytes, Any] = LRUCache(
    CACHE_BYTES, getsizeof=lambda answer: ENTRY_BYTES + BYTES_A_CHARACTER * len(json.dumps(answer))
)


def once(ask: Callable[Concatenate[Trained, P], Answer]) -> Callable[Concatenate[Trained, P], Answer]:
    """Asks a model once for each input, in one of the process's places for a pass, and keeps the answer.

    What must be said of an answer is kept with it, and heard again by every model of this name that is asked.
    """

    def key(trained: Trained, /, *args: P.args, **kwargs: P.kwargs) -> bytes:
        question = repr((ask.__name__, trained.id, str(trained.model.device), args, sorted(kwargs.items())))
        return hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    @single_flight(_answers, key)
    def kept(trained: Trained, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Answer, list[str]]:
        asked = replace(trained, notices={})
        with pass_slot():
            return ask(asked, *args, **kwargs), list(asked.notices)

    def answer(trained: Trained, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        found, notices = kept(trained, *args, **kwargs)
        for sentence in notices:
            trained.hear(sentence)
        return found

    return answer


def answers(models: Models, texts: Sequence[str], task: Labelled | None) -> Block:
    """The likeliest class and its probability for each text and candidate; a known wrong answer is crossed."""
    labels = task.labels if task else {}
    rows, marks = [[text or "(nothing)"] for text in texts], dict[tuple[int, int], Mark]()
    for column, trained in enumerate(models.values(), 1):
        for row, text in enumerate(texts):
            best, answer = _likeliest(trained, _chances(trained, text))
            if task is None or text not in labels:
                rows[row].append(answer)
                continue
            right = task.classes[labels[text]] == best
            rows[row].append(f"{answer} {'✓' if right else '✗'}")
            marks[row, column] = "good" if right else "bad"
    caption = "The most likely answer and its probability; ✓ right, ✗ wrong according to the data." if labels else ""
    return sheet.table(["text", *models], rows, caption, marks)


def chances(models: Models, texts: Sequence[str]) -> list[Block]:
    """The probability of every class: for each text a matrix, a column for each candidate."""
    classes = inference.classes(next(iter(models.values())).model)
    return [
        sheet.shares(
            f"“{cut(text)}”",
            list(zip(*(_chances(one, text) for one in models.values()), strict=True)),
            classes,
            list(models),
        )
        for text in texts
    ]


def both_orders(models: Models, text: str, mirror: str) -> list[str]:
    """The largest difference of the logits of two texts, a sentence for each candidate."""
    same_words = sorted(text.lower().split()) == sorted(mirror.lower().split())
    sentences = []
    for name, trained in models.items():
        model = trained.model
        logits = zip(_logits(trained, text), _logits(trained, mirror), strict=True)
        difference = max(abs(one - other) for one, other in logits)
        said = f"“{name}”: the logits " + (
            f"differ by at most {number(difference, 2)}" if difference else "are identical"
        )
        if model.tokenize(text)[1] == model.tokenize(mirror)[1]:
            said += "; it reads both as the same tokens"
        elif same_words and difference <= SAME:
            said += "; it cannot distinguish the two orders"
        sentences.append(f"{said}.")
    return sentences


def continuations(models: Models, text: str, tokens: int, temperature: float, seed: int, joined_by: str) -> list[Block]:
    """The continuation of a text by each language model, apart from what it was given."""
    blocks = []
    for name, one in models.items():
        drawn = _continuation(one, text, tokens, temperature, seed)
        blocks.append(sheet.panel(name, [sheet.continuation(text, drawn, joined_by)]))
    return blocks


def head_names(sizes: Sequence[tuple[int, int]]) -> list[str]:
    """The choices of a map in models of so many layers and heads: each head, and the mean of each layer."""
    layers, heads = (max((size[part] for size in sizes), default=0) for part in (0, 1))
    return [
        name
        for layer in range(layers)
        for name in (f"{_MEAN}{layer}", *(f"layer {layer} head {head}" for head in range(heads)))
    ]


def maps(models: Models, task: Translation | None, text: str, head: str) -> list[Block]:
    """The weights of one head, or the mean over a layer's heads, of every model: rows are queries, columns keys.

    Of models that read pictures the drawing that is written so, with the weights of a token's row over its patches; of
    a translator the cross map, the right word of every digit framed, and the maps of its two halves.
    """
    if task:
        return [_translation_panel(name, task, head, _looked(one, text)) for name, one in models.items()]
    return [sheet.row([_map(one, name, text, head) for name, one in models.items()])]


def no_such_head(name: str, head: str) -> Block:
    return sheet.text(f"{name} has no {head.removeprefix('mean of ')}.")


def one_of(maps: Tensor, head: str) -> Tensor | None:
    """The map (i, j) of a choice of `head_names` out of (layers, h, i, j); None where there is no such head."""
    mean = head.startswith(_MEAN)
    layer, number = (int(head.removeprefix(_MEAN)), 0) if mean else (int(part) for part in head.split()[1::2])
    if layer >= len(maps) or number >= maps.shape[1]:
        return None
    return maps[layer].mean(dim=0) if mean else maps[layer, number]


def _likeliest(one: Trained, chances: Sequence[float]) -> tuple[str, str]:
    """The likeliest class, and the same with its probability."""
    best = max(range(len(chances)), key=chances.__getitem__)
    name = inference.classes(one.model)[best]
    return name, f"{name} {share(chances[best], 2)}"


@once
def _chances(one: Trained, text: str) -> list[float]:
    chances: list[float] = inference.probabilities(one.model, [text], told=one.hear)[0].tolist()
    return chances


@once
def _logits(one: Trained, text: str) -> list[float]:
    logits: list[float] = inference.logits(one.model, [text], told=one.hear)[0].tolist()
    return logits


@once
def _continuation(one: Trained, text: str, tokens: int, temperature: float, seed: int) -> list[tuple[str, float]]:
    how: dict[str, Any] = {"temperature": temperature, "seed": seed, "told": one.hear}
    return inference.continuation(one.model, text, tokens, **how)


@once
def _map(one: Trained, name: str, text: str, head: str) -> Block:
    drawing = shapes.read(text) if isinstance(one.model, PictureModel) else None
    run = cast(PictureModel, one.model).look(drawing.pixels) if drawing else one.model.run(text)
    for sentence in run.notices:
        one.hear(sentence)
    weights = one_of(run.weights, head)
    if weights is None:
        return no_such_head(name, head)
    if drawing:
        return sheet.patches(name, drawing.pixels.tolist(), run.tokens, weights.tolist(), drawing.touched)
    note = f"{words.of_repeats(run.tokens, weights)} {words.computed_by(one.model)}".strip()
    return dict(sheet.attention_map(name, run.tokens, weights.tolist(), note))  # what is kept is its text alone


# ---- translators, held against the right words


def translations(models: Models, task: Translation, text: str) -> list[Block]:
    """The answer of each model with the probability of every letter, and whether it is right."""
    right, blocks = task.answer(text), list[Block]()
    for name, one in models.items():
        drawn = _translated(one, text)
        written = "".join(token for token, _ in drawn if token != END)
        if right is None:
            said = "The rule of this task finds no date of its years here, so the right answer is unknown."
        else:
            said = "✓ right" if written == right else f"✗ wrong; the answer is {right}"
        blocks.append(sheet.panel(name, [sheet.continuation(f"{text} → ", drawn, ""), sheet.text(said)]))
    return blocks


def _translation_panel(name: str, task: Translation, head: str, looked: dict[str, Any]) -> Block:
    written, read = looked["written"], looked["read"]
    found = {group: one_of(torch.tensor(looked[group]), head) for group in (CROSS, ENCODER, DECODER)}
    cross, encoder, decoder = (found[group] for group in (CROSS, ENCODER, DECODER))
    if cross is None or encoder is None or decoder is None:
        return sheet.panel(name, [no_such_head(name, head)])
    origin = task.origin(read)
    right = [] if origin is None else [(i, j) for i, j in enumerate(origin[: len(written)]) if j >= 0]
    across = sheet.attention_map("Cross: written → read", written, cross.tolist(), keys=read, marks=right)
    halves = [
        sheet.attention_map("Encoder: read → read", read, encoder.tolist()),
        sheet.attention_map("Decoder: written so far", looked["given"], decoder.tolist()),
    ]
    return sheet.panel(name, [sheet.text(_told_of(cross, right)), across, sheet.row(halves)])


def _told_of(cross: Tensor, right: list[tuple[int, int]]) -> str:
    """Count the digits that look most at the word that they come from."""
    if not right:
        return (
            "It is not known here which word each digit comes from, because that needs one year, one month and one day."
        )
    best = cross.argmax(dim=-1).tolist()
    hits = sum(best[i] == j for i, j in right)
    return (
        f"{hits} of {count(len(right), 'digit')} ({share(hits / len(right), 2)}) attend most to the word that they "
        "come from, which is framed."
    )


@once
def _translated(one: Trained, text: str) -> list[tuple[str, float]]:
    """Return the translation, with the probability of each token."""
    run = cast(Translator, one.model).of(CROSS).run(text, all_logits=True)
    for sentence in run.notices:
        one.hear(sentence)
    chances = cast(Tensor, run.logits).softmax(dim=-1).max(dim=-1)
    numbers, values = chances.indices.tolist(), chances.values.tolist()
    return [
        (one.model.tokenizer.id_to_token(number) or "", value) for number, value in zip(numbers, values, strict=True)
    ]


@once
def _looked(one: Trained, text: str) -> dict[str, Any]:
    """Its maps by their groups, as lists, with what is read, what is written, and what each row was given."""
    runs = {group: cast(Translator, one.model).of(group).run(text) for group in (ENCODER, DECODER, CROSS)}
    given = runs[DECODER].tokens
    written = [token for token, _ in _translated(one, text)][: len(given)]
    looked = {"read": runs[ENCODER].tokens, "given": given, "written": written}
    return looked | {group: run.weights.tolist() for group, run in runs.items()}
