"""Formatting of numbers in Python; assets/web/base/words.js is its counterpart in the browser.

A weight has two decimals, "0.64", and reads "<0.01" if it would read 0 without being 0. A cell of a map leaves out the
zero in front for want of room, ".64" and "1"; a table has four decimals; a sentence about shares says "64 %". A
difference of weights that two decimals would hide has four. Counts, such as a share of right answers, read 1 only if
they are 1. Minus signs are "−", except in text that is parsed again.
"""

import math


def number(value: float, decimals: int = 4) -> str:
    """Return a number in fixed decimals, or as a power of ten if it is huge or tiny.

    NaN is "—".
    """
    if math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    huge, tiny = abs(value) >= (1e6 if decimals else 1e9), value != 0 and float(text) == 0
    if huge or tiny:
        digits, exponent = f"{value:.{3 if huge else 1}e}".replace("-", "−").split("e")
        return f"{digits}e{exponent[0].replace('+', '')}{exponent[1:].lstrip('0')}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def difference(value: float, decimals: int = 4) -> str:
    """Return a difference as `number`, but exactly "0" for 0."""
    return number(value, decimals) if value else "0"


def exact(value: float) -> str:
    """Return the shortest text that parses as the same number, for fields and links."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def integer(value: int) -> str:
    """Return an integer with thousands separators."""
    return f"{value:,}".replace("-", "−")


def fixed(value: float | None, decimals: int = 3) -> str:
    """Return a number in fixed decimals, "—" for None and NaN."""
    return "—" if value is None or math.isnan(value) else f"{value:.{decimals}f}"


def share(value: float, decimals: int) -> str:
    """Return a share in fixed decimals, with "<0.01" and ">0.99" for those that only round to 0 or 1."""
    text = f"{value:.{decimals}f}"
    if value == 0 or value >= 1 or float(text) not in (0, 1):
        return text
    step = 10**-decimals
    return f">{1 - step:.{decimals}f}" if value > 0.5 else f"<{step:.{decimals}f}"


def weight(value: float, decimals: int = 2) -> str:
    """Return a weight in fixed decimals, as "<0.01" if it would read 0 without being 0."""
    text = f"{value:.{decimals}f}"
    return text if value == 0 or float(text) else share(value, decimals)


def percent(value: float) -> str:
    """Return a share for a sentence, "64 %", or "0.1 %" if it would read 0 without being 0."""
    if round(100 * value) or not value:
        return f"{100 * value:.0f} %"
    return "less than 0.1 %" if value < 0.0005 else f"{100 * value:.1f} %"


def cell_text(value: float) -> str:
    """Return a weight for a small cell: ".12", "1", "1.11" as with dropout, "" if it rounds to 0."""
    text = f"{value:.2f}"
    return {"0.00": "", "1.00": "1", "nan": "NaN"}.get(text, text.removeprefix("0"))


def outcome(value: float) -> str:
    """Return a weight as a library computes it, with "NaN" as a result to show."""
    return "NaN" if math.isnan(value) else "0" if value == 0 else f"{value:.4f}"


def small(value: float) -> str:
    """Return a difference of weights: "0" only for 0, a power of ten below 0.001."""
    return scientific(value) if value < 0.001 else weight(value, 3)


def signed(value: float) -> str:
    """Return a change of a weight, as `small` with its sign."""
    return ("−" if value < 0 else "+" if value else "") + small(abs(value))


def scientific(value: float, decimals: int = 1) -> str:
    """Return a rounding error as 4.0e−7; "0" only for 0."""
    return "0" if value == 0 else f"{value:.{decimals}e}".replace("e-0", "e−").replace("e-", "e−")


def precise(value: float) -> str:
    """Return a cosine in three decimals, in six if it only rounds to 1."""
    six, three = (f"{value:.{decimals}f}".replace("-", "−") for decimals in (6, 3))
    return six if three == "1.000" and six != "1.000000" else three


def count(amount: int, noun: str) -> str:
    """Return a number of things: "1 row", "2,000 rows"."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def cut(text: str, max_length: int = 60) -> str:
    """Return a text of at most so many characters, shortened with "…"."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"
