"""The browser's modules (assets/web) as one script that needs no server.

Each module becomes a block of its own, those that it imports before it, so that no name meets another. The modules are
written in one style, which is all that is read here: `import { a, b as c } from "../x/y.js";` and `export` before what
is named. Anything else is an error, not a script that fails later.
"""

import re
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from posixpath import dirname, join, normpath

from ..errors import HeadlightError

# beside this file in an installed package, at the top of the project otherwise
FOLDERS = (Path(__file__).parent / "web", Path(__file__).parents[2] / "assets" / "web")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[\w./]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (default )?((?:async )?function|class|const|let) ([\w$]+)", re.MULTILINE)
_LEFT = re.compile(r"^(import|export)\b.*", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(//[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)


@cache
def read(name: str) -> str:
    """A file of assets/web, by its path there. Raises a HeadlightError where it is missing."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise HeadlightError(f"the file {name} of the view is missing; install Headlight again")


def script(entry: str, files: Mapping[str, str] | None = None) -> str:
    """A module with all that it imports, as one module that exports what it does.

    Args:
        entry: its path, as "standalone/standalone.js".
        files: path -> text, by default those of assets/web.

    Raises:
        HeadlightError: a file is missing, two import each other, or one is written in another style.
    """
    text_of = files.__getitem__ if files is not None else read
    needs: dict[str, list[str]] = {}
    wanted = [entry]
    for name in wanted:  # grows while it is walked
        needs[name] = [_path(name, found[2]) for found in _IMPORT.finditer(text_of(name))]
        wanted += [other for other in needs[name] if other not in wanted]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise HeadlightError(f"modules import each other: {' → '.join(error.args[1])}") from None
    blocks = [_block(name, text_of(name)) for name in order]
    exported = ", ".join(_exports(text_of(entry)))
    return "\n".join([*blocks, f"export const {{ {exported} }} = {_place(entry)};\n"])


def _block(name: str, text: str) -> str:
    """A module as a constant that holds what it exports."""
    own = _IMPORT.sub(
        lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {_place(_path(name, found[2]))};\n", text
    )
    own = _EXPORT.sub(r"\2 \3", _COMMENT.sub("", own))
    left = _LEFT.search(own)
    if left:
        raise HeadlightError(f"{name} cannot become part of one script: {left[0]}")
    body = "\n".join(line.strip() if "`" not in own else line for line in own.splitlines() if line.strip())
    return f"const {_place(name)} = await (async () => {{\n{body}\nreturn {{ {', '.join(_exports(text))} }};\n}})();"


def _exports(text: str) -> list[str]:
    return [found[3] for found in _EXPORT.finditer(text)]


def _path(importer: str, target: str) -> str:
    """Where a module lies that another imports as "../room/x.js"."""
    return normpath(join(dirname(importer), target))


def _place(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)
