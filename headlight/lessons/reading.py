"""A lesson's file, read: TOML becomes a `Lesson`, and every mistake a sentence that names file and line."""

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
from .schema import Curtain, Lesson, LessonStep, Name, Option, Path, Rule

MAX_FILE_LENGTH = 200_000  # characters
MAX_TEXT_LENGTH = 900  # of one text of a lesson
MAX_EXPLANATION_LENGTH = 240  # about two lines beside the picture
MAX_REASON_LENGTH = 200  # of what `tomllib` says of a file
ANSWERS = ("True", "False", "It depends")  # to a claim
_FILE_NAME = re.compile(r"(?:\d{1,3}-)?([a-z][a-z0-9-]*)\.toml", re.ASCII)
_MARKUP = re.compile(r"<\s*[/!?a-z]|javascript:|&#?\w+;", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
_OF_NEXT = re.compile(r"\b(?:p|choice|softened)['′]?\(|\bfirst_choice\b")  # in rules on what comes next
_KINDS: dict[Any, str] = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}
_Place = tuple[str | int, ...]  # keys, and numbers of entries, of a value in the file


class LessonError(HeadlightError):
    """A lesson's file that cannot be used: one sentence that begins with file and line."""


def read(name: str, text: str) -> Lesson:
    """The lesson of a file that is called like "01-it.toml". Raises a LessonError that names file and line."""
    matched = _FILE_NAME.fullmatch(name)
    if matched is None:
        raise LessonError(f"{name}, line 1: a lesson’s file is called like “01-it.toml”: a number and small letters")
    if len(text) > MAX_FILE_LENGTH:
        raise LessonError(
            f"{name}, line 1: a lesson may have {MAX_FILE_LENGTH:,} characters, this one has {len(text):,}"
        )
    if excess := toml_text.excess(text):
        raise LessonError(f"{name}, line {excess[0]}: {excess[1]}")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        at = line[1] if line else len(text.splitlines())
        why = re.sub(r" *[(]at .*[)]", "", str(error))
        raise LessonError(f"{name}, line {at}: this is not TOML ({why:.{MAX_REASON_LENGTH}})") from None
    return _Reader(name, text).lesson(data, matched[1])


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(kind, include_extras=True)


