"""Numbers as a page writes them, read back; and the pages on MiniLM in float64, for comparisons with another road."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
import torch

from headlight.picture import pictures
from headlight.queue import single_flight
from headlight.registry import trained
from mha_core import Model, load_model
from tests.closeness import quoted


def read_number(text: str) -> float:
    """The number that a text like "−2.5", "1.2e−5", "12,000" or "∞" stands for; a blank cell is 0."""
    for written, plain in (("−", "-"), ("∞", "inf"), ("—", "nan"), (",", "")):
        text = text.replace(written, plain)
    return float(text.lstrip("<>") or 0)


def assert_shows(text: str, value: float) -> None:
    """Assert that a text on a page is this number, to one unit of its last digit; a blank cell is less than 0.01."""
    if not text or text[0] in "<>":
        limit = read_number(text) or 0.01
        assert value > limit if text[:1] == ">" else 0 <= value < limit, f"{value} is not {text or 'blank'}"
        return
    mantissa, _, exponent = text.replace("−", "-").replace(",", "").removesuffix(" %").partition("e")
    quoted((100 if "%" in text else 1) * value / 10.0 ** int(exponent or 0), mantissa)


@cache
def model64(name: str = "minilm") -> Model:
    """A model that is shipped, in float64."""
    return load_model(name if name == "minilm" else str(trained.SHIPPED / name), "cpu", torch.float64)


@contextmanager
def in_float64() -> Iterator[Model]:
    """Let the pages compute with models in float64."""
    single_flight.clear_caches()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pictures, "model_on", lambda _, name="minilm": model64(name))
        yield model64()
    single_flight.clear_caches()
