"""The verdicts on real models, against transformers on the same files, torch, and loops over single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mha_core import Model
from mha_core.measure.reference import read_with_transformers
from mha_core.training import saved, tasks
from mha_core.training.loop import Training
from pages.claims import evidence, layers
from pages.claims.catalog import CLAIMS
from pages.claims.rules.verdict import Verdict
from pages.claims.sought import SOUGHT
from pages.kit.picture import models, pictures

pytestmark = pytest.mark.numeric

Said = Callable[[str], Verdict]
HEADS = 12


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


@pytest.fixture
def said() -> Said:
    return lambda name: evidence.verdict(CLAIMS[name].judge, 0)


def numbers(verdict: Verdict) -> list[float]:
    return [number for _, number in verdict.numbers]


def test_orange(said: Said, bert: Reference) -> None:
    maps, _ = bert(evidence.ORANGE)
    tokens = bert.model.tokenize(evidence.ORANGE)[0]
    orange, wanted = tokens.index("orange"), {tokens.index("favorite"), tokens.index("fruit")}
    rows = [map_[orange].tolist() for layer in maps for map_ in layer]
    others = [at for at in range(1, len(tokens) - 1) if at != orange]
    found = sum(set(sorted(others, key=row.__getitem__)[-2:]) == wanted for row in rows)
    assert f"in {found} of 72 heads" in said("orange").said
    assert (
        "They are one of 6 pairs: heads that take two words at random would give 12 on average" in said("orange").said
    )
    draws = torch.multinomial(
        torch.tensor([1 / 6, 5 / 6]), 72 * 20_000, True, generator=torch.Generator().manual_seed(0)
    )
    by_chance = float(((draws.view(-1, 72) == 0).sum(dim=1) >= found).double().mean())
    assert by_chance > 0.1
    assert (said("orange").result, said("orange").answer) == ("does not hold", 0)
    assert numbers(said("orange")) == pytest.approx([sum(column) / 72 for column in zip(*rows, strict=True)], abs=1e-5)


def test_what_heads_look_for(said: Said, bert: Reference) -> None:
    """A word and the one that belongs to it, by transformers' maps and loops over single numbers."""
    expected: list[float] = []
    for sentences in SOUGHT.values():
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
    assert (said("heads").result, said("heads").answer) == ("depends", 1)
    link = dict(CLAIMS["heads"].see.link)
    layer, head, row = map(int, link["at"].split("."))
    tokens, (maps, _) = bert.model.tokenize(link["s"])[0], bert(link["s"])
    assert tokens[row] == "it"
    assert tokens[1:-1][int(maps[layer, head, row, 1:-1].argmax())] == "animal"


def test_what_two_heads_share(said: Said, bert: Reference) -> None:
    def shared(maps: Tensor) -> list[float]:
        return [
            sum(float(torch.minimum(a, b).sum(-1).mean()) for a, b in combinations(layer, 2)) / math.comb(HEADS, 2)
            for layer in maps
        ]

    maps, _ = bert(evidence.LONGER)
    whole, words = shared(maps), shared(F.normalize(maps[..., 1:-1, 1:-1], p=1, dim=-1))
    assert numbers(said("overlap")) == pytest.approx([*whole, sum(whole) / 6, sum(words) / 6], abs=1e-5)


def test_mean(said: Said, bert: Reference) -> None:
    maps, states = bert(evidence.SENTENCE)
    v = bert.project("value", 0, states[0])
    apart = whole = 0.0
    for head in range(HEADS):
        own, other = maps[0, head] @ v[head], maps[0].mean(0) @ v[head]
        apart, whole = apart + float((own - other).square().sum()), whole + float(own.square().sum())
    verdict = said("mean")
    most = float(maps[0].max())
    in_mean = float(maps[0].mean(0).flatten()[maps[0].amax(0).argmax()])
    assert numbers(verdict) == pytest.approx([math.sqrt(apart / whole), most, in_mean], abs=1e-4)
    assert verdict.result == "does not hold"


