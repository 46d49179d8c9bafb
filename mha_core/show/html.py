"""A run as one HTML file with the app's own views; needs neither server nor network.

Jupyter, VS Code and Colab display it in a notebook cell through `_repr_html_`.
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
from .packing import Maps, as_bytes, maps_header, pack, pack_focus, pack_parts

if TYPE_CHECKING:
    from ..models.run import Run

MAX_WEIGHTS = 20_000_000  # of a file: all of MiniLM's longest sentence
SPARE_BYTES = 60_000  # of a file, in addition to its weights
BYTES_A_WEIGHT = 1.5
MAX_LIVE_BYTES = 700_000  # of a file that carries its model
MAX_PACKED = 1.334  # bytes of base64 per byte at most: 4/3, and the overhead of deflate on incompressible data
LEVEL = 4  # of zlib: 6 saves a fourteenth of the bytes in three times the time, 9 a fifth in forty times
FRAMING = 64  # bytes around the parts of a message, at most

_PAGE = Path(__file__).with_name("page.html")  # its policy `default-src 'none'` forbids every request

# the sandbox lets the page run its script and open links, and keeps it from the notebook
_FRAME = (
    '<iframe srcdoc="{page}" title="{title}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: {height}px; border: 0"></iframe>'
)


@dataclass(frozen=True)
class HtmlView:
    """A picture that a notebook displays as the last line of a cell. IPython is not required.

    Attributes:
        page: the text of a self-contained HTML file.
        title: of the frame, for screen readers.
        height: of the frame, in pixels.
    """

    page: str = field(repr=False)
    title: str
    height: int

    def _repr_html_(self) -> str:
        return _FRAME.format(page=html.escape(self.page), title=html.escape(self.title), height=self.height)

    def save(self, path: str | Path) -> Path:
        """Write the picture as an HTML file and return its path."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path


class LiveModel(TypedDict):
    """Facts that the view needs beside the file of a model, with which the browser computes other runs."""

    text: str  # of the run
    controls: dict[str, str | list[str]]  # settings of the run, as in a link
    positions: list[tuple[str, str]]  # encodings that the model supports, each with its effect
    group: str  # the kind of attention
    fixed: dict[str, str]  # controls without effect -> why


class StandaloneRun(TypedDict):
    """Description of a run for its view, and the map shown first."""

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
    live: LiveModel | None  # of a file that carries its model


def standalone(
    run: Run,
    *,
    layer: int = 0,
    head: int = 0,
    row: int = 0,
    title: str = "",
    link: str = "",
    changed: str = "",
    live: LiveModel | None = None,
    model: bytes = b"",
) -> str:
    """Return a run as an HTML file, without `live` at most 60 kB and 1.5 bytes per weight.

    Write it as UTF-8. All maps are stored as one byte per weight, and in float32 as many as fit that size in the worst
    case of compression: the head in focus first, then those of its layer, then the others.

    Args:
        run: its weights have the axes (layers, h, i, j).
        layer: of the map that is enlarged first, counted from 0.
        head: of that map, counted from 0.
        row: the query in focus, counted from 0.
        title: above the picture and in the tab; the sentence by default.
        link: an http(s) address of the same picture; shown under it.
        changed: the changes made to the model, in words; by default those of the run.
        live: the settings of the run, for a file that computes other runs; with it the file has at most 700 kB.
        model: the model's file, as `model_file.pack_model` returns it; `live` needs it.

    Raises:
        SizeError: the run has no such layer, head or row, or more weights than a file holds, or a model too large.
        HeadlightError: a file of the view is missing.
    """
    layers, heads, rows, keys = run.weights.shape
    check_size(layers * heads, rows, keys)
    description = describe_run(run, layer=layer, head=head, row=row, title=title, link=link, changed=changed)
    description["live"] = live
    page = _page(description, "", model).encode("utf-8", "surrogatepass")
    limit = SPARE_BYTES + BYTES_A_WEIGHT * run.weights.numel() if live is None else MAX_LIVE_BYTES
    exact = _exact_heads(run, description, limit - len(page))
    result = _page(description, _pack_base64(message(run, description, exact)), model)
    if live is not None and len(result.encode("utf-8", "surrogatepass")) > MAX_LIVE_BYTES:
        raise SizeError(f"with its model this file exceeds {MAX_LIVE_BYTES:,} bytes; leave the model out")
    return result


