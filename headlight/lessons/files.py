"""A lesson to print: its questions, the maps that they are of, and what the numbers answer."""

import base64
from typing import TypedDict
from urllib.parse import parse_qsl, urlsplit

from torch import Tensor

from headlight.picture import words
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.registry import source_of
from headlight.server.addresses import MAX_QR_BYTES, public_url, qr_code
from headlight.ui import numbers
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_focus

from .course import course
from .message import CourseLesson, StepVerdict, answer_of, lesson_of
from .quantities.scene import TWO_SIDES, scene_of
from .schema import Lesson, LessonStep

OF_MAPS = ("explore", "masks", TWO_SIDES)  # pages that show maps of a sentence
MAX_TOKENS = 20  # of a map on paper; of more no word can be read
MAX_SENTENCE_LENGTH = 200  # characters of one on paper


class HandoutMap(TypedDict):
    tokens: list[str]
    layer: int
    head: int
    row: int
    label: str
    forbidden: list[str]


class HandoutStep(TypedDict):
    sentences: list[str]  # that it is about
    address: str  # for a class, "" where the server answers its own machine alone
    code: str  # that address as a picture, "" without one, and of one too long
    answer: StepVerdict
    maps: list[HandoutMap]  # of the float32 that follow, in order


class Handout(TypedDict):
    lesson: CourseLesson
    steps: list[HandoutStep]


def handout(raw: bytes) -> bytes:
    """The message of the lesson that the query names.

    Args:
        raw: "lesson", the id of the lesson; "from", the address that it is asked for at.

    Raises:
        HeadlightError: there is no such lesson, or the query is no text.
    """
    try:
        asked = dict(parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=10))
    except ValueError:
        raise HeadlightError("the query is not UTF-8 in percent signs") from None
    lesson = course().lessons.get(asked.get("lesson", ""))
    if lesson is None:
        raise HeadlightError(f"there is no lesson “{asked.get('lesson', ''):.40}” in this course")
    told = [_step(lesson, number, step, asked.get("from", "")) for number, step in enumerate(lesson.steps, 1)]
    header = Handout(lesson=lesson_of(lesson), steps=[step for step, _ in told])
    return pack_focus(header, *(part for _, maps in told for part in maps))


def _step(lesson: Lesson, number: int, step: LessonStep, origin: str) -> tuple[HandoutStep, list[Tensor]]:
    """What is told of a step, and the float32 maps (i, j) that it is of."""
    maps, address = _maps(step), _address(origin, f"/{lesson.address(number)}")
    is_short = address and len(address.encode()) <= MAX_QR_BYTES
    try:
        answer = answer_of(step, Query(step.query.encode("ascii")))
    except HeadlightError as error:
        answer = {"picked": step.right, "numbers": [], "sentence": words.sentence(error), "because": ""}
    told: HandoutStep = {
        "sentences": _sentences(step),
        "address": address,
        "code": f"data:image/svg+xml;base64,{base64.b64encode(qr_code(address)).decode()}" if is_short else "",
        "answer": answer,
        "maps": [told for told, _ in maps],
    }
    return told, [weights for _, weights in maps]


def _sentences(step: LessonStep) -> list[str]:
    """What is typed on the step's page, the right side's where it is another one; none on a page without a sentence."""
    if step.page not in (*OF_MAPS, "shapes"):
        return []
    asked = Query(step.query.encode("ascii"))
    typed = [asked["s"], *([asked["s2"]] if step.page == TWO_SIDES else [])]
    return [numbers.cut(text, MAX_SENTENCE_LENGTH) for text in dict.fromkeys(typed) if text]


def _maps(step: LessonStep) -> list[tuple[HandoutMap, Tensor]]:
    """The maps that the step shows; none where it shows something else, or of one too large for paper."""
    if step.picture not in ("map", "two maps"):
        return []
    scene = scene_of(step.page, Query(step.query.encode("ascii")))
    try:
        primed = (False, True) if step.page == TWO_SIDES else (True, False) if step.picture == "two maps" else (False,)
        pictures = [scene.picture(primed=one) for one in primed]
        return [_map(scene.query, picture) for picture in pictures if len(picture.run.tokens) <= MAX_TOKENS]
    except HeadlightError:  # the answer's sentence says why
        return []


def _map(query: Query, picture: Picture) -> tuple[HandoutMap, Tensor]:
    settings, model, tokens = picture.settings, picture.model, picture.run.tokens
    at = query.at.on(tokens, goes_on=source_of(settings.model).is_generative)
    forbidden = settings.forbidden_cells(model, len(tokens))
    label, row = words.label(settings, model), at.row or 0
    told = HandoutMap(tokens=tokens, layer=at.layer, head=at.head, row=row, label=label, forbidden=forbidden)
    return told, picture.run.weights[at.layer, at.head]


def _address(origin: str, link: str) -> str:
    """The link as a class opens it; empty where the server answers its own machine alone."""
    place = urlsplit(origin)
    address = public_url(f"{place.scheme}://{place.netloc}") if place.scheme in ("http", "https") else ""
    return f"{address}{link}" if address else ""
