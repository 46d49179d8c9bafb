"""The `headlight export` command: writes a site of static files, or the questions of a course for a platform."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from mha_core.errors import HeadlightError

from .arguments import Parser, UsageError
from .website.command import add_arguments, write_site


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
        if args.site:
            return write_site(args)
        return export_questions(args)
    except (HeadlightError, UsageError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 2 if args.site else 1
    except KeyboardInterrupt:
        print("\nheadlight: stopped; nothing was written.", file=sys.stderr)
        return 130


def export_questions(args: Namespace) -> int:
    """Write the QTI package of a course and return the exit code."""
    raise UsageError("--qti cannot be written yet")
