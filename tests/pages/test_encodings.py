"""The numbers of the Positions page against the papers' formulas, written down once more, and the core's classes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.errors import HeadlightError, PositionError
from mha_core.measure.measures import difference_in_new_order, repeated_words
from mha_core.models.encoder import Encoder
from mha_core.positions import NAMES, Shaw, T5Bias
from pages.kit.draw.numbers import difference
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED
from pages.positions import in_model, measures
from pages.positions.encodings import TableSizes, build, build_or_default
from pages.positions.in_model import SAME, backwards, problem
from pages.positions.measures import by_distance, table

SIZES = [TableSizes(1, 2, 1), TableSizes(7, 12, 3), TableSizes(300, 96, 6)]
each_size = pytest.mark.parametrize("sizes", SIZES, ids=str)


def angle(place: int, pair: int, width: int) -> float:
    return float(place / 10000 ** (2 * pair / width))


def test_sinusoids_are_the_papers() -> None:
    for sizes in SIZES:
        rows = table(build("sinusoidal", sizes, 0.5))
        assert rows.shape == (sizes.n, sizes.d_model), sizes
        for place in (0, sizes.n // 2, sizes.n - 1):
            for pair in range(sizes.d_model // 2):
                turned = angle(place, pair, sizes.d_model)
                assert rows[place, 2 * pair] == pytest.approx(math.sin(turned) / 2, abs=1e-12), sizes
                assert rows[place, 2 * pair + 1] == pytest.approx(math.cos(turned) / 2, abs=1e-12), sizes


def test_a_rotation_is_its_cosines_and_sines() -> None:
    for sizes in SIZES:
        encoding, half = build("rotary", sizes), sizes.d_head // 2
        rows = table(encoding)
        assert rows.shape == (sizes.n, sizes.d_head), sizes
        for place in (0, sizes.n - 1):
            for pair in range(half):
                turned = angle(place, pair, sizes.d_head)
                assert measures.pair_channels(encoding, pair) == (pair, pair + half), sizes
                assert rows[place, pair] == pytest.approx(math.cos(turned), abs=1e-12), sizes
                assert rows[place, pair + half] == pytest.approx(math.sin(turned), abs=1e-12), sizes


def test_the_learned_table_is_the_models(model: Model) -> None:
    encoding = build("learned", TableSizes(9, 50, 6))
    own = next(value for name, value in model.encoder.named_parameters() if name == "position.table")
    assert torch.equal(table(encoding).float(), own[:9])
    assert encoding.origin == "pretrained"
    assert encoding.learned == own.numel()


def test_a_pair_turns_evenly() -> None:
    for name, sizes in (("sinusoidal", SIZES[1]), ("rotary", SIZES[1]), ("rotary", SIZES[2])):
        encoding = build(name, sizes)
        for pair in range(encoding.width // 2):
            turn = measures.turn_of(encoding, pair)
            assert turn == pytest.approx(angle(1, pair, encoding.width), abs=1e-12), name
        assert measures.pair_channels(encoding, 10_000) == measures.pair_channels(encoding, encoding.width // 2 - 1)
        assert measures.turn_of(build("learned", sizes), 0) is None, name


def dense(square: Tensor, *, signed: bool) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for matrix in square.reshape(-1, *square.shape[-2:]):
        for i, row in enumerate(matrix.tolist()):
            for j, value in enumerate(row):
                found.setdefault(j - i if signed else abs(j - i), []).append(value)
    return found


def test_by_distance_against_loops() -> None:
    for shape, signed in (((1, 1), True), ((2, 2), False), ((3, 7, 7), True), ((3, 7, 7), False)):
        square = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        curve = by_distance(square, signed=signed)
        wanted = [values for _, values in sorted(dense(square, signed=signed).items())]
        assert curve.start == (1 - shape[-1] if signed else 0), shape
        assert curve.mean == pytest.approx([math.fsum(values) / len(values) for values in wanted]), shape
        assert curve.low == pytest.approx([min(values) for values in wanted]), shape
        assert curve.high == pytest.approx([max(values) for values in wanted]), shape


def test_similarity() -> None:
    for sizes in SIZES:
        n = sizes.n
        cosines = measures.similarity(build("sinusoidal", sizes, 0.3))
        turned = measures.similarity(build("rotary", sizes))
        for found, width in ((cosines, sizes.d_model), (turned, sizes.d_head)):
            pairs = range(width // 2)
            wanted = math.fsum(math.cos(angle(n - 1, pair, width)) for pair in pairs) / len(pairs)
            assert float(found[0, n - 1]) == pytest.approx(wanted, abs=1e-9), sizes
            assert found.diagonal().tolist() == pytest.approx([1.0] * n), sizes
        rows = table(build("learned", sizes))
        learned = measures.similarity(build("learned", sizes))
        wanted = float(torch.cosine_similarity(rows[0], rows[n - 1], dim=0))
        assert float(learned[0, n - 1]) == pytest.approx(wanted, abs=1e-9), sizes


def test_biases() -> None:
    for sizes in SIZES:
        slope = -measures.bias(build("alibi", sizes))
        away = (torch.arange(sizes.n) - torch.arange(sizes.n)[:, None]).abs()
        for head in range(sizes.n_heads):
            assert torch.allclose(slope[head], away * slope[head, 0, -1] / max(1, sizes.n - 1)), sizes
        t5 = build("t5", sizes)
        assert isinstance(t5.position, T5Bias), sizes
        i, j = sizes.n - 1, 0
        bucket = int(t5.position.bucket_of(torch.tensor(j - i)))
        assert measures.bias(t5)[:, i, j].tolist() == pytest.approx(t5.position.table[bucket].tolist()), sizes
        shaw = build("shaw", sizes)
        assert isinstance(shaw.position, Shaw), sizes
        row = shaw.position.table[max(j - i, -shaw.position.max_distance) + shaw.position.max_distance]
        wanted = (shaw.q[0, :, i] @ row / math.sqrt(sizes.d_head)).tolist()
        assert measures.bias(shaw)[:, i, j].tolist() == pytest.approx(wanted), sizes


def test_shaw_takes_the_models_own_queries(model: Model) -> None:
    text = "how are you"
    shaw = build("shaw", TableSizes(5, 384, 12), real=(Settings(text), 4))
    steps = model.run(text, trace_layer=4).steps
    assert torch.equal(shaw.q.float(), next(step.value for step in steps if step.name == "q"))
    assert shaw.queries.endswith("MiniLM's layer 4")
    other = build("shaw", TableSizes(5, 96, 12), real=(Settings(text), 4))
    assert "random" in other.queries
    assert torch.equal(other.q, build("shaw", TableSizes(5, 96, 12)).q)


def test_far_is_the_first_row_of_what_is_near() -> None:
    for name in NAMES:
        encoding = build(name, TableSizes(30, 24, 3))
        near = measures.similarity(encoding)
        row = near[:, 0].mean(dim=0) if near.dim() == 3 else near[0]
        assert measures.far_curve(encoding, 30) == pytest.approx(row.tolist(), abs=1e-9), name
        if name == "learned":
            with pytest.raises(PositionError, match="513 positions, but the learned table has 512"):
                measures.far_curve(encoding, 513)
        else:
            assert all(map(math.isfinite, measures.far_curve(encoding, 2048))), name


def test_norms(model: Model) -> None:
    embedding, trained, waves = in_model.norms(Settings(PRESETS[0]), 0.1)
    _, ids = model.tokenize(PRESETS[0])
    n, width = len(ids), model.sizes.d_model
    encoder = model.encoder
    assert isinstance(encoder, Encoder)
    added = encoder.words.weight[ids] + encoder.segment
    assert embedding == pytest.approx(added.norm(dim=-1).tolist(), rel=1e-5)
    assert trained == pytest.approx(table(build("learned", TableSizes(n, 1, 1))).norm(dim=-1).tolist())
    assert waves == pytest.approx([0.1 * math.sqrt(width / 2)] * n)


def test_the_same_numbers_each_time() -> None:
    for name in NAMES:
        first, second = (measures.bias(build(name, TableSizes(6, 12, 3))) for _ in range(2))
        assert torch.equal(first, second)


def test_odd_sizes_are_told_and_replaced() -> None:
    for name, sizes in (("sinusoidal", TableSizes(4, 7, 1)), ("rotary", TableSizes(4, 9, 3))):
        with pytest.raises(PositionError, match="choose an even number"):
            build(name, sizes)
        encoding, why = build_or_default(name, sizes)
        assert encoding.sizes == TableSizes(4, 384, 12)
        assert why.endswith("It is shown for d_model 384 and 12 heads instead.")
        assert build_or_default(name, TableSizes(4, 8, 2))[1] == ""


def test_a_bias_that_is_too_large() -> None:
    with pytest.raises(HeadlightError, match="at most 4,000,000 are computed here"):
        build("t5", TableSizes(512, 64, 64))


def test_on_the_model(model: Model) -> None:
    found = in_model.on_model(Settings(PRESETS[0]))
    # DESIGN's opening
    assert (found.layer, found.head) == (0, 2)
    by_name = {name: (cosine, weight) for name, _, cosine, weight in found.rows}
    assert list(by_name) == list(POSITIONS)
    assert round(by_name["as trained"][1], 4) == 0.9998
    assert round(by_name["none"][1], 3) == 0.109
    weights = model.run(PRESETS[0], position="rotary").weights[0, 2]
    assert by_name["rotary"][1] == pytest.approx(float(weights.diagonal(-1).mean()))
    assert by_name["as trained"][0] == pytest.approx(1)
    assert all(NOT_TRAINED in note for name, note, _, _ in found.rows if name != "as trained")


# ---- why positions are needed


def said(text: str) -> list[str]:
    """The sentences of the panels."""
    return [panel["blocks"][0]["text"] for panel in problem(Settings(text))["blocks"]]


def test_the_numbers_are_the_models(model: Model) -> None:
    text = PRESETS[0]
    order, twice = said(text)
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


def test_without_a_repeated_word_nothing_is_said_of_one() -> None:
    (order,) = said("how are you")
    assert "“you are how”" in order


def test_what_reads_the_same_backwards() -> None:
    for text in ("", "one", "same same", " a   b  a "):
        assert said(text)[0].startswith("Type two different words or more"), text


def test_words_that_are_cut_otherwise_backwards() -> None:
    assert all(sentence for sentence in said("the\u0301 x \U0001f44d y <b>it</b>"))
