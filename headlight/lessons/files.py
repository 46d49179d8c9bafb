"""The handout of a lesson: its questions, their maps and the answers."""

import base64
from typing import TypedDict
from urllib.parse import parse_qsl, urlsplit

from torch import Tensor

from headlight.picture import words
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.registry import get_source
from headlight.server.addresses import MAX_QR_BYTES, public_url, qr_code
from headlight.ui import numbers
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_focus

from .bugs import BUGS
from .course import course
from .message import CourseLesson, StepVerdict, lesson_message, verdict_message
from .quantities.scene import TWO_SIDES, page_scene
from .schema import Lesson, LessonStep

MAP_PAGES = ("explore", "masks", TWO_SIDES)  # pages with maps of a sentence
MAX_TOKENS = 20  # of a printed map; more would be illegible
MAX_SENTENCE_LENGTH = 200  # characters of a printed one


class HandoutMap(TypedDict):
    """A map of a handout."""

    tokens: list[str]
    layer: int
    head: int
    row: int
    label: str
    forbidden: list[str]


class HandoutStep(TypedDict):
    """A step of a handout."""

    sentences: list[str]  # its sentences
    layer: str  # code of a broken layer, or ""
    address: str  # public address, "" if only this machine can reach the server
    code: str  # QR code of the address, "" without one or if it is too long
    answer: StepVerdict
    maps: list[HandoutMap]  # headers of the float32 maps that follow, in order


class Handout(TypedDict):
    """The header of a handout."""

    lesson: CourseLesson
    steps: list[HandoutStep]


def handout(raw: bytes) -> bytes:
    """Return the handout of a lesson: the header and its maps, packed.

    Args:
        raw: query with "lesson", the id of the lesson, and "from", the address of the requesting page.

    Raises:
        HeadlightError: there is no such lesson, or the query is not valid UTF-8.
    """
    try:
        parameters = dict(parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=10))
    except ValueError:
        raise HeadlightError("the query is not percent-encoded UTF-8") from None
    lesson = course().lessons.get(parameters.get("lesson", ""))
    if lesson is None:
        raise HeadlightError(f"there is no lesson “{parameters.get('lesson', ''):.40}” in this course")
    steps = [_step(lesson, number, step, parameters.get("from", "")) for number, step in enumerate(lesson.steps, 1)]
    header = Handout(lesson=lesson_message(lesson), steps=[step for step, _ in steps])
    return pack_focus(header, *(part for _, maps in steps for part in maps))


def _step(lesson: Lesson, number: int, step: LessonStep, origin: str) -> tuple[HandoutStep, list[Tensor]]:
    """Return the message of a step and its float32 maps (i, j)."""
    maps, address = step_maps(step), _address(origin, f"/{lesson.address(number)}")
    is_short = address and len(address.encode()) <= MAX_QR_BYTES
    try:
        answer = verdict_message(step, Query(step.query.encode("ascii")))
    except HeadlightError as error:
        answer = {"picked": step.answer, "numbers": [], "sentence": words.error_sentence(error), "explanation": ""}
    message: HandoutStep = {
        "sentences": sentences(step),
        "layer": layer(step),
        "address": address,
        "code": f"data:image/svg+xml;base64,{base64.b64encode(qr_code(address)).decode()}" if is_short else "",
        "answer": answer,
        "maps": [header for header, _ in maps],
    }
    return message, [weights for _, weights in maps]


def sentences(step: LessonStep) -> list[str]:
    """Return the sentences of the step's page, those of both sides if they differ."""
    if step.page not in (*MAP_PAGES, "shapes"):
        return []
    query = Query(step.query.encode("ascii"))
    typed = [query["s"], *([query["s2"]] if step.page == TWO_SIDES else [])]
    return [numbers.cut(text, MAX_SENTENCE_LENGTH) for text in dict.fromkeys(typed) if text]


def layer(step: LessonStep) -> str:
    """Return the code of the broken layer that the step shows, or ""."""
    name = Query(step.query.encode("ascii"))["lesson"]
    return BUGS[name].code if name in BUGS else ""


def step_maps(step: LessonStep) -> list[tuple[HandoutMap, Tensor]]:
    """Return the maps that the step shows, unless they are too large for paper."""
    if step.picture not in ("map", "two maps"):
        return []
    scene = page_scene(step.page, Query(step.query.encode("ascii")))
    try:
        primed = (False, True) if step.page == TWO_SIDES else (True, False) if step.picture == "two maps" else (False,)
        pictures = [scene.picture(primed=is_primed) for is_primed in primed]
        return [_map(scene.query, picture) for picture in pictures if len(picture.run.tokens) <= MAX_TOKENS]
    except HeadlightError:  # the answer states the reason
        return []


def _map(query: Query, picture: Picture) -> tuple[HandoutMap, Tensor]:
    settings, model, tokens = picture.settings, picture.model, picture.run.tokens
    cursor = query.cursor.resolve(tokens, is_generative=get_source(settings.model).is_generative)
    forbidden = settings.forbidden_cells(model, len(tokens))
    label, row = words.label(settings, model), cursor.row or 0
    header = HandoutMap(tokens=tokens, layer=cursor.layer, head=cursor.head, row=row, label=label, forbidden=forbidden)
    return header, picture.run.weights[cursor.layer, cursor.head]


def _address(origin: str, link: str) -> str:
    """Return the public address of a link; "" if only this machine can reach the server."""
    place = urlsplit(origin)
    address = public_url(f"{place.scheme}://{place.netloc}") if place.scheme in ("http", "https") else ""
    return f"{address}{link}" if address else ""
