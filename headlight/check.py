"""The `headlight check` command: is the attention in a Python file right?

The file runs in a process of its own, with the rights of whoever starts the command, and only there.
"""

import ast
import inspect
import multiprocessing
import runpy
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mha_core.check import POSITIONS, check
from mha_core.check.target import LAYOUTS, NAMES
from mha_core.errors import HeadlightError

from .arguments import Parser, UsageError


def build_parser() -> Parser:
    """Return the parser of the command's arguments."""
    parser = Parser(prog="headlight check", description=__doc__, allow_abbrev=False)
    parser.add_argument("target", metavar="FILE.py:NAME", help="a class, a module or a function that attends")
    parser.add_argument("--d-model", type=int, required=True, metavar="N", help="the width of the input")
    parser.add_argument("--n-heads", type=int, required=True, metavar="N", help="the number of heads")
    parser.add_argument(
        "--with", dest="options", nargs="+", default=[], metavar="NAME=VALUE", help="further arguments of the class"
    )
    parser.add_argument("--layout", choices=LAYOUTS, help="b texts, s tokens, h heads, d channels (default: found)")
    parser.add_argument("--mask", metavar="NAME", help="the parameter that takes the mask (default: found by name)")
    parser.add_argument("--mask-true", choices=("attends", "blocks"), default="", help="what True means in the mask")
    parser.add_argument("--causal", action="store_true", default=None, help="it is meant to be causal by itself")
    parser.add_argument("--scale", type=float, help="the factor of q · k (default: 1 / √d_head)")
    parser.add_argument("--positions", choices=POSITIONS[1:], default="", help="what is meant (default: found)")
    parser.add_argument("--seconds", type=float, default=120.0, help="the time limit (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as a page, with pictures of the maps"
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command: exit status 0 if nothing fails, 1 if a property does, 2 if it cannot be checked."""
    parser = build_parser()
    args = parser.parse_args(arguments)
    file, _, name = args.target.rpartition(":")
    if not file or not name.isidentifier():
        parser.error(f"“{args.target:.100}” is no file and name, such as attention.py:MyAttention")
    if not Path(file).is_file():
        parser.error(f"there is no file “{file:.200}”")
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(args, file, name))
    process.start()
    process.join(args.seconds)
    if process.is_alive():
        process.kill()
        process.join()
        print(f"headlight: {name} took longer than {args.seconds:g} s.", file=sys.stderr)
        return 2
    return process.exitcode if process.exitcode in (0, 1) else 2


def _run(args: Namespace, file: str, name: str) -> None:
    """Check and print, in the process of the file; the exit status is the process's own."""
    try:
        target = _load(Path(file), name)
        report = check(
            _build(target, args) if isinstance(target, type) else target, args.d_model, args.n_heads,
            layout=args.layout, mask=args.mask, mask_true=args.mask_true, causal=args.causal, scale=args.scale,
            positions=args.positions, seconds=args.seconds / 4,
        )  # fmt: skip
    except (HeadlightError, UsageError) as error:
        print(f"headlight: {error}.", file=sys.stderr)
        sys.exit(2)
    print(report.json() if args.json else report.table(colour=sys.stdout.isatty()), flush=True)
    if args.html:
        try:
            args.html.write_text(report.html(), encoding="utf-8")
        except OSError as error:
            print(f"headlight: “{args.html}” cannot be written ({error.strerror}).", file=sys.stderr)
            sys.exit(2)
    sys.exit(1 if report.failures else 0)


def _load(file: Path, name: str) -> Any:
    """Run a file and return one of its names. Raises UsageError."""
    sys.path.insert(0, str(file.resolve().parent))  # for what it imports from beside it
    try:
        scope = runpy.run_path(str(file), run_name=file.stem)
    except (Exception, SystemExit) as error:
        raise UsageError(f"“{file.name}” raised {type(error).__name__}: {error}") from None
    if name not in scope:
        raise UsageError(f"“{file.name}” has no {name}")
    return scope[name]


def _build(kind: Callable[..., Any], args: Namespace) -> Any:
    """Make a module of a class: its sizes by name, or the first two arguments. Raises UsageError."""
    options: dict[str, Any] = {}
    for option in args.options:
        key, _, value = option.partition("=")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    sizes = {"n_heads": args.n_heads, "d_model": args.d_model}
    try:
        for name in inspect.signature(kind).parameters:
            if (role := NAMES.get(name)) in sizes and name not in options:
                options[name] = sizes[role]
        first = () if sizes.keys() & map(NAMES.get, options) else (args.d_model, args.n_heads)
        return kind(*first, **options)
    except Exception as error:
        raise UsageError(
            f"{kind.__name__} cannot be made ({type(error).__name__}: {error}); give its arguments: --with name=value"
        ) from None
