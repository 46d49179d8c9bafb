"""Charts side by side that are compared: the same numbers at the same height."""

from collections.abc import Sequence

from .parts import Part

MARGIN = 0.05  # of the range, kept free above and below the curves


def level(parts: Sequence[Part]) -> None:
    """Gives the charts of one unit one upright axis: over all their values; others keep their own."""
    charts = [part.figure for part in parts if part.unit and part.figure is not None]
    if len(charts) < 2 or len({part.unit for part in parts}) > 1:
        return
    values = [float(y) for chart in charts for line in chart["data"] for y in line["y"]]
    least, most = min(values), max(values)
    free = MARGIN * (most - least) or MARGIN
    for chart in charts:
        chart["layout"]["yaxis"]["range"] = [least - free, most + free]
