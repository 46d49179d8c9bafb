"""What the Positions page shows of an encoding, part by part: words, numbers and a chart. No streamlit."""

from __future__ import annotations

import math

from torch import Tensor

from mha_core.errors import PositionError
from pages.kit.draw import figures, sheet
from pages.kit.draw.sheet import Block, number
from pages.kit.picture import words

from . import biases, encodings
from . import waves as portrait_waves
from .encodings import Curve, Encoding
from .parts import TITLES, Part, View, heading

__all__ = ["PAPERS", "SLOTS", "amplitudes", "in_the_model", "portrait"]

# the places of a portrait, from top to bottom; two encodings side by side share them
SLOTS = ("card", "picture", "lines", "detail", "distance", "buckets", "far")
PAPERS = {
    "sinusoidal": "Vaswani et al. 2017, Attention Is All You Need, section 3.5",
    "learned": "Gehring et al. 2017; as in BERT, Devlin et al. 2018",
    "rotary": "Su et al. 2021, RoFormer",
    "alibi": "Press et al. 2022, Train Short, Test Long",
    "t5": "Raffel et al. 2020, T5, section 2.1",
    "shaw": "Shaw et al. 2018, Self-Attention with Relative Position Representations",
}
_ACTS = {
    "": "nowhere",
    "add": "on the embeddings: it is added, once, before the first layer",
    "rotate": "on queries and keys: it turns them, in every layer",
    "bias": "on the scaled scores: it is added, in every layer",
}
_MEASURE = {
    "add": "cosine of the two rows",
    "rotate": "q · k of equal vectors of length 1",
    "bias": "bias on the score",
}
ROUNDING = 1e-9


def portrait(encoding: Encoding, view: View) -> list[Part]:
    """All parts of an encoding, in the order of `SLOTS`."""
    match encoding.acts:
        case "add" | "rotate":
            kinds = portrait_waves.table, portrait_waves.waves, portrait_waves.circle
        case "bias":
            kinds = biases.bias, biases.heads, biases.all_heads
        case _:
            return [_card(encoding)]
    own = [*(make(encoding, view) for make in kinds), _distance(encoding, view)]
    if encoding.name == "t5":
        own.append(biases.buckets(encoding, view))
    return [_card(encoding), *own, _far(encoding, view)]


def amplitudes(found: encodings.Words, amplitude: float, theme: str) -> Part:
    """How long the vectors are that are added up at each token."""
    norms = encodings.norms(found, amplitude)
    waves = f"sinusoids × {amplitude:g}"
    series = {"embedding": norms.embedding, "learned row": norms.trained, waves: norms.waves}
    means = {name: math.fsum(values) / len(values) for name, values in series.items()}
    one = means["embedding"]
    said = "; ".join(f"{name} {number(mean, 3)} ({number(mean / one, 2)} ×)" for name, mean in means.items())
    equal = amplitude * means["learned row"] / means[waves]
    sentences = [
        f"Mean length of what is added up at a token, and as a multiple of the embedding's: {said}.",
        f"Sinusoids as long as the learned rows of this sentence need amplitude {number(equal, 4)}.",
    ]
    names = [f"{place} {token}" for place, token in enumerate(found.tokens)]
    figure = figures.curves(series, x_title="token, counted from 0", y_title="length", theme=theme, x_names=names)
    head = ["token", *series]
    lines = [[name, *(number(values[at], 3) for values in series.values())] for at, name in enumerate(names)]
    note = "MiniLM's word and segment embedding, the row of its learned table, and waves as wide"
    blocks = [sheet.title("Amplitude against embedding", note), *map(sheet.text, sentences), sheet.table(head, lines)]
    alt = "Lines of the length of each token's embedding, learned row and sinusoids; the table has the numbers."
    return Part("amplitude", blocks, figure, alt)


def in_the_model(found: encodings.OnModel) -> Block:
    """The sentence in MiniLM under each position that its control offers."""
    numbers = sheet.table(
        ["position encoding", "cosine of the sentence vector", "weight on the previous token", "what it is"],
        [[name, words.precise(cosine), number(weight), note] for name, note, cosine, weight in found.rows],
        "The cosine is to the untouched model. The weight is the mean over the sentence in layer "
        f"{found.layer} head {found.head} (counted from 0), the head that looks there most when nothing is changed.",
        prose=True,
    )
    return sheet.panel("On MiniLM: this sentence, everything else being equal", [numbers])


