"""The verdicts of the claims, against transformers on the same files, torch, and loops over single numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import functional
from torch.nn import functional as F

from headlight.lessons.course import course
from headlight.lessons.quantities import head_targets, layer, random_rows, times, trained
from headlight.lessons.quantities.picture import model_rounding
from headlight.lessons.verdict import Verdict, verdict
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue import single_flight
from headlight.registry import models
from headlight.registry.trained import SHIPPED
from mha_core import Model
from mha_core.measure import rounding
from mha_core.measure.reference import read_with_transformers
from mha_core.measure.timing import forward_pass, training_step
from mha_core.training import saved, tasks
from mha_core.training.loop import Training
from tests.closeness import SAME_FUNCTION, same_function

from .numbers_shown import assert_shows, model64, read_number

pytestmark = pytest.mark.numeric

STEPS = {str(step.claim): step for lesson in course().lessons.values() for step in lesson.steps if step.claim}
ANSWERS = {"A": "holds", "B": "does not hold", "C": "depends"}
VERDICTS = {
    "orange": "does not hold", "heads": "depends", "overlap": "depends",
    "mean": "does not hold", "same-word": "holds", "symmetric": "does not hold",
    "order": "holds", "news": "depends", "positions": "depends", "waves": "depends",
    "padding": "holds", "root-d": "holds", "amplitude": "does not hold",
    "minus-1e9": "depends", "row-sum": "holds", "values": "does not hold",
    "biases": "depends", "trained-biases": "depends", "key-bias": "depends",
    "one-function": "holds", "torch": "holds", "axes": "holds",
}  # fmt: skip
HEADS, LAYER = 12, 3
ORANGE, TWICE = "orange is my favorite fruit", "can you can that"
SENTENCE, SHORT = "the animal was too tired to cross the street", "how are you"


class Reference:
    """MiniLM in transformers, in float64: maps (layers, h, i, j) and states (layers + 1, i, c) of a text."""

    def __init__(self, model: Model) -> None:
        assert model.folder is not None
        self.model = model
        self.bert: Any = read_with_transformers(model.folder, torch.float64)
        self.places = self.bert.embeddings.position_embeddings.weight

    def tokens(self, text: str) -> list[str]:
        return self.model.tokenize(text)[0]

    @torch.no_grad()
    def __call__(
        self, text: str, *, positions: bool = True, pad: int = 0, masked: bool = True
    ) -> tuple[Tensor, Tensor]:
        ids = self.model.tokenize(text)[1]
        kept, n = self.places.clone(), len(ids)
        if not positions:
            self.places.zero_()
        keep = torch.ones(1, n + pad, dtype=torch.int64)
        keep[0, n:] = 0 if masked else 1
        padded = torch.tensor([ids + [0] * pad])
        out = self.bert(padded, attention_mask=keep, output_attentions=True, output_hidden_states=True)
        self.places.copy_(kept)
        return torch.cat(out.attentions), torch.cat(out.hidden_states)

    @torch.no_grad()
    def project(self, name: str, layer: int, x: Tensor, *, bias: bool = True) -> Tensor:
        """(i, c) -> (h, i, d)."""
        linear = getattr(self.bert.encoder.layer[layer].attention.self, name)
        return F.linear(x, linear.weight, linear.bias if bias else None).view(len(x), HEADS, -1).transpose(0, 1)


@pytest.fixture(scope="module")
def bert(model: Model) -> Reference:
    return Reference(model)


def judge(name: str) -> Verdict:
    return verdict(STEPS[name], Query(STEPS[name].query.encode("ascii")))


@cache
def judged(name: str) -> Verdict:
    """The verdict on a claim, which is the known one."""
    found = judge(name)
    assert ANSWERS[found.picked or ""] == VERDICTS[name], name
    return found


def numbers(found: Verdict) -> list[float]:
    return [number for _, number, _ in found.numbers]


def assert_numbers(name: str, expected: Sequence[float]) -> None:
    """Assert that the page shows these numbers of a claim, in as many digits as it writes."""
    for (label, _, text), value in zip(judged(name).numbers, expected, strict=True):
        try:
            assert_shows(text, value)
        except AssertionError as error:
            raise AssertionError(f"{name}, {label}: {error}") from None


def rounding_on(text: str) -> float:
    return model_rounding(pictures.picture(Settings(text))).scalar


def test_orange(bert: Reference) -> None:
    maps, _ = bert(ORANGE)
    tokens = bert.tokens(ORANGE)
    orange, wanted = tokens.index("orange"), {tokens.index("favorite"), tokens.index("fruit")}
    rows = [map_[orange].tolist() for layer in maps for map_ in layer]
    others = [at for at in range(1, len(tokens) - 1) if at != orange]
    found = sum(set(sorted(others, key=row.__getitem__)[-2:]) == wanted for row in rows)
    assert f"in {found} of 72 heads" in judged("orange").explanation
    assert_numbers("orange", [sum(column) / 72 for column in zip(*rows, strict=True)])


def test_focus_of_heads(bert: Reference) -> None:
    """A word and the one that belongs to it, by transformers' maps and loops over single numbers."""
    expected: list[float] = []
    for sentences in head_targets.sentences().values():
        hits, distances = [0] * 72, []
        for text, word, goal in sentences:
            tokens, (maps, _) = bert.tokens(text), bert(text)
            assert tokens.count(word) == tokens.count(goal) == 1
            at, to = tokens.index(word), tokens.index(goal)
            distances.append(to - at)
            others = [key for key in range(1, len(tokens) - 1) if key != at]
            for head, map_ in enumerate(maps.flatten(0, 1)):
                hits[head] += max(others, key=map_[at].tolist().__getitem__) == to
        assert len(set(distances)) > 2
        expected += [max(hits) / len(sentences), max(map(distances.count, distances)) / len(sentences)]
    assert_numbers("heads", expected)


