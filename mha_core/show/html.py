"""A run as one HTML file: every head, hover and table, drawn by the app's own views, without server and network.

Jupyter, VS Code and Colab show it in a notebook's cell, as they do with what has a `_repr_html_`.
"""

from __future__ import annotations

import base64
import html
import math
import zlib
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ..errors import HeadlightError, SizeError
from .cells import write_cells
from .packing import Maps, as_bytes, headed, pack, pack_focus, pack_parts

if TYPE_CHECKING:
    from ..models.run import Run

MAX_WEIGHTS = 20_000_000  # of a file: all of MiniLM's longest sentence
SPARE_BYTES = 60_000  # of a file, beside what its weights take
BYTES_A_WEIGHT = 1.5
MAX_PACKED = 1.334  # bytes of base64 that a byte takes at most: 4/3, and what deflate adds where it finds nothing
LEVEL = 4  # of zlib: 6 makes a fourteenth fewer bytes in three times the time, 9 a fifth fewer in forty times
FRAMING = 64  # bytes around the parts of a message, at most

# `default-src 'none'`: the file can ask nobody for anything
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
</head>
<body>
<div id="headlight"></div>
<noscript>This picture is drawn by a script, which this browser does not run.</noscript>
<script type="text/plain" id="headlight-code">{code}</script>
<script type="text/plain" id="headlight-run">{run}</script>
<script type="module">
// The view and its numbers, packed with zlib: assets/web/standalone/standalone.js and mha_core/show of Headlight.
const unpacked = async (id) => {{
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}};
const [code, run] = await Promise.all(["headlight-code", "headlight-run"].map(unpacked));
const {{ open }} = await import(URL.createObjectURL(new Blob([code], {{ type: "text/javascript" }})));
open(document.getElementById("headlight"), run);
</script>
</body>
</html>
"""


# the page may run its script and open links, and nothing of the notebook is in its reach
_FRAME = (
    '<iframe srcdoc="{page}" title="{title}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: {height}px; border: 0"></iframe>'
)


@dataclass(frozen=True)
class Shown:
    """A picture that a notebook draws when it is the last line of a cell. IPython need not be there.

    Attributes:
        page: the text of an HTML file that needs nothing else.
        title: of the frame, for who has it read aloud.
        height: of the frame, in pixels.
    """

    page: str = field(repr=False)
    title: str
    height: int

    def _repr_html_(self) -> str:
        return _FRAME.format(page=html.escape(self.page), title=html.escape(self.title), height=self.height)

    def save(self, path: str | Path) -> Path:
        """Writes the picture as a file that any browser opens, and gives its path."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path


class StandaloneRun(TypedDict):
    """What is said of a run beside its numbers, and what stands large at first."""

    title: str
    link: str  # of the same picture, live; "" without one
    origin: str  # what was computed, and where
    changed: str  # what is changed in the model
    off: list[str]  # heads that are off in it, as "3.1"
    forbidden: list[str]  # cells as text, one for all heads or one a head; empty: everything may be looked at
    layer: int
    head: int
    row: int
    exact: list[tuple[int, int]]  # layer and head of the float32 maps that follow


def standalone(
    run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "", changed: str = ""
) -> str:
    """A run as the text of an HTML file, to be written as UTF-8: at most 60 kB and 1.5 bytes a weight.

    All maps are in it as one byte a weight, and as float32 those of as many heads as always fit into that, however
    badly they are packed: the head in focus first, then those of its layer, then the others.

    Args:
        run: its weights have the axes (layers, h, i, j).
        layer, head, row: what stands large at first, counted from 0.
        title: above the picture and in the tab; the sentence by default.
        link: an http(s) address of the same picture; shown under it.
        changed: what is changed in the model, in words; what the run says of it by default.

    Raises:
        SizeError: the run has no such layer, head or row, or more weights than a file holds.
        HeadlightError: a file of the view is missing.
    """
    layers, heads, rows, keys = run.weights.shape
    check_size(layers * heads, rows, keys)
    said = described(run, layer=layer, head=head, row=row, title=title, link=link, changed=changed)
    room = SPARE_BYTES + BYTES_A_WEIGHT * run.weights.numel() - len(_page(said, "").encode("utf-8", "surrogatepass"))
    return _page(said, _packed(message(run, said, _exact(run, said, room))))


