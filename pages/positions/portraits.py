"""Portraits of encodings, part by part: text, numbers and a chart."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headlight import read_toml
from headlight.picture import words
from headlight.ui import figures, sheet
from headlight.ui.figures import Curve, Figure
from headlight.ui.numbers import cut, integer, number
from headlight.ui.sheet import Block
from mha_core.errors import PositionError

from . import charts, measures
from .encodings import Encoding
from .measures import DistanceCurve

HEIGHT = 290  # pixels, of the charts that are not folded
MAX_ROWS, MAX_COLUMNS = 96, 128  # of the heat map
COLOUR_QUANTILE = 0.99  # the share of cells below full colour
MAX_LINES = 6
ROUNDING = 1e-9
TEXTS = read_toml("encodings")  # encoding -> title, meaning and paper
_ACTS = {
    "": "nowhere",
    "add": "on the embeddings, to which it is added once, before the first layer",
    "rotate": "on queries and keys, which it rotates in every layer",
    "bias": "on the scaled scores, to which it is added in every layer",
}
_MEASURE = {
    "add": "cosine of the two rows",
    "rotate": "q · k of equal vectors of length 1",
    "bias": "bias on the score",
}
# for unit vectors both are a cosine
_UNITS = {"add": "cosine", "rotate": "cosine", "bias": "bias"}


@dataclass(frozen=True)
class Focus:
    """Positions, channels and head that the portraits show, counted from 0.

    Attributes:
        tokens: of the sentence.
        channels: whose waves are drawn.
        pair: of channels, in the circle.
        place: the selected position in the circle.
        head: whose bias is enlarged.
        far: the number of positions in the last part.
        limit: the number of positions that the model was trained for.
        theme: "dark" or "light".
    """

    tokens: Sequence[str]
    channels: Sequence[int]
    pair: int
    place: int
    head: int
    far: int
    limit: int
    theme: str


@dataclass(frozen=True)
class Part:
    """Part of a portrait: text, numbers, and a chart with its description.

    `unit` is that of its curves; side by side, charts with the same unit share their vertical range.
    """

    blocks: list[Block]
    figure: Figure | None = None
    alt: str = ""
    unit: str = ""


def build_part(slot: str, encoding: Encoding, view: Focus) -> Part | None:
    """Return the part of one of the `SLOTS`; None if the encoding has none."""
    is_there = slot == "card" or (encoding.applied_as and (slot != "detail" or encoding.applied_as != "bias"))
    return SLOTS[slot](encoding, view) if is_there else None


def _part(
    encoding: Encoding, title: str, note: str, blocks: list[Block], figure: Figure, alt: str, unit: str = ""
) -> Part:
    """Build a part titled with the encoding, as on a phone the parts of two encodings alternate."""
    return Part([sheet.title(f"{TEXTS[encoding.name]['title']}: {title}", note), *blocks], figure, alt, unit)


def _card(encoding: Encoding, _: Focus) -> Part:
    learned = {
        "fixed": "Nothing in it is learned.",
        "pretrained": f"{encoding.n_learned:,} learned numbers, from the pretrained model.",
        "random": f"{encoding.n_learned:,} learned numbers, which are random here because they are untrained.",
    }[encoding.origin]
    texts = TEXTS[encoding.name]
    lines = [texts["meaning"]]
    if encoding.applied_as:
        lines.append(f"{texts['paper']}. {learned}")
    if encoding.name == "shaw":
        lines.append("Its bias depends on the queries; these are random, standard normal.")
    return Part([sheet.title(texts["title"], f"acts {_ACTS[encoding.applied_as]}"), *map(sheet.text, lines)])


def _picture(encoding: Encoding, view: Focus) -> Part:
    """Build the heat map of the table, (position, channel), or of the selected head's bias."""
    if encoding.applied_as == "bias":
        biases = measures.bias(encoding)
        head, n = min(view.head, len(biases) - 1), biases.shape[-1]
        values, columns, titles = biases[head], _sample(n, MAX_ROWS), ("key", "query")
        note = f"head {head} of 0 to {len(biases) - 1}, {n} queries × {n} keys"
    else:
        values, columns, titles = measures.table(encoding), _channels(encoding), ("channel", "position")
        content = "what it adds" if encoding.applied_as == "add" else "a head’s vector (1, …, 1, 0, …, 0), rotated"
        note = f"{content}: {len(values)} positions × {encoding.width} channels"
        note += ", the sines left, the cosines right" if encoding.name == "sinusoidal" else ""
    rows = _sample(len(values), MAX_ROWS)
    axes = zip(("row", "column"), (rows, columns), values.shape, strict=True)
    sampled = [f"one {name} in {math.ceil(size / len(indices))}" for name, indices, size in axes if len(indices) < size]
    note += f"; drawn: {' and '.join(sampled)}" if sampled else ""
    full_colour, maximum = float(values.abs().flatten().quantile(COLOUR_QUANTILE)), float(values.abs().max())
    if maximum < 2 * full_colour:
        full_colour = maximum
    else:
        note += f"; full colour from {number(full_colour, 3)} on, the largest is {number(maximum, 3)}"
    names = [f"{place} {cut(view.tokens[place], 10)}" for place in rows]
    figure = charts.heat(values[rows][:, columns].tolist(), columns, names, titles, view.theme, full_colour)
    figure["layout"]["height"] = HEIGHT
    return _part(encoding, "picture", note, [], figure, f"Heat map, {note}.")