def test_one_mean_map_and_what_is_symmetric(bert: Reference) -> None:
    maps, states = bert(SENTENCE)
    q, k, v = (bert.project(name, 0, states[0]) for name in ("query", "key", "value"))
    dense = bert.bert.encoder.layer[0].attention.output.dense
    mixed = (each @ v for each in (maps[0], maps[0].mean(0)))
    own, of_mean = (dense(heads.transpose(0, 1).flatten(1)).detach() for heads in mixed)
    in_mean = float(maps[0].mean(0).flatten()[maps[0].amax(0).argmax()])
    assert_numbers("mean", [float((own - of_mean).norm() / own.norm()), float(maps[0].max()), in_mean])
    assert 0 <= numbers(judged("symmetric"))[0] <= rounding.sum_bound(384)
    scores, weights = (float((one.mT - one).norm() / one.norm()) for one in (q @ k.mT, maps[0]))
    (_, *_), *shown = judged("symmetric").numbers
    for (_, _, text), value in zip(shown, (scores, weights), strict=True):
        assert_shows(text, value)


def test_word_said_twice_and_another_order(bert: Reference) -> None:
    can = [at for at, token in enumerate(bert.tokens(TWICE)) if token == "can"]
    maps, _ = bert(TWICE)
    (_, _, text), (_, same, _) = judged("same-word").numbers
    assert_shows(text, float((maps[:, :, can[0]] - maps[:, :, can[1]]).abs().max()))
    assert 0 <= same <= rounding_on(TWICE)
    behind = " ".join(reversed(SENTENCE.split()))
    here, there = (bert.model.tokenize(text)[1] for text in (SENTENCE, behind))
    states = [[bert(text, positions=on)[1][-1] for text in (SENTENCE, behind)] for on in (False, True)]
    (_, moved, _), (_, _, marked) = judged("order").numbers
    assert 0 <= moved <= rounding_on(SENTENCE) * float(states[0][0].abs().max())
    the = [at for at, token in enumerate(here) if here.count(token) == 2]
    apart = []
    for swapped in (False, True):  # of a word that stands twice, which is which is a choice
        places = [there.index(token) for token in here]
        places[the[not swapped]] = len(there) - 1 - there[::-1].index(here[the[0]])
        apart.append(float((states[1][0] - states[1][1][places]).abs().max()))
    assert any(round(1000 * abs(read_number(marked) - one)) <= 1 for one in apart)  # three digits are written
    assert max(apart) > 0.1


