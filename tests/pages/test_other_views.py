"""Other views of a run, by the wire: the flow into a token, a pair's channels, and all heads by every measure."""

from __future__ import annotations

import csv
import io
import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.heads.measures import head_measures
from mha_core.measure import rounding
from mha_core.measure.channels import channels
from mha_core.measure.rollout import flow, with_residual
from mha_core.measure.value_norms import handed_lengths, norm_shares, transformed_values
from pages.explore import heads_overview, layer_flow
from pages.kit.picture import models, pictures
from pages.kit.picture.limits import LONGEST_TEXT
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

from .conftest import picture_of

TEXT = "the cat sat on the mat"


def told(route: str, **link: str | list[str]) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The header of an answer, and its numbers."""
    header, numbers = picture_of(route, **{"s": TEXT, "view": route, **link})
    return header, numbers.numpy()


def numbers_in(sentence: str) -> list[float]:
    """The numbers of a sentence, in order."""
    return [float(one.replace("−", "-")) for one in re.findall(r"[+−]?\d+(?:\.\d+)?", sentence)]


@pytest.mark.parametrize("state", ["flow", "flow.norm"])
def test_the_flow_is_the_cores(state: str, model: Model) -> None:
    header, masses = told("flow", view=state, at="2.3.4.2", mask="causal")
    run = pictures.picture(Settings(TEXT, "causal")).run
    layers = [
        norm_shares(run.weights[layer], transformed_values(model.encoder.block(layer), run.hidden[layer]))
        if header["norm"]
        else run.weights[layer].double().mean(dim=0)
        for layer in range(6)
    ]
    assert header["norm"] == (state == "flow.norm")
    wanted = flow(torch.stack([with_residual(layer).float() for layer in layers]), 4, 2)
    n = len(run.tokens)
    # the mean over twelve heads is taken in float32 on the one side, six layers follow each other
    bound = 6 * 12 * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(masses.reshape(7, n), wanted.masses.numpy(), rtol=0, atol=bound)
    assert header["tokens"] == run.tokens
    assert header["path"] == wanted.path
    assert wanted.path[0] == 2
    assert [tuple(line[:3]) for line in header["lines"][:5]] == [line[:3] for line in wanted.lines[:5]]
    assert not masses.reshape(7, n)[:, 5:].any(), "nothing comes from behind"
    made, way = header["said"]
    assert made.startswith("After 6 layers “on” is made of “[CLS]”")
    assert numbers_in(made)[1] == pytest.approx(100 * float(wanted.masses[0, 0]), abs=0.51)
    assert way.startswith("The strongest path from “cat” moves in layer ")
    assert numbers_in(way)[-1] == pytest.approx(100 * float(wanted.masses[0, 2]), abs=0.51)
    assert header["left"] == f"All {len(header['lines'])} lines are drawn."


def test_what_is_off_hands_nothing_on() -> None:
    off = [f"L0 H{head}" for head in range(12)]
    for state in ("flow", "flow.norm"):
        masses = told("flow", off=off, at="0.0.3", view=state)[1].reshape(7, -1)
        np.testing.assert_array_equal(masses[0], masses[1], "the first layer moves nothing")
    for unheard, comes in (("2", False), ("", True)):
        assert bool(told("flow", unheard=unheard, at="0.0.3")[1].reshape(7, -1)[0][2] > 0) == comes


def test_what_there_is_to_follow() -> None:
    """One token, rows that look at nobody, a text that reaches nothing; and a long one draws no more lines."""
    one, masses = told("flow", s="step", model="words-2layers-1", at="0.0.0")
    assert masses.tolist() == [1, 1, 1]
    assert one["said"][0] == f"After 2 layers “{one['tokens'][0]}” is made of itself 100 %."
    nobody, masses = told("flow", mask="combination", rule="!none", at="0.0.3")
    assert masses.reshape(7, -1)[:, 3].tolist() == [1] * 7
    assert nobody["said"][1] == "The strongest path from “sat” stays with it through all layers."
    unreached = told("flow", mask="causal", at="0.0.2.5")[0]
    assert unreached["path"] == []
    assert unreached["said"][1].startswith("No path leads")
    long, masses = told("flow", s="a cat " * 200, at="0.0.300")
    assert len(long["lines"]) == layer_flow.MOST_LINES
    drawn, in_all, share = numbers_in(long["left"].replace(",", ""))[:3]
    assert (drawn, in_all) == (layer_flow.MOST_LINES, 5 * 402**2 + 402)
    assert share == pytest.approx(100 * sum(line[3] for line in long["lines"]) / 6, abs=0.51)
    np.testing.assert_allclose(masses.reshape(7, -1).sum(axis=1), 1, atol=402 * float(np.finfo(np.float32).eps))


def test_where_it_cannot_be_followed() -> None:
    with pytest.raises(HeadlightError, match="these maps look from one text at another"):
        told("flow", s="1 May 2020", model="dates-sinusoidal-1~cross")
    header, _ = told("flow", model="dates-sinusoidal-1~decoder", s="1 May 2020")
    assert header["assumes"][-1] == layer_flow.CROSS
    assert header["noNorm"]
    with pytest.raises(HeadlightError, match="attention to the other text"):
        told("flow", model="dates-sinusoidal-1~decoder", s="1 May 2020", view="flow.norm")
    assert told("flow", model="dates-sinusoidal-1~encoder", s="1 May 2020", view="flow.norm")[0]["norm"]


@pytest.mark.parametrize(
    "link",
    [
        {"at": "3.1.4.2"},
        {"at": "2.7.3", "mask": "causal", "t": "2"},
        {"at": "0.0.1.5", "mask": "causal", "pos": "alibi"},
        {"at": "1.4.1.0", "pos": "rotary"},
        {"at": "0.0.9.1", "model": "dates-sinusoidal-1~cross", "s": "1 May 2020"},
        {"at": "4.2.3.1", "model": "smollm2"},
    ],
)
def test_the_channels_of_a_pair(link: dict[str, str]) -> None:
    header, floats = told("channels", **link)
    q, k, products = floats.reshape(3, -1)
    np.testing.assert_array_equal(products, (q.astype("f8") * k).astype("f4"))
    settings = Settings(
        link.get("s", TEXT),
        link.get("mask", "none"),
        link.get("pos", "trained"),
        float(link.get("t", 1)),
        model=link.get("model", "minilm"),
    )
    model = pictures.model_of(settings)
    run = settings.run(model, trace_layer=header["layer"])
    row, key = header["row"], header["key"]
    assert row == int(link["at"].split(".")[2])
    weights = run.weights[header["layer"], header["head"], row]
    if link["at"].count(".") < 3:
        assert key == int(weights.argmax()), "what the row looks at most"
    own = channels(
        run.steps, header["head"], row, key, temperature=settings.temperature, biased=link.get("pos") == "alibi"
    )
    np.testing.assert_array_equal(q, own.q.float().numpy())
    np.testing.assert_array_equal(k, own.k.float().numpy())
    summed, strongest, then = header["said"]
    assert numbers_in(summed)[-1] == pytest.approx(own.score, abs=0.0051)
    assert ("the encoding of positions adds" in summed) == (link.get("pos") == "alibi")
    assert ("the temperature" in summed) == ("t" in link)
    assert header["strong"] == own.strongest(0.8)
    assert f" {len(header['strong'])} strongest of {len(q)} channels" in strongest
    assert then.startswith("Its weight is 0") if weights[key] == 0 else numbers_in(then)[0] == pytest.approx(
        float(weights[key]), abs=0.0051
    )  # fmt: skip
    turned = link.get("pos") == "rotary" or settings.model == "smollm2"
    assert any("rotary" in note for note in header["notes"]) == turned
    assert any("share one k" in note for note in header["notes"]) == (settings.model == "smollm2")


# ---- all heads


def overview(**link: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What is said, and the values of each measure."""
    header, numbers = picture_of("overview", **link)
    names = [measure["name"] for measure in header["measures"] if measure["rows"]]
    values = numbers.view(len(names), header["layers"], header["heads"])
    return header, dict(zip(names, values, strict=True))