def check_size(heads: int, tokens: int, keys: int | None = None) -> None:
    """Raises a SizeError where a file cannot hold the maps of so many heads, in all layers, of so many tokens."""
    weights = heads * tokens * (tokens if keys is None else keys)
    if weights > MAX_WEIGHTS:
        had = f"{heads} heads of {tokens} tokens have {weights:,} weights"
        most = f"an HTML file holds at most {MAX_WEIGHTS:,}"
        raise SizeError(f"{had}, {most}; shorten the text to {math.isqrt(MAX_WEIGHTS // heads)} tokens")


def described(
    run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "", changed: str = ""
) -> StandaloneRun:
    """What is said of a run; arguments and errors as above."""
    layers, heads, rows, _ = run.weights.shape
    for name, got, count in (("layer", layer, layers), ("head", head, heads), ("row", row, rows)):
        if not 0 <= got < count:
            raise SizeError(f"{name}={got} is not there; this run has {name}s 0 to {count - 1}")
    changes = run.changes
    return {
        "title": title or _sentence(run),
        "link": link if link.startswith(("http://", "https://")) else "",
        "origin": f"{layers} layers of {heads} heads, {rows} tokens, computed on {run.device}",
        "changed": changed or changes.said,
        "off": [f"{at}.{h}" for at, h in changes.heads_off],
        "forbidden": [] if changes.allow is None else [write_cells(~one) for one in changes.allow],
        "layer": layer,
        "head": head,
        "row": row,
        "exact": [],
    }


def message(run: Run, said: StandaloneRun, exact: list[tuple[int, int]]) -> bytes:
    """What the view reads: `described`, the float32 maps of the heads in `exact`, and all maps as one byte a weight."""
    focus, maps = _headers(run, said, exact)
    weights = run.weights.detach()
    # layer by layer: nothing of the size of all maps is written beside them
    return pack_parts(
        pack_focus(focus, *(weights[layer, head] for layer, head in exact)),
        pack(maps, *(as_bytes(layer) for layer in weights)),
    )


def _headers(run: Run, said: StandaloneRun, exact: list[tuple[int, int]]) -> tuple[StandaloneRun, Maps]:
    whole = range(len(run.weights))
    return {**said, "exact": exact}, headed(run.weights, run.tokens, "", run.ends, whole, columns=run.columns)


def _exact(run: Run, said: StandaloneRun, room: float) -> list[tuple[int, int]]:
    """The heads whose float32 fit, with all that is packed beside them, into so many bytes of a page."""
    layers, heads, rows, keys = run.weights.shape
    focus = said["layer"], said["head"]
    nearest = sorted(product(range(layers), range(heads)), key=lambda at: (at != focus, at[0] != focus[0], at))
    beside = FRAMING + sum(len(pack(header)) for header in _headers(run, said, nearest)) + run.weights.numel()
    return nearest[: max(0, int((room / MAX_PACKED - beside) // (4 * rows * keys)))]


def _page(said: StandaloneRun, run: str) -> str:
    return _PAGE.format(title=html.escape(f"{said['title']} · {said['changed']}"), code=_code(), run=run)


def script(name: str) -> bytes:
    """Read a script that `make scripts` built of assets/web. Raises a HeadlightError where it is missing."""
    try:
        return (Path(__file__).parent / name).read_bytes()
    except OSError:
        raise HeadlightError(f"the file {name} of the view is missing; install Headlight again") from None


@cache
def _code() -> str:
    """The view with its style sheets, which it puts into the page itself."""
    return _packed(script("standalone.js"), level=9)


def _packed(content: bytes, level: int = LEVEL) -> str:
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


def _sentence(run: Run) -> str:
    """The tokens as text: pieces of a word joined, without what only marks the ends."""
    first, last = run.ends
    return " ".join(run.tokens[first : len(run.tokens) - last]).replace(" ##", "")
