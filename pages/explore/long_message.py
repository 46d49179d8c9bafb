"""What Explore is told of a text whose maps are not all kept: how far it is, its thumbnails, and pieces of one map."""

from typing import TypedDict
from urllib.parse import parse_qs

import torch
from torch.nn import functional as F

from headlight.link import mask_codec
from headlight.link.limits import MOST_TOKENS
from headlight.picture import words
from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from headlight.ui import numbers
from mha_core.errors import HeadlightError
from mha_core.show.packing import Maps, pack, pack_focus

from . import long_pictures
from .long_pictures import LongPicture
from .picture_fields import OfMaps

TILE = 256  # cells of a piece, each way


class LongMaps(Maps):
    """The header of thumbnails of a layer after the other; none is whole."""

    first: int  # layer of which thumbnails follow
    done: int  # layers that are there with these


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
        allow = mask_codec.of_head(settings.allowed_cells(query.model, len(whole)), at.head)
        cells = torch.where(allow[row : row + side, column : column + side], cells, torch.nan)
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


def packed(picture: LongPicture, first: int) -> bytes:
    """All maps of the layers from one on, as far as they are there, as thumbnails."""
    small, sizes = picture.small[first:], picture.model.sizes
    header: LongMaps = {
        "digest": picture.settings.digest, "tokens": picture.layers.tokens, "columns": None, "ends": picture.model.ends,
        "layers": sizes.n_layers, "heads": sizes.n_heads, "whole": [], "thumbnail": len(picture.small[0][0]),
        "first": first, "done": first + len(small),
    }  # fmt: skip
    return pack(header, *(maps.numpy().tobytes() for maps in small))


def of_maps(picture: LongPicture, *, is_mean: bool, sent: int) -> OfMaps:
    """What is told of its maps; `sent`: bytes of thumbnails."""
    return {
        "forbidden": [""], "mean": "" if is_mean else None, "reading": None, "values": None, "columns": "",
        "figures": _figures(picture), "status": _status(picture, sent),
        "kinds": [[] for _ in range(picture.model.sizes.n_layers)], "effect": None, "before": None, "pinTail": "",
        "pin": None, "done": picture.done, "tile": TILE,
    }  # fmt: skip


def _status(picture: LongPicture, sent: int) -> str:
    """Device, time of the pass, bytes, tokens."""
    n, sizes = len(picture.layers.ids), picture.model.sizes
    far = "" if picture.is_whole else f"{picture.done} of {sizes.n_layers} layers "
    took = f"{picture.model.device} · {far}computed in {picture.seconds:.1f} s, one layer at a time"
    return f"{took} · {sent / 1e6:.1f} MB of thumbnails · {n:,} of at most {sizes.max_len:,} tokens"


def _figures(picture: LongPicture) -> list[words.Figure]:
    which = "all maps" if picture.is_whole else f"the maps of the first {numbers.count(picture.done, 'layer')}"
    label = f"the row sum farthest from 1, over all rows of {which}"
    return [{"value": f"{picture.worst_row_sum:.6f}", "label": label}]


def notice(n: int) -> str:
    """What a long text is shown without."""
    return (
        f"{numbers.count(n, 'token')} are shown one map at a time: the whole as the largest weight of each block, and "
        f"pieces of it exactly. Up to {MOST_TOKENS} tokens the change to the untouched model, kinds of heads, "
        "pinned maps, joined words, lengths of values, means over more than a layer and other views are shown too."
    )


def _piece(raw: bytes, key: str) -> str:
    return parse_qs(raw.decode("ascii")).get(key, [""])[0]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise HeadlightError("a piece is named by whole numbers")
    return int(text)