def test_waves() -> None:
    none, waves = (model64().run(TWICE, position=position).weights.tolist() for position in ("none", "sinusoidal"))
    moved = [  # without positions the two keys of a word that stands twice share the largest weight
        [
            a[b.index(max(b))] < (1 - SAME_FUNCTION) * max(a)
            for one, other in zip(*layers, strict=True)
            for a, b in zip(one, other, strict=True)
        ]
        for layers in zip(none, waves, strict=True)
    ]
    assert_numbers("waves", [sum(layer) / len(layer) for layer in moved])


def test_padding(bert: Reference) -> None:
    n, whole = (len(bert.tokens(text)) for text in (SHORT, SENTENCE))
    alone = bert(SHORT)[1][-1].mean(0)
    padded = [bert(SHORT, pad=whole - n, masked=masked)[1][-1, :n].mean(0) for masked in (True, False)]
    assert_numbers("padding", [float(F.cosine_similarity(one, alone, dim=0)) for one in padded])


@pytest.mark.thorough("six trained models answer a hundred rows one by one")
def test_positions() -> None:
    """Each row by itself, through the pass that shows maps."""
    shares = []
    for task in ("who", "food", "brackets"):
        built = tasks.build(task)
        assert isinstance(built, tasks.Labelled)
        rows = built.test[: trained.MAX_ROWS]
        for position in ("none", "sinusoidal"):
            model = pictures.model_on("auto", f"{task}-{position}-1")
            first = [models.answer(model, model.run(row.text))[0].rpartition(" ")[0] for row in rows]
            right = [answer == built.classes[row.label] for answer, row in zip(first, rows, strict=True)]
            shares.append(sum(right) / len(right))
    assert_numbers("positions", [*shares, *numbers(judged("news"))[:2]])


def test_division() -> None:
    generator, expected = torch.Generator().manual_seed(0), []
    for d in random_rows.WIDTHS:
        q = torch.randn(random_rows.ROWS, 1, d, generator=generator)
        raw = (q * torch.randn(random_rows.ROWS, random_rows.KEYS, d, generator=generator)).double().sum(-1)
        for scores in (raw, raw / math.sqrt(d)):
            # (j, row, j): no row reaches another
            jacobians = functional.jacobian(lambda rows: F.softmax(rows, dim=-1).sum(0), scores)  # type: ignore[no-untyped-call]
            expected.append(float((jacobians.norm(dim=(0, 2)) < 0.01).double().mean()))
    assert_numbers("root-d", expected)


def test_masks_and_sums(bert: Reference) -> None:
    _, states = bert(SENTENCE)
    q, k = (bert.project(name, LAYER, states[LAYER]) for name in ("query", "key"))
    least = 1.0
    for head in (q @ k.mT / math.sqrt(q.shape[-1])).tolist():
        for i, row in enumerate(head[1:], 1):
            exps = [math.exp(score) for score in row]
            least = min(least, sum(exps[:i]) / sum(exps))
    assert_numbers("row-sum", [1, 1, least, 0])
    assert judged("row-sum").explanation.startswith("792 of 792 rows")
    usual, empty = judged("minus-1e9").numbers
    assert 0 <= usual[1] <= rounding.sum_bound(len(bert.tokens(SENTENCE)))
    assert_shows(empty[2], 1)


def test_other_verdicts() -> None:
    for name in ("axes", "key-bias", "overlap", "trained-biases", "values"):
        judged(name)


def test_amplitudes() -> None:
    """Ten other draws of the same laws, row by row."""
    generator, expected = torch.Generator().manual_seed(7), [0.0] * 4
    for _ in range(10):
        x = torch.randn(640, 12, generator=generator).view(8, 80, 12)
        of_matrices = [x @ torch.randn(12, 12, generator=generator) for _ in "qk"]
        themselves = [torch.randn(8, 80, 12, generator=generator) for _ in "qk"]
        for at, (q, k) in enumerate((of_matrices, themselves)):
            scores = torch.einsum("bihd,bjhd->bhij", q.view(8, 80, 2, 6), k.view(8, 80, 2, 6))
            for under, divided in enumerate((scores / math.sqrt(6), scores)):
                exps = (divided - divided.amax(-1, keepdim=True)).exp()
                expected[2 * at + under] += float((1 / exps.sum(-1)).mean()) / 10
    *found, even = numbers(judged("amplitude"))
    assert all(0.9 < own / others < 1.1 for own, others in zip(found, expected, strict=True)), (found, expected)
    assert even == 1 / 80


