"""Other views of a run: the flow, a pair's channels, all heads by every measure, kinds of heads, effects."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import product
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from headlight.link.limits import DOMINANT_WEIGHT, MAX_TEXT_LENGTH, STRONG_WEIGHT
from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.heads.measures import head_measures
from mha_core.measure import rounding
from mha_core.measure.channels import channels
from mha_core.measure.residual import Addition, additions
from mha_core.measure.rollout import flow, with_residual
from mha_core.measure.value_norms import norm_shares, transformed_norms, transformed_values
from pages.explore import data_tables, layer_flow
from pages.explore.handlers import effect
from pages.explore.head_kinds import HALF, NEAR, kinds, layer_kinds
from pages.explore.lens import MAX_ROWS
from pages.explore.residual_stream import NO_MLP
from tests.closeness import identical, quoted, within_rounding

from .conftest import answer, picture_of

TEXT, DATE = "the cat sat on the mat", "1 May 2020"
TRANSLATOR = pytest.mark.thorough("A translator of dates, or SmolLM2, is loaded and run.")


def answered(route: str, **link: str | list[str]) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The header of an answer, and its numbers."""
    header, numbers = picture_of(route, **{"s": TEXT, "view": route, **link})
    return header, numbers.numpy()


def numbers_in(sentence: str) -> list[str]:
    """The numbers of a sentence, in order."""
    return [one.replace("−", "-") for one in re.findall(r"[+−]?\d+(?:\.\d+)?", sentence)]


@pytest.mark.parametrize("state", ["flow", "flow.norm"])
def test_the_flow_is_the_cores(state: str, model: Model) -> None:
    header, masses = answered("flow", view=state, at="2.3.4.2", mask="causal")
    run = pictures.picture(Settings(TEXT, "causal")).run
    layers = [
        norm_shares(run.weights[layer], transformed_values(model.stack.block(layer), run.hidden[layer]))
        if header["norm"]
        else run.weights[layer].double().mean(dim=0)
        for layer in range(6)
    ]
    assert header["norm"] == (state == "flow.norm")
    wanted = flow(torch.stack([with_residual(layer).double() for layer in layers]), 4, 2)
    n = len(run.tokens)
    # the mean over twelve heads, and six layers one behind the other
    within_rounding(torch.from_numpy(masses.copy()).view(7, n), wanted.masses, rounding.sum_bound(12, *[n, 1] * 6))
    assert (header["tokens"], header["path"], wanted.path[0]) == (run.tokens, wanted.path, 2)
    assert [tuple(line[:3]) for line in header["lines"][:5]] == [line[:3] for line in wanted.lines[:5]]
    made, way = header["sentences"]
    quoted(100 * float(wanted.masses[0, 0]), numbers_in(made)[1])
    quoted(100 * float(wanted.masses[0, 2]), numbers_in(way)[-1])


def test_ablated_heads_carry_no_flow() -> None:
    heads = [f"L0 H{head}" for head in range(12)]
    for state, off in (("flow", heads), ("flow.norm", heads), ("flow", ["L0"]), ("flow.norm", ["L0"])):
        masses = answered("flow", off=off, at="0.0.3", view=state)[1].reshape(7, -1)
        np.testing.assert_array_equal(masses[0], masses[1], "the first layer moves nothing")
    unreached = answered("flow", mask="causal", at="0.0.2.5")[0]
    assert unreached["path"] == []
    assert unreached["sentences"][1].startswith("No path leads")
    long, masses = answered("flow", s="a cat " * 200, at="0.0.300")
    assert len(long["lines"]) == layer_flow.MAX_LINES
    sums = torch.from_numpy(masses.reshape(7, -1).astype("f8").sum(axis=1))
    within_rounding(sums, torch.ones(7), rounding.sum_bound(*[402, 1, 12] * 6))


