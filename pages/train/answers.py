"""Answers of trained models to a typed text: classes, two word orders, continuations, translations and maps.

Every function takes the models by the names of their candidates. Answers are cached for all sessions.
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
from mha_core.token_text import quote
from mha_core.training import inference
from mha_core.training.tasks import Dates, Labelled, shapes

CACHE_BYTES = 24 * 2**20
ENTRY_BYTES = 1024  # of an empty answer with its key; bounds the number of entries too
BYTES_A_CHARACTER = 8  # in memory, for a character of JSON
EQUAL_LOGITS = 1e-5  # logits that differ by no more are reported as equal
_MEAN = "mean of layer "

P = ParamSpec("P")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class TrainedModel:
    """A trained model that answers questions.

    Attributes:
        id: the model's name in the registry, which identifies its weights; names of own models cannot be guessed.
        notices: the notices on the answers so far.
    """

    id: str
    model: Model
    notices: list[str] = field(default_factory=list, compare=False)


Models = Mapping[str, TrainedModel]

_answers: LRUCache[bytes, Any] = LRUCache(
    CACHE_BYTES, getsizeof=lambda answer: ENTRY_BYTES + BYTES_A_CHARACTER * len(json.dumps(answer))
)


def cached(function: Callable[Concatenate[TrainedModel, P], Answer]) -> Callable[Concatenate[TrainedModel, P], Answer]:
    """Cache the answers of a function in memory, with the notices that came with them.

    A missing answer is computed once, in one of the process's slots for passes. Later callers get its notices too.
    """

    def key(trained: TrainedModel, /, *args: P.args, **kwargs: P.kwargs) -> bytes:
        question = repr((function.__name__, trained.id, str(trained.model.device), args, sorted(kwargs.items())))
        return hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    @single_flight(_answers, key)
    def cached_call(trained: TrainedModel, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Answer, list[str]]:
        copy = replace(trained, notices=[])
        with pass_slot():
            return function(copy, *args, **kwargs), copy.notices

    def answer(trained: TrainedModel, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        result, notices = cached_call(trained, *args, **kwargs)
        trained.notices.extend(notices)
        return result

    return answer


def answers(models: Models, texts: Sequence[str], task: Labelled | None) -> Block:
    """Return a table of each candidate's most probable class of each text, with ✓ or ✗ if the true class is known."""
    labels = task.labels if task else {}
    rows, marks = [[text or "(nothing)"] for text in texts], dict[tuple[int, int], Mark]()
    for column, trained in enumerate(models.values(), 1):
        for row, text in enumerate(texts):
            chances, classes = _chances(trained, text), inference.classes(trained.model)
            best = classes[max(range(len(chances)), key=chances.__getitem__)]
            answer = f"{best} {share(max(chances), 2)}"
            if task is None or text not in labels:
                rows[row].append(answer)
                continue
            right = task.classes[labels[text]] == best
            rows[row].append(f"{answer} {'✓' if right else '✗'}")
            marks[row, column] = "good" if right else "bad"
    caption = "The most likely answer and its probability; ✓ right, ✗ wrong according to the data." if labels else ""
    return sheet.table(["text", *models], rows, caption, marks)


def chances(models: Models, texts: Sequence[str]) -> list[Block]:
    """Return a matrix of class probabilities for each text, with a column for each candidate."""
    classes = inference.classes(next(iter(models.values())).model)
    return [
        sheet.shares(
            quote(cut(text)),
            list(zip(*(_chances(trained, text) for trained in models.values()), strict=True)),
            classes,
            list(models),
        )
        for text in texts
    ]


def compare_orders(models: Models, text: str, mirror: str) -> list[str]:
    """Return a sentence for each candidate on the largest difference between the logits of two texts."""
    same_words = sorted(text.lower().split()) == sorted(mirror.lower().split())
    sentences = []
    for name, trained in models.items():
        model = trained.model
        logits = zip(_logits(trained, text), _logits(trained, mirror), strict=True)
        difference = max(abs(left - right) for left, right in logits)
        sentence = f"{quote(name)}: the logits " + (
            f"differ by at most {number(difference, 2)}" if difference else "are identical"
        )
        if model.tokenize(text)[1] == model.tokenize(mirror)[1]:
            sentence += "; it reads both as the same tokens"
        elif same_words and difference <= EQUAL_LOGITS:
            sentence += "; it cannot distinguish the two orders"
        sentences.append(f"{sentence}.")
    return sentences


def continuations(models: Models, text: str, tokens: int, separator: str, **sampling: float) -> list[Block]:
    """Return a panel for each language model with the text and its continuation, set apart from each other.

    `sampling` has the keywords of `inference.continuation`.
    """
    outputs = {name: _continuation(trained, text, tokens, **sampling) for name, trained in models.items()}
    return [sheet.panel(name, [sheet.continuation(text, tokens, separator)]) for name, tokens in outputs.items()]


def head_names(sizes: Sequence[tuple[int, int]]) -> list[str]:
    """Return the choices of a map: for each layer the mean over its heads, then each head.

    Args:
        sizes: the numbers of layers and heads of each model.
    """
    layers, heads = (max((size[part] for size in sizes), default=0) for part in (0, 1))
    return [
        name
        for layer in range(layers)
        for name in (f"{_MEAN}{layer}", *(f"layer {layer} head {head}" for head in range(heads)))
    ]


