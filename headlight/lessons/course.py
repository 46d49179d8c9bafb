"""The course: the bundled lessons and those of a teacher, with the errors of unusable files."""

import argparse
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cachetools import LRUCache

from headlight import ROOT
from headlight.queue.single_flight import single_flight

from .reading import MAX_FILE_LENGTH, LessonError, read
from .schema import Lesson, LessonStep
from .variants import retry_variant

_ASSETS = ROOT / "assets"
SHIPPED, CLAIMS = _ASSETS / "lessons", _ASSETS / "claims"
VARIABLE = "HEADLIGHT_LESSONS"  # environment variable: a folder of lessons; `--lessons DIR` sets it
MAX_FILES = 100  # of a folder
_STEP = re.compile(r"([a-z][a-z0-9-]*)\.(\d{1,2})(\.2)?", re.ASCII)

selection: frozenset[str] = frozenset()  # ids of the lessons of an exported site; empty for all

log = logging.getLogger(__name__)

_Stamp = tuple[Path, int, int]


@dataclass(frozen=True)
class Course:
    """The lessons by id, in order.

    Attributes:
        lessons: id -> lesson.
        errors: a sentence for each file that cannot be used.
        stamps: path, time and size of each file, and the selection; they differ when the lessons do.
    """

    lessons: Mapping[str, Lesson]
    errors: tuple[str, ...]
    stamps: tuple[object, ...]

    def find(self, learn: str) -> tuple[Lesson, LessonStep, int] | None:
        """Return lesson, step and number of the step, from 1, for the key `learn` of a link, as "it.2".

        "it.2.2" is the retry variant of the step, if it has one.
        """
        match = _STEP.fullmatch(learn)
        lesson = self.lessons.get(match[1]) if match else None
        if match is None or lesson is None or not 1 <= int(match[2]) <= len(lesson.steps):
            return None
        step = lesson.steps[int(match[2]) - 1]
        question = retry_variant(step) if match[3] else step
        return (lesson, question, int(match[2])) if question else None

    def address(self, link: str) -> str:
        """Return the path and query of a step, such as "it.2"; any other link as it is.

        A step that is not in the course leads to all lessons.
        """
        step = self.find(link)
        return step[0].address(step[2]) if step else "lessons" if _STEP.fullmatch(link) else link

    def claims(self) -> dict[str, str]:
        """Return name -> address of all claims."""
        return {
            step.claim: lesson.address(number)
            for lesson in self.lessons.values()
            for number, step in enumerate(lesson.steps, 1)
            if step.claim
        }

    def path(self, minutes: int, audience: str) -> dict[str, tuple[int, ...]]:
        """Return the lessons and steps of a path through the course, by lesson id, in order."""
        return {
            lesson.id: path.steps
            for lesson in self.lessons.values()
            for path in lesson.paths
            if (path.minutes, path.audience) == (minutes, audience)
        }


def load_at_startup(arguments: Sequence[str]) -> Course:
    """Read the course at startup, with the folder of `--lessons DIR` if there is one, and log its errors.

    Args:
        arguments: arguments of the command line; others are ignored.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--lessons", nargs="?", const="")
    folder = parser.parse_known_args(list(arguments))[0].lessons
    if folder is not None:
        os.environ[VARIABLE] = str(Path(folder).resolve()) if folder else ""
    if folder == "":
        log.warning("Headlight starts without your lessons: give their folder, --lessons DIR")
    loaded = course()
    for error in loaded.errors:
        log.warning("Lessons: %s", error)
    return loaded


def course() -> Course:
    """Return the bundled lessons, those of the folder in HEADLIGHT_LESSONS, then the claims."""
    folder = os.environ.get(VARIABLE, "")
    everything = read_folders((SHIPPED, *([Path(folder)] if folder else []), CLAIMS))
    if not selection:
        return everything
    lessons = {name: lesson for name, lesson in everything.lessons.items() if name in selection}
    return replace(everything, lessons=lessons, stamps=(*everything.stamps, selection))


def read_folders(folders: tuple[Path, ...]) -> Course:
    """Return the lessons of folders in the order of their files' names; changed files are read again."""
    stamps, errors, lessons = list[_Stamp](), list[str](), dict[str, Lesson]()
    for folder in folders:
        files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
        if not folder.is_dir():
            errors.append(f"There is no folder of lessons “{folder}”.")
        if len(files) > MAX_FILES:
            errors.append(f"{folder.name} has {len(files)} lessons; only the first {MAX_FILES} are loaded.")
        for file in files[:MAX_FILES]:
            try:
                status = file.stat()
                stamps.append((file, status.st_mtime_ns, status.st_size))
            except OSError:  # a broken link
                errors.append(f"{file.name}, line 1: this file cannot be read.")
    for stamp in stamps:
        lesson = _lesson(*stamp)
        if isinstance(lesson, Lesson) and lesson.id in lessons:
            lesson = f"{stamp[0].name}, line 1: there is a lesson “{lesson.id}” already"
        if isinstance(lesson, Lesson):
            lessons[lesson.id] = lesson
        else:
            errors.append(f"{lesson}.")
    return Course(lessons, tuple(errors), tuple(stamps))


@single_flight(LRUCache(4 * MAX_FILES), keep=True)
def _lesson(file: Path, _: int, size: int) -> Lesson | str:
    """Return the lesson of a file or the error in it, cached until the file changes."""
    try:
        if size > 4 * MAX_FILE_LENGTH:
            return f"{file.name}, line 1: a lesson may have {MAX_FILE_LENGTH:,} characters"
        return read(file.name, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return f"{file.name}, line 1: this file cannot be read as UTF-8"
    except LessonError as error:
        return str(error)