def test_the_stream_is_the_cores_and_told_in_its_numbers(model: Model) -> None:
    header, values = answered("residual", at="3.0.5", off=["L2 MLP"])
    settings = Settings(TEXT, mlps_off=(2,))
    run = pictures.picture(settings).run
    layers: list[dict[str, Addition]] = additions(model, run, lambda: settings.run(model))
    shown = torch.from_numpy(values.copy()).view(4, 6)
    for place, (part, name) in enumerate(product(("norms", "cosines"), ("attention", "mlp"))):
        identical(shown[place], torch.stack([getattr(layer[name], part)[5] for layer in layers]).float())
    assert header["neurons"][2] == []
    neurons = layers[3]["mlp"].neurons(8)
    assert neurons is not None
    assert [number for number, _, _ in header["neurons"][3]] == neurons.number[5].tolist()
    grows, peaks = (numbers_in(sentence) for sentence in header["sentences"])
    for text, level in zip(grows, (0, -1), strict=True):
        quoted(float(run.hidden[level, 5].norm()), text)
    for number, (layer, text) in enumerate(zip(peaks[::2], peaks[1::2], strict=True)):
        assert int(layer) == int(shown[number].argmax())
        quoted(float(shown[number].max()), text)
    unchanged = pictures.picture(settings.baseline).run
    cosine = torch.cosine_similarity(run.hidden[-1, 5].double(), unchanged.hidden[-1, 5].double(), dim=0)
    assert header["effect"].startswith("Without the MLP of layer 2, the last vector of “the” has cosine")
    quoted(float(cosine), numbers_in(header["effect"])[1])
    off = [f"L{layer}" for layer in range(6)]
    nothing, values = answered("residual", off=off, at="0.0.5")
    assert not values.any(), "everything is ablated"
    assert len(nothing["sentences"]) == 1
    assert answered("residual", model="words-2layers-1", s="boat drum key")[0]["notes"] == [NO_MLP]


def test_the_lens_tells_from_which_layer_on_the_answer_is_the_likeliest() -> None:
    text = " ".join(f"{a} {b}" for a, b in product(("boat", "drum", "key"), ("wolf", "apple", "rain")))
    link = {"model": "words-2layers-1", "s": text}
    header, values = answered("lens", **link, at="0.0.17")
    run = pictures.picture(Settings(text, model="words-2layers-1")).run
    n = len(run.tokens)
    assert (header["first"], header["row"], len(header["labels"])) == (n - MAX_ROWS, n - 1, 3)
    assert "12 of 18 tokens" in header["left"]
    assert run.logits is not None
    top = run.logits[-1].double().softmax(-1).topk(5).values
    # of twelve rows, and of the last one alone
    bound = rounding.sum_bound(run.hidden.shape[-1])
    within_rounding(torch.from_numpy(values.copy()).view(3, MAX_ROWS, 5)[2, -1], top.float(), bound)
    own = [level[-1][0] for level in header["labels"]]
    since = next(level for level in range(3) if set(own[level:]) == {own[-1]})
    place = {0: "at every layer", 1: "from layer 0 on", 2: "only after the last layer"}[since]
    assert place in header["sentence"]
    earlier = answered("lens", **link, at="0.0.3")[0]
    assert (earlier["first"], len(earlier["labels"][0])) == (0, MAX_ROWS)
    with pytest.raises(HeadlightError, match="choose a language model"):
        answered("lens")


@TRANSLATOR
def test_flow_of_cross_attention_is_refused() -> None:
    with pytest.raises(HeadlightError, match="these maps attend from one text to another"):
        answered("flow", s=DATE, model="dates-sinusoidal-1~cross")
    with pytest.raises(HeadlightError, match="attends to the other text"):
        answered("flow", model="dates-sinusoidal-1~decoder", s=DATE, view="flow.norm")
    _, values = overview(model="dates-sinusoidal-1~cross")
    assert set(values) == {"entropy"}, "rows and columns are different texts"


