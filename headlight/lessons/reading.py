"""A lesson's file, read: TOML becomes a `Lesson`, and every mistake a sentence that names file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from headlight.ui.pages import PAGES
from mha_core.errors import HeadlightError

from . import references, schema, toml_text
from .grammar import RuleError
from .schema import AUDIENCES, CURTAINS, FORMATS, PATHS, Claim, Curtain, Lesson, LessonStep, Option, Path, Reveal, Rule

LONGEST_FILE = 200_000  # characters
LONGEST_TEXT = 900  # of one text of a lesson
LONGEST_BECAUSE = 240  # about two lines beside the picture
LONGEST_REASON = 200  # of what `tomllib` says of a file
MOST_STEPS, MOST_SHOWN, MOST_VARIANTS, MOST_PAPERS = 20, 8, 60, 10
MOST_NUMBERS, MOST_CASES, FULLEST = 12, 8, 1_000
_NAME = re.compile(r"(?:\d{1,3}-)?([a-z][a-z0-9-]*)\.toml", re.ASCII)
_PATH = re.compile(r"(\d+) ([a-z]+)(?:: (\d+(?:, \d+)*))?", re.ASCII)
_MARKUP = re.compile(r"<\s*[/!?a-z]|javascript:|&#?\w+;", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_LESSON = {"title", "aim", "breaks", "minutes", "audiences", "paths", "teacher", "now_you", "papers", "steps"}
_STEP = {
    "link", "say", "ask", "options", "right", "shows", "curtain", "teacher", "variants", "holds_in", "numbers", "claim",
    "picture", "because",
}  # fmt: skip
_OF_NEXT = re.compile(r"\b(?:p|choice|softened)['′]?\(|\bfirst_choice\b")  # in rules on what comes next
_CLAIM = {"name", "title", "said", "source", "about", "cases", "why", "unit", "full", "map"}
_CALLED = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}
_T = TypeVar("_T")


class LessonError(HeadlightError):
    """A lesson's file that cannot be used: one sentence that begins with file and line."""


