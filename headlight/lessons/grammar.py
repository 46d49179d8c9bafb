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
import re
from dataclasses import dataclass

from mha_core.errors import HeadlightError

LONGEST = 400  # characters of a rule
LONGEST_WHOLE = 4_000  # with the step's own numbers in their places
DEEPEST = 30  # brackets, bars and signs within each other
MOST_NODES = 200
Node = ast.expr
_PARTS = (
    ast.Constant, ast.Name, ast.Load, ast.Subscript, ast.Slice, ast.Tuple, ast.Call, ast.UnaryOp, ast.USub, ast.Not,
    ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult,
)  # fmt: skip
_CLOSED_BY = {"(": ")", "[": "]", "|": "|"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:e[+-]?[0-9]{1,2})?|\.[0-9]+)"
    r"|\"(?P<text>[^\"]*)\"|“(?P<curly>[^”]*)”"
    r"|(?P<sign>(?:and|or|not)\b|<=|>=|==|!=|[-+*/<>()\[\]|,:])"
    r"|(?P<name>[^\W\d]\w*)(?P<primed>\s*['′])?"
    r"|#\s*(?P<nth>[0-9]{0,4}))",
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


def parse(text: str, longest: int = LONGEST) -> Node:
    """The tree of a rule of at most so many characters.

    Raises:
        RuleError: it is too long, too deep, or not of the grammar; says at which character.
    """
    if len(text) > longest:
        raise RuleError(f"a rule may have {longest} characters, this one has {len(text)}")
    pieces, places = _as_python(text)
    try:
        tree = ast.parse(" ".join(pieces), mode="eval").body
    except SyntaxError as error:
        read, piece = (error.offset or len(text) * 9) - 1, 0  # 0 where it ends too early
        while piece < len(pieces) and read >= len(pieces[piece]):
            read, piece = read - len(pieces[piece]) - 1, piece + 1
        raise _wrong(text, places, piece) from None
    nodes = list(ast.walk(tree))
    if sum(isinstance(node, ast.expr) for node in nodes) > MOST_NODES:
        raise RuleError(f"a rule may have {MOST_NODES} parts, this one has more")
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
    pieces, places, opened = list[str](), list[int](), list[str]()
    at, end, signs = 0, len(text.rstrip()), 0
    is_after = is_word = False  # behind a value, where a bar closes; behind a word
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise RuleError(f"character {at + 1} of the rule, “{text[at:].lstrip()[:1]}”, is not of its grammar")
        kind = found.lastgroup if found.lastgroup != "primed" else "name"
        value, start, at = found[kind or 0], found.start(kind or 0), found.end()
        piece, was_after, is_after = value, is_after, kind != "sign"
        was_word, is_word = is_word, kind in ("name", "text", "curly")
        if kind == "sign":
            closes = value in ")]" or (value == "|" and was_after)
            if closes and (not opened or _CLOSED_BY[opened.pop()] != value):
                raise RuleError(f"at character {start + 1} of the rule comes “{value}”, which nothing opened")
            if not closes and value in _CLOSED_BY:
                opened.append(value)
            is_after, piece = closes, ("))" if closes else "n_abs((") if value == "|" else value
        elif kind == "number":
            piece = repr(float(value)).replace("inf", "1e999")
        elif kind == "name":
            piece = f"{'p' if found['primed'] else 'n'}_{value}"
        elif kind == "nth":
            if not was_word or int(value or 0) < 1:
                raise RuleError(
                    f"at character {start + 1} of the rule a word, “#” and a whole number from 1 should stand"
                )
            pieces[-1], piece = f"({pieces[-1]}", f"@ {float(value)})"
        else:
            piece = repr(value)
        signs = signs + 1 if piece in ("-", "not") and not was_after else 0
        if len(opened) + signs > DEEPEST:
            raise RuleError(f"a rule may be {DEEPEST} brackets deep, this one is deeper")
        if is_after and was_after and kind not in ("sign", "nth"):
            raise RuleError(f"at character {start + 1} of the rule it should end, but comes “{value}”")
        pieces.append(piece)
        places.append(start)
    if opened:
        raise RuleError(f"at character {end + 1} of the rule “{_CLOSED_BY[opened[-1]]}” should stand, but it ends")
    return pieces, places


def _wrong(text: str, places: list[int], piece: int) -> RuleError:
    if piece >= len(places):
        at = len(text.rstrip()) + 1
        return RuleError(f"at character {at} of the rule a number or a name should stand, but it ends")
    at = places[piece]
    return RuleError(f"at character {at + 1} of the rule comes “{text[at : at + 1]}”, which cannot stand there")
