"""The verdicts of the claims, against transformers on the same files, torch, and loops over single numbers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import functional
from torch.nn import functional as F

from mha_core import Model
from mha_core.attention import AttentionLayer
from mha_core.measure.reference import read_with_transformers
from mha_core.measure.timing import forward_pass, training_step
from mha_core.positions import Learned
from mha_core.training import saved, tasks
from mha_core.training.loop import Training
from pages.claims.page import by_name
from pages.kit.lessons.course import claims
from pages.kit.lessons.quantities import layer, looks, random_rows, times, trained
from pages.kit.lessons.verdict import Verdict, verdict
from pages.kit.picture import models, pictures, sharing
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query

pytestmark = pytest.mark.numeric

Said = Callable[[str], Verdict]
STEPS = {name: step for name, (step, _) in by_name(claims()).items()}
HEADS, LAYER = 12, 3
ORANGE, TWICE = "orange is my favorite fruit", "can you can that"
SENTENCE, SHORT = "the animal was too tired to cross the street", "how are you"


class Reference:
    """MiniLM in transformers: maps (layers, h, i, j) and states (layers + 1, i, c) of a text."""

    def __init__(self, model: Model) -> None:
        assert model.folder is not None
        self.model = model
        self.bert: Any = read_with_transformers(model.folder, torch.float32)
        self.places = self.bert.embeddings.position_embeddings.weight

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

    @torch.no_grad()
    def attend(self, layer: int, x: Tensor, left_out: str = "") -> Tensor:
        """The output (i, c) of a layer's attention, one bias left out."""
        q, k, v = (self.project(name, layer, x, bias=name != left_out) for name in ("query", "key", "value"))
        joined = F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)
        out: Tensor = self.bert.encoder.layer[layer].attention.output.dense(joined)
        return out


@pytest.fixture(scope="module")
def bert(model: Model) -> Reference:
    return Reference(model)


@pytest.fixture(scope="module")
def said() -> Said:
    return cache(judged)


def judged(name: str) -> Verdict:
    return verdict(STEPS[name], Query(STEPS[name].query.encode("ascii")))


def numbers(found: Verdict) -> list[float]:
    return [number for _, number, _ in found.numbers]


def test_orange(said: Said, bert: Reference) -> None:
    maps, _ = bert(ORANGE)
    tokens = bert.model.tokenize(ORANGE)[0]
    orange, wanted = tokens.index("orange"), {tokens.index("favorite"), tokens.index("fruit")}
    rows = [map_[orange].tolist() for layer in maps for map_ in layer]
    others = [at for at in range(1, len(tokens) - 1) if at != orange]
    found = sum(set(sorted(others, key=row.__getitem__)[-2:]) == wanted for row in rows)
    assert f"in {found} of 72 heads" in said("orange").why
    assert "They are one of 6 pairs: heads that take two words at random would give 12 on average" in said("orange").why
    draws = torch.multinomial(
        torch.tensor([1 / 6, 5 / 6]), 72 * 20_000, True, generator=torch.Generator().manual_seed(0)
    )
    by_chance = float(((draws.view(-1, 72) == 0).sum(dim=1) >= found).double().mean())
    assert by_chance > 0.1
    assert numbers(said("orange")) == pytest.approx([sum(column) / 72 for column in zip(*rows, strict=True)], abs=1e-5)


def test_what_heads_look_for(said: Said, bert: Reference) -> None:
    """A word and the one that belongs to it, by transformers' maps and loops over single numbers."""
    expected: list[float] = []
    for sentences in looks.sentences().values():
        hits, distances = [0] * 72, []
        for text, word, goal in sentences:
            tokens, (maps, _) = bert.model.tokenize(text)[0], bert(text)
            assert tokens.count(word) == tokens.count(goal) == 1
            at, to = tokens.index(word), tokens.index(goal)
            distances.append(to - at)
            others = [key for key in range(1, len(tokens) - 1) if key != at]
            for head, map_ in enumerate(maps.flatten(0, 1)):
                hits[head] += max(others, key=map_[at].tolist().__getitem__) == to
        assert len(set(distances)) > 2
        expected += [max(hits) / len(sentences), max(map(distances.count, distances)) / len(sentences)]
    assert numbers(said("heads")) == pytest.approx(expected)
    link = Query(STEPS["heads"].query.encode("ascii"))
    tokens, (maps, _) = bert.model.tokenize(link["s"])[0], bert(link["s"])
    row = link.at.row or 0
    assert tokens[row] == "it"
    assert tokens[1:-1][int(maps[link.at.layer, link.at.head, row, 1:-1].argmax())] == "animal"