def strongest(measure: str, **link: str) -> tuple[int, int, float]:
    header, values = overview(**link)
    at = int(values[measure].argmax())
    return (*divmod(at, header["heads"]), float(values[measure].max()))


def test_it_is_the_measures_of_the_run() -> None:
    header, values = overview(s=PRESETS[0])
    shown = pictures.picture(Settings(PRESETS[0]))
    expected = head_measures(shown.run.weights, shown.run.ids, handed_lengths(shown.model, shown.run))
    assert set(values) == set(expected.values)
    assert all(torch.equal(values[name], own) for name, own in expected.values.items())
    assert {measure["name"]: measure["rows"] for measure in header["measures"]} == {**expected.rows, "effect": 0}
    assert header["tokens"] == len(shown.run.tokens)
    assert not any(measure["missing"] for measure in header["measures"])
    *head, weight = strongest("previous", s=PRESETS[0])
    assert head == [0, 2]
    assert weight == pytest.approx(0.9998, abs=5e-5)
    shares = values["value"].sum(dim=1).tolist()
    bound = rounding.of_sums(header["heads"], header["tokens"])
    assert shares == pytest.approx([1] * header["layers"], abs=bound), "of a layer they are shares of one whole"


def test_what_is_changed_changes_them() -> None:
    header, values = overview(s=PRESETS[0], off="L0 H2")
    assert float(values["value"][0, 2]) == 0, "a head that is off hands nothing over"
    assert float(values["value"][0].sum()) == pytest.approx(1, abs=rounding.of_sums(header["heads"], header["tokens"]))
    header, values = overview(s=PRESETS[0], unheard="0")
    assert "value" not in values
    assert next(one["missing"] for one in header["measures"] if one["name"] == "value") == heads_overview.NO_VALUES
    header, values = overview(s="you", mask="causal", view="heads.random")
    assert header["tokens"] == 50
    assert not values["next"].any()


