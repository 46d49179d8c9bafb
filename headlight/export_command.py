"""The `headlight export` command: writes a site of static files, or the questions of a course for a platform."""

import re
import secrets
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType

from headlight import ROOT
from headlight.ui import numbers
from mha_core.errors import HeadlightError

from .arguments import Parser, UsageError, check_folder
from .lessons.course import CLAIMS, SHIPPED, read_folders
from .lessons.course import course as read_course
from .lessons.schema import Lesson
from .website.command import add_arguments, write_site

# option -> what it belongs to
OPTIONS_OF = {"lessons": "site", "lesson": "site", "without_minilm": "site", "output": "qti"}


def build_parser() -> Parser:
    """Return the parser of the command's arguments."""
    parser = Parser(prog="headlight export", description=__doc__, allow_abbrev=False)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--qti",
        metavar="COURSE",
        help="a QTI 2.1 package of the questions of a lesson, a course, “all”, or a folder of your own lessons",
    )
    kind.add_argument(
        "--site", type=Path, metavar="DIR", help="a folder of static files that needs no server of its own"
    )
    add_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.zip", help="the file to write (default: COURSE.zip)")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    args = build_parser().parse_args(arguments)
    try:
        for option, kind in OPTIONS_OF.items():
            if getattr(args, option) and not getattr(args, kind):
                raise UsageError(f"--{option.replace('_', '-')} is an option of --{kind}")
        with _stopped_by_signals():
            return write_site(args) if args.site else export_questions(args)
    except (HeadlightError, UsageError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nheadlight: stopped; nothing was written.", file=sys.stderr)
        return 130


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Treat a request to end as Ctrl+C, so that what is half written is removed."""

    def stop(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    # SIGINT too: a shell starts jobs in the background without it
    previous = {name: signal.signal(name, stop) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)


def export_questions(args: Namespace) -> int:
    """Write the QTI package of a course and return the exit code."""
    name, title, lessons, is_bundled = _select(args.qti)
    output: Path = args.output or Path(f"{name}.zip")
    _check_new(output)
    sys.path.insert(0, str(ROOT))
    import_module("pages.handlers")  # registers the quantities of every page
    from .lessons import qti

    count = sum(len(lesson.steps) for lesson in lessons)
    print(f"Computing the answers of {numbers.count(count, 'question')} …", flush=True)
    content, questions, pictures = qti.package(title, lessons, licence=qti.LICENCE if is_bundled else "")
    write_new(output, content)
    size = f"{numbers.count(pictures, 'picture')}, {len(content) / 1e6:.1f} MB"
    print(f"Wrote {output}: {numbers.count(questions, 'question')}, {size}.", flush=True)
    return 0


def _select(course: str) -> tuple[str, str, list[Lesson], bool]:
    """Return name, title and lessons of a course, and whether all are bundled. Raises UsageError."""
    shipped, bundled = read_course(), read_folders((SHIPPED, CLAIMS)).lessons
    groups = {"all": ("Headlight", list(shipped.lessons.values()))}
    for lesson in shipped.lessons.values():
        groups[lesson.id] = lesson.title, [lesson]
        title = "Claims" if lesson.claims else lesson.course or "First course"
        groups.setdefault(re.sub(r"\W+", "-", title.lower()), (title, []))[1].append(lesson)
    errors = shipped.errors
    if course and course not in groups and Path(course).is_dir():
        folder = read_folders((Path(course),))
        groups = {course: (Path(course).resolve().name, list(folder.lessons.values()))}
        errors = folder.errors or (() if folder.lessons else (f"“{course}” has no lessons (*.toml).",))
    if errors:
        raise UsageError("\n".join(errors).rstrip("."))
    if course not in groups:
        raise UsageError(f"“{course:.40}” is neither a folder nor one of {', '.join(groups)}")
    title, lessons = groups[course]
    return Path(course).resolve().name, title, lessons, all(bundled.get(lesson.id) == lesson for lesson in lessons)


def _check_new(file: Path) -> None:
    """Check that a file can be created. Raises UsageError."""
    if file.exists() or file.is_symlink():
        raise UsageError(f"“{file}” exists already; choose another name with -o")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"there is no folder “{file.absolute().parent}”")
    check_folder("--output", file.absolute().parent)


def write_new(file: Path, content: bytes) -> None:
    """Write a new file, as a whole or not at all. Raises UsageError."""
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(content)
        _check_new(file)
        part.replace(file)
    except OSError as error:
        raise UsageError(f"“{file}” cannot be written ({error.strerror})") from None
    finally:
        part.unlink(missing_ok=True)
