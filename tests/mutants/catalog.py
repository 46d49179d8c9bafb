"""Small faults of the product, drawn with a fixed seed: ``python -m tests.mutants.catalog COVERAGE`` lists them.

Each mutant changes one operator, constant, condition or statement inside a function, in a line that some test of the
suite reaches: COVERAGE is the file that ``pytest --cov --cov-context=test`` recorded. A mutant names the text of its
line, so that it is found again where lines around it have moved.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .reach import Reach

ROOT = Path(__file__).parents[2]
CATALOG = Path(__file__).with_name("mutants.json")
SEED = 45
# Folder -> how many mutants of it.
PYTHON = {"mha_core/attention": 10, "mha_core/masks": 8, "mha_core/positions": 8, "mha_core/models": 10,
          "mha_core/measure": 8, "headlight/picture": 6, "headlight/api": 5, "headlight/server": 5}  # fmt: skip
JAVASCRIPT = {"assets/web": 12}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
               ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}  # fmt: skip
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
              ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.BitAnd: ("&", "|"),
              ast.BitOr: ("|", "&")}  # fmt: skip
SCRIPT = [(r"===", "!=="), (r"!==", "==="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=\w) < (?=\w)", " <= "),
          (r"(?<=\w) > (?=\w)", " >= "), (r" \+ 1\b", " - 1"), (r" - 1\b", " + 1"), (r"\btrue\b", "false"),
          (r"\bfalse\b", "true"), (r"(?<=\w) \* (?=\w)", " / "),
          (r"if \((?=[^)]*\) (?:return|\{))", "if (!")]  # fmt: skip
NO_CODE = re.compile(r"^\s*(//|\*|/\*|import|export \*)|[\"'`]")  # lines of comments, imports and texts


@dataclass(frozen=True)
class Mutant:
    """One change: in `file`, the `nth` line that reads `text` (from 0) becomes `mutated`; `line` is where it was."""

    file: str
    line: int
    nth: int
    text: str
    mutated: str
    operator: str

    def apply(self, root: Path) -> None:
        """Write the mutated file below `root`; raises LookupError where the line is not there any more."""
        path = root / self.file
        lines = path.read_text("utf-8").split("\n")
        places = [at for at, line in enumerate(lines) if line == self.text]
        if len(places) <= self.nth:
            raise LookupError(f"{self.file} has no longer a line {self.text.strip()!r}")
        lines[places[self.nth]] = self.mutated
        path.write_text("\n".join(lines), "utf-8")


def changes_of(node: ast.AST, lines: list[str]) -> Iterator[tuple[str, int, int, int, str]]:
    """Yield (operator, line from 1, first column, last column, new text) for one node, of those within one line."""

    def between(left: ast.expr, right: ast.expr, sign: str) -> tuple[int, int, int] | None:
        if left.end_lineno != right.lineno:
            return None
        end = left.end_col_offset or 0
        at = lines[right.lineno - 1].encode()[end : right.col_offset].decode().find(sign)
        return None if at < 0 else (right.lineno, end + at, end + at + len(sign))

    signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
             ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}  # fmt: skip
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if place := between(left, right, signs[type(op)]):
                yield ("comparison", *place, COMPARISONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            sign, other = ARITHMETIC[type(op)]
            if place := between(left, right, sign):
                yield ("arithmetic", *place, other)
        case ast.BoolOp(op=op, values=[left, right]):
            sign, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            if place := between(left, right, sign):
                yield ("boolean", *place, other)
        case ast.Constant(value=bool(value)) if node.end_lineno == node.lineno:
            yield "constant", node.lineno, node.col_offset, node.end_col_offset or 0, str(not value)
        case ast.Constant(value=int(value)) if node.end_lineno == node.lineno:
            yield "constant", node.lineno, node.col_offset, node.end_col_offset or 0, str(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if test.end_lineno == test.lineno:
            old = lines[test.lineno - 1].encode()[test.col_offset : test.end_col_offset].decode()
            yield "condition", test.lineno, test.col_offset, test.end_col_offset or 0, f"not ({old})"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() if node.end_lineno == node.lineno:
            yield "statement", node.lineno, node.col_offset, node.end_col_offset or 0, "pass"


def python_mutants(file: str, reach: Reach) -> Iterator[Mutant]:
    """Yield every mutant of a module in lines that tests reach."""
    source = (ROOT / file).read_text("utf-8")
    lines, reached = source.split("\n"), reach.lines(file)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    seen = set()
    for function in functions:
        for node in (node for statement in function.body for node in ast.walk(statement)):
            for operator, line, first, last, new in changes_of(node, lines):
                if line in reached and (line, first, last) not in seen:
                    seen.add((line, first, last))
                    text = lines[line - 1].encode()
                    mutated = (text[:first] + new.encode() + text[last:]).decode()
                    yield Mutant(
                        file, line, lines[: line - 1].count(lines[line - 1]), lines[line - 1], mutated, operator
                    )


def script_mutants(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a browser module."""
    lines = (ROOT / file).read_text("utf-8").split("\n")
    for number, text in enumerate(lines, 1):
        if NO_CODE.search(text) or "//" in text:
            continue
        for pattern, new in SCRIPT:
            for found in re.finditer(pattern, text):
                mutated = text[: found.start()] + new + text[found.end() :]
                mutated = re.sub(r"if \(!([^()]*)\)", r"if (!(\1))", mutated) if new == "if (!" else mutated
                yield Mutant(file, number, lines[: number - 1].count(text), text, mutated, found[0].strip())


def draw(reach: Reach) -> list[Mutant]:
    """Draw the mutants: of each folder its number, no two of one line."""
    random_numbers, drawn = random.Random(SEED), list[Mutant]()
    for folder, number in (PYTHON | JAVASCRIPT).items():
        script = folder in JAVASCRIPT
        files = sorted((ROOT / folder).rglob("*.js" if script else "*.py"))
        names = [file.relative_to(ROOT).as_posix() for file in files if file.name != "facts.js"]
        choices = [
            mutant for name in names for mutant in (script_mutants(name) if script else python_mutants(name, reach))
        ]
        random_numbers.shuffle(choices)
        once = {(mutant.file, mutant.line): mutant for mutant in reversed(choices)}
        drawn += [mutant for mutant in choices if once[mutant.file, mutant.line] is mutant][:number]
    return drawn


if __name__ == "__main__":
    rows = [asdict(mutant) for mutant in draw(Reach(Path(sys.argv[1])))]
    CATALOG.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
