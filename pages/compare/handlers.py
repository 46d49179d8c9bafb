"""The request handlers of the pair view."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict
from urllib.parse import urlencode

from headlight.link.fields import SIDE_KEYS
from headlight.link.limits import check_length
from headlight.picture import next_token, pictures, selected_map, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload, to_param
from headlight.picture.next_token import NextToken
from headlight.picture.query import RULE_KEYS
from headlight.picture.words import Figure
from headlight.registry import get_source, models, recordings
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure import measures
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus, pack_parts

from . import ablations, contrasts, multiple_maps, orders, pairs, right_side, suggestions, vectors
from .pairs import Pair
from .suggestions import DEFAULT_CURSOR

LinkValues = dict[str, str | list[str]]  # key of a link -> value

SIDES = ("", "2")  # suffixes of the keys of each side
# keys of the link that the view controls
KEYS = ("s", "s2", *(f"{key}{side}" for side in SIDES for key in SIDE_KEYS), "at", "look", "order", "shuffle", "word")
KEYS += ("model", "dev", "model2", "at2")
MIXED_MEDIA = "one of these two models reads {}s, the other {}s; choose two that read the same"
ONE_MODEL = "the shuffle test needs one model; choose the same one on both sides"


class CompareSide(TypedDict):
    """The texts and controls of one side."""

    tokens: list[str]
    columns: list[str] | None  # the keys' tokens, if they differ from the queries'
    ends: tuple[int, int]  # the numbers of special tokens at the start and at the end
    title: str
    story: str  # why the rows of equal words are equal or not; "" without equal words
    repeated: list[int]  # the positions of these words
    label: str
    fitness: str
    forbidden: list[str]
    layer: int
    head: int
    layers: int
    heads: int
    fixed: Mapping[str, str]  # keys of controls without effect in its model -> reason
    positions: list[tuple[str, str]]  # the encodings that its model supports
    ownMask: str  # expression of the mask that is built into it


class ComparePicture(PictureAnswer):
    """The header of the answer of Compare."""

    marked: tuple[int, int]  # the default cell, while none is hovered
    sides: tuple[CompareSide, CompareSide]
    tokens: list[str]  # of the difference
    columns: list[str] | None
    fits: bool  # the maps can be subtracted
    isOfTwo: bool  # noqa: N815 - as the browser reads it; the sides have different models
    look: str  # the display options, as in the link
    mean: str  # a sentence on the mean over heads
    caption: str  # of the difference
    distances: list[float]
    differs: list[str]  # keys of the left side's controls
    contrast: str  # the same as a sentence
    answers: list[Figure]  # the main figures
    next: list[NextToken]  # of the right side, with the left one as before; empty if a model predicts no tokens
    vectors: list[Block]  # of the row in focus
    wordSentence: str  # noqa: N815 - as the browser reads it
    # the initial values of the right side, if the left one was changed on another page
    initialValues: LinkValues  # noqa: N815 - as the browser reads it
    suggestions: dict[str, LinkValues]  # title -> values of the link; the defaults come first
    eachIsQuick: bool  # noqa: N815 - as the browser reads it; the ablations run without a click


def initial_pair(raw: bytes) -> bytes:
    """Return the answer for a client that comes from another page, with the initial values of the right side."""
    initial = right_side.initial_values(LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR))
    return pair(raw + f"&{urlencode(initial, doseq=True)}".encode(), initial)


def first_message(raw: bytes) -> bytes:
    """Return the answer for the first page."""
    query = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR)
    if not get_source(query["model2"] or query.name).is_loaded:
        raise HeadlightError("another model must be loaded first")
    left, _ = query.fitted_settings()
    for side in (left, right_side.from_query(query, left).settings):
        pictures.check_prerender_size(side)
    return pair(raw)


def shuffle_test(raw: bytes) -> bytes:
    """Return the shuffle test of the left sentence as JSON."""
    query = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR)
    left, _ = query.fitted_settings()
    if right_side.from_query(query, left).cursor:
        raise HeadlightError(ONE_MODEL)
    if reason := query.fixed.get("s"):
        raise HeadlightError(reason.rstrip("."))
    right, _ = pictures.fit_settings(replace(query.settings("2", left.text), text=left.text))
    order = query["order"]
    check_length(order)
    blocks = orders.shuffle_panels(left, right, order or orders.shuffle_words(left.text, query["shuffle"]))
    return json.dumps({"blocks": blocks}).encode()


def head_cosines(raw: bytes) -> bytes:
    """Return the ablations of every head of the left side as JSON."""
    left, _ = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR).fitted_settings()
    return json.dumps(ablations.cosines(left)).encode()


def several_maps(raw: bytes) -> bytes:
    """Return the left side's maps under several positional encodings as JSON."""
    return json.dumps({"blocks": multiple_maps.blocks(LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR))}).encode()


