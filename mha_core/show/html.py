"""A run as one HTML file: every head, hover and table, drawn by the app's own views, without server and network."""

from __future__ import annotations

import base64
import html
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import SizeError
from .modules import read, script
from .packing import as_bytes, pack, pack_focus, pack_parts

if TYPE_CHECKING:
    from ..models.run import Run

__all__ = ["STYLES", "described", "message", "standalone", "style_sheet"]

SPARE_BYTES = 60_000  # of a file, beside what its weights take
BYTES_A_WEIGHT = 1.5
STYLES = ("view.css", "explore.css", "standalone.css")

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
// The view and its numbers, packed with zlib: assets/web/standalone.js and mha_core/show of Headlight.
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


def standalone(run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "") -> str:
    """A run as the text of an HTML file, to be written as UTF-8.

    All maps are in it as one byte a weight. As float32 there are those of all heads, of the layer in focus or of the
    head in focus alone, whatever fits into 1.5 bytes a weight and 60 kB.

    Args:
        run: its weights have the axes (layers, h, i, j).
        layer, head, row: what stands large at first, counted from 0.
        title: above the picture and in the tab; the sentence by default.
        link: an http(s) address of the same picture; shown under it.

    Raises:
        SizeError: the run has no such layer, head or row.
        HeadlightError: a file of the view is missing.
    """
    said = described(run, layer=layer, head=head, row=row, title=title, link=link)
    layers, heads = run.weights.shape[:2]
    focus, layer_alone = (layer, head), [(layer, h) for h in range(heads)]
    all_of_them = [(at, h) for at in range(layers) for h in range(heads)]
    most = SPARE_BYTES + BYTES_A_WEIGHT * run.weights.numel()
    for exact in (all_of_them, layer_alone, [focus]):
        page = _page(run, said, exact)
        if len(page.encode()) <= most:
            break
    return page


def described(
    run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = ""
) -> dict[str, Any]:
    """What is said of a run beside its numbers, and what stands large at first; arguments and errors as above."""
    layers, heads, rows, _ = run.weights.shape
    for name, got, count in (("layer", layer, layers), ("head", head, heads), ("row", row, rows)):
        if not 0 <= got < count:
            raise SizeError(f"{name}={got} is not there; this run has {name}s 0 to {count - 1}")
    return {
        "title": title or _sentence(run),
        "link": link if link.startswith(("http://", "https://")) else "",
        "origin": f"{layers} layers of {heads} heads, {rows} tokens, computed on {run.device}",
        "layer": layer,
        "head": head,
        "row": row,
    }


def message(run: Run, said: dict[str, Any], exact: list[tuple[int, int]]) -> bytes:
    """What the view reads: `described`, the float32 maps of the heads in `exact`, and all maps as one byte a weight."""
    layers, heads = run.weights.shape[:2]
    header = {"digest": "", "tokens": run.tokens, "ends": run.ends, "layers": layers, "heads": heads}
    maps = pack(header | {"whole": list(range(layers)), "thumbnail": 0}, as_bytes(run.weights.detach()))
    focus = pack_focus(said | {"exact": exact}, *(run.weights[layer, head].detach() for layer, head in exact))
    return pack_parts(focus, maps)


def style_sheet(names: tuple[str, ...]) -> str:
    """The line of a script that makes these files of assets/web one sheet, named `sheet`."""
    css = "\n".join(read(name) for name in names).replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")
    return f"const sheet = new CSSStyleSheet();\nsheet.replaceSync(`{css}`);\n"


def _page(run: Run, said: dict[str, Any], exact: list[tuple[int, int]]) -> str:
    packed = _packed(message(run, said, exact))
    return _PAGE.format(title=html.escape(said["title"]), code=_code(), run=packed)


@cache
def _code() -> str:
    """The view with its style sheets, which it puts into the page itself."""
    own = style_sheet(STYLES) + "document.adoptedStyleSheets = [sheet];\n"
    return _packed((own + script("standalone.js")).encode())


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")


def _sentence(run: Run) -> str:
    """The tokens as text: pieces of a word joined, without what only marks the ends."""
    first, last = run.ends
    return " ".join(run.tokens[first : len(run.tokens) - last]).replace(" ##", "")
