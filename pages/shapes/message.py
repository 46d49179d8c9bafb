"""What the step view is told over the wire: a layer's traces, a lesson on the layer, and the classes that ran."""

import json
from collections.abc import Sequence
from typing import TypedDict

from headlight.link.fields import SIDE_KEYS
from headlight.picture import pictures, traces, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.query import WRITTEN
from headlight.picture.settings import Settings
from headlight.picture.traces import RandomLayer, Traced
from headlight.registry import models, recordings
from headlight.ui import sheet
from headlight.ui.packing import Memory, in_memory
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from mha_core.measure.agreement import BIASES
from mha_core.show.packing import pack, pack_focus, pack_parts

from . import exercise, random_layer
from .lesson import whole_source
from .reshape_lessons import LESSONS, QUESTIONS
from .step_names import axes_of, describe, find, in_texts, usable

_RANDOM = ("lw", "biases", "drop", "dice")
# keys of the link, that the view owns
KEYS = ("s", *SIDE_KEYS, "model", "dev", "at", "impl", "vs", *_RANDOM, "step", "f", "lesson", "wrote")
MAX_AT_FIRST = 2**18  # bytes of a message that comes with the page


class TraceAxis(TypedDict):
    name: str  # "heads", "3 × channels"
    letter: str  # which gives it its colour
    size: int


class TraceStep(TypedDict):
    name: str
    expression: str
    axes: list[TraceAxis]
    strides: Sequence[int]
    contiguous: bool
    view: bool
    bytes: int
    parents: list[int]  # the steps that it was made from
    source: int  # which of the sources made it
    marked: Sequence[int]  # the lines of it
    recorded: int  # the line that recorded it, among them or not
    title: str
    why: str  # it is there
    lesson: str  # on what happens without it, or nothing
    texts: list[tuple[str, str]]  # a text that writes it this way, and its words for this step


class TraceSource(TypedDict):
    where: str
    first: int
    lines: Sequence[str]
    records: Sequence[int]  # lines that only record


class TraceHeader(Memory):
    digest: str
    implementation: str
    label: str
    tokens: list[str]
    heads: int
    dHead: int
    steps: list[TraceStep]
    sources: list[TraceSource]


class StepsPicture(PictureAnswer):
    implementations: list[str]
    biases: list[str]  # of random weights
    weights: str  # what is to be known of the layer's
    cannot: dict[str, str]  # key of a control -> why it has no effect, or nothing
    step: str  # this head and this step were in sight: where not all numbers can be sent, theirs are here
    cut: bool  # of no step but this one: it came with the page
    typed: str  # the sentence
    lessons: dict[str, str]  # the question that each answers
    label: str


class ReshapeLesson(TypedDict):
    blocks: list[Block]
    source: str  # of what it ran
    wrote: str  # the chosen lines of the exercise


def steps(raw: bytes) -> bytes:
    """The answer to a query: what is said, then its traces. Raises a HeadlightError."""
    return _message(LinkQuery(raw))


def first(raw: bytes) -> bytes:
    """What a page begins with: the same with no more numbers than are in sight. Raises a HeadlightError."""
    pictures.fits_at_first(LinkQuery(raw).fitted_settings()[0])
    message = _message(LinkQuery(raw), 0)
    if len(message) > MAX_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MAX_AT_FIRST:,} bytes, here are {len(message):,}")
    return message


def reshape(raw: bytes) -> bytes:
    """One of the things that go wrong at the reshapes, or the exercise, on the tensors of this very layer, as JSON."""
    query = LinkQuery(raw)
    check(query)
    settings, _ = traces.settings_within(query.fitted_settings()[0], query.at.layer, query["impl"])
    layer = random_layer.traced(settings, query.at.layer, "efficient", random_layer.chosen(query))
    name, lines = query["lesson"], exercise.chosen(query["wrote"]) or exercise.NONE_CHOSEN
    if name == exercise.NAME:
        lesson = exercise.write_it(layer, query.at.head, lines)
    else:
        lesson = LESSONS[name](layer, query.at.head)
    questions = QUESTIONS.items()
    choices = sheet.buttons("Question", [(asked, {"lesson": own}, own == name) for own, asked in questions])
    panel = sheet.panel("What goes wrong, and why", [choices, *lesson.blocks])
    wrote = ".".join(map(str, lines))
    return json.dumps(ReshapeLesson(blocks=[panel], source=lesson.source, wrote=wrote)).encode()


def classes(raw: bytes) -> bytes:
    """The class of each implementation that is shown, with every function and class that it calls, as JSON."""
    query = LinkQuery(raw)
    names = implementations(query["impl"], query["vs"])
    return json.dumps([whole_source(IMPLEMENTATIONS[name]) for name in names]).encode()


