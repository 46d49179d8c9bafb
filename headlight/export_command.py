"""The `headlight export` command: writes the questions of a course as a file for a learning platform."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from mha_core.errors import HeadlightError

from .arguments import Parser, UsageError


def build_parser() -> Parser:
    """Return the parser of the command's arguments."""
    parser = Parser(prog="headlight export", description=__doc__, allow_abbrev=False)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--qti",
        metavar="COURSE",
        help="a QTI 2.1 package of the questions of a lesson, of a course, of “all”, or of a folder of your own lessons",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.zip", help="the file to write (default: COURSE.zip)")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    args = build_parser().parse_args(arguments)
    try:
        return export_questions(args)
    except (HeadlightError, UsageError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nheadlight: stopped; nothing was written.", file=sys.stderr)
        return 130


def export_questions(args: Namespace) -> int:
    """Write the QTI package of a course and return the exit code."""
    raise UsageError("--qti cannot be written yet")
