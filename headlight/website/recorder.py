"""Responses to the requests of a site’s pages, found by following the links that the app offers.

Every request is made in its canonical form, so that one response serves all its forms.
"""

import json
import struct
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

from headlight.api.routes import Handlers
from headlight.lessons.course import course
from headlight.lessons.schema import Lesson, LessonStep
from headlight.lessons.variants import parse_replacements, replaced_link, retry_variant
from headlight.link.fields import FIELDS, SIDE_KEYS
from headlight.registry import MINILM, SMOLLM2, get_source
from headlight.ui.pages import path
from mha_core.errors import HeadlightError

from .packs import split
from .requests import canonical_request

Parameters = list[tuple[str, str]]  # keys and values of a link
Header = dict[str, Any]

VISIBLE_STEP = "visible step"  # a route of the site alone
PICTURES = {"explore": "maps", "compare": "pair", "masks": "masks", "shapes": "steps", "model_map": "architecture"}
FORM_PAGES = ("by_hand", "implementations")  # pages of which a site shows the sheets that lessons link to
MODELS = ("who-rotary-1", "words-2layers-1", "words-1layer-1", "dates-sinusoidal-1", "brackets-learned-1")
LOOK_WORDS = ("all", "mean", "meanall", "values", "words")  # of Maps, each computed by the server
MAX_TOKENS = 10  # of an example with every head on Compare, beside the first
# keys without effect on a run, on the tests under Compare's maps, on the exercises of Shapes
_CURSOR_KEYS = ("at", "pin", "look", "view", "learn", "temp", "topk", "topp", "dice", "word")
_PAIR_KEYS = ("at", "word", "look", "order", "shuffle", "three", "kin", "mean", "learn", "s2", "model2", "at2")
_STEP_KEYS = ("step", "f", "vs", "learn")


