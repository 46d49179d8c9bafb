"""Answers to the questions of a site’s pages, found by following the links that the app offers.

Every question is asked in its canonical form, so that one answer serves all its forms.
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
from .questions import canonical

Pairs = list[tuple[str, str]]  # keys and values of a link
Header = dict[str, Any]

LIGHT = "light steps"  # a route of the site alone
PICTURES = {"explore": "maps", "compare": "pair", "masks": "masks", "shapes": "steps", "model_map": "architecture"}
FORMS = ("by_hand", "implementations")  # pages of which a site shows the sheets that lessons ask about
MODELS = ("who-rotary-1", "words-2layers-1", "words-1layer-1", "dates-sinusoidal-1", "brackets-learned-1")
LOOKS = ("all", "mean", "meanall", "values", "words")  # of Maps, each computed by the server
DEPTHS = FIELDS["depth"].choices
_IN_RUN = ("at", "pin", "look", "view", "learn", "temp", "topk", "topp", "dice", "word")  # keys without effect on a run
_RIGHT = ("s2", "model2", "at2", *(f"{key}2" for key in SIDE_KEYS))
_OVER_MAPS = (
    "at",
    "word",
    "look",
    "order",
    "shuffle",
    "three",
    "kin",
    "mean",
    "learn",
)  # likewise, for tests of Compare
_OF_STEP = ("step", "f", "vs", "learn")  # likewise, for the exercises of Shapes


class Answers:
    """The recorded answers by the name of their pack and their canonical question.

    A question in several packs has the place of the first. `models` are those that the browser runs.
    """

    def __init__(self, handlers: Handlers, models: Collection[str]) -> None:
        self.packs: dict[str, dict[str, bytes]] = {"course": {}, **{name: {} for name in course().lessons}}
        self._handlers, self._models = handlers, models
        self._known: dict[str, bytes | None] = {}

    def find(self, route: str, pairs: Iterable[tuple[str, str]], *, light: bool = False) -> tuple[str, bytes | None]:
        """Return a question in its canonical form and the answer, None if there is none."""
        question = canonical(route, urlencode(list(pairs)))
        if question not in self._known:
            handler = self._handlers[LIGHT if light else route]
            try:
                self._known[question] = handler(question.partition("?")[2].encode("ascii"))
            except HeadlightError:  # the site refuses it too
                self._known[question] = None
        return question, self._known[question]

    def ask(self, pack: str, route: str, pairs: Iterable[tuple[str, str]] = (), *, light: bool = False) -> bytes | None:
        """Record the answer to a question and return it, None if there is none."""
        question, answer = self.find(route, pairs, light=light)
        if answer is not None:  # traces are large, and lessons share them
            self.packs.setdefault("shapes" if route == "steps" else pack, {})[question] = answer
        return answer

    def open(self, pack: str, page: str, pairs: Pairs, *, light: bool = False) -> Header | None:
        """Record what a page asks for when it opens a link; return the header of its picture.

        The `light` picture of Shapes has the numbers of the visible step alone.
        """
        route = PICTURES.get(page)
        answer = self.ask(pack, route, pairs, light=light) if route else None
        if route is None or answer is None:
            return None
        header = _header(answer)
        for form in _forms(pairs, header):
            self.ask(pack, route, form, light=light)
            if page != "compare":  # its answer depends on the row
                self.ask(pack, route, _substitute(form, at=_head(form)), light=light)
        return header

    def record_lesson(self, lesson: Lesson) -> None:
        """Record the pictures, the panels beneath them, and the verdicts of all steps of a lesson."""
        for number, step in enumerate(lesson.steps, 1):
            for name, question in ((f"{lesson.id}.{number}", step), (f"{lesson.id}.{number}.2", retry_variant(step))):
                if question is not None:
                    self._record_step(lesson.id, name, question)
            for variant in step.variants if step.page != "shapes" else ():
                pack, pairs = f"{lesson.id}-variants", _variant(step, variant)
                if step.page == "explore" and dict(pairs).get("model", MINILM) in self._models:
                    self.ask(pack, "lesson", [*pairs, ("learn", f"{lesson.id}.{number}")])  # it draws the rest itself
                elif step.page != "explore" or not _is_large(pairs):
                    self._open_step(pack, f"{lesson.id}.{number}", step, pairs)

    def _open_step(self, pack: str, name: str, step: LessonStep, pairs: Pairs) -> Header | None:
        header = self.open(pack, step.page, pairs, light=step.picture == "panel lesson")
        if step.page in FORMS:
            self.ask(pack, f"page.{path(step.page)}", pairs)
        for form in _forms(pairs, header) if header else [pairs]:
            self.ask(pack, "lesson", [*form, ("learn", name)])
        return header

    def _record_step(self, pack: str, name: str, step: LessonStep) -> None:
        pairs = parse_qsl(step.query, True)
        header = self._open_step(pack, name, step, pairs)
        if header is None:
            return
        if step.page != "compare" or not _is_large(pairs):
            record_panels(self, pack, step.page, pairs, header)
        if step.page == "explore":
            for telling in header["telling"]:
                self.ask(pack, "focus", _substitute(pairs, at=".".join(telling["cursor"].split(".")[:2])))
        if step.page == "compare" and step.picture == "panel vectors":
            for row in range(len(header["sides"][0]["tokens"])):
                self.ask(pack, "pair", _substitute(pairs, at=f"{header['layer']}.{header['head']}.{row}"))


def record_panels(answers: Answers, pack: str, page: str, pairs: Pairs, header: Header) -> None:
    """Record what a page asks for beneath its picture."""
    head = f"{header['layer']}.{header['head']}"
    values = dict(pairs)
    match page:
        case "explore":
            record_view(answers, pack, pairs, header, values.get("view", ""))
        case "compare":
            sides = _omit(pairs, "s2", "model2", "at2", *_OVER_MAPS)
            left = _omit(pairs, *_RIGHT, *_OVER_MAPS)
            answers.ask(
                pack, "shuffle", [*sides, *((key, values[key]) for key in ("order", "shuffle") if key in values)]
            )
            if header["eachIsQuick"]:
                answers.ask(pack, "ablations", left)
            if several := [pair for pair in pairs if pair[0] in ("three", "kin", "mean")]:
                answers.ask(pack, "encodings", [*left, *several, ("at", head)])
        case "masks":
            answers.ask(pack, "outcomes", pairs)
        case "shapes":
            answers.ask(pack, "reshape", _substitute(_omit(pairs, *_OF_STEP), at=head))


def record_view(answers: Answers, pack: str, pairs: Pairs, header: Header, view: str) -> None:
    """Record another view under the map of Maps, for every row where its answer depends on it."""
    name, _, state = view.partition(".")
    run, head = _omit(pairs, *_IN_RUN), f"{header['layer']}.{header['head']}"
    cursor = f"{header['row']}" if header["key"] is None else f"{header['row']}.{header['key']}"
    match name:
        case "heads":
            answers.ask(pack, "overview", [*run, *([("view", "heads.random")] if "random" in state else [])])
        case "flow":
            for measure in ("flow", "flow.norm"):
                answers.ask(pack, "flow", [*run, ("at", f"0.0.{cursor}"), ("view", measure)])
        case "channels":
            answers.ask(pack, "channels", [*run, ("at", f"{head}.{cursor}")])
        case "cache":
            shift = [*state.split("."), "", ""][1]
            answers.ask(pack, "cache", [*run, ("at", f"{head}.{cursor}"), ("view", f"cache..{shift}")])
        case "residual" | "lens":
            for row in _rows(answers, pairs):
                answers.ask(pack, name, [*run, ("at", f"0.0.{row}")])


def _rows(answers: Answers, pairs: Pairs) -> range:
    """Return the rows of the picture of a link of Maps."""
    _, answer = answers.find("maps", pairs)
    return range(len(_header(answer, 1)["tokens"]) if answer else 0)


def record_collection(answers: Answers, model: str) -> Iterator[str]:
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
            pack = f"{page}-{model}-{number}"
            yield pack
            for pairs in ([*base, ("s", text)], *([base] if is_default else [])):
                header = answers.open(pack, page, pairs)
                if header is not None:
                    record_panels(answers, pack, page, pairs, header)
                    _OFFERS[page](answers, pack, pairs, header, source.known_heads.get(text))


def _record_maps(answers: Answers, pack: str, pairs: Pairs, header: Header, cursor: str | None) -> None:
    heads = [f"{layer}.{head}" for layer in range(header["layers"]) for head in range(header["heads"])]
    for head in heads:
        answers.ask(pack, "focus", _substitute(pairs, at=head))
    for look in LOOKS:
        for place in dict.fromkeys((None, cursor)):
            answers.ask(pack, "focus", _substitute(pairs, at=place, look=look))
    for view in ("heads.", "heads.random", "flow"):
        record_view(answers, pack, pairs, header, view)
    for change in _changes(answers, pairs, header):
        for place in dict.fromkeys((None, cursor, f"{header['layer']}.{header['head']}")):
            answers.ask(pack, "maps", _substitute(pairs, **change, at=place))


def _changes(answers: Answers, pairs: Pairs, header: Header) -> list[dict[str, str]]:
    """Return the masks and positions that the app offers, as values of a link."""
    _, answer = answers.find("masks", [*pairs, ("mask", "none")])
    cards = _header(answer)["cards"] if answer else []
    masks = [card["clicks"]["use"] for card in cards if card["clicks"] and card["name"] != "painted"]
    return [*masks, *({"pos": name} for name, _ in header["positions"])]


def _record_pairs(answers: Answers, pack: str, pairs: Pairs, header: Header, cursor: str | None) -> None:
    left, right = header["sides"]
    for head in range(left["heads"]):
        for layer in range(left["layers"]):
            answers.ask(pack, "pair", _substitute(pairs, at=f"{layer}.{head}"))
    for row in range(len(left["tokens"])):
        answers.ask(pack, "pair", _substitute(pairs, at=f"{header['layer']}.{header['head']}.{row}"))
    for place in dict.fromkeys((None, cursor)):
        answers.ask(pack, "initial", _substitute(pairs, at=place))
    for values in header["suggestions"].values():
        answers.open(pack, "compare", [pair for key, value in values.items() for pair in _pairs(key, value)])
    for change in _changes(answers, pairs, {"positions": right["positions"]}):
        answers.ask(pack, "pair", _substitute(pairs, **{f"{key}2": value for key, value in change.items()}))


def _record_masks(answers: Answers, pack: str, pairs: Pairs, header: Header, cursor: str | None) -> None:
    for place in dict.fromkeys((None, cursor)):
        answers.ask(pack, "entry", _substitute(pairs, at=place))
    for card in header["cards"]:
        if card["clicks"] and card["clicks"]["use"]:
            for place in dict.fromkeys((None, cursor)):
                link = _substitute(pairs, **card["clicks"]["use"], at=place)
                if answers.open(pack, "masks", link):
                    answers.ask(pack, "outcomes", link)


def _record_exercises(answers: Answers, pack: str, pairs: Pairs, header: Header, _: str | None) -> None:
    for lesson in header["lessons"]:
        answers.ask(pack, "reshape", [*pairs, ("lesson", lesson), ("at", f"{header['layer']}.{header['head']}")])
    answers.ask(pack, "classes")


def _record_boxes(answers: Answers, pack: str, pairs: Pairs, header: Header, _: str | None) -> None:
    for box in header["boxes"]:
        for depth in DEPTHS:
            answers.ask(pack, "architecture", [*pairs, ("box", box["name"]), ("depth", depth)])


_OFFERS = {
    "explore": _record_maps,
    "compare": _record_pairs,
    "masks": _record_masks,
    "shapes": _record_exercises,
    "model_map": _record_boxes,
}


def _variant(step: LessonStep, variant: str) -> Pairs:
    if words := parse_replacements(variant):
        return parse_qsl(replaced_link(step.query, words), True)
    new = parse_qsl(variant, True)
    return [*_omit(parse_qsl(step.query, True), *(key for key, _ in new)), *new]


def _forms(pairs: Pairs, header: Header) -> list[Pairs]:
    """Return a link as it is, and as its page writes it: without values that are the default there."""
    defaults = header["defaults"]
    return [pairs, [(key, text) for key, text in pairs if key == "at" or defaults.get(key) != text]]


def _header(answer: bytes, part: int = 0) -> Header:
    """Return the header of a part of an answer."""
    message = split(answer)[1 + part]
    (length,) = struct.unpack_from("<I", message)
    header: Header = json.loads(message[4 : 4 + length])
    return header


def _head(pairs: Pairs) -> str | None:
    """Return the head that a link names, without row and key, None if it names none."""
    return next((".".join(text.split(".")[:2]) for key, text in pairs if key == "at"), None)


def _is_large(pairs: Pairs) -> bool:
    """Return whether a link is about the language model, whose pictures are large."""
    return ("model", SMOLLM2) in pairs


def _omit(pairs: Pairs, *keys: str) -> Pairs:
    return [pair for pair in pairs if pair[0] not in keys]


def _substitute(pairs: Pairs, **values: str | None) -> Pairs:
    """Return the pairs with these values, without the keys of those that are None."""
    return [*_omit(pairs, *values), *((key, text) for key, text in values.items() if text is not None)]


def _pairs(key: str, value: str | list[str]) -> Pairs:
    return [(key, text) for text in ([value] if isinstance(value, str) else value)]
