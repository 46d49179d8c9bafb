"""What trained models say to a typed text: answers, the same words in two orders, padding, continuations, maps.

Every function takes the models by the names of their candidates. No streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mha_core import Model, asking
from mha_core.tasks import Labelled

from . import sheet
from .sheet import Block, Mark, share

__all__ = ["answers", "beginning", "beside", "both_orders", "chances", "continuations", "head_names", "maps"]

Models = Mapping[str, Model]
_SAME = 1e-5  # logits of one sentence in two orders that differ by no more are called the same
_MEAN = "mean of layer "


def answers(models: Models, texts: Sequence[str], task: Labelled | None) -> Block:
    """The likeliest class and its probability for each text and candidate; a known wrong answer is crossed."""
    known = {row.text: row.label for row in (*task.test, *task.train)} if task else {}
    rows, marks = [[text or "(nothing)"] for text in texts], dict[tuple[int, int], Mark]()
    for column, (_, model) in enumerate(models.items(), 1):
        classes, chances = asking.classes(model), [_alone(model, text) for text in texts]
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
        columns = [_alone(model, text) for model in models.values()]
        classes = asking.classes(next(iter(models.values())))
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
    for name, model in models.items():
        one, other = (asking.logits(model, [each])[0] for each in (text, mirror))
        difference = float((one - other).abs().max())
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
    for name, model in models.items():
        classes = asking.classes(model)
        row = [name]
        for texts, mask in (([text], None), ([text, long], True), ([text, long], False)):
            own = asking.probabilities(model, texts, mask_padding=mask)[0].tolist()
            best = max(range(len(own)), key=own.__getitem__)
            row.append(f"{classes[best]} {share(own[best], 3)}")
        rows.append(row)
    caption = "In a batch the short text is filled up with padding; without the mask its tokens attend to that padding."
    return sheet.table(["", "alone", "beside, padding masked", "beside, without the mask"], rows, caption)


def beginning(models: Models, text: str) -> str:
    """As much of a text as all of these models take."""
    for model in models.values():
        coded, most = model.tokenizer.encode(text), model.sizes.max_len
        if len(coded.ids) > most:
            text = text[: coded.offsets[most - 2][1]]  # the last place is for [SEP]
    return text


def continuations(models: Models, text: str, tokens: int, temperature: float, seed: int, joined_by: str) -> list[Block]:
    """How each language model goes on with a text."""
    found = []
    for name, model in models.items():
        new = asking.continuation(model, text, tokens, temperature=temperature, seed=seed)
        found.append(sheet.panel(name, [sheet.text(f"{text} ▸ {joined_by.join(new)}")]))
    return found


def head_names(models: Models) -> list[str]:
    """What can be looked at in these models: each head, and the mean of each layer."""
    sizes = [model.sizes for model in models.values()]
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
    for name, model in models.items():
        if layer >= model.sizes.n_layers or number >= model.sizes.n_heads:
            found.append(sheet.text(f"{name} has no {head.removeprefix('mean of ')}."))
            continue
        run = model.run(text)
        weights = run.weights[layer].mean(dim=0) if mean else run.weights[layer, number]
        found.append(
            sheet.matrix(
                name,
                weights.tolist(),
                rows=run.tokens,
                cols=run.tokens,
                write=_in_a_cell,
                colour="weights",
                compact=True,
            )
        )
    return found


def _in_a_cell(weight: float) -> str:
    """As the film writes it: ".12", nothing for what would be ".00", and "≈1" for what would be 1."""
    fixed = f"{weight:.2f}"
    return "" if fixed == "0.00" else fixed[1:] if fixed != "1.00" else "1" if weight == 1 else "≈1"


def _alone(model: Model, text: str) -> list[float]:
    chances: list[float] = asking.probabilities(model, [text])[0].tolist()
    return chances


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
