"""What the pair view is told of two pictures, by the wire."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mha_core.measure import compare
from pages.kit.draw.packing import pack_focus, pack_parts
from pages.kit.picture import fitting, models, next_token, pictures, words
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.mask_codec import forbidden
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.query import Query

from . import contrasts, pairs, tries, vectors
from .pairs import Pair
from .right_side import SIDE
from .tries import FIRST_AT


def pair(raw: bytes) -> bytes:
    """The answer to a query: what is said of both pictures, and their maps of the head in focus.

    Without a right sentence both sides have the left one. Raises a HeadlightError.
    """
    query = Query(raw, minilm_at=FIRST_AT)
    return _message(query, *_pictures(query))


def first(raw: bytes) -> bytes:
    """What a page begins with: the same, unless it is too large. Raises a HeadlightError."""
    query = Query(raw, minilm_at=FIRST_AT)
    left = query.settings()
    for side in (left, query.settings("2", left.text)):
        fitting.fits_at_first(pictures.tokens(side))
    return _message(query, *_pictures(query))


def _pictures(query: Query) -> tuple[Picture, Picture, list[str]]:
    """Left, right, and what was left out of their settings."""
    left, of_the_left = fitting.within(query.settings())
    right, of_the_right = fitting.within(query.settings("2", left.text))
    return pictures.picture(left), pictures.picture(right), of_the_left + of_the_right


def _message(query: Query, left: Picture, right: Picture, notices: list[str]) -> bytes:
    at = query.at.on(left.run.tokens)
    shown = Pair(left, right, at.layer, at.head)
    offered = tries.tries(query.name, left.model)
    header = {
        **_header(shown, at),
        "typed": [left.settings.text, query["s2"]],
        "try": {title: tries.in_link(values) for title, values in offered.items()},
        "tried": tries.tried(query, offered),
        "defaults": tries.in_link(_defaults(query)),
        "word": query["word"],
        "wordSaid": next_token.word_in_words(query["word"], {"on the left": left, "on the right": right}),
        "notices": list(dict.fromkeys([*notices, *_notices(shown)])),
    }
    return pack_parts(pack_focus(header, *shown.maps))


def _defaults(query: Query) -> dict[str, Any]:
    """What the controls of a link say by default, on this page and of this model."""
    keys = ["s", "s2", "order", "word", *(f"{key}{side}" for side in ("", "2") for key in SIDE)]
    own = {"at": FIRST_AT} if query.name == models.MINILM else {}
    return {key: DEFAULTS[key] for key in [*keys, "at"]} | dict(models.defaults(query.name)) | own


def _header(shown: Pair, at: At) -> dict[str, Any]:
    """Everything that is said of both pictures; `at`: layer, head, query and key in focus."""
    left, right = shown.left, shown.right
    found = contrasts.contrasts(left.settings, right.settings, left.model)
    titles, model = contrasts.titles(found), left.model
    return {
        "digest": f"{left.settings.digest}-{right.settings.digest}",
        "layers": model.sizes.n_layers,
        "heads": model.sizes.n_heads,
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "marked": pairs.marked(shown, at),
        "sides": [_side(picture, title, at) for picture, title in zip((left, right), titles, strict=True)],
        "differs": [one.key for one in found],
        "contrast": contrasts.line(found),
        "tokens": shown.tokens,
        "fits": shown.fits,
        "said": pairs.difference(shown),
        "distances": compare.row_distances(*shown.maps).tolist() if shown.fits else [],
        "answers": pairs.answers(shown, titles),
        "next": [asdict(token) for token in next_token.compared(left, right)],
        "figures": pairs.figures(shown, at),
        "asides": pairs.asides(shown, titles),
        "vectors": vectors.of_row(shown, at.row or 0),
    }


def _side(picture: Picture, title: str, at: At) -> dict[str, Any]:
    settings, model, tokens = picture.settings, picture.model, picture.run.tokens
    rows = pairs.in_head(picture, at.layer, at.head)
    return {
        "tokens": tokens,
        "ends": picture.run.ends,
        "title": title,
        "story": pairs.story(picture, at.layer, at.head),
        "repeated": list(rows.places) if rows else [],
        "label": f"{words.label(settings, model)}, {model.origin} weights",
        "fitness": pairs.fitness(picture),
        "forbidden": forbidden(settings.mask, settings.painted, len(tokens), model.sizes.n_heads, model.own_mask),
    }


def _notices(shown: Pair) -> list[str]:
    """What must be said of the passes and of the words, of both sides."""
    sides = shown.left, shown.right
    of_runs = [said for side in sides for said in side.run.notices]
    return of_runs + [said for side in sides for said in models.unknown(side.model, side.settings.text)]
