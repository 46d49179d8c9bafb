"""The questions of lessons as a QTI 2.1 content package, which learning platforms import."""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from torch import Tensor

from headlight.picture.query import Query
from mha_core.errors import HeadlightError

from .files import HandoutMap, layer, sentences, step_maps
from .map_picture import covered_rows, describe, to_png
from .schema import HiddenPart, Lesson, LessonStep
from .verdict import Verdict, verdict

LICENCE: Final = (
    "Creative Commons Attribution 4.0 International (CC BY 4.0), https://creativecommons.org/licenses/by/4.0/. "
    "Credit: the Headlight authors. Sentences that a claim quotes from a tutorial belong to their authors."
)
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BY_LETTER = re.compile(r"\b(?:answers?|choices?|options?) [A-D]\b|\b[A-D] (?:and|or) [A-D]\b|\b(?:above|below)\b")
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same questions make the same package
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_QTI = (
    'xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://www.imsglobal.org/xsd/imsqti_v2p1 '
    'http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd" toolName="Headlight"'
)
# the score becomes 1 for the right choice; the feedback is shown in any case
_PROCESSING = """<responseProcessing>
<responseCondition>
<responseIf><match><variable identifier="RESPONSE"/><correct identifier="RESPONSE"/></match>
<setOutcomeValue identifier="SCORE"><baseValue baseType="float">1</baseValue></setOutcomeValue></responseIf>
</responseCondition>
<setOutcomeValue identifier="FEEDBACK"><baseValue baseType="identifier">REASON</baseValue></setOutcomeValue>
</responseProcessing>"""

_Maps = Sequence[tuple[HandoutMap, Tensor]]


@dataclass(frozen=True)
class _Item:
    """A question: its file, and those of its pictures, by path."""

    identifier: str
    document: str
    pictures: Mapping[str, bytes]

    @property
    def path(self) -> str:
        return f"{self.identifier}.xml"


def package(title: str, lessons: Sequence[Lesson], *, licence: str = LICENCE) -> tuple[bytes, int, int]:
    """Return the package as a zip file, and how many questions and pictures it has.

    Args:
        title: title of the test over all questions.
        lessons: lessons, each a section of the test.
        licence: rights in the questions, for the manifest; "" to state none.

    Raises:
        HeadlightError: a step has no answer; the message has a line for each.
    """
    sections, errors = list[str](), list[str]()
    items = list[_Item]()
    for lesson in lessons:
        maps, first = [step_maps(step) for step in lesson.steps], len(items)
        for number in range(1, len(lesson.steps) + 1):
            try:
                items.append(_item(lesson, number, maps))
            except HeadlightError as error:
                errors.append(f"{lesson.id}, step {number}: {str(error).rstrip('.')}")
        references = [
            f'<assessmentItemRef identifier="{item.identifier}" href="{item.path}"/>' for item in items[first:]
        ]
        head = f'<assessmentSection identifier="section-{lesson.id}" title="{_text(lesson.title)}" visible="true">'
        sections.append(_lines(head, *references, "</assessmentSection>"))
    if errors:
        raise HeadlightError(".\n".join(errors))
    test = _lines(
        f'{_HEAD}<assessmentTest {_QTI} identifier="test" title="{_text(title)}">',
        '<testPart identifier="part" navigationMode="nonlinear" submissionMode="individual">',
        *sections,
        "</testPart>\n</assessmentTest>",
    )
    files: dict[str, str | bytes] = {"imsmanifest.xml": _manifest(title, items, licence), "test.xml": test}
    for item in items:
        files |= {item.path: item.document, **item.pictures}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue(), len(items), sum(len(item.pictures) for item in items)


def _item(lesson: Lesson, number: int, maps: Sequence[_Maps]) -> _Item:
    """Return the question of a step, by the maps of all steps. Raises a HeadlightError if it has no answer."""
    step = lesson.steps[number - 1]
    answer = verdict(step, Query(step.query.encode("ascii")))
    if answer.picked is None:
        raise HeadlightError(answer.sentence)
    identifier, pictures = f"item-{lesson.id}-{number}", dict[str, bytes]()
    covers, wholes = list[str](), list[str]()
    for index, (header, weights) in enumerate(maps[number - 1], 1):
        hidden = [*step.hidden, *_rows_asked_about(header, lesson, maps)]
        covered = covered_rows(header, hidden, is_second=index > 1)
        for name, rows, place in (("", covered, covers), ("-answer", frozenset[int](), wholes)):
            if len(rows) < len(header["tokens"]):
                path = f"pictures/{identifier}-{index}{name}.png"
                pictures[path] = to_png(header, weights, rows, has_numbers=bool(name))
                text = describe(header, weights, rows, has_numbers=bool(name))
                place.append(f'<p><img src="{path}" alt="{_text(text)}"/></p>')
    title = _text(f"{lesson.title} {number}")
    document = _lines(
        f'{_HEAD}<assessmentItem {_QTI} identifier="{identifier}" title="{title}" xml:lang="en" adaptive="false" '
        'timeDependent="false">',
        '<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="identifier">'
        f"<correctResponse><value>{answer.picked}</value></correctResponse></responseDeclaration>",
        *(
            f'<outcomeDeclaration identifier="{name}" cardinality="single" baseType="float">'
            f"<defaultValue><value>{value}</value></defaultValue></outcomeDeclaration>"
            for name, value in {"SCORE": 0, "MAXSCORE": 1}.items()
        ),
        '<outcomeDeclaration identifier="FEEDBACK" cardinality="single" baseType="identifier"/>',
        _body(step, covers),
        _PROCESSING,
        _feedback(answer, wholes),
        "</assessmentItem>",
    )
    return _Item(identifier, document, pictures)


