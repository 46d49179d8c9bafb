"""Claims: what five texts say and what we ask, a question on each, and after an answer the verdict of tensors."""

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.kit.draw import canvas, events, pages, sheet
from pages.kit.draw.numbers import weight
from pages.kit.draw.sheet import Block
from pages.kit.frame import links
from pages.kit.frame.form import form
from pages.kit.lessons.course import Course, claims
from pages.kit.lessons.evaluate import evaluate
from pages.kit.lessons.quantities import times
from pages.kit.lessons.quantities.scene import scene_of
from pages.kit.lessons.schema import Claim, LessonStep
from pages.kit.lessons.verdict import Verdict, verdict
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.query import Query

SHOW: Final = "show"  # in a link: the verdict without an answer
OURS = "a question of Headlight’s own"
WORDS = {"holds": "It holds.", "does not hold": "It does not hold.", "depends": "It depends."}


def show() -> None:
    """The buttons of all claims, then the chosen one; nothing is computed before it is answered."""
    with form("claims") as here:
        course = claims()
        listed, name, given = by_name(course), said("claim"), said("say")
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
    """Tells whether a link may say this of the answer: nothing, the number of one counted from 1, or to show it."""
    return given in ("", SHOW, *(str(number) for number in range(1, len(step.options) + 1)))


def panel(listed: Mapping[str, tuple[LessonStep, Claim]], name: str, given: str) -> Block:
    """The chosen claim.

    Args:
        name: its own, in the link.
        given: the number of the answer, counted from 1; `SHOW`; or "", and nothing is computed.
    """
    (step, claim), names = listed[name], list(listed)
    answers = [(option.text, {"say": str(at)}, given == str(at)) for at, option in enumerate(step.options, 1)]
    asked = [
        *([sheet.text(claim.about, muted=True)] if claim.about else []),
        sheet.text(step.ask, live=True),
        sheet.buttons("", [*answers, ("just show me", {"say": SHOW}, given == SHOW)]),
    ]
    # the verdict's place is there before, or it would not be read aloud when it comes
    told = _told(step, claim, given) if given else [sheet.verdict("", "", "")]
    behind = names[(names.index(name) + 1) % len(names)]
    again = [("time it again", {"again": True}, None)] if claim.timed and given else []
    after = sheet.buttons("", [*again, ("next claim", {"claim": behind}, None)])
    heading = f"“{claim.said}”" if claim.source else claim.said
    # one name for all claims: the panel stays, and with it the focus
    return sheet.panel(heading, [*asked, *told, after], claim.source or OURS) | {"name": "claim"}


def choices(course: Course, chosen: str) -> Block:
    """A button for each claim, group by group."""
    rows = [
        sheet.buttons(
            lesson.title,
            [
                (one.claim.title, {"claim": one.claim.name}, one.claim.name == chosen)
                for one in lesson.steps
                if one.claim
            ],
        )
        for lesson in course.lessons.values()
    ]
    return sheet.panel(f"{len(by_name(course))} claims", rows, "quotes, and questions of ours")


def take(event: dict[str, Any]) -> None:
    """A claim was chosen, answered, or is to be timed again."""
    listed = by_name(claims())
    name, given = events.text(event, "claim"), events.text(event, "say")
    asked = listed.get(said("claim")) or listed.get(str(DEFAULTS["claim"]))
    if name in listed:
        links.put("claim", name, DEFAULTS["claim"])
        links.put("say", "", DEFAULTS["say"])
    elif given is not None and asked and takes(asked[0], given):
        links.put("say", given, DEFAULTS["say"])
    elif event.get("again") is True:
        links.put("say", said("say") or SHOW, DEFAULTS["say"])
        times.forget()


def said(key: str) -> str:
    """What the link says of the claim, or of the answer to it."""
    return str(st.query_params.get(key, DEFAULTS[key]))


def _told(step: LessonStep, claim: Claim, given: str) -> list[Block]:
    """The verdict with its numbers, and where one sees it."""
    found = verdict(step, Query(step.query.encode("ascii")))
    labels, values, texts = zip(*found.numbers, strict=True) if found.numbers else ((), (), ())
    bars = sheet.bars(claim.unit, labels, values, most=claim.full) | {"values": list(texts)}
    link = f"{pages.path(step.page)}?{step.query}"
    return [
        sheet.verdict(found.result or "depends", _compared(step, given, found), found.why),
        *([sheet.text(step.because)] if step.because and found.result else []),
        sheet.row([bars, *_map(step, claim)]),
        sheet.terms("see", [("See it", step.say, link, pages.PAGES[step.page].title)]),
    ]


def _compared(step: LessonStep, given: str, found: Verdict) -> str:
    """Whether it holds, and the answer that the tensors give, beside the visitor's."""
    if not found.result:
        return found.sentence
    texts = {option.letter: f"“{option.text}”" for option in step.options}
    computed = texts.get(found.picked or "", "none of the answers")
    if given == SHOW:
        return f"{WORDS[found.result]} To the question the numbers answer {computed}."
    own = texts["ABCD"[int(given) - 1]]
    same = ", and so do the numbers" if own == computed else f"; the numbers say {computed}"
    return f"{WORDS[found.result]} You said {own}{same}."


def _map(step: LessonStep, claim: Claim) -> list[Block]:
    if claim.map is None:
        return []
    value = evaluate(claim.map.value.tree, scene_of(step.page, Query(step.query.encode("ascii"))))
    rows, cols = (list(axis.tokens) for axis in value.axes)
    weights = value.tensor.tolist()
    return [sheet.matrix(claim.map.label, weights, rows=rows, cols=cols, colour="weights", write=weight, compact=True)]