def _card(encoding: Encoding) -> Part:
    learned = {
        "fixed": "Nothing in it is learned.",
        "pretrained": f"{encoding.learned:,} learned numbers, pretrained: the model's own.",
        "random": f"{encoding.learned:,} learned numbers, random here: nothing has trained them.",
    }[encoding.origin]
    nothing = "Nothing is added or turned: the same word gets the same numbers wherever it stands."
    lines = [f"{PAPERS[encoding.name]}. {learned}" if encoding.acts else nothing]
    if encoding.queries:
        lines.append(f"Its bias depends on the queries; these are {encoding.queries}.")
    return Part("card", [sheet.title(TITLES[encoding.name], f"acts {_ACTS[encoding.acts]}"), *map(sheet.text, lines)])


def _distance(encoding: Encoding, view: View) -> Part:
    square, signed = encodings.similarity(encoding), encoding.acts == "bias"
    curve = encodings.by_distance(square, signed=signed)
    measure, last = _MEASURE[encoding.acts], square.shape[-1] - 1
    all_of = "heads and places" if signed else "places"
    low_is_high = _widest(curve) < ROUNDING
    across = "j − i" if signed else "distance"
    figure = figures.curves(
        {"mean": curve.mean},
        start=curve.start,
        x_title="j − i, from query to key" if signed else "distance",
        y_title=measure,
        theme=view.theme,
        spread=None if low_is_high else (curve.low, curve.high, f"smallest to largest of all {all_of}"),
    )
    near = _doubling(last + 1)
    places = [*(-place for place in reversed(near[1:])), *near] if signed else near
    lines = [("mean", curve.mean)]
    lines += [] if low_is_high else [("smallest", curve.low), ("largest", curve.high)]
    numbers = sheet.table(
        [across, *(f"{place}".replace("-", "−") for place in places)],
        [[name, *(number(line[place - curve.start], 2 if signed else 3) for place in places)] for name, line in lines],
    )
    title = heading(encoding, "similarity against distance", f"{measure}, up to {last} positions apart")
    blocks = [title, sheet.text(_only_distance(square, curve, signed=signed)), numbers]
    return Part("distance", blocks, figure, f"Curve of the {measure} over the distance; the table has the numbers.")


def _only_distance(square: Tensor, curve: Curve, *, signed: bool) -> str:
    """Whether pairs of positions equally far apart are alike."""
    curves = [encodings.by_distance(head, signed=True) for head in square] if signed else [curve]
    gap = max(map(_widest, curves))
    who = "Within a head" if signed else "Here"
    if gap < ROUNDING:
        return f"{who} only the distance counts: all pairs that far apart have the same value."
    return f"{who} pairs equally far apart differ by up to {number(gap, 3)}: more than the distance counts."


def _widest(curve: Curve) -> float:
    return max(high - low for low, high in zip(curve.low, curve.high, strict=True))


def _far(encoding: Encoding, view: View) -> Part:
    told: list[Block] = []
    reached = max(view.far, len(view.tokens))
    try:
        curve = encodings.far_curve(encoding, reached)
    except PositionError as error:
        told.append(sheet.notices([f"{words.sentence(error)} Below are the {view.limit} positions that there are."]))
        reached = view.limit
        curve = encodings.far_curve(encoding, reached)
    measure = f"{_MEASURE[encoding.acts]}{', mean over the heads' if encoding.acts == 'bias' else ''}"
    marks = {"your sentence": len(view.tokens) - 1, f"MiniLM's {view.limit}": view.limit}
    figure = figures.curves(
        {measure: curve}, x_title="position", y_title=_MEASURE[encoding.acts], theme=view.theme, marks=marks
    )
    title = heading(encoding, "past the trained length", f"{measure}, of position 0 and each of {reached:,} positions")
    said = _going_on(curve, view)
    return Part("far", [title, *told, sheet.text(said)], figure, f"Curve over {reached:,} positions. {said}")


def _going_on(curve: list[float], view: View) -> str:
    """What a curve does beyond the sentence and beyond the trained length."""
    inside, last = len(view.tokens) - 1, len(curve) - 1
    ends = f"{number(curve[last], 3)} at {last:,}"
    parts = [f"{number(curve[inside], 3)} at position {inside}, the last of the sentence, {ends}"]
    flat = last
    while flat and abs(curve[flat - 1] - curve[last]) < ROUNDING:
        flat -= 1
    if flat < last:
        parts.append(f"from position {flat:,} on it stays the same")
    beyond = curve[view.limit :]
    if beyond and flat > view.limit:
        ends = f"{number(min(beyond), 3)} to {number(max(beyond), 3)}"
        parts.append(f"past {view.limit} positions it goes on, {ends}")
    return f"It is {'; '.join(parts)}."


def _doubling(length: int) -> list[int]:
    """0, 1, 2, 4, 8, … and the last."""
    doubled = [0, *(2**power for power in range(length.bit_length()))]
    return [place for place in doubled if place < length - 1] + [length - 1]
