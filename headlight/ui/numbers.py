"""Numbers as text: the one place where Python writes what the screen shows; assets/web/base/words.js is its twin.

A weight is rounded to the digits of its place: ".64" in a cell of a map, "64 %" in a sentence, "0.64" where it is read
off, four digits in a table. So one weight has one value on a screen: what rounds to 1 is "1", "100 %" and "1.00" there.
Only what is 0 reads 0: a cell stays empty, and smaller weights get more digits. What counts something, as a share of
right answers, says 1 only of what is 1. Minus signs are "−", except in what is read back.
"""

import math


def number(value: float, decimals: int = 4) -> str:
    """A number in fixed decimals, or as a power of ten where they would say 0 or be a row of digits; NaN is "—"."""
    if math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    written = f"{value:.{decimals}f}"
    huge, tiny = abs(value) >= (1e6 if decimals else 1e9), value != 0 and float(written) == 0
    if huge or tiny:
        digits, exponent = f"{value:.{3 if huge else 1}e}".replace("-", "−").split("e")
        return f"{digits}e{exponent[0].replace('+', '')}{exponent[1:].lstrip('0')}"
    return written.replace("-", "−") if float(written) else written.lstrip("-")


def difference(value: float, decimals: int = 4) -> str:
    """A difference as `number`, but exactly "0" when it is 0."""
    return number(value, decimals) if value else "0"


def exact(value: float) -> str:
    """The shortest text that reads back as the same number: for fields and links."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def whole(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}".replace("-", "−")


def fixed(value: float | None, decimals: int = 3) -> str:
    """Fixed decimals, "—" for what is not there."""
    return "—" if value is None else f"{value:.{decimals}f}"


def share(value: float, decimals: int) -> str:
    """A share in fixed decimals that say 0 or 1 only of what is 0 or 1: otherwise "<0.01" and ">0.99"."""
    written = f"{value:.{decimals}f}"
    if value == 0 or value >= 1 or float(written) not in (0, 1):
        return written
    step = 10**-decimals
    return f">{1 - step:.{decimals}f}" if value > 0.5 else f"<{step:.{decimals}f}"


def weight(value: float, decimals: int = 2) -> str:
    """A weight in fixed decimals, in four where these would say 0 of what is more."""
    written = f"{value:.{decimals}f}"
    return written if value == 0 or float(written) else share(value, 4)


def percent(value: float) -> str:
    """A share in a sentence, "64 %"; "0.1 %" where whole ones would say 0 of what is more."""
    if round(100 * value) or not value:
        return f"{100 * value:.0f} %"
    return "less than 0.1 %" if value < 0.0005 else f"{100 * value:.1f} %"


def in_a_cell(value: float) -> str:
    """A weight for a small cell: ".12", "1", "1.11" as dropout makes them, nothing for what would be ".00"."""
    written = f"{value:.2f}"
    return {"0.00": "", "1.00": "1"}.get(written, written.removeprefix("0"))


def outcome(value: float) -> str:
    """A weight as a library gives it: NaN is named, because it is the result."""
    return "NaN" if math.isnan(value) else "0" if value == 0 else f"{value:.4f}"


def small(value: float) -> str:
    """A difference of weights: "0" only for 0, a power of ten for what is near it."""
    return scientific(value) if value < 0.001 else weight(value, 3)


def signed(value: float) -> str:
    """A change of a weight, as `small` with its sign."""
    return ("−" if value < 0 else "+" if value else "") + small(abs(value))


def scientific(value: float, decimals: int = 1) -> str:
    """A rounding error as 4.0e−7; "0" only for 0."""
    return "0" if value == 0 else f"{value:.{decimals}e}".replace("e-0", "e−").replace("e-", "e−")


def precise(value: float) -> str:
    """A cosine in three decimals, in six where three would say 1 of what is not."""
    six = f"{value:.6f}"
    return six if f"{value:.3f}" == "1.000" and six != "1.000000" else f"{value:.3f}"


def cosine(value: float) -> str:
    """A cosine in four decimals, which say 1 only of what is 1."""
    return ">0.9999" if 0.99995 <= value < 1 else f"{value:.4f}".replace("-", "−")


def count(many: int, noun: str) -> str:
    """A number of things: "1 row", "2,000 rows"."""
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def cut(text: str, most: int = 60) -> str:
    """A text of at most that many characters; "…" stands for what is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