def test_what_two_heads_share(said: Said, bert: Reference) -> None:
    def shared(maps: Tensor) -> list[float]:
        return [
            sum(float(torch.minimum(a, b).sum(-1).mean()) for a, b in combinations(layer, 2)) / math.comb(HEADS, 2)
            for layer in maps
        ]

    maps, _ = bert(PRESETS[0])
    whole, words = shared(maps), shared(F.normalize(maps[..., 1:-1, 1:-1], p=1, dim=-1))
    assert numbers(said("overlap")) == pytest.approx([*whole, sum(whole) / 6, sum(words) / 6], abs=1e-5)


def test_mean(said: Said, bert: Reference) -> None:
    maps, states = bert(SENTENCE)
    v = bert.project("value", 0, states[0])
    apart = whole = 0.0
    for head in range(HEADS):
        own, other = maps[0, head] @ v[head], maps[0].mean(0) @ v[head]
        apart, whole = apart + float((own - other).square().sum()), whole + float(own.square().sum())
    verdict = said("mean")
    most = float(maps[0].max())
    in_mean = float(maps[0].mean(0).flatten()[maps[0].amax(0).argmax()])
    assert numbers(verdict) == pytest.approx([math.sqrt(apart / whole), most, in_mean], abs=1e-4)


def test_a_word_said_twice(said: Said, bert: Reference) -> None:
    can = [at for at, token in enumerate(bert.model.tokenize(TWICE)[0]) if token == "can"]
    apart = []
    for positions in (True, False):
        maps, _ = bert(TWICE, positions=positions)
        apart.append(float((maps[:, :, can[0]] - maps[:, :, can[1]]).abs().max()))
    assert numbers(said("same-word")) == pytest.approx(apart, abs=1e-5)


def test_symmetric(said: Said, bert: Reference) -> None:
    maps, states = bert(SENTENCE)
    scores = bert.project("query", 0, states[0]) @ bert.project("key", 0, states[0]).mT
    expected = [float((one.mT - one).norm() / one.norm()) for one in (states[0] @ states[0].T, scores, maps[0])]
    assert numbers(said("symmetric")) == pytest.approx(expected, abs=1e-4)


def test_another_order(said: Said, bert: Reference) -> None:
    behind = " ".join(reversed(SENTENCE.split()))
    here, there = (bert.model.tokenize(text)[1] for text in (SENTENCE, behind))
    one_each = [at for at, token in enumerate(here) if here.count(token) == 1]  # the places of the others are a choice
    apart = []
    for positions in (False, True):
        a, b = (bert(text, positions=positions)[1][-1] for text in (SENTENCE, behind))
        apart.append(max(float((a[at] - b[there.index(here[at])]).abs().max()) for at in one_each))
    without, marked = numbers(said("order"))
    assert apart[0] < 1e-5 > without
    assert marked >= apart[1] - 1e-5 > 0.1


def test_waves(said: Said) -> None:
    none, waves = (
        pictures.model_on("auto").run(TWICE, position=position).weights.tolist() for position in ("none", "sinusoidal")
    )
    moved = [  # without positions the two keys of a word that stands twice share the largest weight
        [
            a[b.index(max(b))] < (1 - 1e-3) * max(a)
            for one, other in zip(*layers, strict=True)
            for a, b in zip(one, other, strict=True)
        ]
        for layers in zip(none, waves, strict=True)
    ]
    assert numbers(said("waves")) == pytest.approx([sum(layer) / len(layer) for layer in moved])


