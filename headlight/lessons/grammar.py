"""The grammar of a lesson's rules: Python expressions, parsed by `ast` and restricted to an allow-list of nodes.

    rule   "not" rule | rule ("and" | "or" | "<" | "<=" | ">" | ">=" | "==" | "!=" | "+" | "-" | "*" | "/") rule
           | "-" rule | "(" rule ")" | "|" rule "|" | rule "[" place ("," place)* "]" | name "(" (rule ("," rule)*)? ")"
           | number | word
    place  rule | rule? ":" rule?
    word   name ("#" whole)? | a text in double quotes, ("#" whole)?
    name   letters, then a prime for the other picture

Rules are never executed as code: `evaluate` walks the tree. docs/lessons.md explains the names.
"""

import ast
import itertools
import re
from dataclasses import dataclass

from mha_core.errors import HeadlightError

MAX_LENGTH = 400  # characters of a rule
MAX_EXPANDED_LENGTH = 4_000  # with the step's numbers inserted
MAX_NODES = 200
Node = ast.expr
_PARTS = (
    ast.Constant, ast.Name, ast.Load, ast.Subscript, ast.Slice, ast.Tuple, ast.Call, ast.UnaryOp, ast.USub, ast.Not,
    ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult,
)  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "|": "|"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:e[+-]?[0-9]{1,2})?|\.[0-9]+)"
    r"|(?P<sign>(?:and|or|not)\b|<=|>=|==|!=|[-+*/<>()\[\]|,:])"
    r"|(?:[\"“](?P<text>[^\"”]*)[\"”]|(?P<name>[^\W\d]\w*)(?P<primed>\s*['′])?)(?:\s*#\s*(?P<nth>[0-9]{1,4}))?)",
)


class RuleError(HeadlightError):
    """A rule that cannot be parsed, or has no value on this picture."""


@dataclass(frozen=True)
class Word:
    """The name of a quantity, or a word of the sentence.

    Attributes:
        name: the word.
        primed: whether it is of the other picture.
        nth: number among equal words, from 1.
        quoted: whether it is in double quotes, so that it cannot be a quantity.
    """

    name: str
    primed: bool = False
    nth: int = 1
    quoted: bool = False


def word(tree: ast.AST) -> Word | None:
    """Return the word that a node is; None for other nodes."""
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


def parse(text: str, max_length: int = 2 * MAX_EXPANDED_LENGTH, max_nodes: int = 2 * MAX_NODES) -> Node:
    """Parse a rule.

    The default bounds are wider than those of a lesson file: the answers of a claim join its cases.

    Raises:
        RuleError: it is too long, too deep, or has a syntax error, with its character.
    """
    if len(text) > max_length:
        raise RuleError(f"a rule may have {max_length} characters, not {len(text)}")
    pieces, places = _to_python(text)
    try:
        tree = ast.parse(" ".join(pieces), mode="eval").body
    except (RecursionError, MemoryError):
        raise RuleError("a rule may have 200 levels of brackets and signs, this one has more") from None
    except SyntaxError as error:
        read = (error.offset or len(text) * 9) - 1  # 0 at an early end
        ends = itertools.accumulate(len(piece) + 1 for piece in pieces)
        index = next((place for place, end in zip(places, ends, strict=True) if read < end), None)
        if index is None:
            raise _syntax_error(len(text.rstrip()), "a number or a name is expected, but it ends") from None
        raise _syntax_error(index, f"“{text[index]}” is not allowed there") from None
    nodes = list(ast.walk(tree))
    if sum(isinstance(node, ast.expr) for node in nodes) > max_nodes:
        raise RuleError(f"a rule may have {max_nodes} parts, this one has more")
    placed = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    for node in nodes:
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise RuleError("only two values can be compared at once: join two comparisons with “and”")
        if not isinstance(node, _PARTS) or _is_forbidden(node, placed):
            raise RuleError("this is not allowed in a rule: docs/lessons.md describes the syntax")
    return tree


def _is_forbidden(node: ast.AST, placed: set[int]) -> bool:
    """Return whether a node is valid Python but not allowed in a rule; `placed` holds the ids of subscripts."""
    return (
        (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name))
        or (isinstance(node, ast.Slice) and node.step is not None)
        or (isinstance(node, ast.Tuple) and id(node) not in placed)
    )


def _to_python(text: str) -> tuple[list[str], list[int]]:
    """Return Python tokens for a rule and the offset of each; prefixes keep names from being keywords.

    Raises:
        RuleError: there are unbalanced brackets or an invalid character.
    """
    pieces, places, closing = list[str](), list[int](), list[str]()
    index, end = 0, len(text.rstrip())
    is_after = False  # after a value, where a bar is a closing one
    while index < end:
        match = _TOKEN.match(text, index)
        if match is None:
            raise RuleError(f"character {index + 1} of the rule, “{text[index:].lstrip()[:1]}”, is not allowed")
        index, piece, was_after, is_after = match.end(), match[0].lstrip(), is_after, True
        start = index - len(piece)
        if sign := match["sign"]:
            is_after = sign in ")]" or (sign == "|" and was_after)
            if is_after and (not closing or closing.pop() != sign):
                raise _syntax_error(start, f"“{sign}” has no opening bracket")
            if not is_after and sign in _CLOSING:
                closing.append(_CLOSING[sign])
            piece = (")" if is_after else "n_abs(") if sign == "|" else sign
        elif was_after:
            raise _syntax_error(start, f"the end is expected, not “{piece}”")
        elif number := match["number"]:
            piece = repr(float(number)).replace("inf", "1e999")
        else:
            name = match["name"]
            piece = f"{'p' if match['primed'] else 'n'}_{name}" if name else repr(match["text"])
            if (nth := match["nth"]) and int(nth) < 1:
                raise _syntax_error(start, "a word, “#” and a whole number from 1 are expected")
            piece = f"({piece} @ {float(nth)})" if nth else piece
        pieces.append(piece)
        places.append(start)
    if closing:
        raise _syntax_error(end, f"“{closing[-1]}” is expected, but it ends")
    return pieces, places


def _syntax_error(index: int, message: str) -> RuleError:
    return RuleError(f"at character {index + 1} of the rule {message}")
