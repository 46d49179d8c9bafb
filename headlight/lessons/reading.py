"""Parser of lesson files: converts TOML into a `Lesson`, and errors into sentences with file and line."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from headlight.ui.pages import PAGES
from mha_core.errors import HeadlightError

from . import references, schema, toml_text
from .schema import Choice, HiddenPart, Lesson, LessonStep, Name, Path, Rule

MAX_FILE_LENGTH = 200_000  # characters
MAX_TEXT_LENGTH = 900  # characters of a text of a lesson
MAX_EXPLANATION_LENGTH = 240  # about two lines beside the picture
MAX_REASON_LENGTH = 200  # characters of a message of `tomllib`
VERSION = 2  # of the files
ANSWERS = ("True", "False", "It depends")  # choices of a claim
OLD_KEYS = {  # of version 1, which a file without a version has
    "aim": "objective",
    "breaks": "misconception",
    "now_you": "exercise",
    "teacher": "teacher_notes",
    "papers": "references",
    "say": "instruction",
    "ask": "question",
    "options": "choices",
    "holds": "condition",
    "right": "answer",
    "shows": "results",
    "because": "explanation",
    "curtain": "hidden",
}
_OLD_SPELLINGS = {key: old for old, key in OLD_KEYS.items()}
_FILE_NAME = re.compile(r"(?:\d{1,3}-)?([a-z][a-z0-9-]*)\.toml", re.ASCII)
_MARKUP = re.compile(r"<\s*[/!?a-z]|javascript:|&#?\w+;", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
# in rules on the next word
_NEXT_WORD = re.compile(r"\b(?:p|choice|softened|chance_after|draws|\w+_left)['′]?\(|\bfirst_choice\b")
_KINDS: dict[Any, str] = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}
_Location = tuple[str | int, ...]  # keys and indices that lead to a value in the file


class LessonError(HeadlightError):
    """A lesson file that cannot be used; the message begins with file and line."""


def read(name: str, text: str) -> Lesson:
    """Return the lesson of a file.

    Args:
        name: name of the file, such as "01-it.toml".
        text: content of the file.

    Raises:
        LessonError: the file has an error.
    """
    match = _FILE_NAME.fullmatch(name)
    if match is None:
        raise LessonError(f"{name}, line 1: a lesson file has a name like “01-it.toml”, with lower-case letters")
    if len(text) > MAX_FILE_LENGTH:
        raise LessonError(
            f"{name}, line 1: a lesson may have {MAX_FILE_LENGTH:,} characters, this one has {len(text):,}"
        )
    if excess := toml_text.find_excess(text):
        raise LessonError(f"{name}, line {excess[0]}: {excess[1]}")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line_match = re.search(r"line (\d+)", str(error))
        line_number = line_match[1] if line_match else len(text.splitlines())
        reason = re.sub(r" *[(]at .*[)]", "", str(error))
        raise LessonError(f"{name}, line {line_number}: this is not TOML ({reason:.{MAX_REASON_LENGTH}})") from None
    version = data.pop("version", 1)
    if type(version) is not int or version not in (1, VERSION):
        line = toml_text.find_line(text, "version")
        message = f"“version” is {VERSION}, or 1 for a file with the keys of older versions, not “{version!s:.40}”"
        raise LessonError(f"{name}, line {line}: {message}")
    return _Reader(name, text, version).lesson(data, match[1])


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(kind, include_extras=True)


@dataclass(frozen=True)
class _Reader:
    """Parser of one file."""

    file: str
    text: str
    version: int

    def key(self, name: str) -> str:
        """Return the key of a field, as this version of the files spells it."""
        return _OLD_SPELLINGS.get(name, name) if self.version == 1 else name

    def error(self, why: object, place: _Location) -> LessonError:
        return LessonError(f"{self.file}, line {toml_text.find_line(self.text, *place)}: {why}")

    def value(self, hint: Any, raw: Any, place: _Location) -> Any:
        """Convert a value of the file to the type of its field; raise a LessonError for another type."""
        minimum, maximum = 1, MAX_TEXT_LENGTH
        if get_origin(hint) is Annotated:
            hint, minimum, maximum = get_args(hint)
        kind, key = get_origin(hint), next(part for part in reversed(place) if isinstance(part, str))
        if NoneType in get_args(hint):
            return self.value(get_args(hint)[0], raw, place)
        if kind is tuple:
            if not minimum <= len(self.check_type(list, raw, place)) <= maximum:
                raise self.error(f"“{key}” has {minimum} to {maximum} entries, not {len(raw)}", place)
            return tuple(self.value(get_args(hint)[0], entry, (*place, index)) for index, entry in enumerate(raw))
        if is_dataclass(hint) and hint not in (HiddenPart, Path):
            return self.table(hint, self.check_type(dict, raw, place), place)
        if hint is int:
            if not minimum <= self.check_type(int, raw, place) <= maximum:
                raise self.error(f"“{key}” is a number from {minimum} to {maximum}", place)
            return raw
        text = self.check_type(str, raw, place)
        if hint is Rule:
            return text
        if not text.strip():
            raise self.error(f"“{key}” is empty", place)
        if len(text) > MAX_TEXT_LENGTH:
            raise self.error(f"“{key}” may have {MAX_TEXT_LENGTH} characters, it has {len(text):,}", place)
        if _MARKUP.search(text) or _CONTROL.search(text):
            raise self.error(f"“{key}” contains markup or a script; a lesson’s texts are plain text", place)
        text = " ".join(text.split())
        if kind is Literal and text not in get_args(hint):
            raise self.error(f"“{key}” is one of {', '.join(get_args(hint))}, not “{text:.40}”", place)
        if hint is Name and not _NAME.fullmatch(text):
            raise self.error(f"a name consists of lower-case letters and digits, not “{text:.40}”", place)
        if hint in (HiddenPart, Path):
            try:
                return hint.parse(text)
            except HeadlightError as error:
                raise self.error(error, place) from None
        return text

    def check_type(self, kind: type, raw: Any, place: _Location) -> Any:
        if isinstance(raw, kind) and not isinstance(raw, bool):
            return raw
        subject = f"an entry of “{place[-2]}”" if isinstance(place[-1], int) else f"“{place[-1]}”"
        raise self.error(f"{subject} is {_KINDS[kind]}", place)

    def table(self, kind: Any, data: Mapping[str, Any], place: _Location) -> Any:
        """Convert a table to a dataclass; an unknown key raises a LessonError that suggests the nearest one."""
        hints = _hints(kind)
        names = {self.key(field_.name): field_ for field_ in fields(kind) if not field_.metadata}
        for key in data:
            if key in names:
                continue
            if OLD_KEYS.get(key) in names:
                raise self.error(f"the key “{key}” is “{OLD_KEYS[key]}” in version {VERSION}", (*place, key))
            if _OLD_SPELLINGS.get(key) in names:
                message = f"the key “{key}” needs “version = {VERSION}” at the top of the file"
                raise self.error(message, (*place, key))
            near = get_close_matches(key, names if place else [*names, "version"], 1)
            hint = f"did you mean “{near[0]}”? There are" if near else "there are"
            raise self.error(f"there is no field “{key:.40}”; {hint} {', '.join(sorted(names))}", (*place, key))
        for name, field_ in names.items():
            if name not in data and field_.default is MISSING:
                owner = f"step {int(place[1]) + 1}" if place else "the lesson"
                raise self.error(f"{owner} lacks the field “{name}”", (*place, name))
        values = {names[key].name: (key, raw) for key, raw in data.items()}
        return kind(**{name: self.value(hints[name], raw, (*place, key)) for name, (key, raw) in values.items()})

    def lesson(self, data: Mapping[str, Any], name: str) -> Lesson:
        lesson: Lesson = self.table(Lesson, data, ())
        all_steps = tuple(range(1, len(lesson.steps) + 1))
        for index, path in enumerate(lesson.paths):
            if not set(path.steps) <= set(all_steps):
                raise self.error("this path names a step that does not exist", ("paths", index))
        paths = tuple(replace(path, steps=path.steps or all_steps) for path in lesson.paths)
        steps = tuple(self.step(step, ("steps", index)) for index, step in enumerate(lesson.steps))
        return replace(lesson, id=name, paths=paths, steps=steps)

    def step(self, step: LessonStep, place: _Location) -> LessonStep:
        """Return the step with complete rules, after checking its references."""
        try:
            page = step.page
            references.check_link(step.query)
        except HeadlightError as error:
            raise self.error(error, (*place, "link")) from None
        words, numbers = references.words(page, step.query), dict[str, str]()

        def rule(text: str, *location: str | int) -> Rule:
            try:
                return references.rule(text, words, numbers)
            except HeadlightError as error:
                raise self.error(f"{error} (in the rule “{text:.60}”)", (*place, *location)) from None

        for index, number in enumerate(step.numbers):
            numbers[number.name] = rule(number.value, "numbers", index, "value")
        choices = tuple(
            replace(
                item,
                letter="ABCD"[index],
                condition=item.condition and rule(item.condition, self.key("choices"), index, self.key("condition")),
            )
            for index, item in enumerate(step.choices)
        )
        cases = tuple(rule(item, "cases", index) for index, item in enumerate(step.cases))
        self.check_answers(step, place)
        rules = " ".join(item.condition for item in choices if item.condition)
        for index, variant in enumerate(step.variants):
            try:
                references.check_variant(page, step.query, variant, rules)
            except HeadlightError as error:
                raise self.error(error, (*place, "variants", index)) from None
        if step.holds_in > len(step.variants):
            raise self.error(
                f"“holds_in” is at most {len(step.variants)}, the number of variants", (*place, "holds_in")
            )
        return replace(
            step,
            choices=choices or _answers(cases),
            picture=self.picture(step, rules, place),
            results=tuple(
                replace(item, value=rule(item.value, self.key("results"), index))
                for index, item in enumerate(step.results)
            ),
            holds_in=len(step.variants) if step.holds_in < 0 else step.holds_in,
            numbers=tuple(replace(item, value=Rule(numbers[item.name])) for item in step.numbers),
            cases=cases,
        )

    def check_answers(self, step: LessonStep, place: _Location) -> None:
        """Raise a LessonError unless exactly one part determines the answer and all numbers in texts are known."""
        choices_key, answer_key, explanation_key = map(self.key, ("choices", "answer", "explanation"))
        answer = dict(zip("ABCD", step.choices, strict=False)).get(step.answer)
        if step.cases and (step.choices or step.answer):
            message = f"a claim has “cases”, and neither “{choices_key}” nor “{answer_key}”"
            raise self.error(message, (*place, "cases"))
        if not step.cases and not step.choices:
            raise self.error(f"step {int(place[1]) + 1} lacks the field “{choices_key}”", place)
        if not step.cases and answer is None:
            listed = ", ".join("ABCD"[: len(step.choices)])
            raise self.error(f"“{answer_key}” is one of {listed}", (*place, answer_key))
        if answer and answer.condition is None:
            message = f"the right choice, {step.answer}, has no rule “{self.key('condition')}”"
            raise self.error(message, (*place, answer_key))
        if not step.cases and (length := len(step.explanation)) > MAX_EXPLANATION_LENGTH:
            message = f"“{explanation_key}” may have {MAX_EXPLANATION_LENGTH} characters, it has {length}"
            raise self.error(message, (*place, explanation_key))
        names = [number.name for number in step.numbers]
        for name in re.findall(r"{(.*?)}", step.explanation):
            if name not in names:
                message = f"“{explanation_key}” names the number “{name:.40}”; there are {', '.join(names) or 'none'}"
                raise self.error(message, (*place, explanation_key))

    def picture(self, step: LessonStep, rules: str, place: _Location) -> str:
        """Return the step's picture; by default that of its rules, otherwise the page's first one."""
        names = (*schema.PICTURES.get(step.page, ()), schema.WHOLE_PAGE)
        usual = "next words" if _NEXT_WORD.search(rules) else "panel lesson" if "lesson=" in step.query else names[0]
        picture = step.picture or (usual if usual in names else names[0])
        if picture not in names:
            choices = ", ".join(f"“{name}”" for name in names)
            title = PAGES[step.page].title
            raise self.error(f"{title} has no picture “{picture:.40}”; it has {choices}", (*place, "picture"))
        return picture


def _answers(cases: tuple[Rule, ...]) -> tuple[Choice, ...]:
    """Return the choices of a claim: true if all cases hold, false if none does, otherwise it depends."""
    all_hold, any_holds = (joined.join(f"({case})" for case in cases) for joined in (" and ", " or "))
    rules = (all_hold, f"not ({any_holds})", f"({any_holds}) and not ({all_hold})")
    texts = zip("ABC", ANSWERS, rules, strict=True)
    return tuple(Choice(text, Rule(rule), letter) for letter, text, rule in texts)
