"""What the wire says of the flow into a token and of a pair's channels: the core's numbers, in words too."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure.channels import channels
from mha_core.measure.rollout import flow, with_residual
from mha_core.measure.value_norms import norm_shares, transformed_values
from pages.explore import layer_flow
from pages.kit.picture import pictures
from pages.kit.picture.settings import Settings

from .conftest import answers, unpacked

TEXT = "the cat sat on the mat"


def told(route: str, **link: str) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The header of an answer, and its numbers."""
    (message,) = answers(route, urlencode({"s": TEXT, "view": route, **link}))
    header, body = unpacked(message)
    return header, np.frombuffer(body, "<f4")


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
    query = urlencode({"s": TEXT, "off": off, "at": "0.0.3"}, doseq=True)
    for state in ("flow", "flow.norm"):
        masses = np.frombuffer(unpacked(answers("flow", f"{query}&view={state}")[0])[1], "<f4").reshape(7, -1)
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
