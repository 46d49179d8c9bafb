"""Data API handler of the page of the model: its boxes, and the panel of the box in focus."""

from typing import TypedDict

from headlight.link.cursor import Cursor
from headlight.link.fields import SIDE_KEYS
from headlight.picture import pictures, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.model_boxes import boxes
from headlight.picture.pictures import Picture
from headlight.registry import MINILM, get_source, recordings
from headlight.ui import pages
from headlight.ui.sheet import Block
from mha_core.models.architecture import Architecture, Box
from mha_core.show.packing import pack, pack_parts

from . import code, formulas, numbers, texts
from .scene import Scene

# link keys owned by the view
KEYS = ("s", *SIDE_KEYS, "at", "box", "depth", "model", "dev")
_REPLACED = ("box", "depth", "at", "model")  # keys that the links to other pages leave out or replace
DEPTHS = {"story": texts.blocks, "numbers": numbers.blocks, "formula": formulas.blocks, "code": code.blocks}


class MapBox(TypedDict):
    """A box of the diagram."""

    name: str
    kind: str
    title: str
    note: str
    place: str  # before, layer or after
    column: int
    lane: int  # 0 the residual stream, 1 what is added to it, 2 what enters from beside
    shape: list[tuple[str, int]]  # letter and size of each axis of its output; 0 = unknown


class ModelMap(PictureAnswer):
    """The answer of the page."""

    tokens: list[str]
    sentence: str
    boxes: list[MapBox]
    arrows: list[tuple[str, str]]
    repeats: int  # how often the boxes of a layer run
    summary: str
    box: str  # the box in focus
    depth: str
    panel: list[Block]  # of that box at that depth
    links: list[tuple[str, str]]  # to the pages that show it
    label: str


def first_message(raw: bytes) -> bytes:
    """Return the answer for the pre-rendered picture."""
    pictures.check_prerender_size(LinkQuery(raw).fitted_settings()[0])
    return architecture(raw)


def architecture(raw: bytes) -> bytes:
    """Return the boxes of the model with the shapes of this sentence, and the panel of the box in focus."""
    query = LinkQuery(raw)
    recordings.reject(query.model)
    settings, fit_notices = query.fitted_settings()
    picture = pictures.picture(settings)
    cursor = query.place(picture.run.tokens, picture.run.key_tokens)
    plan = boxes(picture, cursor.layer)
    box = _find_box(query, plan)
    scene = Scene(picture, plan, box, cursor)
    notices = [*fit_notices, *picture.run.notices, *words.modality_notes(picture.model)]
    message: ModelMap = {
        **picture_payload(query, KEYS, cursor, settings.digest, notices, s=settings.text),
        "tokens": picture.run.tokens,
        "sentence": settings.text,
        "boxes": [_map_box(box, scene.lengths) for box in plan.boxes],
        "arrows": list(plan.arrows),
        "repeats": plan.n_layers,
        "summary": _summary(plan, picture),
        "box": box.name,
        "depth": query["depth"],
        "panel": DEPTHS[query["depth"]](scene),
        "links": _links(query, scene),
        "label": f"layer {cursor.layer}, {words.label(settings, picture.model)}, {words.weights(picture.model)}",
    }
    return pack_parts(pack(message))


def _find_box(query: LinkQuery, plan: Architecture) -> Box:
    """Return the box in focus, by default the attention, or the first in a layer."""
    fallback = next((box for box in plan.boxes if box.kind == "attention"), plan.boxes[0])
    box = plan.box(query["box"])
    if box is None and query["box"] != query.default("box"):
        query.ignore("box", usable=[fallback.name])
    return box or fallback


def _map_box(box: Box, lengths: tuple[int, int]) -> MapBox:
    return {
        "name": box.name,
        "kind": box.kind,
        "title": box.title,
        "note": box.note,
        "place": box.place,
        "column": box.column,
        "lane": box.lane,
        "shape": [(letter, lengths[box.column] if size is None else size) for letter, size in box.axes],
    }


def _summary(plan: Architecture, picture: Picture) -> str:
    layers = f"{plan.n_layers} layer{'s' * (plan.n_layers != 1)}"
    order = {"pre-norm": "norm before each part (pre-norm)", "post-norm": "norm after each addition (post-norm)"}
    residual = any(box.kind == "add" for box in plan.boxes)
    parts = [layers, order.get(plan.norm, "no norm"), *([] if residual else ["no residual connection"])]
    return f"{', '.join(parts)}; {plan.n_parameters:,} parameters, {picture.model.origin}"


def _links(query: LinkQuery, scene: Scene) -> list[tuple[str, str]]:
    """Return links to the pages that show a box, with the sentence, the switches and the layer of this one."""
    row = None if query.cursor.row is None else scene.row  # a row that nobody chose is left to the page
    place = Cursor(scene.layer, scene.cursor.head, row)
    pairs = [(key, text) for key, text in query.pairs if key not in _REPLACED]
    pairs += [("at", str(place)), *([] if query.name == MINILM else [("model", _group_name(query, scene.box))])]
    links = []
    for title, page, *keys in texts.entry(scene)["links"]:
        added = [(key, value) for key, _, value in (text.partition("=") for text in keys)]
        links.append((f"Open in {title}", pages.link(page, *pairs, *added)))
    return links


def _group_name(query: LinkQuery, box: Box) -> str:
    """Return the model's name with the kind of attention that a box of an encoder-decoder belongs to."""
    group = "cross" if box.kind == "cross-attention" else "decoder" if box.column else "encoder"
    is_several = len(query.model.groups) > 1 and group in query.model.groups
    return f"{get_source(query.name).name}~{group}" if is_several else query.name