def read(name: str, text: str) -> Lesson:
    """The lesson of a file that is called like "01-it.toml". Raises a LessonError that names file and line."""
    called = _NAME.fullmatch(name)
    if called is None:
        raise LessonError(f"{name}, line 1: a lesson’s file is called like “01-it.toml”: a number and small letters")
    if len(text) > LONGEST_FILE:
        raise LessonError(f"{name}, line 1: a lesson may have {LONGEST_FILE:,} characters, this one has {len(text):,}")
    try:
        toml_text.check(text)
        data = tomllib.loads(text)
    except toml_text.TooMuch as error:
        raise LessonError(f"{name}, line {error.line}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        at = line[1] if line else len(text.splitlines())
        why = re.sub(r" *[(]at .*[)]", "", str(error))
        raise LessonError(f"{name}, line {at}: this is not TOML ({why:.{LONGEST_REASON}})") from None
    return _lesson(_Table(name, text, (), data), called[1])


@dataclass(frozen=True)
class _Table:
    """A table of the file, and where it stands."""

    file: str
    source: str
    path: tuple[str | int, ...]
    data: Mapping[str, Any]

    def wrong(self, why: str, *at: str | int) -> LessonError:
        return LessonError(f"{self.file}, line {toml_text.line_of(self.source, *self.path, *at)}: {why}")

    def knows_only(self, keys: Iterable[str]) -> None:
        for key in self.data:
            if key not in keys:
                raise self.wrong(f"there is no field “{key:.40}”; there are {', '.join(sorted(keys))}", key)

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """A value of this kind. Raises where it is missing without a default, or of another kind."""
        value = self.data.get(key, default)
        if value is None:
            what = f"step {int(self.path[1]) + 1}" if self.path else "the lesson"
            raise self.wrong(f"{what} lacks the field “{key}”")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(f"“{key}” is {_KINDS[kind]}", key)
        return value

    def text(self, key: str, default: str | None = None, most: int = LONGEST_TEXT) -> str:
        return self.plain(self.get(key, str, default), key, empty=default == "", most=most)

    def plain(self, value: object, *at: str | int, empty: bool = False, most: int = LONGEST_TEXT) -> str:
        """A text for people. Raises where it is none, too long, or holds what a browser might run."""
        name = next((str(part) for part in reversed(at) if isinstance(part, str)), "")
        if not isinstance(value, str):
            raise self.wrong(f"“{name}” is a text", *at)
        if not value.strip() and not empty:
            raise self.wrong(f"“{name}” is empty", *at)
        if len(value) > most:
            raise self.wrong(f"“{name}” may have {most} characters, it has {len(value):,}", *at)
        if _MARKUP.search(value) or _CONTROL.search(value):
            raise self.wrong(f"“{name}” holds markup or a script; a lesson’s texts are plain words", *at)
        return " ".join(value.split())

    def texts(self, key: str, most: int) -> tuple[str, ...]:
        values = self.get(key, list, [])
        if len(values) > most:
            raise self.wrong(f"“{key}” may have {most} entries, it has {len(values)}", key)
        return tuple(self.plain(value, key, at) for at, value in enumerate(values))

    def table(self, key: str) -> _Table:
        return _Table(self.file, self.source, (*self.path, key), self.get(key, dict))

    def tables(self, key: str, least: int, most: int) -> list[_Table]:
        values = self.get(key, list, None if least else [])
        if not least <= len(values) <= most:
            raise self.wrong(f"“{key}” has {least} to {most} entries, here are {len(values)}", key)
        for at, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.wrong(f"an entry of “{key}” is a table", key, at)
        return [_Table(self.file, self.source, (*self.path, key, at), value) for at, value in enumerate(values)]


def _lesson(table: _Table, name: str) -> Lesson:
    table.knows_only(_LESSON)
    audiences = table.texts("audiences", len(AUDIENCES))
    for at, audience in enumerate(audiences):
        if audience not in AUDIENCES:
            raise table.wrong(f"an audience is one of {', '.join(AUDIENCES)}, not “{audience:.40}”", "audiences", at)
    steps = tuple(_step(step) for step in table.tables("steps", 1, MOST_STEPS))
    minutes = table.get("minutes", int)
    if not 1 <= minutes <= 90:
        raise table.wrong("“minutes” is a number from 1 to 90", "minutes")
    return Lesson(
        id=name,
        title=table.text("title"),
        aim=table.text("aim"),
        breaks=table.text("breaks"),
        minutes=minutes,
        audiences=audiences,
        paths=tuple(_path(table, text, at, len(steps)) for at, text in enumerate(table.texts("paths", 9))),
        teacher=table.text("teacher", ""),
        now_you=table.text("now_you"),
        papers=table.texts("papers", MOST_PAPERS),
        steps=steps,
    )


def _path(table: _Table, text: str, at: int, steps: int) -> Path:
    """ "45 adults: 1, 2, 5", or "45 adults" with all steps."""
    match = _PATH.fullmatch(text)
    if match is None or int(match[1]) not in PATHS or match[2] not in AUDIENCES:
        raise table.wrong(f"a path is written like “45 adults” or “45 adults: 1, 2”, not “{text:.40}”", "paths", at)
    chosen = [int(step) for step in match[3].split(", ")] if match[3] else list(range(1, steps + 1))
    if not all(1 <= step <= steps for step in chosen):
        raise table.wrong(f"the path “{text:.40}” names a step that is not there", "paths", at)
    return Path(int(match[1]), match[2], tuple(chosen))


def _step(table: _Table) -> LessonStep:
    table.knows_only(_STEP)
    try:
        page, query = references.opened(table.text("link"))
    except HeadlightError as error:
        raise table.wrong(str(error), "link") from None
    known = references.Known(references.words(page, query))
    numbers = dict[str, Reveal]()
    for one in table.tables("numbers", 0, MOST_NUMBERS):
        name = _name(one)
        numbers[name] = _reveal(one, known, name)
        known = replace(known, numbers={**known.numbers, name: numbers[name].value.text})
    options = tuple(_option(option, at, known) for at, option in enumerate(table.tables("options", 2, 4)))
    variants, rules = table.texts("variants", MOST_VARIANTS), " ".join(one.holds.text for one in options if one.holds)
    for at, variant in enumerate(variants):
        try:
            references.check_variant(page, query, variant, rules)
        except HeadlightError as error:
            raise table.wrong(str(error), "variants", at) from None
    right, holds_in = "", table.get("holds_in", int, len(variants))
    claim = _claim(table.table("claim"), known, numbers) if "claim" in table.data else None
    if claim is None:
        right = table.text("right")
        chosen = {option.letter: option for option in options}.get(right)
        if chosen is None:
            raise table.wrong(f"“right” is one of {', '.join(option.letter for option in options)}", "right")
        if chosen.holds is None:
            raise table.wrong(f"the right option, {right}, has no rule “holds”", "right")
    elif "right" in table.data or not all(option.holds for option in options):
        raise table.wrong("a claim means no option “right”, and each of its options has a rule “holds”", "claim")
    if not 0 <= holds_in <= len(variants):
        raise table.wrong(f"“holds_in” is at most {len(variants)}, the number of variants", "holds_in")
    shows = tuple(_reveal(shown, known) for shown in table.tables("shows", 0, MOST_SHOWN))
    return LessonStep(
        page=page,
        query=query,
        picture=_picture(table, page, query, rules),
        say=table.text("say"),
        ask=table.text("ask"),
        options=options,
        right=right,
        shows=shows,
        because=table.text("because", "", LONGEST_BECAUSE),
        curtain=tuple(_curtain(table, text, at) for at, text in enumerate(table.texts("curtain", 4))),
        teacher=table.text("teacher", ""),
        variants=variants,
        holds_in=holds_in,
        numbers=numbers,
        claim=claim,
    )


def _picture(table: _Table, page: str, query: str, rules: str) -> str:
    """What the step names; left out, what its rules speak of, or the page's first picture."""
    names = (*schema.PICTURES.get(page, ()), schema.WHOLE)
    asked = "next words" if _OF_NEXT.search(rules) else "panel lesson" if "lesson=" in query else names[0]
    named = table.text("picture", asked if asked in names else names[0])
    if named not in names:
        own = ", ".join(f"“{name}”" for name in names)
        raise table.wrong(f"{PAGES[page].title} has no picture “{named:.40}”; it has {own}", "picture")
    return named


def _claim(table: _Table, known: references.Known, numbers: Mapping[str, Reveal]) -> Claim:
    table.knows_only(_CLAIM)
    cases, why, full = table.get("cases", list), table.text("why"), table.get("full", int, 0)
    if not 1 <= len(cases) <= MOST_CASES:
        raise table.wrong(f"“cases” has 1 to {MOST_CASES} entries, here are {len(cases)}", "cases")
    for name in re.findall(r"{(.*?)}", why):
        if name not in numbers:
            raise table.wrong(f"“why” names the number “{name:.40}”; there are {', '.join(numbers) or 'none'}", "why")
    if not 0 <= full <= FULLEST:
        raise table.wrong(f"“full” is a number from 1 to {FULLEST:,}", "full")
    return Claim(
        name=_name(table),
        title=table.text("title"),
        said=table.text("said"),
        source=table.text("source", ""),
        about=table.text("about", ""),
        cases=tuple(_ruled(table, text, known, "cases", at) for at, text in enumerate(cases)),
        why=why,
        unit=table.text("unit"),
        full=full or None,
        map=_reveal(table.table("map"), known) if "map" in table.data else None,
        timed=any(references.is_timed(one.value.tree) for one in numbers.values()),
    )


def _name(table: _Table) -> str:
    name = table.text("name")
    if not _CALLED.fullmatch(name):
        raise table.wrong(f"a name is of small letters and digits, not “{name:.40}”", "name")
    return name


def _option(table: _Table, number: int, known: references.Known) -> Option:
    table.knows_only({"text", "holds"})
    rule = _rule(table, "holds", known) if "holds" in table.data else None
    return Option("ABCD"[number], table.text("text"), rule)


def _reveal(table: _Table, known: references.Known, name: str = "") -> Reveal:
    """A number with a label, or one that is called by a name."""
    table.knows_only({"name" if name else "label", "value", "format"})
    form = table.get("format", str, "2")
    if form not in FORMATS:
        raise table.wrong(f"a format is one of {', '.join(FORMATS)}, not “{form:.20}”", "format")
    return Reveal(name or table.text("label"), _rule(table, "value", known), form)


def _rule(table: _Table, key: str, known: references.Known) -> Rule:
    return _ruled(table, table.get(key, str), known, key)


def _ruled(table: _Table, written: object, known: references.Known, *at: str | int) -> Rule:
    if not isinstance(written, str):
        raise table.wrong(f"an entry of “{at[0]}” is a text", *at)
    try:
        return references.rule(written, known)
    except RuleError as error:
        raise table.wrong(f"{error} (in the rule “{written:.60}”)", *at) from None


def _curtain(table: _Table, text: str, at: int) -> Curtain:
    """ "map", or "rows: it, animal"."""
    part, colon, named = text.partition(":")
    rows = tuple(word.strip() for word in named.split(",") if word.strip())
    if part not in CURTAINS or bool(colon) != (part in ("row", "rows")) or bool(colon) != bool(rows):
        listed = "map, numbers, second, all, “row: it” or “rows: it, animal”"
        raise table.wrong(f"a curtain is {listed}, not “{text:.40}”", "curtain", at)
    return Curtain(part, rows)