def pair(raw: bytes, initial: LinkValues | None = None) -> bytes:
    """Return the answer to a query: texts on both pictures, and their maps of the head in focus.

    Both sides have the left sentence if there is no right one.
    """
    query = LinkQuery(raw, minilm_cursor=DEFAULT_CURSOR)
    recordings.reject(query.model)
    left, left_notices = query.fitted_settings()
    side = right_side.from_query(query, left)
    recordings.reject(side.query.model)
    if query.model.reads != side.query.model.reads:
        raise Unsupported(MIXED_MEDIA.format(words.input_noun(query.model), words.input_noun(side.query.model)))
    right = side.settings
    picture_pair = Pair(*pictures.compute_pair(left, right), query.cursor, query.look, side.cursor)
    differences = contrasts.contrasts(left, right, picture_pair.left.model, picture_pair.right.model)
    titles, links = contrasts.titles(differences), suggestions.suggest(query.name, picture_pair.left.model)
    for key in ("shuffle", *multiple_maps.KEYS):
        _ = query[key]  # has no effect here, but an unusable value adds a warning
    sides = {"on the left": picture_pair.left, "on the right": picture_pair.right}
    cursor = query.place(picture_pair.row_labels[0], picture_pair.left.run.key_tokens)
    digest = f"{left.digest}-{right.digest}"
    rule_keys = [f"{RULE_KEYS[kind]}{side}" for side in SIDES if (kind := query[f"mask{side}"]) in RULE_KEYS]
    rules = {key: query[key] for key in rule_keys}  # as written
    notices = [*left_notices, *side.notices, *words.modality_notes(query.model), *_notices(picture_pair)]
    header: ComparePicture = {
        "marked": pairs.marked_cell(picture_pair, cursor),
        "sides": (_side(picture_pair, 0, titles[0]), _side(picture_pair, 1, titles[1])),
        "differs": [contrast.key for contrast in differences],
        "contrast": contrasts.summary_sentence(differences),
        "tokens": picture_pair.tokens,
        "columns": picture_pair.columns,
        "fits": picture_pair.fits,
        "isOfTwo": picture_pair.has_two_models,
        "look": str(picture_pair.options),
        "mean": _mean(picture_pair),
        "caption": pairs.difference(picture_pair),
        "distances": measures.row_distances(*picture_pair.maps).tolist() if picture_pair.fits else [],
        "answers": pairs.answers(picture_pair, titles),
        "next": []
        if picture_pair.has_two_models
        else next_token.likeliest_tokens(picture_pair.left, picture_pair.right),
        "vectors": [vectors.panel(picture_pair, cursor.row or 0)],
        "initialValues": initial or {},
        "suggestions": {title: {key: to_param(value) for key, value in link.items()} for title, link in links.items()},
        "wordSentence": "" if picture_pair.has_two_models else next_token.describe_word(query["word"], sides),
        "eachIsQuick": ablations.is_quick(picture_pair.left),
        **picture_payload(query, KEYS, cursor, digest, notices, s=left.text, s2=right.text, **rules),
    }
    return pack_parts(pack_focus(header, *picture_pair.maps))


def _side(pair: Pair, side: int, title: str) -> CompareSide:
    picture, cursor, mean_heads = pair.sides[side], pair.cursors[side], pair.heads[side]
    settings, model, by_words = picture.settings, picture.model, pair.words is not None
    layers, heads, n, keys = picture.run.weights.shape
    rows = None if by_words else pairs.rows_in_head(picture, cursor.layer, cursor.head)
    cells = settings.forbidden_cells(model, n, keys)
    if by_words or pair.has_two_models or mean_heads is not None:
        allow = selected_map.focus_allow(settings.allowed_cells(model, n, keys), cursor.head, mean_heads)
        cells = [write_cells(~pairs.merge_mask(pair, allow, side))]
    return {
        "tokens": pair.row_labels[side],
        "columns": picture.run.key_tokens,
        "ends": (0, 0) if by_words else picture.run.ends,
        "title": title,
        "story": "" if by_words or mean_heads is not None else pairs.story(picture, cursor.layer, cursor.head),
        "repeated": list(rows.places) if rows else [],
        "label": f"{words.label(settings, model)}, {words.weights(model)}",
        "fitness": pairs.fitness(picture),
        "forbidden": cells,
        "layer": cursor.layer,
        "head": cursor.head,
        "layers": layers,
        "heads": heads,
        "fixed": models.disabled_controls(model),
        "positions": words.encodings(model),
        "ownMask": model.own_mask,
    }


def _mean(pair: Pair) -> str:
    """Describe the heads that the maps average; "" for single heads."""
    counts = [len(heads) for heads in pair.heads if heads is not None]
    if not counts:
        return ""
    numbers = " and ".join(map(str, dict.fromkeys(counts)))
    scope = {"mean": "of a layer", "meanall": "of each model", "meanseen": "in view"}[pair.options.mean]
    return f"The mean over {numbers} {'head' if set(counts) == {1} else 'heads'} {scope}."


def _notices(pair: Pair) -> list[str]:
    """Return the notices on the passes and on unknown words of both sides."""
    run_notices = [notice for side in pair.sides for notice in side.run.notices]
    return run_notices + [
        notice for side in pair.sides for notice in models.unknown_token_notices(side.model, side.settings.text)
    ]