@pytest.mark.parametrize(
    "link",
    [
        {"at": "3.1.4.2"},
        {"at": "2.7.3", "mask": "causal", "t": "2"},
        {"at": "0.0.1.5", "mask": "causal", "pos": "alibi"},
        {"at": "1.4.1.0", "pos": "rotary"},
        pytest.param({"at": "0.0.9.1", "model": "dates-sinusoidal-1~cross", "s": DATE}, marks=TRANSLATOR),
        pytest.param({"at": "4.2.3.1", "model": "smollm2"}, marks=TRANSLATOR),
    ],
    ids=str,
)
def test_the_channels_of_a_pair(link: dict[str, str]) -> None:
    header, floats = answered("channels", **link)
    q, k, products = floats.reshape(3, -1)
    np.testing.assert_array_equal(products, (q.astype("f8") * k).astype("f4"))
    settings = Settings(
        link.get("s", TEXT), link.get("mask", "none"), link.get("pos", "trained"), float(link.get("t", 1)),
        model=link.get("model", "minilm"),
    )  # fmt: skip
    run = settings.run(pictures.model_for(settings), trace_layer=header["layer"])
    row, key = header["row"], header["key"]
    assert row == int(link["at"].split(".")[2])
    weights = run.weights[header["layer"], header["head"], row]
    biased = link.get("pos") == "alibi"
    own = channels(run.steps, header["head"], row, key, temperature=settings.temperature, biased=biased)
    np.testing.assert_array_equal(q, own.q.float().numpy())
    np.testing.assert_array_equal(k, own.k.float().numpy())
    summed, _, then = header["sentences"]
    quoted(own.score, numbers_in(summed)[-1])
    assert header["strong"] == own.strongest(0.8)
    if weights[key] == 0:
        assert then.startswith("Its weight is 0")
    else:
        quoted(float(weights[key]), numbers_in(then)[0])


# ---- all heads


