"""Parts of the portrait of an encoding with channels: its matrix, some of its waves, one pair on its circle."""

import math

from headlight.ui import figures, sheet
from headlight.ui.numbers import number

from . import measures, planes
from .encodings import Encoding
from .parts import HEIGHT, Focus, Part, part, sample, sampled, token_names

MOST_ROWS, MOST_COLUMNS = 96, 128  # cells that are drawn
MOST_OF = 0.99  # of the cells are below full colour


def matrix(encoding: Encoding, view: Focus) -> Part:
    """The table: a row a position, a column a channel."""
    values = measures.table(encoding)
    rows, columns = sample(len(values), MOST_ROWS), _columns(encoding)
    what = "what it adds" if encoding.acts == "add" else "a head's vector (1, …, 1, 0, …, 0), rotated"
    note = f"{what}: {len(values)} positions × {encoding.width} channels"
    if encoding.name == "sinusoidal":
        note += ", the sines left, the cosines right"
    note += sampled(len(rows), len(columns), (len(values), encoding.width))
    most, largest = float(values.abs().flatten().quantile(MOST_OF)), float(values.abs().max())
    if largest < 2 * most:
        most = largest
    else:
        note += f"; full colour from {number(most, 3)} on, the largest is {number(largest, 3)}"
    figure = planes.heat(
        values[rows][:, columns].tolist(),
        x=columns,
        y=rows,
        x_title="channel",
        y_title="position",
        theme=view.theme,
        y_names=token_names(view, rows),
        most=most,
        height=HEIGHT,
    )
    return part("picture", encoding, "picture", note, [], figure, f"Heat map, {note}.")


def curves(encoding: Encoding, view: Focus) -> Part:
    """The chosen channels over the position; the first one when none of them is there."""
    values = measures.table(encoding)
    there = [channel for channel in view.channels if channel < encoding.width]
    missing = [str(channel) for channel in view.channels if channel >= encoding.width]
    series = {f"channel {channel}": values[:, channel].tolist() for channel in there or [0]}
    ranges = [f"{name}: {number(min(wave), 3)} to {number(max(wave), 3)}" for name, wave in series.items()]
    said = [f"{'; '.join(ranges)}."]
    if missing:
        said.append(f"It has channels 0 to {encoding.width - 1}: {', '.join(missing)} cannot be drawn.")
    figure = figures.curves(series, x_title="position", y_title="value", theme=view.theme)
    alt = f"Curves over the position. {said[0]}"
    return part("lines", encoding, "waves of chosen channels", "", [*map(sheet.text, said)], figure, alt)


def circle(encoding: Encoding, view: Focus) -> Part:
    """Two channels as a plane: where each position lies in it, and the chosen one with its numbers."""
    across, up = measures.pair_channels(encoding, view.pair)
    points = [(x, y) for x, y in measures.table(encoding)[:, [across, up]].tolist()]
    place = view.place
    x, y = measures.table(encoding, place + 1)[place, [across, up]].tolist()
    pair = min(view.pair, encoding.width // 2 - 1)
    turn = measures.turn_of(encoding, view.pair)
    angles = ["—", "—"] if turn is None else [number(turn * place), number(turn * place / math.tau)]
    names = f"channel {across}", f"channel {up}"
    numbers = sheet.table(
        ["position", "angle, rad", "full turns", *names], [[str(place), *angles, number(x), number(y)]]
    )
    figure = planes.circle(points, (x, y), str(place), x_title=names[0], y_title=names[1], theme=view.theme)
    alt = f"Positions 0 to {len(points) - 1} as points of a plane, and position {place} as a hand from its middle."
    what, note = f"pair {pair}, position by position", f"channels {across} (across) and {up} (up)"
    blocks = [sheet.text(_turning(encoding, pair, turn, points)), numbers]
    return part("detail", encoding, what, note, blocks, figure, alt)


def _turning(encoding: Encoding, pair: int, turn: float | None, points: list[tuple[float, float]]) -> str:
    """The way of a pair from position to position."""
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
    if encoding.name != "sinusoidal":
        return sample(encoding.width, MOST_COLUMNS)
    pairs = sample(encoding.width // 2, MOST_COLUMNS // 2)
    return [2 * pair for pair in pairs] + [2 * pair + 1 for pair in pairs]
