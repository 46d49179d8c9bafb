"""The course: the lessons that Headlight brings along and a teacher's own, and what is wrong with those left out."""

import argparse
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cachetools import LRUCache

from headlight import ROOT
from headlight.queue.single_flight import single_flight

from .reading import MAX_FILE_LENGTH, LessonError, read
from .schema import Lesson, LessonStep
from .variants import second

_ASSETS = ROOT / "assets"
SHIPPED, CLAIMS = _ASSETS / "lessons", _ASSETS / "claims"
VARIABLE = "HEADLIGHT_LESSONS"  # in the environment: a folder of own lessons; `--lessons DIR` sets it
MAX_FILES = 100  # of a folder
_STEP = re.compile(r"([a-z][a-z0-9-]*)\.(\d{1,2})(\.2)?", re.ASCII)

log = logging.getLogger(__name__)

_Stamp = tuple[Path, int, int]


@dataclass(frozen=True)
class Course:
    """Lessons by their id, in order, and a sentence for each file that could not be used.

    Attributes:
        stamps: of their files; another course when one of them is changed, brought or taken away.
    """

    lessons: Mapping[str, Lesson]
    errors: tuple[str, ...]
    stamps: tuple[_Stamp, ...]

    def find(self, learn: str) -> tuple[Lesson, LessonStep, int] | None:
        """The lesson and step that the key `learn` of a link names, as "it.2", and the step's number from 1.

        "it.2.2" is the second question of the same idea, where the step has one.
        """
        match = _STEP.fullmatch(learn)
        lesson = self.lessons.get(match[1]) if match else None
        if match is None or lesson is None or not 1 <= int(match[2]) <= len(lesson.steps):
            return None
        step = lesson.steps[int(match[2]) - 1]
        asked = second(step) if match[3] else step
        return (lesson, asked, int(match[2])) if asked else None

    def claims(self) -> dict[str, str]:
        """The address of each claim's step, by the claim's name."""
        return {
            step.claim: lesson.address(at)
            for lesson in self.lessons.values()
            for at, step in enumerate(lesson.steps, 1)
            if step.claim
        }

    def path(self, minutes: int, audience: str) -> dict[str, tuple[int, ...]]:
        """A way through the course: the ids of its lessons, each with its steps, in order."""
        return {
            lesson.id: path.steps
            for lesson in self.lessons.values()
            for path in lesson.paths
            if (path.minutes, path.audience) == (minutes, audience)
        }


def begin(arguments: Sequence[str]) -> Course:
    """Reads the course at start-up, with the folder of `--lessons DIR` if it is named, and logs what is left out.

    Args:
        arguments: of the command line; others are left alone.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--lessons", nargs="?", const="")
    folder = parser.parse_known_args(list(arguments))[0].lessons
    if folder is not None:
        os.environ[VARIABLE] = str(Path(folder).resolve()) if folder else ""
    if folder == "":
        log.warning("Headlight starts without your lessons: name their folder, --lessons DIR")
    found = course()
    for error in found.errors:
        log.warning("Lessons: %s", error)
    return found


def course() -> Course:
    """The lessons of assets/lessons, those of the folder in HEADLIGHT_LESSONS, then the claims of assets/claims."""
    own = os.environ.get(VARIABLE, "")
    return of_folders((SHIPPED, *([Path(own)] if own else []), CLAIMS))


def of_folders(folders: tuple[Path, ...]) -> Course:
    """The lessons of these folders, each in the order of its files' names; a file is read anew when it is changed."""
    stamps, errors, lessons = list[_Stamp](), list[str](), dict[str, Lesson]()
    for folder in folders:
        files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
        if not folder.is_dir():
            errors.append(f"There is no folder of lessons “{folder}”.")
        if len(files) > MAX_FILES:
            errors.append(f"{folder.name} has {len(files)} lessons; only the first {MAX_FILES} are loaded.")
        for file in files[:MAX_FILES]:
            try:
                found = file.stat()
                stamps.append((file, found.st_mtime_ns, found.st_size))
            except OSError:  # a link to nowhere
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
    """The lesson of a file, or what is wrong with it: either is kept until the file changes."""
    try:
        if size > 4 * MAX_FILE_LENGTH:
            return f"{file.name}, line 1: a lesson may have {MAX_FILE_LENGTH:,} characters"
        return read(file.name, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return f"{file.name}, line 1: this file cannot be read as UTF-8"
    except LessonError as error:
        return str(error)