def test_padding(said: Said, bert: Reference) -> None:
    n, whole = (len(bert.model.tokenize(text)[1]) for text in (SHORT, SENTENCE))
    alone = bert(SHORT)[1][-1].mean(0)
    expected = [
        float(F.cosine_similarity(bert(SHORT, pad=whole - n, masked=masked)[1][-1, :n].mean(0), alone, dim=0))
        for masked in (True, False)
    ]
    assert numbers(said("padding")) == pytest.approx(expected, abs=1e-5)


def test_positions(said: Said) -> None:
    """Each row by itself, through the pass that shows maps."""
    shares = []
    for task in ("who", "food", "brackets"):
        built = tasks.build(task)
        assert isinstance(built, tasks.Labelled)
        rows = built.test[: trained.MOST_ROWS]
        for position in ("none", "sinusoidal"):
            model = pictures.model_on("auto", f"{task}-{position}-1")
            first = [models.answer(model, model.run(row.text))[0] for row in rows]
            right = [said.rpartition(" ")[0] == built.classes[row.label] for said, row in zip(first, rows, strict=True)]
            shares.append(sum(right) / len(right))
    *of_tasks, without, with_positions = numbers(said("positions"))
    assert of_tasks == pytest.approx(shares)
    assert [without, with_positions] == numbers(said("news"))[:2]


def test_the_division(said: Said) -> None:
    generator, expected = torch.Generator().manual_seed(0), []
    for d in random_rows.WIDTHS:
        q = torch.randn(random_rows.ROWS, 1, d, generator=generator)
        raw = (q * torch.randn(random_rows.ROWS, random_rows.KEYS, d, generator=generator)).sum(-1).double()
        for scores in (raw, raw / math.sqrt(d)):
            # (j, row, j): no row reaches another
            jacobians = functional.jacobian(lambda rows: F.softmax(rows, dim=-1).sum(0), scores)  # type: ignore[no-untyped-call]
            expected.append(float((jacobians.norm(dim=(0, 2)) < 0.01).double().mean()))
    assert numbers(said("root-d")) == pytest.approx(expected, abs=0.005)


def test_masks_and_sums(said: Said, bert: Reference) -> None:
    _, states = bert(SENTENCE)
    q, k = (bert.project(name, LAYER, states[LAYER]) for name in ("query", "key"))
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).tolist()
    least = 1.0
    for head in scores:
        for i, row in enumerate(head[1:], 1):
            exps = [math.exp(score) for score in row]
            least = min(least, sum(exps[:i]) / sum(exps))
    assert numbers(said("row-sum")) == pytest.approx([1, 1, least, 0], abs=1e-5)
    assert said("row-sum").why.startswith("792 of 792 rows")
    assert numbers(said("minus-1e9")) == pytest.approx([0, 1], abs=1e-6)


def test_values(said: Said, bert: Reference) -> None:
    x = bert(SENTENCE)[1][0]
    v = bert.project("value", 0, x).transpose(0, 1).flatten(1)
    alike = [float(a @ b / a.norm() / b.norm()) for a, b in zip(x, v, strict=True)]
    assert numbers(said("values")) == pytest.approx(alike, abs=1e-5)


def test_amplitudes(said: Said) -> None:
    """Ten draws of the same laws, row by row."""
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
    assert numbers(said("amplitude")) == pytest.approx([*expected, 1 / 80], rel=0.1)


def test_training_without_biases(said: Said) -> None:
    """The same weights but for the biases at the start, and four vectors of 32 fewer."""
    with_them, without = (
        Training(replace(trained.RECIPE, bias=bias), tasks.build("who")).stack for bias in (True, False)
    )
    apart = dict(with_them.named_parameters()).keys() - dict(without.named_parameters()).keys()
    assert sum(parameter.numel() for name, parameter in with_them.named_parameters() if name in apart) == 4 * 32
    assert all(torch.equal(a, with_them.get_parameter(name)) for name, a in without.named_parameters())
    assert numbers(said("biases")) == pytest.approx([1.0] * 6, abs=0.02)
    assert "128 parameters fewer" in said("biases").why