class Recorder:
    """The recorded responses by the name of their pack and their canonical request.

    A request in several packs has the place of the first. `models` are those that the browser runs, `pack` is the
    name of the pack for the next responses.
    """

    def __init__(self, handlers: Handlers, models: Collection[str]) -> None:
        self.pack = "course"
        self.packs: dict[str, dict[str, bytes]] = {self.pack: {}, **{name: {} for name in course().lessons}}
        self._handlers, self._models = handlers, models
        self._cache: dict[str, bytes | None] = {}

    def respond(
        self, route: str, pairs: Iterable[tuple[str, str]], *, visible_step: bool = False
    ) -> tuple[str, bytes | None]:
        """Return a request in its canonical form and the response, None if there is none."""
        request = canonical_request(route, urlencode(list(pairs)))
        if request not in self._cache:
            handler = self._handlers[VISIBLE_STEP if visible_step else route]
            try:
                self._cache[request] = handler(request.partition("?")[2].encode("ascii"))
            except HeadlightError:  # the site refuses it too
                self._cache[request] = None
        return request, self._cache[request]

    def record(self, route: str, pairs: Iterable[tuple[str, str]] = (), *, visible_step: bool = False) -> bytes | None:
        """Record the response to a request and return it, None if there is none."""
        request, response = self.respond(route, pairs, visible_step=visible_step)
        if response is not None:  # traces are large, and lessons share them
            self.packs.setdefault("shapes" if route == "steps" else self.pack, {})[request] = response
        return response

    def open(self, page: str, pairs: Parameters, *, visible_step: bool = False) -> Header | None:
        """Record what a page requests when it opens a link; return the header of its picture.

        With `visible_step`, the picture of Shapes has the numbers of that step alone.
        """
        route = PICTURES.get(page)
        response = self.record(route, pairs, visible_step=visible_step) if route else None
        if route is None or response is None:
            return None
        header = _header(response)
        links = _equivalent_links(pairs, header)
        if page == "masks" and pairs:  # it writes its default mask into the link
            links.append(_replace_keys(pairs, mask=dict(pairs).get("mask", "none")))
        for link in links:
            self.record(route, link, visible_step=visible_step)
            if page != "compare":  # its response depends on the row
                self.record(route, _at_head(link), visible_step=visible_step)
        return header

    def record_lesson(self, lesson: Lesson) -> None:
        """Record the pictures, the panels beneath them, and the verdicts of all steps of a lesson."""
        for number, step in enumerate(lesson.steps, 1):
            name = f"{lesson.id}.{number}"
            self.pack = lesson.id
            self._record_step(name, step)
            if second := retry_variant(step):
                self._record_step(f"{name}.2", second)
            self.pack = f"{lesson.id}-variants"
            for variant in step.variants if step.page != "shapes" else ():
                pairs = _variant(step, variant)
                if step.page != "explore":
                    self._open_step(name, step, pairs)
                elif dict(pairs).get("model", MINILM) in self._models:
                    self.record("lesson", [*pairs, ("learn", name)])  # the browser computes the picture
                elif not _is_large(pairs):
                    self._open_step(name, step, pairs)

    def _open_step(self, name: str, step: LessonStep, pairs: Parameters) -> Header | None:
        header = self.open(step.page, pairs, visible_step=step.picture == "panel lesson")
        if step.page in FORM_PAGES:
            self.record(f"page.{path(step.page)}", pairs)
        for link in _equivalent_links(pairs, header) if header else [pairs]:
            self.record("lesson", [*link, ("learn", name)])
        return header

    def _record_step(self, name: str, step: LessonStep) -> None:
        pairs = parse_qsl(step.query, True)
        header = self._open_step(name, step, pairs)
        if header is None:
            return
        if step.page != "compare" or not _is_large(pairs):
            self._record_panels(step.page, pairs, header)
        if step.page == "explore":
            for telling in header["telling"]:
                self.record("maps", _at_head(_replace_keys(pairs, at=telling["cursor"])))
        if step.picture == "panel vectors":
            self._record_rows(pairs, header)

    def _record_rows(self, pairs: Parameters, header: Header) -> None:
        for row in range(len(header["sides"][0]["tokens"])):
            self.record("pair", _replace_keys(pairs, at=f"{header['layer']}.{header['head']}.{row}"))

    def _record_panels(self, page: str, pairs: Parameters, header: Header) -> None:
        """Record what a page requests beneath its picture."""
        head, values = f"{header['layer']}.{header['head']}", dict(pairs)
        if page == "explore":
            self._record_view(pairs, header, values.get("view", ""))
        elif page == "masks":
            self.record("outcomes", pairs)
            self.record("outcomes", _replace_keys(pairs, mask=values.get("mask", "none")))
        elif page == "shapes":
            self.record("reshape", _replace_keys(_omit(pairs, *_STEP_KEYS), at=head))
        elif page == "compare":
            left = _omit(pairs, *_PAIR_KEYS, *(f"{key}2" for key in SIDE_KEYS))
            self.record(
                "shuffle", [*_omit(pairs, *_PAIR_KEYS), *(pair for pair in pairs if pair[0] in ("order", "shuffle"))]
            )
            if header["eachIsQuick"]:
                self.record("ablations", left)
            if several := [pair for pair in pairs if pair[0] in ("three", "kin", "mean")]:
                self.record("encodings", [*left, *several, ("at", head)])

    def _record_view(self, pairs: Parameters, header: Header, view: str) -> None:
        """Record another view under the map of Maps, of each row where its response depends on it alone."""
        name, _, state = view.partition(".")
        run, row = _omit(pairs, *_CURSOR_KEYS), header["row"]
        cell = f"{row}" if header["key"] is None else f"{row}.{header['key']}"
        if name == "heads":
            self.record("overview", [*run, *([("view", "heads.random")] if "random" in state else [])])
        elif name == "flow":
            for measure in ("flow", "flow.norm"):
                self.record("flow", [*run, ("at", f"0.0.{cell}"), ("view", measure)])
        elif name == "cache":
            shift = [*state.split("."), "", ""][1]
            cursor = f"{header['layer']}.{header['head']}.{cell}"
            self.record("cache", [*run, ("at", cursor), ("view", f"cache..{shift}")])
        elif name in ("residual", "lens"):
            _, response = self.respond("maps", pairs)
            for number, _ in enumerate(_header(response, 1)["tokens"] if response else ()):
                self.record(name, [*run, ("at", f"0.0.{number}")])

    def record_collection(self, model: str) -> Iterator[str]:
        """Record the example sentences of a model on all pages, with each head, mask and position that the app offers.

        Yield the name of each pack before it is recorded.
        """
        source = get_source(model)
        base = [] if model == MINILM else [("model", model)]
        for number, text in enumerate(source.presets):
            is_default = text == source.defaults["s"]
            for page in PICTURES:
                if page == "shapes" and not is_default:
                    continue  # traces are large
                self.pack = f"{page}-{model}-{number}"
                yield self.pack
                for pairs in ([*base, ("s", text)], *([base] if is_default else [])):
                    header = self.open(page, pairs)
                    if header is None:
                        continue
                    self._record_panels(page, pairs, header)
                    if page == "explore" and model != MINILM:
                        self._record_views(pairs, header)  # the browser computes the rest at once
                    elif page != "model_map" or is_default:
                        self._record_offers(page, pairs, header, source.known_heads.get(text), is_default)

    def _record_views(self, pairs: Parameters, header: Header) -> None:
        for view in ("heads.", "heads.random", "flow"):
            self._record_view(pairs, header, view)

    def _record_offers(
        self, page: str, pairs: Parameters, header: Header, cursor: str | None, is_default: bool
    ) -> None:
        """Record what the controls of a page offer for an example; `cursor` is a head that is known for it."""
        layers, heads = (range(header[key]) for key in ("layers", "heads"))
        places = [_replace_keys(pairs, at=f"{layer}.{head}") for layer in layers for head in heads]
        links = [pairs, *([_replace_keys(pairs, at=cursor)] if cursor else [])]
        if page == "explore":
            for place in places:
                self.record("maps", place)
            self._record_views(pairs, header)
            for link in links:
                for look in LOOK_WORDS:
                    self.record("focus", [*link, ("look", look)])
            at_default = _replace_keys(pairs, at=f"{header['layer']}.{header['head']}")
            for change in self._changes(pairs, header["positions"]):
                for link in (*links, at_default):
                    self.record("maps", _replace_keys(link, **change))
        elif page == "compare":
            is_short = len(header["tokens"]) <= MAX_TOKENS
            defaults = [(key, text) for key, text in header["defaults"].items() if key == "pos2" and text]
            for place in places if is_short or is_default else ():
                self.record("pair", place)
                self.record("pair", [*place, *defaults])
            self._record_rows(pairs, header)
            for link in links:
                self.record("initial", link)
            for values in header["suggestions"].values():
                self.open(page, parse_qsl(urlencode(values, doseq=True), True))
            for change in self._changes(pairs, header["sides"][1]["positions"]):
                self.record("pair", _replace_keys(pairs, **{f"{key}2": value for key, value in change.items()}))
        elif page == "masks":
            for link in links:
                self.record("entry", link)
                for mask in self._changes(pairs, ()):
                    if self.open(page, _replace_keys(link, **mask)):
                        self.record("outcomes", _replace_keys(link, **mask))
        elif page == "shapes":
            head = f"{header['layer']}.{header['head']}"
            for lesson in header["lessons"]:
                self.record("reshape", [*pairs, ("lesson", lesson), ("at", head)])
            self.record("classes")
        else:
            for box in header["boxes"]:
                for depth in FIELDS["depth"].choices:
                    self.record("architecture", [*pairs, ("box", box["name"]), ("depth", depth)])

    def _changes(self, pairs: Parameters, positions: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
        """Return the masks that the gallery offers and the positions, as values of a link."""
        _, response = self.respond("masks", [*pairs, ("mask", "none")])
        cards = _header(response)["cards"] if response else []
        masks = [card["clicks"]["use"] for card in cards if card["clicks"] and card["name"] != "painted"]
        return [*masks, *({"pos": name} for name, _ in positions)]


def _variant(step: LessonStep, variant: str) -> Parameters:
    if words := parse_replacements(variant):
        return parse_qsl(replaced_link(step.query, words), True)
    new = parse_qsl(variant, True)
    return [*_omit(parse_qsl(step.query, True), *(key for key, _ in new)), *new]


def _equivalent_links(pairs: Parameters, header: Header) -> list[Parameters]:
    """Return a link as it is, and as its page writes it: without values that are the default there."""
    defaults = header["defaults"]
    return [pairs, [(key, text) for key, text in pairs if key == "at" or defaults.get(key) != text]]


def _header(response: bytes, part: int = 0) -> Header:
    """Return the header of a part of a response."""
    message = split(response)[1 + part]
    (length,) = struct.unpack_from("<I", message)
    header: Header = json.loads(message[4 : 4 + length])
    return header


def _at_head(pairs: Parameters) -> Parameters:
    """Return a link without the row and the key of its cursor."""
    return [(key, ".".join(text.split(".")[:2]) if key == "at" else text) for key, text in pairs]


def _is_large(pairs: Parameters) -> bool:
    """Return whether a link is about the language model, whose pictures are large."""
    return ("model", SMOLLM2) in pairs


def _omit(pairs: Parameters, *keys: str) -> Parameters:
    return [pair for pair in pairs if pair[0] not in keys]


def _replace_keys(pairs: Parameters, **values: str) -> Parameters:
    return [*_omit(pairs, *values), *values.items()]
