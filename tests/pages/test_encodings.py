"""Positions: the numbers of every encoding against the papers' formulas and the model, and its portrait of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.link.limits import POSITIONS
from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.picture.words import NOT_TRAINED
from headlight.ui.numbers import difference
from mha_core.errors import HeadlightError, PositionError
from mha_core.measure.measures import difference_in_new_order
from mha_core.positions import NAMES, Shaw, T5Bias
from pages.positions import in_model, measures
from pages.positions.encodings import TableSizes, build, build_or_default
from pages.positions.in_model import TOLERANCE, backwards, problem
from pages.positions.measures import by_distance, table
from pages.positions.portraits import SLOTS, Focus, Part, build_part
from tests.closeness import quoted, same_function

from .numbers_shown import in_float64

pytestmark = pytest.mark.numeric
SIZES = [TableSizes(1, 2, 1), TableSizes(7, 12, 3), TableSizes(300, 96, 6)]


def angles(n: int, width: int) -> Tensor:
    """(position, pair), one by one as the papers write them."""
    rows = [[place / 10000 ** (2 * pair / width) for pair in range(width // 2)] for place in range(n)]
    return torch.tensor(rows, dtype=torch.float64)


def test_sinusoids_and_rotations_are_the_papers() -> None:
    for sizes in SIZES:
        turned = angles(sizes.n, sizes.d_model)
        expected = torch.stack([turned.sin(), turned.cos()], -1).flatten(1) / 2
        same_function(table(build("sinusoidal", sizes, 0.5)), expected)
        encoding, turned = build("rotary", sizes), angles(sizes.n, sizes.d_head)
        same_function(table(encoding), torch.cat([turned.cos(), turned.sin()], -1))
        for name in ("sinusoidal", "rotary"):
            encoding = build(name, sizes)
            turns = [measures.pair_angle(encoding, pair) for pair in range(encoding.width // 2)]
            same_function(torch.tensor(turns, dtype=torch.float64), angles(2, encoding.width)[1])
        assert measures.pair_angle(build("learned", sizes), 0) is None


def test_by_distance_against_loops() -> None:
    for shape, signed in (((1, 1), True), ((2, 2), False), ((3, 7, 7), True), ((3, 7, 7), False)):
        square = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        found: dict[int, list[float]] = {}
        for matrix in square.reshape(-1, *shape[-2:]).tolist():
            for i, row in enumerate(matrix):
                for j, value in enumerate(row):
                    found.setdefault(j - i if signed else abs(j - i), []).append(value)
        curve, wanted = by_distance(square, signed=signed), [values for _, values in sorted(found.items())]
        assert curve.start == (1 - shape[-1] if signed else 0)
        means = [math.fsum(values) / len(values) for values in wanted]
        same_function(*(torch.tensor(one, dtype=torch.float64) for one in (curve.mean, means)))
        assert (curve.low, curve.high) == (list(map(min, wanted)), list(map(max, wanted)))


def test_similarity_depends_on_the_angle_between_two_places() -> None:
    for sizes in SIZES:
        n = sizes.n
        for name, width in (("sinusoidal", sizes.d_model), ("rotary", sizes.d_head)):
            found = measures.similarity(build(name, sizes, 0.3))
            same_function(found[0], angles(n, width).cos().mean(dim=-1))
            same_function(found.diagonal(), torch.ones(n, dtype=torch.float64))
        rows = table(build("learned", sizes))
        expected = torch.cosine_similarity(rows[:1], rows, dim=-1)
        same_function(measures.similarity(build("learned", sizes))[0], expected)


def test_biases() -> None:
    for sizes in SIZES:
        n = sizes.n
        away = (torch.arange(n) - torch.arange(n)[:, None]).abs()
        slope = -measures.bias(build("alibi", sizes))
        same_function(slope, away * slope[:, :1, -1:] / max(1, n - 1))
        t5, shaw = build("t5", sizes), build("shaw", sizes)
        assert isinstance(t5.position, T5Bias)
        assert isinstance(shaw.position, Shaw)
        bucket = int(t5.position.bucket_index(torch.tensor(1 - n)))
        same_function(measures.bias(t5)[:, -1, 0], t5.position.table[bucket].detach().double())
        reach = shaw.position.max_distance
        row = shaw.position.table[max(1 - n, -reach) + reach].detach().double()
        same_function(measures.bias(shaw)[:, -1, 0], shaw.q[0, :, -1].double() @ row / math.sqrt(sizes.d_head))
    for name in NAMES:
        first, second = (measures.bias(build(name, TableSizes(6, 12, 3))) for _ in range(2))
        assert torch.equal(first, second), name
    with pytest.raises(HeadlightError, match="at most 4,000,000"):
        build("t5", TableSizes(512, 64, 64))


def test_odd_sizes_are_named_and_replaced() -> None:
    for name, sizes in (("sinusoidal", TableSizes(4, 7, 1)), ("rotary", TableSizes(4, 9, 3))):
        with pytest.raises(PositionError, match="choose an even number"):
            build(name, sizes)
        encoding, why = build_or_default(name, sizes)
        assert encoding.sizes == TableSizes(4, 384, 12)
        assert why.endswith("It is shown for d_model 384 and 12 heads instead.")
        assert build_or_default(name, TableSizes(4, 8, 2))[1] == ""


def test_lengths_and_each_position_in_turn() -> None:
    with in_float64() as model:
        embedding, trained, waves = in_model.lengths(Settings(PRESETS[0]), 0.1)
        found = in_model.on_model(Settings(PRESETS[0]), None)
        rotary = model.run(PRESETS[0], position="rotary").weights[0, 2]
        ids, width = model.tokenize(PRESETS[0])[1], model.sizes.d_model
        added = model.stack.get_parameter("words.weight")[ids] + model.stack.get_parameter("segment")
        for length, expected in (
            (embedding, added.detach().norm(dim=-1)),
            (trained, model.stack.get_parameter("position.table")[: len(ids)].detach().norm(dim=-1)),
            (waves, torch.full((len(ids),), 0.1 * math.sqrt(width / 2), dtype=torch.float64)),
        ):
            same_function(length, float(expected.mean()))
    assert (found.layer, found.head) == (0, 2)
    by_name = {name: (cosine, weight) for name, _, cosine, weight in found.rows}
    assert list(by_name) == list(POSITIONS)
    quoted(by_name["as trained"][1], "0.9998")
    quoted(by_name["none"][1], "0.109")
    same_function(by_name["rotary"][1], float(rotary.diagonal(-1).mean()))
    same_function(by_name["as trained"][0], 1.0)
    assert all(NOT_TRAINED in note for name, note, _, _ in found.rows if name != "as trained")


def test_numbers_are_the_models() -> None:
    text = PRESETS[0]
    with in_float64() as model:
        order = problem(Settings(text))
        runs = {
            position: [model.run(one, position=position) for one in (text, backwards(text))]
            for position in ("none", "trained")
        }
    none, trained = (difference_in_new_order(*runs[position]) for position in ("none", "trained"))
    assert 0 < none < TOLERANCE < trained
    assert f"“{backwards(text)}”" in order
    assert "the same vector as before" in order
    assert "up to rounding" in order
    assert f"differ by up to {difference(trained, 2)}." in order


def test_text_without_another_order() -> None:
    assert "“you are how”" in problem(Settings("how are you"))
    for text in ("", "one", "same same", " a   b  a "):
        assert problem(Settings(text)).startswith("Type at least two different words"), text


def parts(name: str, sizes: TableSizes, **values: Any) -> dict[str, Part]:
    given: dict[str, Any] = {"channels": [0, 3], "pair": 1, "place": 2, "head": 1, "far": 20, "limit": 512, **values}
    view = Focus([f"word{at}" for at in range(sizes.n)], **given, theme="dark")
    made = {slot: build_part(slot, build(name, sizes), view) for slot in SLOTS}
    return {slot: part for slot, part in made.items() if part is not None}


def test_portrait_draws_the_table_and_the_bias() -> None:
    sizes = TableSizes(5, 8, 2)
    (heat,) = parts("rotary", sizes)["picture"].figure["data"]  # type: ignore[index]
    for shown, row in zip(heat["z"], table(build("rotary", sizes)).tolist(), strict=True):
        for value, exact in zip(shown, row, strict=True):
            quoted(exact, f"{value:.3f}")
    sizes = TableSizes(6, 24, 3)
    (heat,) = parts("t5", sizes, head=2)["picture"].figure["data"]  # type: ignore[index]
    for shown, exact in zip(heat["z"][5], measures.bias(build("t5", sizes))[2, 5].tolist(), strict=True):
        quoted(exact, f"{shown:.3f}")