def test_trained_biases(said: Said, bert: Reference) -> None:
    states = bert(SENTENCE)[1]
    expected = [
        max(
            float((bert.attend(at, x, name) - bert.attend(at, x)).norm() / bert.attend(at, x).norm())
            for at, x in enumerate(states[:-1])
        )
        for name in ("query", "key", "value")
    ]
    assert numbers(said("trained-biases")) == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_a_bias_of_the_keys(said: Said, bert: Reference) -> None:
    x = bert(SENTENCE)[1][LAYER]
    place = torch.arange(len(x), dtype=torch.float64)[:, None]

    def turned(of: Tensor) -> Tensor:
        """Numbers m and m + d/2 are one complex number, which turns."""
        half = of.shape[-1] // 2
        angle = place * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        pairs = torch.complex(of[..., :half].double(), of[..., half:].double()) * torch.polar(
            torch.ones_like(angle), angle
        )
        return torch.cat([pairs.real, pairs.imag], dim=-1).float()

    def maps(change: Callable[[Tensor], Tensor], *, bias: bool) -> Tensor:
        q, k = bert.project("query", LAYER, x), bert.project("key", LAYER, x, bias=bias)
        return (change(q) @ change(k).mT / math.sqrt(q.shape[-1])).softmax(-1)

    expected = [
        float((maps(change, bias=True) - maps(change, bias=False)).abs().max()) for change in (lambda of: of, turned)
    ]
    assert numbers(said("key-bias")) == pytest.approx(expected, abs=1e-5)


def test_implementations(said: Said, bert: Reference) -> None:
    accuracies = {}
    for line in ("naive", "torch"):
        runs = [saved.read(models.SHIPPED / f"news-post-{line}-{seed}") for seed in range(1, 6)]
        accuracies[line] = sum(run.evaluations[-1].test_accuracy for run in runs) / 5
    assert numbers(said("one-function")) == pytest.approx(list(accuracies.values()))
    x = bert(SENTENCE)[1][LAYER]
    own = pictures.model_on("auto").encoder.layers[LAYER].attention
    assert torch.allclose(own(x)[0], bert.attend(LAYER, x), atol=1e-5)  # type: ignore[operator]


def test_the_news(said: Said) -> None:
    """The recorded answers are those of the last look that each run's history tells."""
    accuracy: dict[str, list[float]] = {}
    for folder in models.SHIPPED.glob("news-*"):
        accuracy.setdefault(folder.name.rpartition("-")[0], []).append(saved.read(folder).evaluations[-1].test_accuracy)
    lines = ("news-post-efficient", "news-fair-fused"), ("-sinusoidal", "-sinusoidal-0.1")
    pairs = [(lines[0][way], lines[0][way] + lines[1][small]) for way, small in ((0, 0), (1, 0), (1, 1))]
    expected = [sum(accuracy[line]) / len(accuracy[line]) for pair in pairs for line in pair]
    assert numbers(said("news")) == pytest.approx(expected)
    assert expected[0] - expected[1] > 0.03


def test_the_notebooks_draw_is_torchs_own_initial_weights() -> None:
    """Laws of Xavier and of nn.Linear, as a new nn.MultiheadAttention without biases has them."""
    drawn = [layer.notebook_draw(seed)[0] for seed in range(40)]
    theirs = [nn.MultiheadAttention(12, 2, bias=False) for _ in range(40)]
    for ours, other in (
        (torch.stack([torch.cat([one.q, one.k, one.v]) for one in drawn]), [one.in_proj_weight.data for one in theirs]),
        (torch.stack([one.o for one in drawn]), [one.out_proj.weight.data for one in theirs]),
    ):
        weights = torch.stack(other)
        assert float(ours.abs().max()) == pytest.approx(float(weights.abs().max()), rel=0.02)
        assert float(ours.std()) == pytest.approx(float(weights.std()), rel=0.05)
    x = layer.notebook_draw(0)[1]
    assert x.shape == (8, 80, 12)
    assert float(x.std()) == pytest.approx(1, rel=0.05)


