"""What docs/access.md counts as passed and a number can tell: how hard the texts are to read, and what is left of the
colours for somebody who sees two kinds of light alone.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.ui.pages import PAGES
from tests.closeness import same_function

ROOT = Path(__file__).parents[2]
WEB = ROOT / "assets" / "web"
HARDEST = 9.0  # the grade that Chartability allows
TEXTS = sorted((ROOT / "assets").rglob("*.toml"))
# Machado, Oliveira and Fernandes 2009: linear red, green and blue as they are seen without one kind of cone.
SEEN = {
    name: [[float(number) for number in row.split()] for row in rows.split(";")]
    for name, rows in {
        "every cone": "1 0 0; 0 1 0; 0 0 1",
        "no long cones": "0.152286 1.052583 -0.204868; 0.114503 0.786281 0.099216; -0.003882 -0.048116 1.051998",
        "no middle cones": "0.367322 0.860646 -0.227968; 0.280085 0.672501 0.047413; -0.011820 0.042940 0.968881",
        "no short cones": "1.255528 -0.076749 -0.178779; -0.078411 0.930809 0.147602; 0.004733 0.691367 0.303900",
    }.items()
}
APART = 20.0  # of CIELAB: far more than the 2.3 that can just be told


def syllables(word: str) -> int:
    """How many, by its groups of vowels; a silent e is none."""
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    silent = re.search(r"([^l]e|[^td]ed)$", word.lower()) is not None
    return max(1, groups - silent)


def grade(text: str) -> float:
    """The grade of school that a text needs: Flesch and Kincaid 1975."""
    sentences = [one for one in re.split(r"[.!?:;]+(?:\s|$)", text) if re.search("[a-z]", one)]
    words = re.findall(r"[A-Za-z][A-Za-z’']*", text)
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def sentences(value: Any) -> Iterator[str]:
    """Every text of five words and more, formulas aside."""
    if isinstance(value, str) and len(value.split()) >= 5 and not re.search(r"\w\(|[=\[]", value):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from sentences(one)


def test_grade_is_that_of_its_definition() -> None:
    assert [syllables(word) for word in ("the", "made", "table", "wanted", "looked", "attention")] == [1, 1, 2, 2, 1, 3]
    same_function(grade("The cat sat on the mat."), 0.39 * 6 + 11.8 - 15.59)


def test_texts_and_pages_are_easy_to_read() -> None:
    for file in TEXTS:
        assert grade(". ".join(sentences(tomllib.loads(file.read_text("utf-8"))))) <= HARDEST, file.name
    assert grade(" ".join(f"{page.question} {page.line}" for page in PAGES.values())) <= HARDEST


def lab(colours: list[str], seen: str) -> Tensor:
    """Colours #RRGGBB as somebody sees them, in CIELAB: (colours, 3) float64."""
    coded = torch.tensor([[int(one[at : at + 2], 16) / 255 for at in (1, 3, 5)] for one in colours]).double()
    linear = torch.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    linear = (linear @ torch.tensor(SEEN[seen]).double().T).clamp(0, 1)
    to_xyz = torch.tensor([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).double()
    x, y, z = ((linear @ to_xyz.T) / to_xyz.sum(1)).T
    x, y, z = (torch.where(one > 0.008856, one ** (1 / 3), 7.787 * one + 16 / 116) for one in (x, y, z))
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], dim=1)


def ramp(theme: str) -> list[str]:
    """The colours of small to large weights."""
    found = re.search(rf"{theme}: \[(.*?)\]", (WEB / "base" / "colour.js").read_text("utf-8"))
    assert found
    return re.findall(r"#[0-9A-F]{6}", found[1])


def inks(theme: str) -> dict[str, str]:
    """The colours of the style sheet by their names."""
    sheet = (WEB / "base" / "view.css").read_text("utf-8")
    blocks = [dict(re.findall(r"--([\w-]+): (#[0-9A-F]{6})", block)) for block in re.findall(r"\{[^}]*\}", sheet)]
    dark, light = (block for block in blocks if "accent" in block)
    return dark if theme == "dark" else dark | light


def test_colours_differ_in_every_colour_blindness() -> None:
    for theme, seen in itertools.product(("dark", "light"), SEEN):
        steps = lab(ramp(theme), seen)[:, 0].diff()
        larger = steps if theme == "dark" else -steps
        assert bool((larger > 0).all()), f"{theme}, {seen}: a larger weight is lighter, or darker"
        ink = inks(theme)
        less, none, more = lab([ink["query"], ink["none"], ink["more"]], seen)
        for one, other in itertools.combinations((less, none, more), 2):
            assert float(torch.dist(one, other)) > APART, (theme, seen)
