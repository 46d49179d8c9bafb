"""The portrait of an encoding, part by part: words, numbers and a chart."""

from collections.abc import Callable

from torch import Tensor

from headlight.picture import words
from headlight.ui import figures, sheet
from headlight.ui.numbers import number, whole
from headlight.ui.sheet import Block
from mha_core.errors import PositionError

from . import biases, measures, waves
from .encodings import Encoding
from .measures import DistanceCurve
from .parts import HEIGHT, MEANINGS, TITLES, Focus, Part, doubling, part

# the places of a portrait, from top to bottom; two encodings side by side share them
SLOTS = ("card", "picture", "distance", "lines", "detail", "far")
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
# of vectors of length 1 both are a cosine
_UNITS = {"add": "cosine", "rotate": "cosine", "bias": "bias"}
ROUNDING = 1e-9
_Maker = Callable[[Encoding, Focus], Part]


def part_of(slot: str, encoding: Encoding, view: Focus) -> Part | None:
    """One of its parts; None where it has none of this slot."""
    is_there = slot == "card" or (encoding.acts and (slot != "detail" or encoding.acts != "bias"))
    return _MAKERS[slot](encoding, view) if is_there else None


def _by_kind(of_channels: _Maker, of_scores: _Maker) -> _Maker:
    """What makes a part of an encoding that has channels, or of one that is a bias."""
    return lambda encoding, view: (of_scores if encoding.acts == "bias" else of_channels)(encoding, view)


def _card(encoding: Encoding, _: Focus) -> Part:
    learned = {
        "fixed": "Nothing in it is learned.",
        "pretrained": f"{encoding.learned:,} learned numbers, pretrained: the model's own.",
        "random": f"{encoding.learned:,} learned numbers, random here: nothing has trained them.",
    }[encoding.origin]
    lines = [MEANINGS.get(encoding.name, "")]
    if encoding.acts:
        lines.append(f"{PAPERS[encoding.name]}. {learned}")
    if encoding.queries:
        lines.append(f"Its bias depends on the queries; these are {encoding.queries}.")
    return Part("card", [sheet.title(TITLES[encoding.name], f"acts {_ACTS[encoding.acts]}"), *map(sheet.text, lines)])


def _distance(encoding: Encoding, view: Focus) -> Part:
    square, signed = measures.similarity(encoding), encoding.acts == "bias"
    curve = measures.by_distance(square, signed=signed)
    measure, last = _MEASURE[encoding.acts], square.shape[-1] - 1
    lines, spread = {"mean": curve.mean}, None
    if _widest(curve) >= ROUNDING:
        lines |= {"smallest": curve.low, "largest": curve.high}
        spread = curve.low, curve.high, f"smallest to largest of all {'heads and places' if signed else 'places'}"
    figure = figures.curves(
        {"mean": curve.mean},
        start=curve.start,
        x_title="j − i, from query to key" if signed else "distance",
        y_title=measure,
        theme=view.theme,
        spread=spread,
    )
    figure["layout"]["height"] = HEIGHT
    near = doubling(last + 1)
    places = [*(-place for place in reversed(near[1:])), *near] if signed else near
    numbers = sheet.table(
        ["j − i" if signed else "distance", *map(whole, places)],
        [
            [name, *(number(line[place - curve.start], 2 if signed else 3) for place in places)]
            for name, line in lines.items()
        ],
    )
    note, blocks = f"{measure}, up to {last} positions apart", [sheet.text(_only_distance(square, signed)), numbers]
    alt = f"Curve of the {measure} over the distance; the table has the numbers."
    return part("distance", encoding, "similarity against distance", note, blocks, figure, alt, _UNITS[encoding.acts])


def _only_distance(square: Tensor, signed: bool) -> str:
    """Tells whether pairs of positions equally far apart are alike; of a bias, `signed`, within each head."""
    gap = max(_widest(measures.by_distance(each, signed=signed)) for each in (square if signed else [square]))
    who = "Within a head" if signed else "Here"
    if gap < ROUNDING:
        return f"{who} only the distance matters: equal distance, equal value."
    return f"{who} pairs equally far apart differ by up to {number(gap, 3)}, so more than distance matters."


def _widest(curve: DistanceCurve) -> float:
    return max(high - low for low, high in zip(curve.low, curve.high, strict=True))


def _far(encoding: Encoding, view: Focus) -> Part:
    warnings: list[Block] = []
    reached = max(view.far, len(view.tokens))
    try:
        curve = measures.far_curve(encoding, reached)
    except PositionError as error:
        sentence = f"{words.sentence(error)} Below are the {view.limit} positions that there are."
        warnings.append(sheet.notices([sentence]))
        reached = view.limit
        curve = measures.far_curve(encoding, reached)
    measure = f"{_MEASURE[encoding.acts]}{', mean over the heads' if encoding.acts == 'bias' else ''}"
    marks = {"your sentence": len(view.tokens) - 1, f"MiniLM's {view.limit}": view.limit}
    figure = figures.curves(
        {measure: curve}, x_title="position", y_title=_MEASURE[encoding.acts], theme=view.theme, marks=marks
    )
    said = _going_on(curve, view)
    note, blocks = f"{measure}, of position 0 and each of {reached:,} positions", [*warnings, sheet.text(said)]
    alt = f"Curve over {reached:,} positions. {said}"
    return part("far", encoding, "past the trained length", note, blocks, figure, alt, _UNITS[encoding.acts])


def _going_on(curve: list[float], view: Focus) -> str:
    """The course of a curve beyond the sentence and beyond the trained length."""
    inside, last = len(view.tokens) - 1, len(curve) - 1
    ends = f"{number(curve[last], 3)} at {last:,}"
    parts = [f"{number(curve[inside], 3)} at position {inside} (end of the sentence), {ends}"]
    flat = last
    while flat and abs(curve[flat - 1] - curve[last]) < ROUNDING:
        flat -= 1
    if flat < last:
        parts.append(f"from position {flat:,} on it stays the same")
    beyond = curve[view.limit :]
    if beyond and flat > view.limit:
        ends = f"{number(min(beyond), 3)} to {number(max(beyond), 3)}"
        parts.append(f"past {view.limit} positions it continues, {ends}")
    return f"It is {'; '.join(parts)}."


_MAKERS: dict[str, _Maker] = {
    "card": _card,
    "picture": _by_kind(waves.matrix, biases.matrix),
    "lines": _by_kind(waves.curves, biases.by_head),
    "detail": waves.circle,
    "distance": _distance,
    "far": _far,
}
