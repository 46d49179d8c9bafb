"""Claims: what texts say of attention, as a game: true or false? An answer brings the verdict of tensors."""

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from headlight.lessons.course import Course, claims
from headlight.lessons.evaluate import evaluate
from headlight.lessons.quantities import times
from headlight.lessons.quantities.scene import scene_of
from headlight.lessons.schema import Claim, LessonStep
from headlight.lessons.verdict import Verdict, verdict
from headlight.link.fields import DEFAULTS
from headlight.picture.query import Query
from headlight.ui import events, pages, sheet
from headlight.ui.numbers import weight
from headlight.ui.sheet import Block
from pages.frame import canvas, links
from pages.frame.form import form

SHOW: Final = "show"  # in a link: the verdict without an answer
OURS = "a question of Headlight’s own"
# an answer in a link -> the verdict it means
RESULTS = {"true": "holds", "false": "does not hold", "depends": "depends"}
ANSWERS = {"true": "True", "false": "False", "depends": "It depends"}
WORDS = {"holds": "True.", "does not hold": "False.", "depends": "It depends: true in some cases."}
FIRST_BEFORE = "orange"  # the claim of links that name none, and answer it by a number


def show() -> None:
    """The chosen claim, then the cards of all; nothing is computed before it is answered."""
    with form("claims") as here:
        course = claims()
        listed, name, given = by_name(course), chosen(), said("say")
        known = name in listed
        usable = takes(listed[name][0], given) if known else not given  # an answer to another claim is none to this one
        name, given = name if known else str(DEFAULTS["claim"]), given if usable else ""
        with here.stage:
            blocks = [sheet.notices([*here.answer_link(claim=known, say=usable), *course.errors])]
            if name in listed:  # a file with a mistake is left out, and its claims with it
                blocks.append(sheet.beside_list(panel(listed, name, given), choices(course, name)))
            canvas.sheet("claims", blocks, take)


def by_name(course: Course) -> dict[str, tuple[LessonStep, Claim]]:
    """The claims of a course by their names in links, each with the step that puts it to the test."""
    steps = [step for lesson in course.lessons.values() for step in lesson.steps]
    return {step.claim.name: (step, step.claim) for step in steps if step.claim}


def takes(step: LessonStep, given: str) -> bool:
    """Tells whether a link may say this: nothing, an answer, or `SHOW`, as which the number of an option counts."""
    return given in ("", SHOW, *ANSWERS, *(str(number) for number in range(1, len(step.options) + 1)))


def panel(listed: Mapping[str, tuple[LessonStep, Claim]], name: str, given: str) -> Block:
    """The chosen claim.

    Args:
        given: the answer, as in `takes`; "" = nothing is computed.
    """
    (step, claim), names = listed[name], list(listed)
    found = verdict(step, Query(step.query.encode("ascii"))) if given else None
    answers = [(text, {"say": answer}, given == answer) for answer, text in ANSWERS.items()]
    shown = ("just show me", {"say": SHOW}, bool(given) and given not in ANSWERS)
    measured = next(
        (f" {one.text[0].upper()}{one.text[1:]}." for one in step.options if found and one.letter == found.picked), ""
    )
    asked = [
        sheet.text(claim.about, muted=True),
        sheet.buttons("", [*answers, shown]) | {"large": True},
        sheet.text(f"Measured: {step.ask}{measured}", muted=True, live=True),
    ]
    # the verdict's place is there before, or it would not be read aloud when it comes
    told = _told(step, claim, given, found) if found else [sheet.verdict("", "", "")]
    behind = names[(names.index(name) + 1) % len(names)]
    again = [("time it again", {"again": True}, None)] if claim.timed and given else []
    after = sheet.buttons("", [*again, ("next claim", {"claim": behind}, None)]) | {"large": bool(given)}
    # one name for all claims: the panel stays, and with it the focus
    return sheet.panel(_words(claim), [*asked, *told, after], claim.source or OURS) | {"name": "claim"}


def choices(course: Course, name: str) -> Block:
    """A card for each claim, theme by theme; `name`: of the chosen one."""
    rows = [
        sheet.cards(
            lesson.title,
            [
                (_words(one), f"{one.title} · {one.source or OURS}", {"claim": one.name}, one.name == name)
                for one in (step.claim for step in lesson.steps)
                if one
            ],
        )
        for lesson in course.lessons.values()
    ]
    return sheet.panel(f"{len(by_name(course))} claims", rows)


def take(event: dict[str, Any]) -> None:
    """A claim was chosen, answered, or is to be timed again."""
    listed = by_name(claims())
    name, given = events.text(event, "claim"), events.text(event, "say")
    asked = listed.get(chosen()) or listed.get(str(DEFAULTS["claim"]))
    if name in listed:
        links.put("claim", name, DEFAULTS["claim"])
        links.put("say", "", DEFAULTS["say"])
    elif given is not None and asked and takes(asked[0], given):
        links.put("claim", chosen(), DEFAULTS["claim"])
        links.put("say", given, DEFAULTS["say"])
    elif event.get("again") is True:
        links.put("say", said("say") or SHOW, DEFAULTS["say"])
        times.forget()


def said(key: str) -> str:
    """What the link says of the claim, or of the answer to it."""
    return str(st.query_params.get(key, DEFAULTS[key]))


def chosen() -> str:
    """The claim that the link names, or means where it names none."""
    return FIRST_BEFORE if "claim" not in st.query_params and said("say").isdecimal() else said("claim")


def _words(claim: Claim) -> str:
    return f"“{claim.said}”" if claim.source else claim.said


def _told(step: LessonStep, claim: Claim, given: str, found: Verdict) -> list[Block]:
    """The verdict with its numbers, and where one sees it."""
    labels, values, texts = zip(*found.numbers, strict=True) if found.numbers else ((), (), ())
    bars = sheet.bars(claim.unit, labels, values, most=claim.full) | {"values": list(texts)}
    link = f"{pages.path(step.page)}?{step.query}"
    because = step.because if found.result else ""
    see = [("See it", step.say, link, pages.PAGES[step.page].title)]
    text = [("The text", claim.source, pages.path("texts"), pages.PAGES["texts"].title)] if claim.source else []
    return [
        sheet.verdict(found.result or "depends", _compared(given, found), f"{found.why} {because}".strip()),
        sheet.row([bars, *_map(step, claim)]),
        sheet.terms("see", see + text),
    ]


def _compared(given: str, found: Verdict) -> str:
    """Whether it is true, beside what the visitor said."""
    if not found.result:
        return found.sentence
    same = ", and so do the numbers" if RESULTS.get(given) == found.result else ""
    own = f" You said “{ANSWERS[given].lower()}”{same}." if given in ANSWERS else ""
    return WORDS[found.result] + own


def _map(step: LessonStep, claim: Claim) -> list[Block]:
    if claim.map is None:
        return []
    value = evaluate(claim.map.value.tree, scene_of(step.page, Query(step.query.encode("ascii"))))
    rows, cols = (list(axis.tokens) for axis in value.axes)
    weights = value.tensor.tolist()
    return [sheet.matrix(claim.map.label, weights, rows=rows, cols=cols, colour="weights", write=weight, compact=True)]