def _channels(encoding: Encoding) -> list[int]:
    """Return the drawn channels; sines come before cosines, as alternating they would flicker."""
    if encoding.name != "sinusoidal":
        return _sample(encoding.width, MAX_COLUMNS)
    pairs = _sample(encoding.width // 2, MAX_COLUMNS // 2)
    return [2 * pair for pair in pairs] + [2 * pair + 1 for pair in pairs]


def _sample(size: int, maximum: int) -> list[int]:
    """Return every n-th index below `size`, with the smallest n for at most `maximum` of them."""
    return list(range(0, size, math.ceil(size / maximum)))


def _lines(encoding: Encoding, view: Focus) -> Part:
    """Build the curves of the selected channels over the position, or of the bias of some heads."""
    start, missing = 0, ""
    if encoding.applied_as == "bias":
        values = measures.bias(encoding)
        n_heads = len(values)
        spread = {round(index * (n_heads - 1) / (MAX_LINES - 2)) for index in range(MAX_LINES - 1)}
        heads = sorted({min(view.head, n_heads - 1), *spread})
        series = {f"head {head}": measures.by_distance(values[head], signed=True).mean for head in heads}
        start, axes = 1 - values.shape[-1], ("j − i, from query to key", "bias")
        title = "bias by distance, for each head"
        note = f"{len(heads)} of {n_heads} heads; mean over all queries and keys that far apart"
    else:
        table = measures.table(encoding)
        channels = [channel for channel in view.channels if channel < encoding.width]
        missing = ", ".join(str(channel) for channel in view.channels if channel >= encoding.width)
        series = {f"channel {channel}": table[:, channel].tolist() for channel in channels or [0]}
        axes, title, note = ("position", "value"), "waves of the selected channels", ""
    ends = "; ".join(f"{name}: {number(min(curve), 3)} to {number(max(curve), 3)}" for name, curve in series.items())
    blocks = [sheet.text(f"{ends}.")]
    if missing:
        blocks.append(sheet.text(f"It has channels 0 to {encoding.width - 1}: {missing} cannot be drawn."))
    figure = _chart(series, view, axes, start)
    unit = "bias" if encoding.applied_as == "bias" else ""
    return _part(encoding, title, note, blocks, figure, f"Curves over the {axes[0]}. {ends}.", unit)


def _chart(
    series: Mapping[str, Sequence[float]], view: Focus, titles: tuple[str, str], start: int = 0, **more: Any
) -> Figure:
    """Build the chart of series over the integers from `start` on; `more` are fields of `Curve` or `marks`."""
    marks, last = more.pop("marks", None), start + max(map(len, series.values())) - 1
    curves = [
        Curve(name, number + 1, range(start, start + len(values)), values, dash=number, **more)
        for number, (name, values) in enumerate(series.items())
    ]
    return figures.line_chart(curves, span=(start, last), titles=titles, theme=view.theme, marks=marks)


def _circle(encoding: Encoding, view: Focus) -> Part:
    """Build the plane of two channels with a point per position, and the numbers of the selected one."""
    across, up = measures.pair_channels(encoding, view.pair)
    points = [(x, y) for x, y in measures.table(encoding)[:, [across, up]].tolist()]
    place = view.place
    x, y = measures.table(encoding, place + 1)[place, [across, up]].tolist()
    pair = min(view.pair, encoding.width // 2 - 1)
    turn = measures.pair_angle(encoding, view.pair)
    angles = ["—", "—"] if turn is None else [number(turn * place), number(turn * place / math.tau)]
    names = f"channel {across}", f"channel {up}"
    numbers = sheet.table(
        ["position", "angle, rad", "full turns", *names], [[str(place), *angles, number(x), number(y)]]
    )
    figure = charts.circle(points, (x, y), str(place), x_title=names[0], y_title=names[1], theme=view.theme)
    alt = f"Positions 0 to {len(points) - 1} as points of a plane, and position {place} as a line from the centre."
    title, note = f"pair {pair}, position by position", f"channels {across} (across) and {up} (up)"
    blocks = [sheet.text(_angle_text(encoding, pair, turn, points)), numbers]
    return _part(encoding, title, note, blocks, figure, alt)


def _angle_text(encoding: Encoding, pair: int, turn: float | None, points: list[tuple[float, float]]) -> str:
    """Describe how a pair moves from position to position."""
    radii = [math.hypot(*point) for point in points]
    low, high = min(radii), max(radii)
    if turn is None:
        return (
            f"It is learned, so this is not a circle: the distance from the centre ranges from {number(low)} to "
            f"{number(high)} over the {len(points)} positions."
        )
    last = encoding.width // 2 - 1
    speed = f"Pair {pair} of 0 to {last} turns by {number(turn, 6)} rad per position, a full turn in "
    return f"{speed}{number(math.tau / turn, 1)} positions, always {number(high, 3)} away from the centre."


def _distance(encoding: Encoding, view: Focus) -> Part:
    square, signed = measures.similarity(encoding), encoding.applied_as == "bias"
    curve = measures.by_distance(square, signed=signed)
    measure, last = _MEASURE[encoding.applied_as], square.shape[-1] - 1
    lines, band = {"mean": curve.mean}, dict[str, Any]()
    if _max_spread(curve) >= ROUNDING:
        lines |= {"smallest": curve.low, "largest": curve.high}
        name = f"smallest to largest of all {'heads and places' if signed else 'places'}"
        band = {"low": curve.low, "high": curve.high, "band": name}
    x_title = "j − i, from query to key" if signed else "distance"
    figure = _chart({"mean": curve.mean}, view, (x_title, measure), curve.start, **band)
    figure["layout"]["height"] = HEIGHT
    near = _doubling(last + 1)
    places = [*(-place for place in reversed(near[1:])), *near] if signed else near
    numbers = sheet.table(
        ["j − i" if signed else "distance", *map(integer, places)],
        [
            [name, *(number(line[place - curve.start], 2 if signed else 3) for place in places)]
            for name, line in lines.items()
        ],
    )
    note, blocks = f"{measure}, up to {last} positions apart", [sheet.text(_distance_text(square, signed)), numbers]
    alt = f"Curve of the {measure} over the distance; the table has the numbers."
    return _part(encoding, "similarity by distance", note, blocks, figure, alt, _UNITS[encoding.applied_as])


def _distance_text(square: Tensor, signed: bool) -> str:
    """Describe whether equal distances have equal values; of a bias, `signed`, within each head."""
    gap = max(_max_spread(measures.by_distance(matrix, signed=signed)) for matrix in (square if signed else [square]))
    scope = "Within a head" if signed else "Here"
    if gap < ROUNDING:
        return f"{scope} only the distance matters: equal distance, equal value."
    return f"{scope} pairs equally far apart differ by up to {number(gap, 3)}, so more than distance matters."


def _max_spread(curve: DistanceCurve) -> float:
    return max(high - low for low, high in zip(curve.low, curve.high, strict=True))


def _far(encoding: Encoding, view: Focus) -> Part:
    warnings: list[Block] = []
    reached = max(view.far, len(view.tokens))
    try:
        curve = measures.far_curve(encoding, reached)
    except PositionError as error:
        sentence = f"{words.error_sentence(error)} Below are the {view.limit} positions that there are."
        warnings.append(sheet.notices([sentence]))
        reached = view.limit
        curve = measures.far_curve(encoding, reached)
    measure = f"{_MEASURE[encoding.applied_as]}{', mean over the heads' if encoding.applied_as == 'bias' else ''}"
    marks = {"your sentence": len(view.tokens) - 1, f"MiniLM's {view.limit}": view.limit}
    figure = _chart({measure: curve}, view, ("position", _MEASURE[encoding.applied_as]), marks=marks)
    text = _far_text(curve, view)
    note, blocks = f"{measure}, of position 0 and each of {reached:,} positions", [*warnings, sheet.text(text)]
    alt = f"Curve over {reached:,} positions. {text}"
    return _part(encoding, "beyond the trained length", note, blocks, figure, alt, _UNITS[encoding.applied_as])


def _far_text(curve: list[float], view: Focus) -> str:
    """Describe the curve beyond the sentence and beyond the trained length."""
    inside, last = len(view.tokens) - 1, len(curve) - 1
    ends = f"{number(curve[last], 3)} at {last:,}"
    parts = [f"{number(curve[inside], 3)} at position {inside} (end of the sentence), {ends}"]
    beyond = curve[view.limit :]
    if beyond:
        ends = f"{number(min(beyond), 3)} to {number(max(beyond), 3)}"
        parts.append(f"beyond {view.limit} positions it continues, {ends}")
    return f"It is {'; '.join(parts)}."


def _doubling(length: int) -> list[int]:
    """Return the positions 0, 1, 2, 4, 8, … and the last."""
    doubled = [0, *(2**power for power in range(length.bit_length()))]
    return [place for place in doubled if place < length - 1] + [length - 1]


# parts from top to bottom, shared by two encodings side by side
SLOTS: dict[str, Callable[[Encoding, Focus], Part]] = {
    "card": _card,
    "picture": _picture,
    "distance": _distance,
    "lines": _lines,
    "detail": _circle,
    "far": _far,
}