def _message(query: LinkQuery, most: int | None = None) -> bytes:
    """What is said, then the traces; of a trace of more than `most` bytes only the numbers in sight."""
    recordings.refuse(query.model)
    settings, left_out = query.fitted_settings()
    check(query)
    names, instead, at = implementations(query["impl"], query["vs"]), random_layer.chosen(query), query.at
    traced, unable = compute(settings, at.layer, names, instead)
    place, model, step = query.place(traced[0].tokens), query.model, query["step"]
    run = [sentence for layer in traced for sentence in layer.notices]
    notices = [*left_out, *unable, *run, *models.unknown(model, settings.text)]
    written = WRITTEN.get(query["mask"])
    rule = {written: query.rule(written)} if written else {}
    like = model.stack.block(at.layer).attention
    own = random_layer.parameters(like, query["biases"]) if instead else random_layer.theirs(like, model.origin)
    header: StepsPicture = {
        **picture_payload(query, KEYS, place, settings.digest, notices, s=settings.text, **rule),
        "implementations": list(IMPLEMENTATIONS),
        "biases": list(BIASES),
        "weights": own,
        "cannot": {
            "t": why_not(names, "temperature", "divide by a temperature"),
            "off": why_not(names, "heads", "ablate heads of this layer"),
        },
        "step": step,
        "cut": most == 0,
        "typed": settings.text,
        "lessons": QUESTIONS,
        "label": f"layer {at.layer}, {instead.label if instead else f'{model.origin} weights'}",
    }
    packed = [pack_trace(layer, step, at.head, most) for layer in traced]
    return pack_parts(pack(header), *packed)


def check(query: LinkQuery) -> None:
    """Leaves out a step, channel or lesson that there is not."""
    model = query.model.sizes
    if not usable(query["step"]):
        query.ignore("step")
    if query["f"] >= model.d_model // model.n_heads:
        query.ignore("f")
    if query["lesson"] not in LESSONS:
        query.ignore("lesson")
    if exercise.chosen(query["wrote"]) is None:
        query.ignore("wrote")


def why_not(names: list[str], what: str, in_words: str) -> str:
    """Why a control has no effect on anything that is shown, or nothing."""
    if any(what in IMPLEMENTATIONS[name].can for name in names):
        return ""
    return f"{' and '.join(names)} cannot {in_words}."


def implementations(first: str, second: str) -> list[str]:
    """What is shown, one beside the other; of two equal ones only one."""
    return [first] if second in ("none", first) else [first, second]


def compute(
    settings: Settings, layer: int, names: list[str], instead: RandomLayer | None = None
) -> tuple[list[Traced], list[str]]:
    """One trace an implementation, and what the implementations cannot do, as whole sentences."""
    traced, notices = [], []
    for name in names:
        within, left_out = traces.settings_within(settings, layer, name)
        traced.append(random_layer.traced(within, layer, name, instead))
        notices += [*left_out, *random_layer.notices(name, instead)]
    return traced, notices


def pack_trace(layer: Traced, step: str, head: int = 0, most: int | None = None) -> bytes:
    """The steps of a layer and the memory they lie in, as bytes for the browser.

    Args:
        step, head: those in sight, whose numbers go first where not all can be sent.
        most: bytes of numbers that are sent whole; None = as many as a message may have.
    """
    steps = layer.steps
    sources = {source.where: source for source in map(layer.source, steps)}
    d_head = next(step.shape[-1] for step in steps if step.name == "q")
    here = find(steps, step, head)
    memory, pieces = in_memory([one.value for one in steps], [here, *layer.parents(here)], most=most)
    header: TraceHeader = {
        **memory,
        "digest": layer.settings.digest,
        "implementation": layer.implementation,
        "label": layer.instead.label
        if layer.instead
        else words.label(layer.settings, pictures.model_of(layer.settings)),
        "tokens": layer.tokens,
        "heads": steps[-1].shape[-1] // d_head,
        "dHead": d_head,
        "steps": [_packed(layer, number, list(sources)) for number in range(len(steps))],
        "sources": [
            {"where": one.where, "first": one.first, "lines": one.lines, "records": one.records}
            for one in sources.values()
        ],
    }
    return pack_focus(header, *pieces)


def _packed(layer: Traced, number: int, sources: list[str]) -> TraceStep:
    """A step as the browser gets it, but for its numbers."""
    step = layer.steps[number]
    source = layer.source(step)
    title, why, lesson = describe(layer, number)
    return {
        "name": step.name,
        "expression": step.expression,
        "axes": [{"name": name, "letter": letter, "size": size} for name, letter, size in axes_of(step)],
        "strides": step.strides,
        "contiguous": step.contiguous,
        "view": step.is_view,
        "bytes": step.value.numel() * step.value.element_size(),
        "parents": layer.parents(number),
        "source": sources.index(source.where),
        "marked": source.marked,
        "recorded": step.line - source.first,
        "title": title,
        "why": why,
        "lesson": lesson,
        "texts": in_texts(layer.implementation, step.name),
    }
