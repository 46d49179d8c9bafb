"""Parts of the portrait of an encoding with channels: its matrix, its waves, one pair on its circle. No streamlit."""

from __future__ import annotations

import math

from pages.kit.draw import figures, sheet
from pages.kit.draw.sheet import number

from . import encodings
from .encodings import Encoding
from .parts import Part, View, cut, drawn, heading, sample

__all__ = ["circle", "table", "waves"]

MOST_ROWS, MOST_COLUMNS = 96, 128  # cells that are drawn
MOST_OF = 0.99  # of the cells are below full colour


def table(encoding: Encoding, view: View) -> Part:
    """The matrix: a row a position, a column a channel."""
    values = encodings.table(encoding)
    rows, columns = sample(len(values), MOST_ROWS), _columns(encoding)
    what = "what it adds" if encoding.acts == "add" else "a head's vector (1, …, 1, 0, …, 0), rotated"
    note = f"{what}: {len(values)} positions × {encoding.width} channels"
    if encoding.name == "sinusoidal":
        note += ", the sines left, the cosines right"
    note += drawn(len(rows), len(columns), (len(values), encoding.width))
    most, largest = float(values.abs().flatten().quantile(MOST_OF)), float(values.abs().max())
    if largest < 2 * most:
        most = largest
    else:
        note += f"; full colour from {number(most, 3)} on, the largest is {number(largest, 3)}"
    figure = figures.heat(
        values[rows][:, columns].tolist(),
        x=columns,
        y=rows,
        x_title="channel",
        y_title="position",
        theme=view.theme,
        y_names=[f"{place} {cut(view.tokens[place])}" for place in rows],
        most=most,
    )
    return Part("picture", [heading(encoding, "picture", note)], figure, f"Heat map, {note}.")


def waves(encoding: Encoding, view: View) -> Part:
    """The chosen channels over the position; the first one when none of them is there."""
    values = encodings.table(encoding)
    there = [channel for channel in view.channels if channel < encoding.width]
    missing = [str(channel) for channel in view.channels if channel >= encoding.width]
    shown = there or [0]
    series = {f"channel {channel}": values[:, channel].tolist() for channel in shown}
    told = []
    if missing:
        told.append(f"It has channels 0 to {encoding.width - 1}: {', '.join(missing)} cannot be drawn.")
    ranges = [f"{name}: {number(min(wave), 3)} to {number(max(wave), 3)}" for name, wave in series.items()]
    figure = figures.curves(series, x_title="position", y_title="value", theme=view.theme)
    said = f"{'; '.join(ranges)}."
    blocks = [heading(encoding, "waves of chosen channels"), sheet.text(said), *map(sheet.text, told)]
    return Part("lines", blocks, figure, f"Curves over the position. {said}")


def circle(encoding: Encoding, view: View) -> Part:
    """Two channels as a plane: where each position lies in it, and the chosen one with its numbers."""
    across, up = encodings.pair_channels(encoding, view.pair)
    points = encodings.table(encoding)[:, [across, up]].tolist()
    place = view.place
    at = encodings.table(encoding, place + 1)[place, [across, up]].tolist()
    pair = min(view.pair, encoding.width // 2 - 1)
    title = heading(encoding, f"pair {pair}, position by position", f"channels {across} (across) and {up} (up)")
    turn = encodings.turn_of(encoding, view.pair)
    numbers = sheet.table(
        ["position", "angle, rad", "full turns", f"channel {across}", f"channel {up}"],
        [
            [
                str(place),
                "—" if turn is None else number(turn * place),
                "—" if turn is None else number(turn * place / math.tau),
                *map(number, at),
            ]
        ],
    )
    figure = figures.circle(
        [(point[0], point[1]) for point in points],
        (at[0], at[1]),
        f"{place}",
        x_title=f"channel {across}",
        y_title=f"channel {up}",
        theme=view.theme,
    )
    alt = f"Positions 0 to {len(points) - 1} as points of a plane, and position {place} as a hand from its middle."
    return Part("detail", [title, sheet.text(_turning(encoding, pair, turn, points)), numbers], figure, alt)


def _turning(encoding: Encoding, pair: int, turn: float | None, points: list[list[float]]) -> str:
    """How a pair moves from position to position."""
    radii = [math.hypot(*point) for point in points]
    least, most = min(radii), max(radii)
    if turn is None:
        return (
            f"Learned, so no circle: the distance from the middle goes from {number(least)} to {number(most)} "
            f"over the {len(points)} positions."
        )
    last = encoding.width // 2 - 1
    speed = f"Pair {pair} of 0 to {last} turns by {number(turn, 6)} rad a position: once round in "
    return f"{speed}{number(math.tau / turn, 1)} positions, always {number(most, 3)} away from the middle."


def _columns(encoding: Encoding) -> list[int]:
    """The channels that are drawn: of sinusoids first the sines, then the cosines; side by side they would flicker."""
    every = sample(encoding.width, MOST_COLUMNS)
    if encoding.name != "sinusoidal":
        return every
    pairs = sample(encoding.width // 2, MOST_COLUMNS // 2)
    return [2 * pair for pair in pairs] + [2 * pair + 1 for pair in pairs]