def _rows_asked_about(header: HandoutMap, lesson: Lesson, maps: Sequence[_Maps]) -> list[HiddenPart]:
    """Return the rows of a map that any step asks about: the picture of one must not answer another."""
    return [
        part
        for step, pictures in zip(lesson.steps, maps, strict=True)
        if any({**other, "row": 0} == {**header, "row": 0} for other, _ in pictures)
        for part in step.hidden
        if part.part == "row"
    ]


def _body(step: LessonStep, pictures: Sequence[str]) -> str:
    """Return what is asked: the instruction, the sentences, the code, the pictures and the choices."""
    texts = (step.question, step.explanation, *(choice.text for choice in step.choices))
    may_shuffle = not step.cases and not any(map(_BY_LETTER.search, texts))
    quotes = [f"“{sentence}”" for sentence in sentences(step)]
    source = [f"The claim is from {step.source}."] if step.source else []
    code = layer(step)
    return _lines(
        "<itemBody>",
        *_tags("p", [step.instruction, *source, *quotes]),
        *_tags("pre", [code] if code else []),
        *pictures,
        f'<choiceInteraction responseIdentifier="RESPONSE" shuffle="{str(may_shuffle).lower()}" maxChoices="1">',
        *_tags("prompt", [step.question]),
        *(f'<simpleChoice identifier="{choice.letter}">{_text(choice.text)}</simpleChoice>' for choice in step.choices),
        "</choiceInteraction>\n</itemBody>",
    )


def _feedback(answer: Verdict, pictures: Sequence[str]) -> str:
    """Return the right answer and its reason, with the numbers and the whole pictures."""
    numbers = _tags("li", [f"{label}: {text}" for label, _, text in answer.numbers])
    return _lines(
        '<modalFeedback outcomeIdentifier="FEEDBACK" identifier="REASON" showHide="show" title="Answer">',
        *_tags("p", filter(None, [answer.sentence.partition(": ")[2], answer.explanation])),
        *(["<ul>", *numbers, "</ul>"] if numbers else []),
        *pictures,
        "</modalFeedback>",
    )


def _manifest(title: str, items: Sequence[_Item], licence: str) -> str:
    """Return the manifest, which names every file of the package."""
    rights = f"""<rights>
<copyrightAndOtherRestrictions><source>LOMv1.0</source><value>yes</value></copyrightAndOtherRestrictions>
<description><string language="en">{_text(licence)}</string></description>
</rights>"""
    dependencies = [f'<dependency identifierref="{item.identifier}"/>' for item in items]
    return _lines(
        f'{_HEAD}<manifest xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" identifier="manifest">',
        "<metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion>",
        '<lom xmlns="http://ltsc.ieee.org/xsd/LOM">',
        f'<general><title><string language="en">{_text(title)}</string></title><language>en</language></general>',
        rights if licence else "",
        "</lom></metadata>\n<organizations/>\n<resources>",
        _resource("test", "test", ["test.xml"], dependencies),
        *(_resource(item.identifier, "item", [item.path, *item.pictures]) for item in items),
        "</resources>\n</manifest>",
    )


def _resource(identifier: str, kind: str, paths: Sequence[str], dependencies: Sequence[str] = ()) -> str:
    head = f'<resource identifier="{identifier}" type="imsqti_{kind}_xmlv2p1" href="{paths[0]}">'
    return _lines(head, *(f'<file href="{path}"/>' for path in paths), *dependencies, "</resource>")


def _tags(tag: str, texts: Iterable[str]) -> list[str]:
    return [f"<{tag}>{_text(text)}</{tag}>" for text in texts]


def _text(text: str) -> str:
    """Escape a text for an element or an attribute; characters that XML cannot hold are replaced."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), {'"': "&quot;"})


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))
