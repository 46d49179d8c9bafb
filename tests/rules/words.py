"""Count names and docstrings that are not in the field's words: `python -m tests.rules.words [--list] [FOLDER …]`.

Names are those of modules, classes, functions, parameters, fields and variables. A docstring's first line is the part
up to its first blank line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PRODUCT = ("mha_core", "headlight", "pages")
MAX_WORDS = 20  # of a docstring's first line

# participles, pronouns, determiners, prepositions and conjugated verbs: none of them says what a thing is
BANNED = frozenset(
    """
    asked begun brought chosen drawn found given gone heard held kept known made meant named said shown taken told tried
    used wanted wished written left_out
    all_of any_of both each either every few many most one one_of own same so_many
    how what when where which who whom whose here there
    above after along at before below beneath beside between by from_ in_ of on over to under upon with_ within without
    asks goes goes_on looks says shows tells wants
    hearing largest least longest nearest sight standing tries whole wish
""".split()  # noqa: SIM905 - a list of fifty strings is harder to read
)
OPENERS = (
    "what", "how", "who", "whom", "whose", "where", "which", "when", "whether", "why", "of", "the same", "as", "all of",
    "so many", "one", "those", "that", "this", "these", "it", "its", "they", "each", "every", "both", "nobody",
    "somebody", "true", "raises", "returns", "tells", "says", "ends", "gives", "makes", "takes",
)  # fmt: skip
_OPENER = re.compile(rf"(?:{'|'.join(OPENERS)})\b", re.IGNORECASE)
_OF = re.compile(r"(?:^|_)of(?:_|$)")


class Finding(NamedTuple):
    """A name or a docstring at its place; `rule` is "name", "of", "opener" or "length"."""

    rule: str
    file: str
    line: int
    text: str


def findings(tree: ast.Module, file: str) -> Iterator[Finding]:
    """Yield every banned name and every docstring that opens badly or whose first line is too long."""
    for name, line in _names(tree, Path(file).stem):
        if name.strip("_").lower() in BANNED:
            yield Finding("name", file, line, name)
        elif _OF.search(name):
            yield Finding("of", file, line, name)
    for text, line in docstrings(tree):
        summary = " ".join(text.split("\n\n")[0].split())
        if _OPENER.match(summary):
            yield Finding("opener", file, line, summary)
        if len(re.findall(r"\w[\w'’.-]*", re.sub(r"`[^`]*`", "code", summary))) > MAX_WORDS:
            yield Finding("length", file, line, summary)


def docstrings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the docstring and the line of the module, of each class and of each function that has one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text, getattr(node, "lineno", 1)


def files(folders: Sequence[str] = PRODUCT) -> list[Path]:
    """Return the Python files of the folders, sorted."""
    return sorted(
        file
        for folder in folders
        for file in ([ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("*.py"))
    )


def scan(folders: Sequence[str] = PRODUCT) -> list[Finding]:
    """Return the findings of all Python files of the folders."""
    return [
        finding
        for file in files(folders)
        for finding in findings(ast.parse(file.read_text("utf-8")), file.relative_to(ROOT).as_posix())
    ]


def _names(tree: ast.Module, module: str) -> Iterator[tuple[str, int]]:
    yield module, 1
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno


def main(arguments: Sequence[str]) -> None:
    """Print the counts, and with `--list` every finding."""
    folders = [each for each in arguments if each != "--list"] or PRODUCT
    found = scan(folders)
    if "--list" in arguments:
        for finding in found:
            print(f"{finding.file}:{finding.line}: {finding.rule}: {finding.text}")
    total = sum(1 for file in files(folders) for _ in docstrings(ast.parse(file.read_text("utf-8"))))
    counts = Counter(finding.rule for finding in found)
    print(
        f"{total:,} docstrings; {', '.join(f'{rule} {counts[rule]:,}' for rule in ('name', 'of', 'opener', 'length'))}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