def overview(**link: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The header, and the values of each measure."""
    header, numbers = picture_of("overview", **link)
    names = [measure["name"] for measure in header["measures"] if measure["rows"]]
    values = numbers.view(len(names), header["layers"], header["heads"])
    return header, dict(zip(names, values, strict=True))


def strongest(measure: str, **link: str) -> tuple[int, int, float]:
    header, values = overview(**link)
    at = int(values[measure].argmax())
    return (*divmod(at, header["heads"]), float(values[measure].max()))


def test_all_heads_are_measured_as_the_run_is() -> None:
    header, values = overview(s=PRESETS[0])
    shown = pictures.picture(Settings(PRESETS[0]))
    expected = head_measures(shown.run.weights, shown.run.ids, transformed_norms(shown.model, shown.run))
    assert set(values) == set(expected.values)
    assert all(torch.equal(values[name], own) for name, own in expected.values.items())
    assert {measure["name"]: measure["rows"] for measure in header["measures"]} == {**expected.rows, "effect": 0}
    assert header["tokens"] == len(shown.run.tokens)
    *head, weight = strongest("previous", s=PRESETS[0])
    assert head == [0, 2]
    quoted(weight, "0.9998")
    bound = rounding.sum_bound(header["heads"], header["tokens"])
    within_rounding(values["value"].double().sum(dim=1), torch.ones(6), bound)  # shares of one whole
    assert overview(s="you", mask="causal", view="heads.random")[0]["tokens"] == 50
    header, values = overview(model="words-2layers-1", s="wolf")
    assert set(values) == {"entropy", "distance", "value"}


def test_our_sentences_and_the_file_with_a_row_for_each_head() -> None:
    lines = answer("sentences", b"").decode().splitlines()
    assert all(0 < len(line) < MAX_TEXT_LENGTH / 4 for line in lines)
    text = answer("explore.csv", urlencode({"s": "how are you", "view": "heads.first.ours"}).encode())
    rows = list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))
    head, *own = rows[rows.index([]) + 1 :]
    _, values = overview(s="how are you")
    assert [head[0], len(head), len(own), own[2][0]] == ["head", 1 + len(values), 72, "L0 H2"]
    assert sorted(map(np.float32, own[2][1:])) == sorted(np.float32(value[0, 2]) for value in values.values())


# ---- the kind of a head, against a loop


def slow(own: Tensor, tokens: list[str]) -> str:
    """The same rule, one weight after the other, of a sentence between [CLS] and [SEP]."""
    n, w = len(tokens), own.tolist()
    special = [at in (0, n - 1) for at in range(n)]
    for step, name in ((-1, "previous"), (1, "next"), (0, "itself")):
        if float(sum(w[i][i + step] for i in range(n) if 0 <= i + step < n)) / (n - abs(step)) >= HALF:
            return name
    pairs = [w[i][j] for i in range(n) for j in range(n) if abs(i - j) > 1 and not special[i] and not special[j]]
    if max(pairs, default=0) >= STRONG_WEIGHT:
        return "pair"
    first, last = sum(row[0] for row in w) / n, sum(row[-1] for row in w) / n
    if first >= HALF:
        return "first"
    if last >= HALF:
        return "last"
    if first + last >= DOMINANT_WEIGHT:
        return "ends"
    near = sum(w[i][j] for i in range(n) for j in range(n) if abs(i - j) <= NEAR) / n
    return "near" if near >= DOMINANT_WEIGHT else "spread"


def test_all_heads_of_real_sentences_against_a_loop_and_words_that_are_not_known() -> None:
    for text in PRESETS[:3]:
        run = pictures.picture(Settings(text)).run
        found = kinds(run.weights, run.tokens, run.ends)
        assert [[name for name, _ in row] for row in found] == [
            [slow(own, run.tokens) for own in layer] for layer in run.weights
        ]
        assert found[0][2][0] == "previous"
    settings = Settings("ring wolf sun fish ball cloud ring wolf", model="words-2layers-1")
    unknown = pictures.picture(replace(settings, text=f"xyz {settings.text}"))
    assert unknown.run.tokens[0] == "[UNK]"  # which is no end of the sentence
    assert [name for name, _ in layer_kinds(unknown, 1)] == ["induction"] * 4
    assert pictures.picture(Settings("[CLS] a [SEP]")).run.ends == (1, 1), "what the model adds, however one spells"


# ---- what a change did: the largest change of a weight between two words


def test_the_effect_of_a_change_is_the_largest_one() -> None:
    assert effect(pictures.picture(Settings(PRESETS[0]))) is None
    off = Settings(PRESETS[0], heads_off=((3, 1),))
    for settings in (Settings(PRESETS[0], "causal"), off):
        after, before = (pictures.picture(own).run for own in (settings, settings.baseline))
        told = effect(pictures.picture(settings))
        assert told is not None
        assert told["cell"] is not None
        moved = (after.weights - before.weights).abs()
        assert told["layers"] == moved[:, :, 1:-1, 1:-1].amax((1, 2, 3)).tolist(), "between two words"
        assert float(moved[told["cell"]]) == max(told["layers"])
        assert told["weights"] == tuple(float(run.weights[told["cell"]]) for run in (before, after))
        if settings == off:
            assert told["layers"][:4] == [0, 0, 0, 0], "a head changes only later layers"
            assert min(told["layers"][4:]) > 0


# ---- the tables and curves below the view


def test_the_tables_and_curves_are_of_the_picture_of_the_link() -> None:
    link = {"s": TEXT, "mask": "causal", "off": "L0 H1", "t": "2", "at": "1.2.3.1"}
    query = LinkQuery(urlencode(link).encode())
    settings, _ = query.fitted_settings()
    run = pictures.picture(settings).run
    pairs = data_tables.pairs(query, settings)
    assert pairs["weight"].is_monotonic_decreasing
    expected = run.frame(1, 2).sort_values(["query", "key"], ignore_index=True)
    assert pairs.sort_values(["query", "key"], ignore_index=True).equals(expected)

    measures = run.measures()
    heads = data_tables.heads(query, settings)
    entropy = next(name for name in heads.columns if name.startswith("entropy"))
    assert heads[entropy].tolist() == pytest.approx(measures["entropy"].tolist())
    previous = measures["previous"]
    figure, _ = data_tables.layer_curve(query, settings)
    assert figure["data"][1]["y"] == pytest.approx(previous.groupby("layer").mean().tolist(), rel=1e-3)
    assert figure["data"][2]["x"] == [1]
    assert figure["data"][2]["y"] == pytest.approx([previous[1, 2]], rel=1e-3)

    figure, _ = data_tables.step_curve(query, settings)
    cuts: list[dict[str, Any]] = [{}, {"mask": "causal"}, {"temperature": 2.0}, {"heads_off": ((0, 1),)}]
    step, weights = Settings(TEXT), []
    for cut in cuts:
        step = replace(step, **cut)
        weights.append(float(pictures.picture(step).run.weights[1, 2, 3, 1]))
    assert step == settings
    assert figure["data"][0]["y"] == pytest.approx(weights, rel=1e-3)
    names = figure["layout"]["xaxis"]["ticktext"]
    assert names == ["unchanged", "+ mask causal", "+ temperature 2", "+ 1 head off"]
    unchanged = data_tables.named_steps(Settings(TEXT), has_temperature=True)
    assert [step.temperature for step in unchanged.values()] == [0.25, 0.5, 1, 2, 4]
