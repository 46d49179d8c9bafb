"""The browser's modules (assets/web) as one script: that of the app, and that of a file which needs no server.

Each module becomes a function that is called when it is imported first, so that no name meets another, nothing happens
twice and what is not shown is not run. The modules are written in one style, which is all that is read here:
`import { a, b as c } from "../x/y.js";`, `import css from "./y.css" with { type: "css" };` and `export` before what
is named. Anything else is an error, not a script that fails later.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from posixpath import dirname, join, normpath

from ..errors import HeadlightError

# beside this file in an installed package, at the top of the project otherwise
FOLDERS = (Path(__file__).parent / "web", Path(__file__).parents[2] / "assets" / "web")
_NAMES = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[\w./]+\.js)";$', re.MULTILINE)
_SHEET = re.compile(r'^import (\w+) from "(\.{1,2}/[\w./]+\.css)" with \{ type: "css" \};$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function\*?|class|const) ([\w$]+)", re.MULTILINE)
_LEFT = re.compile(r"^(import|export)\b.*", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(//[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)
_CAST = re.compile(r"/\*\* @(?:type|param) [^\n]*?\*/ ?")
_IN_SHEET = re.compile(r"/\*.*?\*/\s*", re.DOTALL)
_END_IN_SHEET = re.compile(r";?\s*\}\s*")
_BEGINNING = """\
const once = (make) => {
  let made;
  return () => (made ??= make());
};
const sheet = (css) => {
  const made = new CSSStyleSheet();
  made.replaceSync(css);
  return made;
};
"""


@cache
def read(name: str) -> str:
    """A file of assets/web, by its path there. Raises a HeadlightError where it is missing."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise HeadlightError(f"the file {name} of the view is missing; install Headlight again")


def script(entry: str, files: Mapping[str, str] | None = None) -> str:
    """A module with all that it imports, as one module that exports what it does; the rest as `scripts`."""
    text_of = files.__getitem__ if files is not None else read
    exported = ", ".join(_exports(text_of(entry)))
    return f"{_bundle([entry], text_of)}export const {{ {exported} }} = {_place(entry)}();\n"


def scripts(entries: Sequence[str], files: Mapping[str, str] | None = None) -> str:
    """Modules with all that they import, as one whose `open` gives what one of them exports.

    Args:
        entries: their paths, as "standalone/standalone.js", by which `open` knows them.
        files: path -> text, by default those of assets/web.

    Raises:
        HeadlightError: a file is missing, two import each other, or one is written in another style.
    """
    listed = ", ".join(f'"{name}": {_place(name)}' for name in entries)
    opened = f"const modules = {{ {listed} }};\nexport const open = (name) => modules[name]();\n"
    return _bundle(entries, files.__getitem__ if files is not None else read) + opened


def _bundle(entries: Iterable[str], text_of: Callable[[str], str]) -> str:
    """Every module that these need as a function of its own."""
    needs: dict[str, list[str]] = {}
    wanted = [*entries]
    for name in wanted:  # grows while it is walked
        if name not in needs:
            text = text_of(name)
            needs[name] = [_path(name, found[2]) for found in (*_NAMES.finditer(text), *_SHEET.finditer(text))]
            wanted += needs[name] if name.endswith(".js") else []
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError as error:
        raise HeadlightError(f"modules import each other: {' → '.join(error.args[1])}") from None
    return _BEGINNING + "".join(_block(name, text_of(name)) for name in order)


def _block(name: str, text: str) -> str:
    """A module as a function that gives what it exports, a style sheet as one that gives it; made once."""
    if name.endswith(".css"):
        css = _END_IN_SHEET.sub("}", _IN_SHEET.sub("", text))
        return f"const {_place(name)} = once(() => sheet({json.dumps(css)}));\n"
    own = _NAMES.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {_import(name, found[2])}", text)
    own = _SHEET.sub(lambda found: f"const {found[1]} = {_import(name, found[2])}", own)
    own = _EXPORT.sub(r"\1 \2", _CAST.sub("", _COMMENT.sub("", own)))
    own = own.replace("import.meta.url", f'new URL("{name}", import.meta.url)')
    left = _LEFT.search(own)
    if left:
        raise HeadlightError(f"{name} cannot become part of one script: {left[0]}")
    body = re.sub(r"\n{2,}", "\n", own)
    given = ", ".join(_exports(text))
    return f"// ---- {name}\nconst {_place(name)} = once(() => {{\n{body}return {{ {given} }};\n}});\n"


def _import(importer: str, target: str) -> str:
    return f"{_place(_path(importer, target))}();"


def _exports(text: str) -> list[str]:
    return [found[2] for found in _EXPORT.finditer(text)]


def _path(importer: str, target: str) -> str:
    """Where a file lies that a module imports as "../room/x.js"."""
    return normpath(join(dirname(importer), target))


def _place(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)
