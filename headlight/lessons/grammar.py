"""The grammar of a lesson's rules: expressions as Python writes them, read by `ast` and held against a list of parts.

    rule   "not" rule | rule ("and" | "or" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "+" | "-" | "*" | "/") rule
           | "-" rule | "(" rule ")" | "|" rule "|" | rule "[" place ("," place)* "]" | name "(" (rule ("," rule)*)? ")"
           | number | word
    place  rule | rule? ":" rule?
    word   name ("#" whole)? | a text in double quotes, ("#" whole)?
    name   letters, then a prime where it is of the other picture

Nothing of it is ever run as code: `evaluate` walks the tree. docs/lessons.md says what the names mean.
"""

import ast
import itertools
import re
from dataclasses import dataclass

from mha_core.errors import HeadlightError

MAX_LENGTH = 400  # characters of a rule
MAX_WHOLE_LENGTH = 8_000  # with the step's own numbers in their places
MAX_NODES = 400
Node = ast.expr
_PARTS = (
    ast.Constant, ast.Name, ast.Load, ast.Subscript, ast.Slice, ast.Tuple, ast.Call, ast.UnaryOp, ast.USub, ast.Not,
    ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult,
)  # fmt: skip
_CLOSED_BY = {"(": ")", "[": "]", "|": "|"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:e[+-]?[0-9]{1,2})?|\.[0-9]+)"
    r"|(?P<sign>(?:and|or|not)\b|<=|>=|==|!=|[-+*/<>()\[\]|,:])"
    r"|(?:[\"“](?P<text>[^\"”]*)[\"”]|(?P<name>[^\W\d]\w*)(?P<primed>\s*['′])?)(?:\s*#\s*(?P<nth>[0-9]{1,4}))?)",
)


class RuleError(HeadlightError):
    """A rule that cannot be read, or has no answer on this picture: one sentence."""


@dataclass(frozen=True)
class Word:
    """A word: the name of a quantity, of the other picture where it is primed, or a word of the sentence.

    Attributes:
        nth: which of several equal words. quoted: it is a text in double quotes, and no quantity.
    """

    name: str
    primed: bool = False
    nth: int = 1
    quoted: bool = False


def word(tree: ast.AST) -> Word | None:
    """The word that a part of a rule is; None where it is something else."""
    match tree:
        case ast.Constant(str(text)):
            return Word(text, quoted=True)
        case ast.Name(name):
            return Word(name[2:], primed=name.startswith("p_"))
        case ast.BinOp(ast.Constant(str(text)), ast.MatMult(), ast.Constant(float(nth))):
            return Word(text, nth=int(nth), quoted=True)
        case ast.BinOp(ast.Name(name), ast.MatMult(), ast.Constant(float(nth))):
            return Word(name[2:], name.startswith("p_"), int(nth))
        case _:
            return None


def parse(text: str, longest: int = MAX_WHOLE_LENGTH) -> Node:
    """The tree of a rule of at most so many characters.

    Raises:
        RuleError: it is too long, too deep, or not of the grammar; says at which character.
    """
    if len(text) > longest:
        raise RuleError(f"a rule may have {longest} characters, this one has {len(text)}")
    pieces, places = _as_python(text)
    try:
        tree = ast.parse(" ".join(pieces), mode="eval").body
    except (RecursionError, MemoryError):
        raise RuleError("a rule may be 200 brackets and signs deep, this one is deeper") from None
    except SyntaxError as error:
        read = (error.offset or len(text) * 9) - 1  # 0 where it ends too early
        ends = itertools.accumulate(len(piece) + 1 for piece in pieces)
        at = next((place for place, end in zip(places, ends, strict=True) if read < end), None)
        if at is None:
            raise _wrong(len(text.rstrip()), "a number or a name should stand, but it ends") from None
        raise _wrong(at, f"comes “{text[at]}”, which cannot stand there") from None
    nodes = list(ast.walk(tree))
    if sum(isinstance(node, ast.expr) for node in nodes) > MAX_NODES:
        raise RuleError(f"a rule may have {MAX_NODES} parts, this one has more")
    placed = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    for node in nodes:
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise RuleError("two values are compared, and no third one: join two comparisons with “and”")
        if not isinstance(node, _PARTS) or _is_more(node, placed):
            raise RuleError("this is written as no rule is: docs/lessons.md says what one may hold")
    return tree


def _is_more(node: ast.AST, placed: set[int]) -> bool:
    """Tells whether Python allows here what no rule may hold; `placed`: what stands in square brackets."""
    return (
        (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name))
        or (isinstance(node, ast.Slice) and node.step is not None)
        or (isinstance(node, ast.Tuple) and id(node) not in placed)
    )


def _as_python(text: str) -> tuple[list[str], list[int]]:
    """A rule in pieces that Python reads, and where each stands in the rule; every name is one that Python has not.

    Raises:
        RuleError: brackets that do not fit, or a character that no rule has.
    """
    pieces, places, closing = list[str](), list[int](), list[str]()
    at, end = 0, len(text.rstrip())
    is_after = False  # behind a value, where a bar closes
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise RuleError(f"character {at + 1} of the rule, “{text[at:].lstrip()[:1]}”, is not of its grammar")
        at, piece, was_after, is_after = found.end(), found[0].lstrip(), is_after, True
        start = at - len(piece)
        if sign := found["sign"]:
            is_after = sign in ")]" or (sign == "|" and was_after)
            if is_after and (not closing or closing.pop() != sign):
                raise _wrong(start, f"comes “{sign}”, which nothing opened")
            if not is_after and sign in _CLOSED_BY:
                closing.append(_CLOSED_BY[sign])
            piece = (")" if is_after else "n_abs(") if sign == "|" else sign
        elif was_after:
            raise _wrong(start, f"it should end, but comes “{piece}”")
        elif number := found["number"]:
            piece = repr(float(number)).replace("inf", "1e999")
        else:
            name = found["name"]
            piece = f"{'p' if found['primed'] else 'n'}_{name}" if name else repr(found["text"])
            if (nth := found["nth"]) and int(nth) < 1:
                raise _wrong(start, "a word, “#” and a whole number from 1 should stand")
            piece = f"({piece} @ {float(nth)})" if nth else piece
        pieces.append(piece)
        places.append(start)
    if closing:
        raise _wrong(end, f"“{closing[-1]}” should stand, but it ends")
    return pieces, places


def _wrong(at: int, what: str) -> RuleError:
    return RuleError(f"at character {at + 1} of the rule {what}")