def maps(models: Models, task: Dates | None, text: str, head: str) -> list[Block]:
    """Return the attention maps of one head, or of the mean over a layer's heads, for every model.

    A model of pictures draws the picture that the text describes, with the weights over its patches. A translator shows
    its cross-attention, with the right word of every digit framed, and the maps of its encoder and decoder.
    """
    if task:
        return [_translation_panel(name, task, head, _translator_maps(model, text)) for name, model in models.items()]
    return [sheet.row([_map(model, name, text, head) for name, model in models.items()])]


def missing_head(name: str, head: str) -> Block:
    """Return a note that a model does not have the chosen head."""
    return sheet.text(f"{name} has no {head.removeprefix('mean of ')}.")


def select_map(maps: Tensor, head: str) -> Tensor | None:
    """Select the map (i, j) of a choice of `head_names` out of all maps; None if it does not exist.

    The maps are (layers, h, i, j).
    """
    mean = head.startswith(_MEAN)
    layer, number = (int(head.removeprefix(_MEAN)), 0) if mean else (int(part) for part in head.split()[1::2])
    if layer >= len(maps) or number >= maps.shape[1]:
        return None
    return maps[layer].mean(dim=0) if mean else maps[layer, number]


def _chances(trained: TrainedModel, text: str) -> list[float]:
    chances: list[float] = torch.tensor(_logits(trained, text)).softmax(dim=0).tolist()
    return chances


@cached
def _logits(trained: TrainedModel, text: str) -> list[float]:
    logits: list[float] = inference.logits(trained.model, [text], on_warning=trained.notices.append)[0].tolist()
    return logits


@cached
def _continuation(trained: TrainedModel, /, text: str, tokens: int, **sampling: Any) -> list[tuple[str, float]]:
    return inference.continuation(trained.model, text, tokens, on_warning=trained.notices.append, **sampling)


@cached
def _map(trained: TrainedModel, name: str, text: str, head: str) -> Block:
    drawing = shapes.read(text) if isinstance(trained.model, PictureModel) else None
    run = cast(PictureModel, trained.model).look(drawing.pixels) if drawing else trained.model.run(text)
    trained.notices.extend(run.notices)
    weights = select_map(run.weights, head)
    if weights is None:
        return missing_head(name, head)
    if drawing:
        return sheet.patches(name, drawing.pixels.tolist(), run.tokens, weights.tolist(), drawing.patches)
    note = f"{words.describe_repeats(run.tokens, weights)} {words.implementation_note(trained.model)}".strip()
    return dict(sheet.attention_map(name, run.tokens, weights.tolist(), note=note))  # a plain dict, for JSON


# ---- translators, compared with the right answers


def translations(models: Models, task: Dates, text: str) -> list[Block]:
    """Return each model's translation with the probability of every character, and whether it is right."""
    right, blocks = task.answer(text), list[Block]()
    for name, trained in models.items():
        tokens = _translation(trained, text)
        output = "".join(token for token, _ in tokens if token != END)
        if right is None:
            verdict = "The rule of this task finds no date of its years here, so the right answer is unknown."
        else:
            verdict = "✓ right" if output == right else f"✗ wrong; the answer is {right}"
        blocks.append(sheet.panel(name, [sheet.continuation(f"{text} → ", tokens, ""), sheet.text(verdict)]))
    return blocks


def _translation_panel(name: str, task: Dates, head: str, maps: dict[str, Any]) -> Block:
    output, source = maps["output"], maps["source"]
    cross, encoder, decoder = (select_map(torch.tensor(maps[group]), head) for group in (CROSS, ENCODER, DECODER))
    if cross is None or encoder is None or decoder is None:
        return sheet.panel(name, [missing_head(name, head)])
    origin = task.origin(source)
    right = [] if origin is None else [(i, j) for i, j in enumerate(origin[: len(output)]) if j >= 0]
    cross_map = sheet.attention_map("Cross: written → read", output, cross.tolist(), keys=source, marks=right)
    self_maps = [
        sheet.attention_map("Encoder: read → read", source, encoder.tolist()),
        sheet.attention_map("Decoder: written so far", maps["decoder_input"], decoder.tolist()),
    ]
    return sheet.panel(name, [sheet.text(_alignment_note(cross, right)), cross_map, sheet.row(self_maps)])


def _alignment_note(cross: Tensor, right: list[tuple[int, int]]) -> str:
    """Count the digits whose largest weight is on the word that they come from."""
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


@cached
def _translation(trained: TrainedModel, text: str) -> list[tuple[str, float]]:
    """Return the output tokens with their probabilities."""
    run = cast(Translator, trained.model).for_group(CROSS).run(text, all_logits=True)
    trained.notices.extend(run.notices)
    chances = cast(Tensor, run.logits).softmax(dim=-1).max(dim=-1)
    token, ids, values = trained.model.tokenizer.id_to_token, chances.indices.tolist(), chances.values.tolist()
    return [(token(number) or "", value) for number, value in zip(ids, values, strict=True)]


@cached
def _translator_maps(trained: TrainedModel, text: str) -> dict[str, Any]:
    """Return the maps of each attention group as lists, with the tokens of source, decoder input and output."""
    runs = {group: cast(Translator, trained.model).for_group(group).run(text) for group in (ENCODER, DECODER, CROSS)}
    decoder_input = runs[DECODER].tokens
    output = [token for token, _ in _translation(trained, text)][: len(decoder_input)]
    tokens = {"source": runs[ENCODER].tokens, "decoder_input": decoder_input, "output": output}
    return tokens | {group: run.weights.tolist() for group, run in runs.items()}
