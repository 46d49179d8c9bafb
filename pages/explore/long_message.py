"""What Explore is told of a text whose maps are not all kept: how far it is, its thumbnails, and pieces of one map."""

from typing import TypedDict
from urllib.parse import parse_qs

import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core.errors import HeadlightError
from pages.kit.draw import numbers
from pages.kit.draw.packing import pack, pack_focus, pack_parts
from pages.kit.picture import mask_codec, pictures, words
from pages.kit.picture.limits import MOST_TOKENS
from pages.kit.picture.link_query import LinkQuery
from pages.kit.picture.pictures import Picture
from pages.kit.picture.settings import Settings

from . import long_pictures
from .long_pictures import LongPicture

TILE = 256  # cells of a piece, each way


class UnderWay(TypedDict):
    """The answer until all layers are done."""

    underWay: tuple[int, int]  # layers that are done, and all of them


class Tile(TypedDict):
    """The header of a piece of the map in focus; its weights follow, NaN where nobody may look."""

    row: int  # where it begins
    column: int
    step: int  # cells each way of which one that follows is the largest
    rows: int  # that follow
    columns: int


def done(raw: bytes) -> int:
    """How many layers of its picture a query says are done. Raises a HeadlightError for what is no number."""
    return _number(_piece(raw, "part") or "0")


def under_way(picture: LongPicture) -> bytes:
    """How far a picture is."""
    said: UnderWay = {"underWay": (picture.layers.done, picture.model.sizes.n_layers)}
    return pack_parts(pack(said))


def tile(raw: bytes) -> bytes:
    """A piece of the map in focus; `tile` names it: row.column.step, counted in tokens. Raises a HeadlightError."""
    query = LinkQuery(raw)
    (settings, _), at = query.within(most=None), query.at
    row, column, step = (_number(one) for one in [*_piece(raw, "tile").split("."), "", "", ""][:3])
    if not long_pictures.is_long(settings):
        raise HeadlightError("this text is not shown in pieces")
    whole = long_pictures.head_map(settings, at.layer, None if "mean" in query.look.switches else at.head)
    if not (0 <= row < len(whole) and 0 <= column < len(whole) and 0 < step <= len(whole)):
        raise HeadlightError(f"the map has {len(whole)} rows and columns, and a piece begins within them")
    side = TILE * step
    cells = whole[row : row + side, column : column + side]
    if step == 1:
        allow = _allowed(settings, at.head)[row : row + side, column : column + side]
        cells = torch.where(allow, cells, torch.nan)
    else:
        cells = F.max_pool2d(cells[None], step, ceil_mode=True)[0]
    header: Tile = {
        "row": row, "column": column, "step": step, "rows": cells.shape[0], "columns": cells.shape[1],
    }  # fmt: skip
    return pack_focus(header, cells)


def shown(picture: LongPicture) -> Picture:
    """The picture as the others know it, its maps left out."""
    return Picture(
        picture.settings, picture.run(), picture.seconds, picture.threads, picture.worst_row_sum, picture.model
    )


def packed(picture: LongPicture, tokens: list[str], ends: tuple[int, int]) -> bytes:
    """All maps as thumbnails, as `packing.pack_maps` has them; none is whole."""
    small = torch.stack(picture.small)
    layers, heads, rows = small.shape[:3]
    header = {
        "digest": picture.settings.digest, "tokens": tokens, "columns": None, "ends": ends, "layers": layers,
        "heads": heads, "whole": [], "thumbnail": rows,
    }  # fmt: skip
    return pack(header, small.numpy().tobytes())


def row_of(settings: Settings, layer: int, head: int | None, row: int) -> Tensor:
    """A row of the map in focus, (1, j)."""
    return long_pictures.head_map(settings, layer, head)[row : row + 1]


def status(picture: LongPicture, sent: int) -> str:
    """Device, time of the pass, bytes, tokens, and what is not shown of so long a text."""
    n, most = len(picture.layers.ids), picture.model.sizes.max_len
    took = f"{picture.model.device} · computed in {picture.seconds:.1f} s, one layer at a time"
    return f"{took} · {sent / 1e6:.1f} MB of thumbnails · {n:,} of at most {most:,} tokens"


def notice(n: int) -> str:
    """What a long text is shown without."""
    return (
        f"{numbers.count(n, 'token')} are shown one map at a time: the whole as the largest weight of each block, and "
        f"pieces of it exactly. Up to {MOST_TOKENS} tokens the change to the untouched model, kinds of heads, "
        "pinned maps, joined words, lengths of values, means over more than a layer and other views are shown too."
    )


def figures(picture: LongPicture) -> list[words.Figure]:
    label = "the row sum farthest from 1, over all rows of all maps"
    return [{"value": f"{picture.worst_row_sum:.6f}", "label": label}]


def _allowed(settings: Settings, head: int) -> Tensor:
    model = pictures.model_of(settings)
    return mask_codec.of_head(settings.allowed_cells(model, len(model.tokenize(settings.text)[1])), head)


def _piece(raw: bytes, key: str) -> str:
    return parse_qs(raw.decode("ascii")).get(key, [""])[0]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise HeadlightError("a piece is named by whole numbers")
    return int(text)
