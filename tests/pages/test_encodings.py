"""Positions: the numbers of every encoding against the papers' formulas and the model, and its portrait of them."""

from __future__ import annotations

import json
import math
from typing import Any

import plotly.graph_objects as go
import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import HeadlightError, PositionError
from mha_core.measure.measures import difference_in_new_order, repeated_words
from mha_core.positions import NAMES, Shaw, T5Bias
from pages.kit.draw.numbers import difference, number
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED
from pages.positions import in_model, measures, planes
from pages.positions.biases import TILE
from pages.positions.encodings import TableSizes, build, build_or_default
from pages.positions.in_model import SAME, backwards, problem
from pages.positions.measures import by_distance, table
from pages.positions.parts import Focus, Part, doubling, sample, sampled
from pages.positions.portraits import SLOTS, part_of
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
        half = sizes.d_head // 2
        assert [measures.pair_channels(encoding, pair) for pair in range(half)] == [
            (at, at + half) for at in range(half)
        ]
        for name in ("sinusoidal", "rotary"):
            encoding = build(name, sizes)
            turns = [measures.turn_of(encoding, pair) for pair in range(encoding.width // 2)]
            same_function(torch.tensor(turns, dtype=torch.float64), angles(2, encoding.width)[1])
            last = measures.pair_channels(encoding, encoding.width // 2 - 1)
            assert measures.pair_channels(encoding, 10_000) == last
        assert measures.turn_of(build("learned", sizes), 0) is None


def test_the_learned_table_is_the_models(model: Model) -> None:
    encoding = build("learned", TableSizes(9, 50, 6))
    own = model.encoder.get_parameter("position.table")
    assert torch.equal(table(encoding).float(), own[:9])
    assert (encoding.origin, encoding.learned) == ("pretrained", own.numel())


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
        bucket = int(t5.position.bucket_of(torch.tensor(1 - n)))
        same_function(measures.bias(t5)[:, -1, 0], t5.position.table[bucket].detach().double())
        reach = shaw.position.max_distance
        row = shaw.position.table[max(1 - n, -reach) + reach].detach().double()
        same_function(measures.bias(shaw)[:, -1, 0], shaw.q[0, :, -1].double() @ row / math.sqrt(sizes.d_head))
    for name in NAMES:
        first, second = (measures.bias(build(name, TableSizes(6, 12, 3))) for _ in range(2))
        assert torch.equal(first, second), name
    with pytest.raises(HeadlightError, match="at most 4,000,000 are computed here"):
        build("t5", TableSizes(512, 64, 64))


def test_shaw_takes_the_models_own_queries_where_the_sizes_are_its_own() -> None:
    text = "how are you"
    with in_float64() as model:
        shaw = build("shaw", TableSizes(5, 384, 12), real=(Settings(text), 4))
        steps = model.run(text, trace_layer=4).steps
        same_function(shaw.q.double(), next(step.value for step in steps if step.name == "q"))
    assert shaw.queries.endswith("MiniLM's layer 4")
    other = build("shaw", TableSizes(5, 96, 12), real=(Settings(text), 4))
    assert "random" in other.queries
    assert torch.equal(other.q, build("shaw", TableSizes(5, 96, 12)).q)


def test_far_is_the_first_row_of_what_is_near() -> None:
    for name in NAMES:
        encoding = build(name, TableSizes(30, 24, 3))
        near = measures.similarity(encoding)
        row = near[:, 0].mean(dim=0) if near.dim() == 3 else near[0]
        same_function(torch.tensor(measures.far_curve(encoding, 30), dtype=torch.float64), row.double())
        if name == "learned":
            with pytest.raises(PositionError, match="513 positions, but the learned table has 512"):
                measures.far_curve(encoding, 513)
        else:
            assert all(map(math.isfinite, measures.far_curve(encoding, 2048))), name


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
        embedding, trained, waves = in_model.norms(Settings(PRESETS[0]), 0.1)
        found = in_model.on_model(Settings(PRESETS[0]))
        rotary = model.run(PRESETS[0], position="rotary").weights[0, 2]
        ids, width = model.tokenize(PRESETS[0])[1], model.sizes.d_model
        added = model.encoder.get_parameter("words.weight")[ids] + model.encoder.get_parameter("segment")
        for lengths, expected in (
            (embedding, added.detach().norm(dim=-1)),
            (trained, model.encoder.get_parameter("position.table")[: len(ids)].detach().norm(dim=-1)),
            (waves, torch.full((len(ids),), 0.1 * math.sqrt(width / 2), dtype=torch.float64)),
        ):
            same_function(torch.tensor(lengths, dtype=torch.float64), expected)
    assert (found.layer, found.head) == (0, 2)
    by_name = {name: (cosine, weight) for name, _, cosine, weight in found.rows}
    assert list(by_name) == list(POSITIONS)
    quoted(by_name["as trained"][1], "0.9998")
    quoted(by_name["none"][1], "0.109")
    same_function(by_name["rotary"][1], float(rotary.diagonal(-1).mean()))
    same_function(by_name["as trained"][0], 1.0)
    assert all(NOT_TRAINED in note for name, note, _, _ in found.rows if name != "as trained")


def problems(text: str) -> list[str]:
    return [panel["blocks"][0]["text"] for panel in problem(Settings(text))["blocks"]]


def test_the_numbers_are_the_models() -> None:
    text = PRESETS[0]
    with in_float64() as model:
        order, twice = problems(text)
        runs = {
            position: [model.run(one, position=position) for one in (text, backwards(text))]
            for position in ("none", "trained")
        }
    none, trained = (difference_in_new_order(*runs[position]) for position in ("none", "trained"))
    assert 0 < none < SAME < trained
    assert f"“{backwards(text)}”" in order
    assert "the same vector as before" in order
    assert "up to rounding" in order
    assert f"differ by up to {difference(trained, 2)}." in order
    assert "“the” occurs 2 times" in twice
    assert "alike in every head" in twice
    repeated = repeated_words(runs["trained"][0].weights, runs["trained"][0].ids)
    assert repeated is not None
    assert f"differ by up to {difference(repeated.difference, 2)}." in twice


def test_a_text_without_another_order_or_a_repeated_word() -> None:
    (order,) = problems("how are you")
    assert "“you are how”" in order
    for text in ("", "one", "same same", " a   b  a "):
        assert problems(text)[0].startswith("Type two different words or more"), text
    assert all(problems("the\u0301 x \U0001f44d y <b>it</b>"))


def parts(name: str, sizes: TableSizes, **values: Any) -> dict[str, Part]:
    given: dict[str, Any] = {"channels": [0, 3], "pair": 1, "place": 2, "head": 1, "far": 20, "limit": 512, **values}
    view = Focus([f"word{at}" for at in range(sizes.n)], **given, theme="dark")
    made = (part_of(slot, build(name, sizes), view) for slot in SLOTS)
    return {part.slot: part for part in made if part is not None}


def texts(part: Part) -> str:
    return json.dumps(part.blocks, ensure_ascii=False)


@pytest.mark.thorough("every part of every encoding at its largest is drawn")
def test_every_encoding_at_its_ends() -> None:
    for name in NAMES:
        for sizes in (TableSizes(1, 2, 1), TableSizes(130, 768, 64)):
            found = parts(name, sizes, channels=[0, 700], pair=400, place=511, head=63, far=2048)
            assert list(found) == [slot for slot in SLOTS if slot in found]
            for part in found.values():
                written = json.dumps([part.blocks, part.figure], allow_nan=False)
                assert len(written) < 400_000
                assert part.figure is None or part.alt, (name, sizes)


def test_a_portrait_draws_the_table_and_the_bias() -> None:
    sizes = TableSizes(5, 8, 2)
    (heat,) = parts("rotary", sizes)["picture"].figure["data"]  # type: ignore[index]
    for shown, row in zip(heat["z"], table(build("rotary", sizes)).tolist(), strict=True):
        for value, exact in zip(shown, row, strict=True):
            quoted(exact, f"{value:.3f}")
    (heat,) = parts("sinusoidal", sizes)["picture"].figure["data"]  # type: ignore[index]
    assert (heat["customdata"][0], heat["z"][0]) == ([0, 2, 4, 6, 1, 3, 5, 7], [0, 0, 0, 0, 1, 1, 1, 1])
    sizes = TableSizes(6, 24, 3)
    values, found = measures.bias(build("t5", sizes)), parts("t5", sizes, head=2)
    assert "head 2 of 0 to 2, 6 queries × 6 keys" in texts(found["picture"])
    (heat,), (tiles,) = (found[slot].figure["data"] for slot in ("picture", "detail"))  # type: ignore[index]
    tiled = sorted(value for line in tiles["z"] for value in line if value is not None)
    expected = sorted(values.flatten().tolist())
    for shown, exact in zip([*heat["z"][5], *tiled], [*values[2, 5].tolist(), *expected], strict=True):
        quoted(exact, f"{shown:.3f}")
    large = parts("alibi", TableSizes(300, 24, 3))["detail"].figure["data"][0]["z"]  # type: ignore[index]
    assert sum(value is not None for line in large for value in line) <= 3 * TILE * TILE


def test_what_a_portrait_says() -> None:
    small, medium = TableSizes(5, 16, 2), TableSizes(5, 24, 3)
    same, within = "Here only the distance matters", "Within a head only the distance matters"
    apart = "airs equally far apart differ by up to"
    for name, sizes, slot, values, text in (
        ("rotary", small, "lines", {"channels": [1, 30, 31]}, "It has channels 0 to 7: 30, 31 cannot be drawn."),
        ("learned", small, "detail", {}, "Learned, so no circle"),
        *((name, TableSizes(9, 24, 3), "distance", {}, text) for name, text in (
            ("sinusoidal", same), ("rotary", same), ("learned", f"Here p{apart}"),
            ("alibi", within), ("t5", within), ("shaw", f"Within a head p{apart}"))),
        ("learned", medium, "far", {"far": 600}, "600 positions, but the learned table has 512; shorten the text."),
        ("sinusoidal", medium, "far", {"far": 600}, "past 512 positions it continues"),
        ("shaw", medium, "far", {"far": 600}, "from position 16 on it stays the same"),  # where distances are clipped
        ("alibi", medium, "far", {"far": 600}, "past 512 positions it continues"),
        ("rotary", medium, "far", {"far": 2}, "at position 4 (end of the sentence)"),
        ("rotary", medium, "card", {}, "Nothing in it is learned."),
        ("learned", medium, "card", {}, "196,608 learned numbers, pretrained"),
        ("t5", medium, "card", {}, "96 learned numbers, random here"),
        ("shaw", medium, "card", {}, "random queries, standard normal, seed 0"),
    ):  # fmt: skip
        assert text in texts(parts(name, sizes, **values)[slot]), (name, slot)  # type: ignore[arg-type]
    assert "cannot be drawn" not in texts(parts("rotary", small, channels=[1])["lines"])
    assert "600 positions" not in texts(parts("learned", medium, far=512)["far"])
    assert "stays the same" not in texts(parts("alibi", medium, far=600)["far"])
    assert len(parts("learned", medium, far=600)["far"].figure["data"][0]["x"]) == 512  # type: ignore[index]
    turned = 40 / 10000 ** (2 / 8)
    row = ["40", *map(number, (turned, turned / math.tau, math.cos(turned), math.sin(turned)))]
    assert parts("rotary", small, pair=1, place=40)["detail"].blocks[-1]["rows"] == [row]


def test_samples_of_long_rows() -> None:
    assert (sample(7, 10), sample(30, 10)) == (list(range(7)), list(range(0, 30, 3)))
    assert (sampled(10, 7, (30, 7)), sampled(30, 7, (30, 7))) == ("; drawn is one row in 3", "")
    assert [doubling(length) for length in (1, 9, 12)] == [[0], [0, 1, 2, 4, 8], [0, 1, 2, 4, 8, 11]]


def test_heat_is_signed_and_in_order_and_a_circle_has_its_hand() -> None:
    names: dict[str, Any] = {"x_title": "x", "y_title": "y", "theme": "dark"}
    figure = planes.heat([[-2.0, None], [1.0, 0.5]], x=[0, 2], y=[0, 1], y_names=["<b>", "b"], **names)
    go.Figure(figure)
    (heat,) = figure["data"]
    assert (heat["zmin"], heat["zmax"], heat["z"]) == (-2, 2, [[-2, None], [1, 0.5]])
    assert figure["layout"]["xaxis"]["ticktext"] == ["0", "2"]
    assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;", "b"]
    assert "customdata" not in heat
    mixed = planes.heat([[0.0, 0.0]], x=[2, 1], y=[0], **names)
    (heat,) = mixed["data"]
    assert (heat["x"], heat["customdata"], heat["zmin"], heat["zmax"]) == ([0, 1], [[2, 1]], -1, 1)
    assert mixed["layout"]["xaxis"]["ticktext"] == ["2", "1"]
    figure = planes.circle([(1, 0), (0, 1)], (0, 1), "1", **names)
    go.Figure(figure)
    dots, hand = figure["data"]
    assert dots["text"] == ["0", ""]  # the hand has its own number
    assert (hand["x"], hand["y"], hand["text"]) == ([0, 0], [0, 1], ["", "1"])
    assert figure["layout"]["yaxis"]["scaleanchor"] == "x"
    assert {*planes.circle([(0.0, 0.0)] * 100, (0, 0), "7", **names)["data"][0]["text"]} == {""}
