"""Write a site into a new folder: whole or not at all."""

import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from headlight import ROOT
from headlight.arguments import Parser, UsageError
from headlight.lessons import course as courses
from headlight.picture import pictures
from headlight.registry import MINILM, SMOLLM2, get_source
from headlight.server import framing
from headlight.ui.numbers import count

from . import site
from .recorder import MODELS, Recorder

SPARE_BYTES = 10**6  # of the disk, beside the files


def add_arguments(parser: Parser) -> None:
    """Add the options of `--site`."""
    parser.add_argument("--lessons", type=Path, metavar="FOLDER", help="a folder with your own lessons for the site")
    parser.add_argument(
        "--lesson", action="append", default=[], metavar="NAME", help="only this lesson, such as it; may be repeated"
    )
    parser.add_argument("--without-minilm", action="store_true", help="leave out the weights of MiniLM (53 MB)")


def write_site(args: Namespace) -> int:
    """Write the site of the command's arguments and return the exit code.

    Raises:
        UsageError: the folder or the lessons cannot be used.
    """
    folder = Path(os.path.abspath(args.site.expanduser()))  # noqa: PTH100 - a link stays a link
    try:
        warnings = framing.warnings(framing.origins())
    except ValueError as error:
        raise UsageError(f"{framing.VARIABLE}: {error}") from None
    for warning in warnings:
        print(f"headlight: {warning}", file=sys.stderr)
    with _new_folder(folder) as new:
        lessons = _choose_lessons(args)
        _load_models()
        pictures.is_timed = False
        sources = _sources()
        answers = Recorder(sources.routes(), (*MODELS, *([] if args.without_minilm else [MINILM])))
        _print_status(
            f"Recording {count(lessons, 'lesson')}{'' if args.lesson else ' and the examples: a few minutes'} …",
            stays=True,
        )
        for part in site.record(answers, everything=not args.lesson):
            _print_status(f"Recording {part} …")
        models = dict[str, bytes]()
        for name, content in site.model_files(with_minilm=not args.without_minilm):
            _print_status(f"Packing {get_source(name).title} …")
            models[name] = content
        files = site.build(sources, answers, models)
        size = sum(map(len, files.values()))
        minilm = f", of which {_megabytes(len(models[MINILM]))} MiniLM" if MINILM in models else ""
        sizes = f"{len(files)} files, {_megabytes(size)}{minilm}"
        _print_status(f"{sizes}; {_megabytes(site.first_lesson(files))} until the first lesson shows.", stays=True)
        free = shutil.disk_usage(new).free
        if free < size + SPARE_BYTES:
            raise UsageError(f"--site: the site has {_megabytes(size)}, the disk has {_megabytes(free)} free")
        try:
            _write(new, files)
            if folder.exists():
                folder.rmdir()  # empty
            new.rename(folder)
        except OSError as error:
            raise UsageError(f"--site: the site cannot be written ({error.strerror})") from None
    print(f"Wrote {folder}. To see it: {Path(sys.executable).name} -m http.server --directory {args.site}", flush=True)
    return 0


def _write(part: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).write_bytes(content)
    part.chmod(0o755)  # a web server reads it as another user


def _sources() -> site.Sources:
    """Return what the pages compute; this layer must not import them."""
    sys.path.insert(0, str(ROOT))
    handlers = import_module("pages.handlers")
    return site.Sources(handlers.HANDLERS, handlers.FIRST, handlers.SHEETS)


def _choose_lessons(args: Namespace) -> int:
    """Choose the lessons of the site and return their number. Raises UsageError for mistakes in them."""
    if args.lessons:
        os.environ[courses.VARIABLE] = str(args.lessons.resolve())
    courses.selection = frozenset()
    course = courses.course()
    if course.errors:
        raise UsageError("--site: the lessons have mistakes:\n  " + "\n  ".join(course.errors).rstrip("."))
    if unknown := [name for name in args.lesson if name not in course.lessons]:
        raise UsageError(f"--lesson: there is no lesson “{unknown[0]:.40}”; choose from {', '.join(course.lessons)}")
    courses.selection = frozenset(args.lesson)
    return len(courses.course().lessons)


def _load_models() -> None:
    """Load the models that the lessons need. Raises a HeadlightError for one that is missing or damaged."""
    steps = [step for lesson in courses.course().lessons.values() for step in lesson.steps]
    for name in (MINILM, *([SMOLLM2] if any(SMOLLM2 in step.query for step in steps) else [])):
        get_source(name).check()
        pictures.model_on("auto", name)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder beside the site's for its files, which is removed if the site is not written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--site: “{folder}” exists already; name a new or an empty folder")
    if folder.is_symlink() or folder.is_mount() or folder == Path.cwd():  # which a finished folder cannot replace
        raise UsageError(f"--site: “{folder}” cannot be replaced by the site; name a new folder in it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"--site: “{folder.parent}” is not writable ({error.strerror})") from None
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _print_status(text: str, *, stays: bool = False) -> None:
    """Show what is done now, on one line of a terminal."""
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="\n" if stays else "", flush=True)
    elif stays:
        print(text, flush=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