def test_a_word_said_twice(said: Said, bert: Reference) -> None:
    can = [at for at, token in enumerate(bert.model.tokenize(evidence.TWICE)[0]) if token == "can"]
    apart = []
    for positions in (True, False):
        maps, _ = bert(evidence.TWICE, positions=positions)
        apart.append(float((maps[:, :, can[0]] - maps[:, :, can[1]]).abs().max()))
    assert numbers(said("same-word")) == pytest.approx(apart, abs=1e-5)
    assert (said("same-word").result, said("same-word").answer) == ("holds", 1)


def test_symmetric(said: Said, bert: Reference) -> None:
    maps, states = bert(evidence.SENTENCE)
    scores = bert.project("query", 0, states[0]) @ bert.project("key", 0, states[0]).mT
    expected = [float((one.mT - one).norm() / one.norm()) for one in (states[0] @ states[0].T, scores, maps[0])]
    assert numbers(said("symmetric")) == pytest.approx(expected, abs=1e-4)
    assert said("symmetric").result == "does not hold"


def test_another_order(said: Said, bert: Reference) -> None:
    behind = " ".join(reversed(evidence.SENTENCE.split()))
    here, there = (bert.model.tokenize(text)[1] for text in (evidence.SENTENCE, behind))
    one_each = [at for at, token in enumerate(here) if here.count(token) == 1]  # the places of the others are a choice
    apart = []
    for positions in (False, True):
        a, b = (bert(text, positions=positions)[1][-1] for text in (evidence.SENTENCE, behind))
        apart.append(max(float((a[at] - b[there.index(here[at])]).abs().max()) for at in one_each))
    without, marked = numbers(said("order"))
    assert apart[0] < 1e-5 > without
    assert marked >= apart[1] - 1e-5 > 0.1
    assert said("order").result == "holds"


def test_waves(said: Said) -> None:
    none, waves = (
        pictures.model_on("auto").run(evidence.TWICE, position=position).weights.tolist()
        for position in ("none", "sinusoidal")
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
    n, whole = (len(bert.model.tokenize(text)[1]) for text in (evidence.SHORT, evidence.SENTENCE))
    alone = bert(evidence.SHORT)[1][-1].mean(0)
    expected = [
        float(F.cosine_similarity(bert(evidence.SHORT, pad=whole - n, masked=masked)[1][-1, :n].mean(0), alone, dim=0))
        for masked in (True, False)
    ]
    assert numbers(said("padding")) == pytest.approx(expected, abs=1e-5)
    assert (said("padding").result, said("padding").answer) == ("holds", 1)


def test_positions(said: Said) -> None:
    """Each row by itself, through the pass that shows maps."""
    shares = []
    for task in evidence.ORDERS.values():
        built = tasks.build(task)
        assert isinstance(built, tasks.Labelled)
        rows = built.test[: evidence.MOST_ROWS]
        for position in ("none", "sinusoidal"):
            model = pictures.model_on("auto", f"{task}-{position}-1")
            first = [models.answer(model, model.run(row.text))[0] for row in rows]
            right = [said.rpartition(" ")[0] == built.classes[row.label] for said, row in zip(first, rows, strict=True)]
            shares.append(sum(right) / len(right))
    *of_tasks, without, with_positions = numbers(said("positions"))
    assert of_tasks == pytest.approx(shares)
    assert [without, with_positions] == numbers(said("news"))[:2]
    assert (said("positions").result, said("positions").answer) == ("depends", 1)


def test_the_division(said: Said) -> None:
    generator, expected = torch.Generator().manual_seed(0), []
    for d in evidence.WIDTHS:
        q = torch.randn(evidence.ROWS, 1, d, generator=generator)
        raw = (q * torch.randn(evidence.ROWS, evidence.KEYS, d, generator=generator)).sum(-1).double()
        for scores in (raw, raw / math.sqrt(d)):
            jacobians = torch.func.vmap(torch.func.jacrev(lambda row: F.softmax(row, dim=0)))(scores)
            expected.append(float((jacobians.flatten(1).norm(dim=1) < 0.01).double().mean()))
    assert numbers(said("root-d")) == pytest.approx(expected, abs=0.005)
    assert said("root-d").result == "holds"


def test_masks_and_sums(said: Said, bert: Reference) -> None:
    _, states = bert(evidence.SENTENCE)
    q, k = (bert.project(name, evidence.LAYER, states[evidence.LAYER]) for name in ("query", "key"))
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).tolist()
    least = 1.0
    for head in scores:
        for i, row in enumerate(head[1:], 1):
            exps = [math.exp(score) for score in row]
            least = min(least, sum(exps[:i]) / sum(exps))
    assert numbers(said("row-sum")) == pytest.approx([1, 1, least, 0], abs=1e-5)
    assert (said("row-sum").result, said("row-sum").answer) == ("holds", 0)
    assert said("row-sum").said.startswith("792 of 792 rows")
    assert said("minus-1e9").result == "depends"
    assert numbers(said("minus-1e9")) == pytest.approx([0, 1], abs=1e-6)