def test_one_token_and_other_models_say_what_they_lack() -> None:
    header, values = overview(model="words-2layers-1", s="wolf")
    lacks = {one["name"]: one["missing"] for one in header["measures"]}
    assert set(values) == {"entropy", "distance", "value"}
    assert (lacks["previous"], lacks["same"]) == ("it takes two tokens", "no token stands twice in it")
    dates = next(name for name in models.shipped() if name.startswith("dates"))
    header, values = overview(model=f"{dates}~cross")
    assert set(values) == {"entropy"}, "rows and columns are different texts"
    assert "other tokens" in next(one["missing"] for one in header["measures"] if one["name"] == "previous")


def test_our_sentences_are_read_by_every_model() -> None:
    lines = routes.answer("sentences", b"").decode().splitlines()
    assert 30 < len(lines) == len(set(lines))
    assert all(line.strip() == line and 0 < len(line) < LONGEST_TEXT / 4 for line in lines)


def test_a_view_that_is_not_there_is_told() -> None:
    told, _ = picture_of("maps", s="how are you", view="clouds.3")
    assert told["unusable"] == {"view": []}
    told, _ = picture_of("maps", s="how are you", view="heads.previous.entropy")
    assert told["unusable"] == {}


def test_a_file_has_a_row_for_each_head() -> None:
    text = routes.answer("explore.csv", urlencode({"s": "how are you", "view": "heads.first.ours"}).encode())
    rows = list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))
    head, *own = rows[rows.index([]) + 1 :]
    _, values = overview(s="how are you")
    assert [head[0], len(head), len(own)] == ["head", 1 + len(values), 72]
    assert own[2][0] == "L0 H2"
    expected = [float(value[0, 2]) for value in values.values()]
    assert sorted(map(float, own[2][1:])) == pytest.approx(sorted(expected))
