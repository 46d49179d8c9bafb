"""The request handlers of the step view: a layer's traces, lessons on it, and the classes that ran."""

import json
import re
from collections.abc import Sequence
from typing import TypedDict

from headlight.lessons.bugs import BUGS
from headlight.lessons.quantities.bugs import diagnose
from headlight.link.fields import SIDE_KEYS
from headlight.picture import pictures, traces, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.query import RULE_KEYS
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace, RandomLayer
from headlight.registry import models, recordings
from headlight.ui import sheet
from headlight.ui.packing import Memory, memory_layout
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.errors import HeadlightError
from mha_core.measure.agreement import BIASES
from mha_core.measure.conventions import group_counts
from mha_core.show.packing import pack, pack_focus, pack_parts

from . import bug, convention_lessons, exercise, random_layer
from .lesson import whole_source
from .reshape_lessons import LESSONS, QUESTIONS
from .step_names import describe, describe_axes, find, is_step, names_in_texts

_RANDOM = ("lw", "biases", "drop", "dice")
# keys of the link that the view controls
KEYS = ("s", *SIDE_KEYS, "model", "dev", "at", "impl", "vs", *_RANDOM, "step", "f", "lesson", "wrote")
MAX_AT_FIRST = 2**18  # bytes of a message in the first page


class TraceAxis(TypedDict):
    """An axis of a step's tensor."""

    name: str  # "heads", "3 × channels"
    letter: str  # which determines its colour
    size: int


class TraceStep(TypedDict):
    """A step without its numbers."""

    name: str
    expression: str
    axes: list[TraceAxis]
    strides: Sequence[int]
    contiguous: bool
    view: bool
    bytes: int
    parents: list[int]  # the steps that it was computed from
    source: int  # the index of its source
    marked: Sequence[int]  # the lines that compute it
    recorded: int  # the line that records it, which may be one of these
    title: str
    why: str  # its purpose
    lesson: str  # on the effect of leaving it out, or ""
    texts: list[tuple[str, str]]  # source text, and its name for the step


class TraceSource(TypedDict):
    """The source of a function that recorded steps."""

    location: str
    first: int
    lines: Sequence[str]
    records: Sequence[int]  # lines that only record


class TraceHeader(Memory):
    """The header of a packed trace."""

    digest: str
    implementation: str
    label: str
    tokens: list[str]
    heads: int
    dHead: int  # noqa: N815 - as the browser reads it
    steps: list[TraceStep]
    sources: list[TraceSource]


class StepsPicture(PictureAnswer):
    """The header of the answer of Shapes."""

    implementations: list[str]
    biases: list[str]  # of random weights
    weights: str  # a sentence on the layer's weights
    inert: dict[str, str]  # key of a control -> the reason why it has no effect, or ""
    step: str  # the visible step, whose numbers are always sent
    cut: bool  # the numbers of the other steps are missing, because the answer is part of the first page
    sentence: str  # the sentence
    lessons: dict[str, str]  # name -> question
    label: str


class ReshapeLesson(TypedDict):
    """The answer to a request for a lesson."""

    blocks: list[Block]
    source: str  # of the functions that it ran, "" if the blocks have it
    wrote: str  # the chosen lines of the exercise


def first_message(raw: bytes) -> bytes:
    """Return the answer for the first page, with the numbers of the visible step alone."""
    pictures.check_prerender_size(LinkQuery(raw).fitted_settings()[0])
    message = steps(raw, 0)
    if len(message) > MAX_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MAX_AT_FIRST:,} bytes, here are {len(message):,}")
    return message


def reshape(raw: bytes) -> bytes:
    """Return a lesson on this layer as JSON: a mistake at the reshapes, the exercise, or a bug to find."""
    query = LinkQuery(raw)
    check(query)
    settings, (name, *groups) = query.fitted_settings()[0], lesson_parts(query["lesson"])
    questions = QUESTIONS.items()
    choices = sheet.buttons("Question", [(question, {"lesson": key}, key == name) for key, question in questions])
    if name in BUGS:
        blocks = [choices, *bug.panels(name, diagnose(settings, query.cursor.layer, name))]
        return json.dumps(ReshapeLesson(blocks=blocks, source="", wrote=query["wrote"])).encode()
    settings, _ = traces.supported_settings(settings, query.cursor.layer, query["impl"])
    layer = random_layer.traced(settings, query.cursor.layer, "efficient", random_layer.parse(query))
    lines = exercise.parse_choices(query["wrote"]) or exercise.NO_CHOICES
    if name == exercise.NAME:
        lesson = exercise.write_it(layer, query.cursor.head, lines)
    elif name in convention_lessons.LESSONS:
        lesson = convention_lessons.answer(name, layer, query.cursor.head, *groups)
    else:
        lesson = LESSONS[name](layer, query.cursor.head)
    panel = sheet.panel("What goes wrong, and why", [choices, *lesson.blocks])
    wrote = ".".join(map(str, lines))
    return json.dumps(ReshapeLesson(blocks=[panel], source=lesson.source, wrote=wrote)).encode()


def classes(raw: bytes) -> bytes:
    """Return the source of each displayed implementation, with everything that it calls, as JSON."""
    query = LinkQuery(raw)
    names = implementations(query["impl"], query["vs"])
    return json.dumps([whole_source(IMPLEMENTATIONS[name]) for name in names]).encode()