def test_values(said: Said, bert: Reference) -> None:
    x = bert(evidence.SENTENCE)[1][0]
    v = bert.project("value", 0, x).transpose(0, 1).flatten(1)
    alike = [float(a @ b / a.norm() / b.norm()) for a, b in zip(x, v, strict=True)]
    assert numbers(said("values")) == pytest.approx(alike, abs=1e-5)
    assert said("values").result == "does not hold"


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
    assert (said("amplitude").result, said("amplitude").answer) == ("does not hold", 2)


def test_training_without_biases(said: Said) -> None:
    """The same weights but for the biases at the start, and four vectors of 32 fewer."""
    with_them, without = (
        Training(replace(layers.RECIPE, bias=bias), tasks.build("who")).stack for bias in (True, False)
    )
    apart = dict(with_them.named_parameters()).keys() - dict(without.named_parameters()).keys()
    assert sum(parameter.numel() for name, parameter in with_them.named_parameters() if name in apart) == 4 * 32
    assert all(torch.equal(a, with_them.get_parameter(name)) for name, a in without.named_parameters())
    assert numbers(said("biases")) == pytest.approx([1.0] * 6, abs=0.02)
    assert (said("biases").result, said("biases").answer) == ("holds", 0)
    assert "128 fewer" in said("biases").said


def test_trained_biases(said: Said, bert: Reference) -> None:
    states = bert(evidence.SENTENCE)[1]
    expected = [
        max(
            float((bert.attend(at, x, name) - bert.attend(at, x)).norm() / bert.attend(at, x).norm())
            for at, x in enumerate(states[:-1])
        )
        for name in ("query", "key", "value")
    ]
    assert numbers(said("trained-biases")) == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert (said("trained-biases").result, said("trained-biases").answer) == ("depends", 2)
    biases = [
        one
        for name, one in bert.bert.encoder.named_parameters()
        if name.endswith(("query.bias", "key.bias", "value.bias"))
    ]
    assert f"{sum(one.numel() for one in biases):,} numbers" in said("trained-biases").said


def test_a_bias_of_the_keys(said: Said, bert: Reference) -> None:
    x = bert(evidence.SENTENCE)[1][evidence.LAYER]
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
        q, k = bert.project("query", evidence.LAYER, x), bert.project("key", evidence.LAYER, x, bias=bias)
        return (change(q) @ change(k).mT / math.sqrt(q.shape[-1])).softmax(-1)

    expected = [
        float((maps(change, bias=True) - maps(change, bias=False)).abs().max()) for change in (lambda of: of, turned)
    ]
    assert numbers(said("key-bias")) == pytest.approx(expected, abs=1e-5)
    assert (said("key-bias").result, said("key-bias").answer) == ("depends", 2)


def test_implementations(said: Said, bert: Reference) -> None:
    assert said("one-function").result == said("axes").result == "holds"
    accuracies = {}
    for line in ("naive", "torch"):
        runs = [saved.read(models.SHIPPED / f"news-post-{line}-{seed}") for seed in range(1, 6)]
        accuracies[line] = sum(run.evaluations[-1].test_accuracy for run in runs) / 5
    assert numbers(said("one-function")) == pytest.approx(list(accuracies.values()))
    x = bert(evidence.SENTENCE)[1][evidence.LAYER]
    layer = pictures.model_on("auto").encoder.layers[evidence.LAYER].attention
    assert torch.allclose(layer(x)[0], bert.attend(evidence.LAYER, x), atol=1e-5)  # type: ignore[operator]
