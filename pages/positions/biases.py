"""Parts of the portrait of an encoding that is a bias: the matrix of a head, and its curve beside those of others."""

from headlight.ui import figures, sheet
from headlight.ui.numbers import number

from . import measures, planes
from .encodings import Encoding
from .parts import HEIGHT, Focus, Part, part, sample, sampled, token_names

MOST_ROWS = 96  # rows and columns that are drawn
MOST_LINES = 6


def matrix(encoding: Encoding, view: Focus) -> Part:
    """The matrix of the head in sight: a row a query, a column a key."""
    values = measures.bias(encoding)
    head, n = min(view.head, len(values) - 1), values.shape[-1]
    places = sample(n, MOST_ROWS)
    note = f"head {head} of 0 to {len(values) - 1}, {n} queries × {n} keys{sampled(len(places), len(places), (n, n))}"
    figure = planes.heat(
        values[head][places][:, places].tolist(),
        x=places,
        y=places,
        x_title="key",
        y_title="query",
        theme=view.theme,
        y_names=token_names(view, places),
        height=HEIGHT,
    )
    return part("picture", encoding, "picture", note, [], figure, f"Heat map of the bias, {note}.")


def by_head(encoding: Encoding, view: Focus) -> Part:
    """The bias of some heads over the distance, the head in sight among them."""
    values = measures.bias(encoding)
    many = len(values)
    heads = sorted({min(view.head, many - 1), *_spread(many, MOST_LINES - 1)})
    series = {f"head {head}": measures.by_distance(values[head], signed=True).mean for head in heads}
    ends = "; ".join(f"{name}: {number(min(curve), 3)} to {number(max(curve), 3)}" for name, curve in series.items())
    note = f"{len(heads)} of {many} heads; mean over all queries and keys that far apart"
    start = 1 - values.shape[-1]
    figure = figures.curves(series, start=start, x_title="j − i, from query to key", y_title="bias", theme=view.theme)
    what, alt = "bias against distance, head by head", f"Curves of the bias over the distance. {ends}."
    return part("lines", encoding, what, note, [sheet.text(f"{ends}.")], figure, alt, "bias")


def _spread(count: int, wanted: int) -> list[int]:
    """At most `wanted` of the numbers below `count`, evenly spread with both ends."""
    if count <= wanted:
        return list(range(count))
    return [round(at * (count - 1) / (wanted - 1)) for at in range(wanted)]
