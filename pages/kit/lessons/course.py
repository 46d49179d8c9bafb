"""The course: the lessons that Headlight brings along and a teacher's own, and what is wrong with those left out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .reading import LONGEST_FILE, LessonError, read
from .schema import Lesson, Step

SHIPPED = Path(__file__).parents[3] / "assets" / "lessons"
VARIABLE = "HEADLIGHT_LESSONS"  # in the environment: a folder of own lessons; `--lessons DIR` sets it
MOST_FILES = 100  # of a folder
_STEP = re.compile(r"([a-z][a-z0-9-]*)\.(\d{1,2})")

_Stamp = tuple[Path, int, int]


@dataclass(frozen=True)
class Course:
    """Lessons by their id, in order, and a sentence for each file that could not be used."""

    lessons: Mapping[str, Lesson]
    errors: tuple[str, ...]

    def find(self, learn: str) -> tuple[Lesson, Step, int] | None:
        """The lesson and step that the key `learn` of a link names, as "it.2", and the step's number from 1."""
        match = _STEP.fullmatch(learn)
        lesson = self.lessons.get(match[1]) if match else None
        if match is None or lesson is None or not 1 <= int(match[2]) <= len(lesson.steps):
            return None
        return lesson, lesson.steps[int(match[2]) - 1], int(match[2])

    def path(self, minutes: int, audience: str) -> dict[str, tuple[int, ...]]:
        """A way through the course: the ids of its lessons, each with its steps, in order."""
        return {
            lesson.id: path.steps
            for lesson in self.lessons.values()
            for path in lesson.paths
            if (path.minutes, path.audience) == (minutes, audience)
        }


def course() -> Course:
    """The lessons of assets/lessons, then those of the folder in HEADLIGHT_LESSONS; kept until a file changes."""
    own = os.environ.get(VARIABLE, "")
    return of_folders((SHIPPED, *([Path(own)] if own else [])))


def of_folders(folders: tuple[Path, ...]) -> Course:
    """The lessons of these folders, each in the order of its files' names."""
    stamps, errors = list[_Stamp](), list[str]()
    for folder in folders:
        files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
        if not folder.is_dir():
            errors.append(f"There is no folder of lessons “{folder}”.")
        if len(files) > MOST_FILES:
            errors.append(f"{folder.name} has {len(files)} lessons; only the first {MOST_FILES} are read.")
        stamps += [(file, file.stat().st_mtime_ns, file.stat().st_size) for file in files[:MOST_FILES]]
    return _read(tuple(stamps), tuple(errors))


@lru_cache(maxsize=4)
def _read(stamps: tuple[_Stamp, ...], errors: tuple[str, ...]) -> Course:
    lessons, wrong = dict[str, Lesson](), list(errors)
    for number, (file, _, size) in enumerate(stamps, 1):
        try:
            lesson = read(file.name, _text(file, size), number)
            if lesson.id in lessons:
                raise LessonError(f"{file.name}, line 1: there is a lesson “{lesson.id}” already")
        except LessonError as error:
            wrong.append(f"{error}.")
        else:
            lessons[lesson.id] = lesson
    return Course(lessons, tuple(wrong))


def _text(file: Path, size: int) -> str:
    """The text of a file. Raises a LessonError where it is none."""
    if size > 4 * LONGEST_FILE:
        raise LessonError(f"{file.name}, line 1: a lesson may have {LONGEST_FILE:,} characters")
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise LessonError(f"{file.name}, line 1: this file cannot be read as UTF-8") from None