def test_the_notebooks_case(said: Said) -> None:
    """A draw as the notebook writes it, against torch's own layer."""
    weights, x = layer.notebook_draw(3)
    q, k, v, o = weights.q, weights.k, weights.v, weights.o
    qx, kx, vx = (torch.einsum("ij,bsj->bsi", one, x).reshape(8, 80, 2, 6) for one in (q, k, v))
    exps = torch.exp(torch.einsum("bshi,bthi->bhst", qx, kx) / math.sqrt(6))
    z = torch.einsum("bhst,bthi->bshi", exps / exps.sum(-1, keepdim=True), vx).reshape(8, 80, 12)
    theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([q, k, v]))
        theirs.out_proj.weight.copy_(o)
        wanted = theirs(x, x, x)[0]
    least, most, printed, real, bound = numbers(said("torch"))
    assert float((torch.einsum("ij,bsj->bsi", o, z) - wanted).norm() / wanted.norm()) <= bound
    assert least <= most <= bound
    assert real < 10 * bound
    assert STEPS["torch"].claim is not None
    assert f"{printed:.7e}" == STEPS["torch"].claim.said


@pytest.mark.parametrize("name", ["naive", "fastest", "einsum"])
def test_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"64 tokens": (forward_pass, (1, 8, 24, 3)), "training": (training_step, (2, 16, 24, 3))}
    monkeypatch.setattr(times, "SECONDS", 0.02)
    monkeypatch.setattr(times, "TASKS", small)
    times.forget()
    found = judged(name)
    assert all(value > 0 for value in numbers(found))
    assert numbers(judged(name)) == numbers(found)  # kept
    first = times.time_ratios("naive", "torch", "64 tokens")
    assert len(first.tensor) >= times.FEWEST
    times.forget()
    assert times.time_ratios("naive", "torch", "64 tokens") is not first
    times.forget()


@pytest.fixture
def changed(model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """MiniLM with other weights: no positions, no biases, keys like queries, and values that are the embeddings."""
    stack = copy.deepcopy(model.encoder)
    assert isinstance(stack.position, Learned)
    with torch.no_grad():
        stack.position.table.zero_()
    for block in stack.layers:
        attention = cast(AttentionLayer, block.attention)
        weights = attention.save()
        width, nothing = len(weights.q), torch.zeros(len(weights.q))
        other = replace(weights, k=weights.q, v=torch.eye(width), q_bias=nothing, k_bias=nothing, v_bias=nothing)
        attention.load(other)
    sharing.forget()
    other_model = Model("minilm", model.tokenizer, stack, origin="pretrained")
    monkeypatch.setattr(pictures, "model_on", lambda *_: other_model)
    yield
    sharing.forget()


@pytest.mark.usefixtures("changed")
def test_other_weights_another_verdict() -> None:
    """Each of these is another one on MiniLM's own weights."""
    names = ("same-word", "values", "trained-biases", "key-bias", "symmetric")
    found = {name: judged(name) for name in names}
    assert [one.result for one in found.values()] == ["depends", *["holds"] * 3, "does not hold"]
    assert found["symmetric"].picked == "B"
    with_positions, without = numbers(found["same-word"])
    assert with_positions == without


def test_each_claim_gives_the_verdict_that_it_gave(said: Said) -> None:
    """Before its rules were a lesson's; times, which are never twice the same, left out."""
    given = {
        "orange": ("does not hold", "A"), "heads": ("depends", "B"), "overlap": ("depends", "B"),
        "mean": ("does not hold", "C"), "same-word": ("holds", "B"), "symmetric": ("does not hold", "C"),
        "order": ("holds", "B"), "news": ("depends", "B"), "positions": ("depends", "B"), "waves": ("depends", "B"),
        "padding": ("holds", "B"), "root-d": ("holds", "C"), "amplitude": ("does not hold", "C"),
        "minus-1e9": ("depends", "B"), "row-sum": ("holds", "A"), "values": ("does not hold", "C"),
        "biases": ("holds", "A"), "trained-biases": ("depends", "C"), "key-bias": ("depends", "C"),
        "one-function": ("holds", "A"), "torch": ("holds", "A"), "axes": ("holds", "A"),
    }  # fmt: skip
    assert {name: (said(name).result, said(name).picked) for name in given} == given
    assert {name for name, step in STEPS.items() if step.claim and step.claim.timed} == STEPS.keys() - given.keys()
