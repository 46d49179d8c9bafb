"""The grammar of a lesson's rules: a text becomes a tree, which `evaluate` walks. Nothing of it is ever run as code.

    rule        or: and ("or" and)*      and: not ("and" not)*      not: "not" not | comparison
    comparison  sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
    sum         product (("+" | "-") product)*      product: signed (("*" | "/") signed)*
    signed      "-" signed | indexed
    indexed     atom ("[" place ("," place)* "]")*      place: rule | rule? ":" rule?
    atom        number | word | name "'"? ("#" whole)? | name "'"? "(" (rule ("," rule)*)? ")" | "(" rule ")"
                | "|" sum "|"
    word        a text in double quotes, ("#" whole)?

docs/lessons.md says what the names mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from mha_core.errors import HeadlightError

LONGEST = 400  # characters of a rule
LONGEST_WHOLE = 4_000  # with the step's own numbers in their places
DEEPEST = 30  # brackets, bars and signs within each other
MOST_NODES = 200
_KEYWORDS = ("and", "or", "not")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:e[+-]?[0-9]{1,2})?|\.[0-9]+)"
    r"|\"(?P<text>[^\"]*)\"|“(?P<curly>[^”]*)”"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|[-+*/<>()\[\]|,:#'′]))",
)


class RuleError(HeadlightError):
    """A rule that cannot be read, or has no answer on this picture: one sentence."""


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    value: float


@dataclass(frozen=True)
class Text:
    """A text in double quotes: a word of the sentence, or what a function is told."""

    value: str
    nth: int = 1


@dataclass(frozen=True)
class Name:
    """A name: a quantity, of the other picture with a prime; otherwise a word, the nth of that spelling."""

    name: str
    primed: bool = False
    nth: int = 1


@dataclass(frozen=True)
class Span:
    """From a place to before another; None is the end."""

    first: Node | None
    last: Node | None


@dataclass(frozen=True)
class Index:
    """Places on the first axes of a quantity."""

    of: Node
    places: tuple[Node | Span, ...]


@dataclass(frozen=True)
class Call:
    """A function of its arguments; a quantity that needs arguments may be primed."""

    name: str
    arguments: tuple[Node, ...]
    primed: bool = False


@dataclass(frozen=True)
class Unary:
    """`-`, `not`, or `|` for the absolute value."""

    sign: str
    of: Node


@dataclass(frozen=True)
class Binary:
    """Two parts joined by a sign, or by `and` or `or`."""

    sign: str
    left: Node
    right: Node


Node = Number | Text | Name | Index | Call | Unary | Binary
_Part = Callable[[], Node]


def parse(text: str, longest: int = LONGEST) -> Node:
    """The tree of a rule of at most so many characters.

    Raises:
        RuleError: it is too long, too deep, or not of the grammar; says at which character.
    """
    if len(text) > longest:
        raise RuleError(f"a rule may have {longest} characters, this one has {len(text)}")
    parser = _Parser(text)
    tree = parser.rule()
    parser.expect("")
    return tree


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise RuleError(f"character {at + 1} of the rule, “{text[at:].lstrip()[:1]}”, is not of its grammar")
        kind, value = match.lastgroup, match[match.lastgroup]
        kind = "sign" if value in _KEYWORDS and kind == "name" else "text" if kind == "curly" else kind
        found.append(_Token(kind, "'" if value == "′" and kind == "sign" else value, match.start(match.lastgroup)))
        at = match.end()
    return [*found, _Token("sign", "", end)]


class _Parser:
    """Reads from left to right; every method takes what it is named after."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = self._depth = self._nodes = 0

    def rule(self) -> Node:
        return self._joined(("or",), lambda: self._joined(("and",), self._negated))

    def expect(self, sign: str) -> None:
        """Takes a sign, "" for the end. Raises a RuleError where another one stands."""
        if not self._takes(sign):
            token = self._tokens[self._next]
            came = f"comes “{token.value}”" if token.value or token.kind != "sign" else "it ends"
            wanted = f"“{sign}” should stand" if sign else "it should end"
            raise RuleError(f"at character {token.at + 1} of the rule {wanted}, but {came}")

    def _takes(self, *signs: str) -> str | None:
        token = self._tokens[self._next]
        if token.kind != "sign" or token.value not in signs:
            return None
        self._next += bool(token.value)
        return token.value or "end"

    def _made(self, node: Node) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise RuleError(f"a rule may have {MOST_NODES} parts, this one has more")
        return node

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise RuleError(f"a rule may be {DEEPEST} brackets deep, this one is deeper")

    def _joined(self, signs: tuple[str, ...], part: _Part) -> Node:
        left = part()
        while sign := self._takes(*signs):
            left = self._made(Binary(sign, left, part()))
        return left

    def _negated(self) -> Node:
        if not self._takes("not"):
            return self._comparison()
        self._deeper()
        node = self._made(Unary("not", self._negated()))
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        left = self._sum()
        sign = self._takes("<", "<=", ">", ">=", "==", "!=")
        return self._made(Binary(sign, left, self._sum())) if sign else left

    def _sum(self) -> Node:
        return self._joined(("+", "-"), lambda: self._joined(("*", "/"), self._signed))

    def _signed(self) -> Node:
        if not self._takes("-"):
            return self._indexed()
        self._deeper()
        node = self._made(Unary("-", self._signed()))
        self._depth -= 1
        return node

    def _indexed(self) -> Node:
        node = self._atom()
        while self._takes("["):
            self._deeper()
            places = [self._place()]
            while self._takes(","):
                places.append(self._place())
            self.expect("]")
            self._depth -= 1
            node = self._made(Index(node, tuple(places)))
        return node

    def _place(self) -> Node | Span:
        if self._takes(":"):
            return Span(None, self._end())
        first = self.rule()
        return Span(first, self._end()) if self._takes(":") else first

    def _end(self) -> Node | None:
        return None if self._peeks("]", ",") else self.rule()

    def _peeks(self, *signs: str) -> bool:
        token = self._tokens[self._next]
        return token.kind == "sign" and token.value in signs

    def _atom(self) -> Node:
        token = self._tokens[self._next]
        if token.kind == "sign" and token.value not in ("(", "|"):
            came = f"comes “{token.value}”" if token.value else "it ends"
            raise RuleError(f"at character {token.at + 1} of the rule a number or a name should stand, but {came}")
        self._next += 1
        if token.kind == "sign":
            self._deeper()
            node = self._bracket(token.value)
            self._depth -= 1
            return node
        if token.kind == "number":
            return self._made(Number(float(token.value)))
        if token.kind == "text":
            return self._made(Text(token.value, self._nth()))
        primed = bool(self._takes("'"))
        if self._takes("("):
            return self._call(token.value, primed=primed)
        return self._made(Name(token.value, primed, self._nth()))

    def _bracket(self, opened: str) -> Node:
        if opened == "(":
            node = self.rule()
            self.expect(")")
            return node
        node = self._made(Unary("|", self._sum()))
        self.expect("|")
        return node

    def _call(self, name: str, *, primed: bool) -> Node:
        self._deeper()
        arguments: list[Node] = []
        if not self._takes(")"):
            arguments.append(self.rule())
            while self._takes(","):
                arguments.append(self.rule())
            self.expect(")")
        self._depth -= 1
        return self._made(Call(name, tuple(arguments), primed))

    def _nth(self) -> int:
        """Which one of several equal words: `the#2`."""
        if not self._takes("#"):
            return 1
        token = self._tokens[self._next]
        if token.kind != "number" or not token.value.isdigit() or int(token.value) < 1:
            raise RuleError(f"at character {token.at + 1} of the rule a whole number from 1 should follow “#”")
        self._next += 1
        return int(token.value)
