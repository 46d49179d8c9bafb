"""What the pair view is told of two pictures, by the wire."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict
from urllib.parse import urlencode

from headlight.link.fields import SIDE_KEYS
from headlight.link.limits import check_length
from headlight.link.place import Cursor
from headlight.picture import means, next_token, pictures, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload, to_param
from headlight.picture.next_token import NextToken
from headlight.picture.query import WRITTEN
from headlight.picture.words import Figure
from headlight.registry import models, recordings, source_of
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure import measures
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus, pack_parts

from . import contrasts, each_head, orders, pairs, right_side, several, tries, vectors
from .pairs import Pair
from .tries import FIRST_AT

Said = dict[str, str | list[str]]  # key of a link -> what it says

SIDES = ("", "2")  # what the keys of each end with
# of the link, that the view owns
KEYS = ("s", "s2", *(f"{key}{side}" for side in SIDES for key in SIDE_KEYS), "at", "look", "order", "shuffle", "word")
KEYS += ("model", "dev", "model2", "at2")
OTHER_THINGS = "one of these two models reads {}s, the other {}s; choose two with the same kind of input"
ONE_MODEL = "this test needs one model; choose the same one on both sides"


class CompareSide(TypedDict):
    tokens: list[str]
    columns: list[str] | None  # what they look at, where that is others than themselves
    ends: tuple[int, int]  # of the tokens in front and behind, how many are the model's own: [CLS], [SEP]
    title: str  # what it has of the differences
    story: str  # why the rows of equal words are equal, or not; empty without any
    repeated: list[int]  # the places of these words
    label: str
    fitness: str
    forbidden: list[str]
    layer: int
    head: int
    layers: int
    heads: int
    fixed: Mapping[str, str]  # keys of controls without effect in its model -> why
    positions: list[tuple[str, str]]  # that its model can take


class _OfBoth(TypedDict):
    """What is said of both pictures, whatever the link says beside them."""

    marked: tuple[int, int]  # the cell that is read without a pointer
    sides: tuple[CompareSide, CompareSide]
    tokens: list[str]  # of the difference
    columns: list[str] | None
    fits: bool  # both maps have one size
    isOfTwo: bool  # models
    look: str  # how the maps are computed, as in the link
    mean: str  # what is said of a mean over heads
    said: str
    distances: list[float]
    differs: list[str]  # keys of the left side's controls
    contrast: str  # the same as a sentence
    answers: list[Figure]  # that stand first
    next: list[NextToken]  # right, before: left; empty of a model that does not say what comes next
    vectors: list[Block]  # of the row in focus


class ComparePicture(PictureAnswer, _OfBoth):
    wordSaid: str
    begins: Said  # of the right side: what it begins with, where the left was changed before
    tries: dict[str, Said]  # name -> what the link says then; first the defaults
    eachIsQuick: bool  # every head alone is switched off without being asked


def pair(raw: bytes) -> bytes:
    """The answer to a query: what is said of both pictures, and their maps of the head in focus.

    Without a right sentence both sides have the left one. Raises a HeadlightError.
    """
    return _message(LinkQuery(raw, minilm_at=FIRST_AT))


def begun(raw: bytes) -> bytes:
    """The same for who comes from another page, and what the right side then begins with. Raises a HeadlightError."""
    begins = right_side.begun(LinkQuery(raw, minilm_at=FIRST_AT))
    whole = raw + f"&{urlencode(begins, doseq=True)}".encode()
    return _message(LinkQuery(whole, minilm_at=FIRST_AT), begins)


def first(raw: bytes) -> bytes:
    """What a page begins with: the same, unless it is too large or its model comes later. Raises a HeadlightError."""
    query = LinkQuery(raw, minilm_at=FIRST_AT)
    if not source_of(query["model2"] or query.name).is_loaded:
        raise HeadlightError("another model must be loaded first")
    left, _ = query.fitted_settings()
    for side in (left, right_side.of(query, left).settings):
        pictures.fits_at_first(side)
    return pair(raw)


def shuffled(raw: bytes) -> bytes:
    """What the shuffle test says of the left sentence, as JSON. Raises a HeadlightError."""
    query = LinkQuery(raw, minilm_at=FIRST_AT)
    left, _ = query.fitted_settings()
    if right_side.of(query, left).at:
        raise HeadlightError(ONE_MODEL)
    if why := query.fixed.get("s"):
        raise HeadlightError(why.rstrip("."))
    right, _ = pictures.fitted(replace(query.settings("2", left.text), text=left.text))
    order = query["order"]
    check_length(order)
    blocks = orders.tried(left, right, order or orders.shuffled(left.text, query["shuffle"]))
    return json.dumps({"blocks": blocks}).encode()


def each(raw: bytes) -> bytes:
    """What each head of the left side alone is good for, as JSON. Raises a HeadlightError."""
    left, _ = LinkQuery(raw, minilm_at=FIRST_AT).fitted_settings()
    return json.dumps(each_head.cosines(left)).encode()


def more(raw: bytes) -> bytes:
    """The left side in more than two maps, as JSON. Raises a HeadlightError."""
    return json.dumps({"blocks": several.blocks(LinkQuery(raw, minilm_at=FIRST_AT))}).encode()


def _message(query: LinkQuery, begins: Said | None = None) -> bytes:
    recordings.refuse(query.model)
    left, of_the_left = query.fitted_settings()
    side = right_side.of(query, left)
    recordings.refuse(side.query.model)
    if query.model.reads != side.query.model.reads:
        raise Unsupported(OTHER_THINGS.format(words.thing(query.model), words.thing(side.query.model)))
    right = side.settings
    shown = Pair(*pictures.compute_pair(left, right), query.at, query.look, side.at)
    offered = tries.tries(query.name, shown.left.model)
    for key in ("shuffle", *several.KEYS):
        _ = query[key]  # which changes nothing here; what cannot be used of it is said
    sides = {"on the left": shown.left, "on the right": shown.right}
    at = query.place(shown.of_sides[0], shown.left.run.columns)
    digest = f"{left.digest}-{right.digest}"
    notices = [*of_the_left, *side.told, *words.of_no_words(query.model), *_notices(shown)]
    header: ComparePicture = {
        **_header(shown, at),
        "begins": begins or {},
        "tries": {title: {key: to_param(value) for key, value in own.items()} for title, own in offered.items()},
        "wordSaid": "" if shown.is_of_two_models else next_token.word_in_words(query["word"], sides),
        "eachIsQuick": each_head.is_quick(shown.left),
        **picture_payload(query, KEYS, at, digest, notices, s=left.text, s2=right.text, **_rules(query)),
    }
    return pack_parts(pack_focus(header, *shown.maps))


def _rules(query: LinkQuery) -> dict[str, str]:
    """The rules that are in use, by their keys."""
    kinds = {side: WRITTEN.get(query[f"mask{side}"]) for side in SIDES}
    return {f"{key}{side}": query[f"{key}{side}"] for side, key in kinds.items() if key}


def _header(shown: Pair, at: Cursor) -> _OfBoth:
    """Everything that is said of both pictures; `at`: layer, head, query and key in focus."""
    left, right = shown.left, shown.right
    found = contrasts.contrasts(left.settings, right.settings, left.model, right.model)
    titles = contrasts.titles(found)
    return {
        "marked": pairs.marked(shown, at),
        "sides": (_side(shown, 0, titles[0]), _side(shown, 1, titles[1])),
        "differs": [one.key for one in found],
        "contrast": contrasts.line(found),
        "tokens": shown.tokens,
        "columns": shown.columns,
        "fits": shown.fits,
        "isOfTwo": shown.is_of_two_models,
        "look": str(shown.look),
        "mean": _mean(shown),
        "said": pairs.difference(shown),
        "distances": measures.row_distances(*shown.maps).tolist() if shown.fits else [],
        "answers": pairs.answers(shown, titles),
        "next": [] if shown.is_of_two_models else next_token.compared(left, right),
        "vectors": [vectors.panel(shown, at.row or 0)],
    }


def _side(shown: Pair, side: int, title: str) -> CompareSide:
    picture, at, of_mean = shown.sides[side], shown.places[side], shown.heads[side]
    settings, model, by_words = picture.settings, picture.model, shown.words is not None
    layers, heads, n, keys = picture.run.weights.shape
    rows = None if by_words else pairs.in_head(picture, at.layer, at.head)
    cells = settings.forbidden_cells(model, n, keys)
    if by_words or shown.is_of_two_models or of_mean is not None:
        allow = means.allowed(settings.allowed_cells(model, n, keys), at.head, of_mean)
        cells = [write_cells(~pairs.allowed(shown, allow, side))]
    return {
        "tokens": shown.of_sides[side],
        "columns": picture.run.columns,
        "ends": (0, 0) if by_words else picture.run.ends,
        "title": title,
        "story": "" if by_words or of_mean is not None else pairs.story(picture, at.layer, at.head),
        "repeated": list(rows.places) if rows else [],
        "label": f"{words.label(settings, model)}, {model.origin} weights",
        "fitness": pairs.fitness(picture),
        "forbidden": cells,
        "layer": at.layer,
        "head": at.head,
        "layers": layers,
        "heads": heads,
        "fixed": models.fixed(model),
        "positions": words.encodings(model),
    }


def _mean(shown: Pair) -> str:
    """Over which heads the maps are the mean, "" of one head."""
    counts = [len(heads) for heads in shown.heads if heads is not None]
    if not counts:
        return ""
    told = " and ".join(map(str, dict.fromkeys(counts)))
    whose = {"mean": "of a layer", "meanall": "of each model", "meanseen": "in view"}[shown.look.mean]
    return f"The mean over {told} {'head' if set(counts) == {1} else 'heads'} {whose}."


def _notices(shown: Pair) -> list[str]:
    """What must be said of the passes and of the words, of both sides."""
    of_runs = [said for side in shown.sides for said in side.run.notices]
    return of_runs + [said for side in shown.sides for said in models.unknown(side.model, side.settings.text)]