@dataclass(frozen=True)
class _Reader:
    """The file that is read."""

    file: str
    text: str

    def error(self, why: object, place: _Place) -> LessonError:
        return LessonError(f"{self.file}, line {toml_text.line_of(self.text, *place)}: {why}")

    def value(self, hint: Any, found: Any, place: _Place) -> Any:
        """What the schema has of a value in the file; raises a LessonError where that is another."""
        least, most = 1, MAX_TEXT_LENGTH
        if get_origin(hint) is Annotated:
            hint, least, most = get_args(hint)
        kind, key = get_origin(hint), next(part for part in reversed(place) if isinstance(part, str))
        if NoneType in get_args(hint):
            return self.value(get_args(hint)[0], found, place)
        if kind is tuple:
            if not least <= len(self.of_kind(list, found, place)) <= most:
                raise self.error(f"“{key}” has {least} to {most} entries, here are {len(found)}", place)
            return tuple(self.value(get_args(hint)[0], one, (*place, at)) for at, one in enumerate(found))
        if is_dataclass(hint) and hint not in (Curtain, Path):
            return self.table(hint, self.of_kind(dict, found, place), place)
        if hint is int:
            if not least <= self.of_kind(int, found, place) <= most:
                raise self.error(f"“{key}” is a number from {least} to {most}", place)
            return found
        text = self.of_kind(str, found, place)
        if hint is Rule:
            return text
        if not text.strip():
            raise self.error(f"“{key}” is empty", place)
        if len(text) > MAX_TEXT_LENGTH:
            raise self.error(f"“{key}” may have {MAX_TEXT_LENGTH} characters, it has {len(text):,}", place)
        if _MARKUP.search(text) or _CONTROL.search(text):
            raise self.error(f"“{key}” holds markup or a script; a lesson’s texts are plain words", place)
        text = " ".join(text.split())
        if kind is Literal and text not in get_args(hint):
            raise self.error(f"“{key}” is one of {', '.join(get_args(hint))}, not “{text:.40}”", place)
        if hint is Name and not _NAME.fullmatch(text):
            raise self.error(f"a name is of small letters and digits, not “{text:.40}”", place)
        if hint in (Curtain, Path):
            try:
                return hint.parse(text)
            except HeadlightError as error:
                raise self.error(error, place) from None
        return text

    def of_kind(self, kind: type, found: Any, place: _Place) -> Any:
        if isinstance(found, kind) and not isinstance(found, bool):
            return found
        what = f"an entry of “{place[-2]}”" if isinstance(place[-1], int) else f"“{place[-1]}”"
        raise self.error(f"{what} is {_KINDS[kind]}", place)

    def table(self, kind: Any, data: Mapping[str, Any], place: _Place) -> Any:
        """A table of the file as the dataclass of its fields."""
        hints = _hints(kind)
        known = {one.name: one for one in fields(kind) if not one.metadata}
        for key in data:
            if key in known:
                continue
            near = get_close_matches(key, known, 1)
            meant = f"did you mean “{near[0]}”? There are" if near else "there are"
            raise self.error(f"there is no field “{key:.40}”; {meant} {', '.join(sorted(known))}", (*place, key))
        for name, one in known.items():
            if name not in data and one.default is MISSING:
                what = f"step {int(place[1]) + 1}" if place else "the lesson"
                raise self.error(f"{what} lacks the field “{name}”", (*place, name))
        return kind(**{key: self.value(hints[key], found, (*place, key)) for key, found in data.items()})

    def lesson(self, data: Mapping[str, Any], name: str) -> Lesson:
        found: Lesson = self.table(Lesson, data, ())
        every = tuple(range(1, len(found.steps) + 1))
        for at, path in enumerate(found.paths):
            if not set(path.steps) <= set(every):
                raise self.error("this path names a step that is not there", ("paths", at))
        paths = tuple(replace(path, steps=path.steps or every) for path in found.paths)
        steps = tuple(self.step(step, ("steps", at)) for at, step in enumerate(found.steps))
        return replace(found, id=name, paths=paths, steps=steps)

    def step(self, step: LessonStep, place: _Place) -> LessonStep:
        """The step with its rules whole, when all that it refers to is there."""
        try:
            page = step.page
            references.check_link(step.query)
        except HeadlightError as error:
            raise self.error(error, (*place, "link")) from None
        words, numbers = references.words(page, step.query), dict[str, str]()

        def rule(text: str, *at: str | int) -> Rule:
            try:
                return references.rule(text, words, numbers)
            except HeadlightError as error:
                raise self.error(f"{error} (in the rule “{text:.60}”)", (*place, *at)) from None

        for at, number in enumerate(step.numbers):
            numbers[number.name] = rule(number.value, "numbers", at, "value")
        options = tuple(
            replace(one, letter="ABCD"[at], holds=one.holds and rule(one.holds, "options", at, "holds"))
            for at, one in enumerate(step.options)
        )
        cases = tuple(rule(one, "cases", at) for at, one in enumerate(step.cases))
        self.check_answers(step, place)
        rules = " ".join(one.holds for one in options if one.holds)
        for at, variant in enumerate(step.variants):
            try:
                references.check_variant(page, step.query, variant, rules)
            except HeadlightError as error:
                raise self.error(error, (*place, "variants", at)) from None
        if step.holds_in > len(step.variants):
            raise self.error(
                f"“holds_in” is at most {len(step.variants)}, the number of variants", (*place, "holds_in")
            )
        return replace(
            step,
            options=options or _answers(cases),
            picture=self.picture(step, rules, place),
            shows=tuple(replace(one, value=rule(one.value, "shows", at)) for at, one in enumerate(step.shows)),
            holds_in=len(step.variants) if step.holds_in < 0 else step.holds_in,
            numbers=tuple(replace(one, value=Rule(numbers[one.name])) for one in step.numbers),
            cases=cases,
        )

    def check_answers(self, step: LessonStep, place: _Place) -> None:
        """Raises where nothing, or two things, say which answer is right, or `because` names what is not there."""
        right = dict(zip("ABCD", step.options, strict=False)).get(step.right)
        if step.cases and (step.options or step.right):
            raise self.error("a claim has “cases”, and neither “options” nor “right”", (*place, "cases"))
        if not step.cases and not step.options:
            raise self.error(f"step {int(place[1]) + 1} lacks the field “options”", place)
        if not step.cases and right is None:
            listed = ", ".join("ABCD"[: len(step.options)])
            raise self.error(f"“right” is one of {listed}", (*place, "right"))
        if right and right.holds is None:
            raise self.error(f"the right option, {step.right}, has no rule “holds”", (*place, "right"))
        if not step.cases and len(step.because) > MAX_EXPLANATION_LENGTH:
            said = f"“because” may have {MAX_EXPLANATION_LENGTH} characters, it has {len(step.because)}"
            raise self.error(said, (*place, "because"))
        known = [number.name for number in step.numbers]
        for name in re.findall(r"{(.*?)}", step.because):
            if name not in known:
                said = f"“because” names the number “{name:.40}”; there are {', '.join(known) or 'none'}"
                raise self.error(said, (*place, "because"))

    def picture(self, step: LessonStep, rules: str, place: _Place) -> str:
        """What the step names; left out, what its rules speak of, or the page's first picture."""
        names = (*schema.PICTURES.get(step.page, ()), schema.WHOLE)
        asked = "next words" if _OF_NEXT.search(rules) else "panel lesson" if "lesson=" in step.query else names[0]
        named = step.picture or (asked if asked in names else names[0])
        if named not in names:
            own = ", ".join(f"“{name}”" for name in names)
            title = PAGES[step.page].title
            raise self.error(f"{title} has no picture “{named:.40}”; it has {own}", (*place, "picture"))
        return named


def _answers(cases: tuple[Rule, ...]) -> tuple[Option, ...]:
    """The answers to a claim: true where all cases hold, false where none does, else it depends."""
    every, some = (joined.join(f"({case})" for case in cases) for joined in (" and ", " or "))
    rules = (every, f"not ({some})", f"({some}) and not ({every})")
    texts = zip("ABC", ANSWERS, rules, strict=True)
    return tuple(Option(text, Rule(rule), letter) for letter, text, rule in texts)