def steps(raw: bytes, max_bytes: int | None = None) -> bytes:
    """Return the header, then the traces; traces of more than `max_bytes` bytes contain the visible numbers alone."""
    query = LinkQuery(raw)
    recordings.reject(query.model)
    settings, fit_notices = query.fitted_settings()
    check(query)
    names, random, cursor = implementations(query["impl"], query["vs"]), random_layer.parse(query), query.cursor
    traced, unsupported = compute(settings, cursor.layer, names, random)
    fitted, model, step = query.place(traced[0].tokens), query.model, query["step"]
    run = [sentence for layer in traced for sentence in layer.notices]
    notices = [*fit_notices, *unsupported, *run, *models.unknown_token_notices(model, settings.text)]
    rule_key = RULE_KEYS.get(query["mask"])
    rule = {rule_key: query.rule(rule_key)} if rule_key else {}
    attention = model.stack.block(cursor.layer).attention
    weights_text = (
        random_layer.parameters(attention, query["biases"])
        if random
        else random_layer.own_biases(attention, model.origin)
    )
    header: StepsPicture = {
        **picture_payload(query, KEYS, fitted, settings.digest, notices, s=settings.text, **rule),
        "implementations": list(IMPLEMENTATIONS),
        "biases": list(BIASES),
        "weights": weights_text,
        "inert": {
            "t": no_effect(names, "temperature", "divide by a temperature"),
            "off": no_effect(names, "heads", "ablate heads of this layer"),
        },
        "step": step,
        "cut": max_bytes == 0,
        "sentence": settings.text,
        "lessons": QUESTIONS,
        "label": f"layer {cursor.layer}, {random.label if random else words.weights(model)}",
    }
    packed = [pack_trace(layer, step, cursor.head, max_bytes) for layer in traced]
    return pack_parts(pack(header), *packed)


def check(query: LinkQuery) -> None:
    """Ignore a step, channel, lesson or line that does not exist."""
    model = query.model.sizes
    if not is_step(query["step"]):
        query.ignore("step")
    if query["f"] >= model.d_model // model.n_heads:
        query.ignore("f")
    name, *groups = lesson_parts(query["lesson"])
    counts = group_counts(model.n_heads)
    if name not in LESSONS.keys() | BUGS.keys() or not {*groups} <= {*counts}:
        query.ignore("lesson")
    if exercise.parse_choices(query["wrote"]) is None:
        query.ignore("wrote")


def lesson_parts(name: str) -> tuple[str, *tuple[int, ...]]:
    """Return the name of a lesson in a link, and the number of key heads in "grouped heads 3"."""
    match = re.fullmatch(r"(grouped heads) (\d{1,2})", name, re.ASCII)
    return (match[1], int(match[2])) if match else (name,)


def no_effect(names: list[str], ability: str, verb: str) -> str:
    """Return the reason why a control has no effect on any displayed implementation; "" if it has one."""
    if any(ability in IMPLEMENTATIONS[name].can for name in names):
        return ""
    return f"{' and '.join(names)} cannot {verb}."


def implementations(first: str, second: str) -> list[str]:
    """Return the displayed implementations, side by side, without repeats."""
    return [first] if second in ("none", first) else [first, second]


def compute(
    settings: Settings, layer: int, names: list[str], random: RandomLayer | None = None
) -> tuple[list[LayerTrace], list[str]]:
    """Return a trace for each implementation, and notices on settings that an implementation does not support."""
    traced, notices = [], []
    for name in names:
        fitted, unsupported = traces.supported_settings(settings, layer, name)
        traced.append(random_layer.traced(fitted, layer, name, random))
        notices += [*unsupported, *random_layer.notices(name, random)]
    return traced, notices


def pack_trace(layer: LayerTrace, step: str, head: int = 0, max_bytes: int | None = None) -> bytes:
    """Return the steps of a layer and their memory as bytes for the browser.

    If there are more than `max_bytes` bytes of numbers, those of the visible step and head are sent alone; None is the
    limit of a message.
    """
    steps = layer.steps
    sources = {source.origin: source for source in map(layer.source, steps)}
    d_head = next(step.shape[-1] for step in steps if step.name == "q")
    visible = find(steps, step, head)
    memory, pieces = memory_layout(
        [item.value for item in steps], [visible, *layer.parents(visible)], max_bytes=max_bytes
    )
    header: TraceHeader = {
        **memory,
        "digest": layer.settings.digest,
        "implementation": layer.implementation,
        "label": layer.random_layer.label
        if layer.random_layer
        else words.label(layer.settings, pictures.model_for(layer.settings)),
        "tokens": layer.tokens,
        "heads": steps[-1].shape[-1] // d_head,
        "dHead": d_head,
        "steps": [_step_header(layer, number, list(sources)) for number in range(len(steps))],
        "sources": [
            {"location": item.origin, "first": item.first_line, "lines": item.lines, "records": item.records}
            for item in sources.values()
        ],
    }
    return pack_focus(header, *pieces)


def _step_header(layer: LayerTrace, number: int, sources: list[str]) -> TraceStep:
    """Return the description of a step, without its numbers."""
    step = layer.steps[number]
    source = layer.source(step)
    title, why, lesson = describe(layer, number)
    return {
        "name": step.name,
        "expression": step.expression,
        "axes": [{"name": name, "letter": letter, "size": size} for name, letter, size in describe_axes(step)],
        "strides": step.strides,
        "contiguous": step.contiguous,
        "view": step.is_view,
        "bytes": step.value.numel() * step.value.element_size(),
        "parents": layer.parents(number),
        "source": sources.index(source.origin),
        "marked": source.marks,
        "recorded": step.line - source.first_line,
        "title": title,
        "why": why,
        "lesson": lesson,
        "texts": names_in_texts(layer.implementation, step.name),
    }