@pytest.mark.thorough("six small models are trained")
def test_training_without_biases() -> None:
    """The same weights but for the biases at the start, and three vectors of 32 fewer; the output keeps its own."""
    with_them, without = (
        Training(replace(trained.RECIPE, bias=bias), tasks.build("who")).stack for bias in (True, False)
    )
    apart = dict(with_them.named_parameters()).keys() - dict(without.named_parameters()).keys()
    assert sum(parameter.numel() for name, parameter in with_them.named_parameters() if name in apart) == 3 * 32
    assert all(torch.equal(a, with_them.get_parameter(name)) for name, a in without.named_parameters())
    assert len(set(numbers(judged("biases")))) > 2, "a task that every model solves would tell nothing"
    assert len(numbers(judged("biases"))) == 6
    assert "96 parameters fewer" in judged("biases").explanation


def test_recorded_experiments() -> None:
    """The recorded answers are those of the last evaluation in each run's history."""
    accuracy: dict[str, list[float]] = {}
    for folder in SHIPPED.glob("news-*"):
        accuracy.setdefault(folder.name.rpartition("-")[0], []).append(saved.read(folder).evaluations[-1].test_accuracy)
    mean = {line: sum(of) / len(of) for line, of in accuracy.items()}
    assert_numbers("one-function", [mean[f"news-post-{line}"] for line in ("naive", "torch")])
    post, fair = "news-post-efficient", "news-fair-fused"
    pairs = [(post, f"{post}-sinusoidal"), (fair, f"{fair}-sinusoidal"), (fair, f"{fair}-sinusoidal-0.1")]
    assert_numbers("news", [mean[line] for pair in pairs for line in pair])
    assert mean[post] - mean[f"{post}-sinusoidal"] > 0.03


@pytest.mark.thorough("compares the statistics of forty draws")
def test_notebooks_draw_is_torchs_own_initial_weights() -> None:
    """Laws of Xavier and of nn.Linear, as a new nn.MultiheadAttention without biases has them."""
    drawn = [layer.notebook_draw(seed)[0] for seed in range(40)]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = [nn.MultiheadAttention(12, 2, bias=False) for _ in range(40)]
    for ours, weights in (
        (torch.stack([torch.cat([one.q, one.k, one.v]) for one in drawn]), [one.in_proj_weight.data for one in theirs]),
        (torch.stack([one.o for one in drawn]), [one.out_proj.weight.data for one in theirs]),
    ):
        assert 0.98 < float(ours.abs().max() / torch.stack(weights).abs().max()) < 1.02
        assert 0.95 < float(ours.std() / torch.stack(weights).std()) < 1.05


def test_notebooks_case() -> None:
    """A draw as the notebook writes it, against torch's own layer."""
    weights, x = layer.notebook_draw(3)
    q, k, v, o = (one.double() for one in (weights.q, weights.k, weights.v, weights.o))
    x = x.double()
    qx, kx, vx = (torch.einsum("ij,bsj->bsi", one, x).reshape(8, 80, 2, 6) for one in (q, k, v))
    exps = torch.exp(torch.einsum("bshi,bthi->bhst", qx, kx) / math.sqrt(6))
    z = torch.einsum("bhst,bthi->bshi", exps / exps.sum(-1, keepdim=True), vx).reshape(8, 80, 12)
    theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([q, k, v]))
        theirs.out_proj.weight.copy_(o)
        same_function(torch.einsum("ij,bsj->bsi", o, z), theirs(x, x, x)[0])
    least, most, printed, _, bound = numbers(judged("torch"))
    assert 0 <= least <= most <= bound
    assert f"{printed:.7e}" in STEPS["torch"].instruction


@pytest.mark.thorough("implementations are timed again and again")
def test_times(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"64 tokens": (forward_pass, (1, 8, 24, 3)), "training": (training_step, (2, 16, 24, 3))}
    monkeypatch.setattr(times, "SECONDS", 0.02)
    monkeypatch.setattr(times, "TASKS", small)
    for name in ("naive", "fastest", "einsum"):
        single_flight.clear_caches()
        found = judge(name)
        assert all(value > 0 for value in numbers(found)), name
        assert numbers(judge(name)) == numbers(found), "kept"
    single_flight.clear_caches()