def check_size(heads: int, tokens: int, keys: int | None = None) -> None:
    """Raise a SizeError if the maps of all heads, for this many tokens, exceed what a file holds."""
    weights = heads * tokens * (tokens if keys is None else keys)
    if weights > MAX_WEIGHTS:
        size = f"{heads} heads of {tokens} tokens have {weights:,} weights"
        limit = f"an HTML file holds at most {MAX_WEIGHTS:,}"
        raise SizeError(f"{size}, {limit}; shorten the text to {math.isqrt(MAX_WEIGHTS // heads)} tokens")


def describe_run(
    run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "", changed: str = ""
) -> StandaloneRun:
    """Return the description of a run; arguments and errors as in `standalone`."""
    layers, heads, rows, _ = run.weights.shape
    for name, got, count in (("layer", layer, layers), ("head", head, heads), ("row", row, rows)):
        if not 0 <= got < count:
            raise SizeError(f"{name}={got} is not there; this run has {name}s 0 to {count - 1}")
    changes = run.interventions
    return {
        "title": title or _sentence(run),
        "link": link if link.startswith(("http://", "https://")) else "",
        "origin": f"{layers} layer{'s' * (layers > 1)} of {heads} heads, {rows} tokens, computed on {run.device}",
        "changed": changed or changes.summary,
        "off": [f"{off_layer}.{off_head}" for off_layer, off_head in changes.heads_off],
        "forbidden": [] if changes.allow is None else [write_cells(~mask) for mask in changes.allow],
        "layer": layer,
        "head": head,
        "row": row,
        "exact": [],
        "live": None,
    }


def message(run: Run, description: StandaloneRun, exact: list[tuple[int, int]]) -> bytes:
    """Return the message that the view reads: description, float32 maps of the `exact` heads, all maps as bytes."""
    focus, maps = _headers(run, description, exact)
    weights = run.weights.detach()
    # layer by layer, so that no second copy of all maps is made
    return pack_parts(
        pack_focus(focus, *(weights[layer, head] for layer, head in exact)),
        pack(maps, *(as_bytes(layer) for layer in weights)),
    )


def _headers(run: Run, description: StandaloneRun, exact: list[tuple[int, int]]) -> tuple[StandaloneRun, Maps]:
    all_layers = range(len(run.weights))
    maps = maps_header(run.weights, run.tokens, "", run.ends, all_layers, columns=run.key_tokens)
    return {**description, "exact": exact}, maps


def _exact_heads(run: Run, description: StandaloneRun, free_bytes: float) -> list[tuple[int, int]]:
    """Return the heads whose float32 maps fit into the free bytes of a page beside the rest."""
    layers, heads, rows, keys = run.weights.shape
    focus = description["layer"], description["head"]
    ordered = sorted(product(range(layers), range(heads)), key=lambda pair: (pair != focus, pair[0] != focus[0], pair))
    fixed = FRAMING + sum(len(pack(header)) for header in _headers(run, description, ordered)) + run.weights.numel()
    return ordered[: max(0, int((free_bytes / MAX_PACKED - fixed) // (4 * rows * keys)))]


def _page(description: StandaloneRun, run: str, model: bytes) -> str:
    title = html.escape(f"{description['title']} · {description['changed']}")
    name = "live.js" if description["live"] else "standalone.js"
    element = '<script type="text/plain" id="headlight-model">{}</script>\n'
    packed = element.format(_pack_base64(model, level=9)) if model else ""
    return _PAGE.read_text("utf-8").format(title=title, code=_code(name), run=run, model=packed)


def script(name: str) -> bytes:
    """Read a script that `make scripts` built from assets/web. Raises a HeadlightError if it is missing."""
    try:
        return (Path(__file__).parent / name).read_bytes()
    except OSError:
        raise HeadlightError(f"the file {name} of the view is missing; install Headlight again") from None


@cache
def _code(name: str) -> str:
    """Return the view with its style sheets, which it injects into the page itself."""
    return _pack_base64(script(name), level=9)


def _pack_base64(content: bytes, level: int = LEVEL) -> str:
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


def _sentence(run: Run) -> str:
    """Return the tokens as text: word pieces joined, without special tokens at the ends."""
    first, last = run.ends
    return " ".join(run.tokens[first : len(run.tokens) - last]).replace(" ##", "")
