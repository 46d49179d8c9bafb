"""The questions of lessons as a QTI 2.1 content package, which learning platforms import."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

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
_QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_CP = "http://www.imsglobal.org/xsd/imscp_v1p1"
_LOM = "http://ltsc.ieee.org/xsd/LOM"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LOCATIONS = {
    _QTI: "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd",
    _CP: "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd",
    _LOM: "http://www.imsglobal.org/xsd/imsmd_loose_v1p3p2.xsd",
}
_TEST = "test.xml"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BY_LETTER = re.compile(r"\b(?:answers?|choices?|options?) [A-D]\b|\b[A-D] (?:and|or) [A-D]\b|\b(?:above|below)\b")
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same questions make the same package

_Attributes = Mapping[str, str]
_Maps = Sequence[tuple[HandoutMap, Tensor]]


@dataclass(frozen=True)
class _Item:
    """A question: its file, and those of its pictures."""

    identifier: str
    title: str
    document: ET.Element
    pictures: Mapping[str, bytes]  # by path

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
    sections, missing = list[tuple[Lesson, list[_Item]]](), list[str]()
    for lesson in lessons:
        items, maps = list[_Item](), [step_maps(step) for step in lesson.steps]
        for number in range(1, len(lesson.steps) + 1):
            try:
                items.append(_item(lesson, number, maps))
            except HeadlightError as error:
                missing.append(f"{lesson.id}, step {number}: {str(error).rstrip('.')}")
        sections.append((lesson, items))
    if missing:
        raise HeadlightError(".\n".join(missing))
    questions = [item for _, items in sections for item in items]
    files = {"imsmanifest.xml": _write(_manifest(title, questions, licence)), _TEST: _write(_test(title, sections))}
    for item in questions:
        files |= {item.path: _write(item.document), **item.pictures}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue(), len(questions), sum(len(item.pictures) for item in questions)


def _item(lesson: Lesson, number: int, maps: Sequence[_Maps]) -> _Item:
    """Return the question of a step, by the maps of all steps. Raises a HeadlightError if it has no answer."""
    step = lesson.steps[number - 1]
    answer = verdict(step, Query(step.query.encode("ascii")))
    if answer.picked is None:
        raise HeadlightError(answer.sentence)
    identifier, title = f"item-{lesson.id}-{number}", f"{lesson.title} {number}"
    pictures, covers, wholes = dict[str, bytes](), list[ET.Element](), list[ET.Element]()
    for index, (header, weights) in enumerate(maps[number - 1]):
        hidden = [*step.hidden, *_rows_asked_about(header, lesson, maps)]
        covered = covered_rows(header, hidden, is_second=index > 0)
        for name, rows, place in (("", covered, covers), ("-answer", frozenset[int](), wholes)):
            if len(rows) < len(header["tokens"]):
                path = f"pictures/{identifier}-{index + 1}{name}.png"
                pictures[path] = to_png(header, weights, rows, has_numbers=bool(name))
                text = describe(header, weights, rows, has_numbers=bool(name))
                place.append(_node("p", {}, _node("img", {"src": path, "alt": text})))
    document = _root("assessmentItem", _QTI, {
        "identifier": identifier, "title": title, "adaptive": "false", "timeDependent": "false", "xml:lang": "en",
        "toolName": "Headlight",
    })  # fmt: skip
    _add(
        document,
        _declaration("responseDeclaration", "RESPONSE", "identifier", answer.picked),
        _declaration("outcomeDeclaration", "SCORE", "float", "0"),
        _declaration("outcomeDeclaration", "MAXSCORE", "float", "1"),
        _declaration("outcomeDeclaration", "FEEDBACK", "identifier"),
        _body(step, covers),
        _processing(),
        _feedback(answer, wholes),
    )
    return _Item(identifier, title, document, pictures)


def _rows_asked_about(header: HandoutMap, lesson: Lesson, maps: Sequence[_Maps]) -> list[HiddenPart]:
    """Return the rows of a map that any step asks about: the picture of one must not answer another."""
    return [
        part
        for step, pictures in zip(lesson.steps, maps, strict=True)
        if any({**other, "row": 0} == {**header, "row": 0} for other, _ in pictures)
        for part in step.hidden
        if part.part == "row"
    ]


def _body(step: LessonStep, pictures: Sequence[ET.Element]) -> ET.Element:
    """Return what is asked: the instruction, the sentences, the code, the pictures and the choices."""
    code = layer(step)
    texts = (step.question, step.explanation, *(choice.text for choice in step.choices))
    may_shuffle = not step.cases and not any(map(_BY_LETTER.search, texts))
    choices = [
        _node("simpleChoice", {"identifier": choice.letter, "fixed": "false"}, choice.text) for choice in step.choices
    ]
    options = {"responseIdentifier": "RESPONSE", "shuffle": str(may_shuffle).lower(), "maxChoices": "1"}
    return _node(
        "itemBody",
        {},
        _node("p", {}, step.instruction),
        *([_node("p", {}, f"The claim is from {step.source}.")] if step.source else []),
        *(_node("p", {}, f"“{text}”") for text in sentences(step)),
        *([_node("pre", {}, code)] if code else []),
        *pictures,
        _node("choiceInteraction", options, _node("prompt", {}, step.question), *choices),
    )


def _processing() -> ET.Element:
    """Return the rule of the score: 1 for the right choice, otherwise 0; the feedback shows in both cases."""
    match = _node(
        "match", {}, _node("variable", {"identifier": "RESPONSE"}), _node("correct", {"identifier": "RESPONSE"})
    )
    condition = _node("responseIf", {}, match, _outcome("SCORE", "float", "1"))
    wrong = _node("responseElse", {}, _outcome("SCORE", "float", "0"))
    return _node(
        "responseProcessing",
        {},
        _node("responseCondition", {}, condition, wrong),
        _outcome("FEEDBACK", "identifier", "REASON"),
    )


def _outcome(name: str, kind: str, value: str) -> ET.Element:
    return _node("setOutcomeValue", {"identifier": name}, _node("baseValue", {"baseType": kind}, value))


def _feedback(answer: Verdict, pictures: Sequence[ET.Element]) -> ET.Element:
    """Return the right answer and its reason, with the numbers and the whole pictures."""
    numbers = [_node("li", {}, f"{label}: {text}") for label, _, text in answer.numbers]
    return _node(
        "modalFeedback",
        {"outcomeIdentifier": "FEEDBACK", "identifier": "REASON", "showHide": "show", "title": "Answer"},
        _node("p", {}, answer.sentence.partition(": ")[2]),
        *([_node("p", {}, answer.explanation)] if answer.explanation else []),
        *([_node("ul", {}, *numbers)] if numbers else []),
        *pictures,
    )


def _test(title: str, sections: Sequence[tuple[Lesson, Sequence[_Item]]]) -> ET.Element:
    """Return the test over all questions, a section for each lesson."""
    part = _node("testPart", {"identifier": "part", "navigationMode": "nonlinear", "submissionMode": "individual"})
    for lesson, items in sections:
        section = {"identifier": f"section-{lesson.id}", "title": lesson.title, "visible": "true"}
        references = [_node("assessmentItemRef", {"identifier": item.identifier, "href": item.path}) for item in items]
        _add(part, _node("assessmentSection", section, *references))
    test = _root("assessmentTest", _QTI, {"identifier": "test", "title": title, "toolName": "Headlight"})
    return _add(test, part)


def _manifest(title: str, items: Sequence[_Item], licence: str) -> ET.Element:
    """Return the manifest, which names every file of the package."""
    general = _node("general", {}, _node("title", {}, _text(title)), _node("language", {}, "en"))
    lom = _node("lom", {"xmlns": _LOM}, general)
    if licence:
        value = [_node("source", {}, "LOMv1.0"), _node("value", {}, "yes")]
        restrictions = _node("copyrightAndOtherRestrictions", {}, *value)
        _add(lom, _node("rights", {}, restrictions, _node("description", {}, _text(licence))))
    schema = [_node("schema", {}, "QTIv2.1 Package"), _node("schemaversion", {}, "1.0.0")]
    resources = [_resource("test", "imsqti_test_xmlv2p1", [_TEST], [f"resource-{item.identifier}" for item in items])]
    resources += [
        _resource(f"resource-{item.identifier}", "imsqti_item_xmlv2p1", [item.path, *item.pictures]) for item in items
    ]
    manifest = _root("manifest", _CP, {"identifier": "manifest"}, _LOM)
    metadata = _node("metadata", {}, *schema, lom)
    return _add(manifest, metadata, _node("organizations", {}), _node("resources", {}, *resources))


def _resource(identifier: str, kind: str, paths: Sequence[str], others: Sequence[str] = ()) -> ET.Element:
    return _node(
        "resource",
        {"identifier": identifier, "type": kind, "href": paths[0]},
        *(_node("file", {"href": path}) for path in paths),
        *(_node("dependency", {"identifierref": other}) for other in others),
    )


def _declaration(tag: str, identifier: str, kind: str, value: str = "") -> ET.Element:
    """Return the declaration of a variable with its right or first value."""
    holder = "correctResponse" if tag == "responseDeclaration" else "defaultValue"
    values = [_node(holder, {}, _node("value", {}, value))] if value else []
    return _node(tag, {"identifier": identifier, "cardinality": "single", "baseType": kind}, *values)


def _text(text: str) -> ET.Element:
    return _node("string", {"language": "en"}, text)


def _root(tag: str, namespace: str, attributes: _Attributes, *others: str) -> ET.Element:
    """Return a root element; its namespaces are attributes, so that no element needs a prefix."""
    places = " ".join(f"{name} {_LOCATIONS[name]}" for name in (namespace, *others))
    return _node(tag, {"xmlns": namespace, "xmlns:xsi": _XSI, "xsi:schemaLocation": places, **attributes})


def _node(tag: str, attributes: _Attributes, *children: ET.Element | str) -> ET.Element:
    """Return an element; characters that XML cannot hold are replaced."""
    return _add(ET.Element(tag, {key: _clean(value) for key, value in attributes.items()}), *children)


def _add(element: ET.Element, *children: ET.Element | str) -> ET.Element:
    for child in children:
        if isinstance(child, str):
            element.text = _clean(child)
        else:
            element.append(child)
    return element


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _write(root: ET.Element) -> bytes:
    document: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return document
