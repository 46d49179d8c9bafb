"""Parser for mask expressions, as links and `Model.run` take them."""

from collections.abc import Callable

from ..errors import MaskError
from .rules import Rule, both, causal, dilated, either, full, invert, prefix, sinks, split, unseen, window


def parse(text: str) -> Rule:
    """Parse a mask expression such as "causal", "window:3" or "causal & !window:4 | sinks:1".

    ! inverts one rule; it binds before &, and & before |.

    Raises:
        MaskError: an unknown name, a missing or superfluous number, a number out of range.
    """
    return either(*(both(*(_parse_one(part) for part in term.split("&"))) for term in text.split("|")))


# rule -> how many numbers it takes, and its function
_RULES: dict[str, tuple[range, Callable[..., Rule]]] = {
    "none": (range(1), lambda: full),
    "causal": (range(1), lambda: causal),
    "window": (range(1, 2), window),
    "prefix": (range(1, 2), prefix),
    "sinks": (range(1, 2), sinks),
    "dilated": (range(2, 3), dilated),
    "documents": (range(1, 100), split),
    "unseen": (range(1, 100), unseen),
}

# an example of each
FORMS = "none, causal, window:3, prefix:2, sinks:1, dilated:3:2, documents:5 or unseen:4"


def _parse_one(text: str) -> Rule:
    part = text.strip()
    name, *numbers = part.removeprefix("!").lstrip().split(":")
    counts, make = _RULES.get(name, (range(0), window))
    # two numbers of nine digits can be multiplied within int64
    if len(numbers) not in counts or not all(number.isdecimal() and len(number) <= 9 for number in numbers):
        raise MaskError(f"mask {part!r} is not known; write {FORMS}, joined by & and |, ! for not")
    rule = make(*(int(number) for number in numbers))
    return invert(rule) if part.startswith("!") else rule
