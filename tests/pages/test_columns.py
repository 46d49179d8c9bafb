"""Columns that are taken out, the lengths of values and the mean over heads: what the wire says of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.attention import as_implementation
from mha_core.errors import HeadlightError
from pages.explore import mean_map
from pages.kit.draw.numbers import precise
from pages.kit.picture import pictures, rules, words
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings

from .conftest import answers, unpacked

CLS, IT, ANIMAL, N = 0, 10, 2, 15
NO_CLS = {"mask": "combination", "rule": "unseen:0"}


def explored(**link: str) -> tuple[dict[str, Any], Tensor]:
    """The header of Explore’s answer, and its float32 maps."""
    header, body = unpacked(answers("maps", urlencode(link))[0])
    return header, torch.frombuffer(bytearray(body), dtype=torch.float32)


def test_nothing_is_said_or_sent_of_them_unless_it_is_asked_for() -> None:
    header, floats = explored()
    assert (header["mean"], header["values"], header["columns"]) == (None, None, "")
    assert floats.numel() == N * N


# ---- columns


@pytest.mark.parametrize(
    ("rule", "places", "rest"),
    [
        ("none", (), "none"),
        ("unseen:4", (4,), "none"),
        ("causal&unseen:7:2", (2, 7), "causal"),
        ("causal & unseen:2 | sinks:1 & unseen:2:3", (2,), "causal | sinks:1"),
        ("causal & unseen:2 | sinks:1", (), "causal | sinks:1"),
        ("!unseen:2", (), "!unseen:2"),
    ],
)
def test_the_keys_that_a_rule_takes_out(rule: str, places: tuple[int, ...], rest: str) -> None:
    assert rules.unseen(rule) == places
    assert rules.without_unseen(rule) == rest


def test_the_sentence_has_the_cosine_of_both_ways_to_lose_a_token(model: Model) -> None:
    unchanged = model.run(PRESETS[0]).sentence
    for link, switches in ((NO_CLS, {"mask": "unseen:0"}), ({"unheard": "0"}, {"values_off": (CLS,)})):
        cosine = float(model.run(PRESETS[0], **switches).sentence @ unchanged)
        said = explored(**link)[0]["columns"]
        assert "“[CLS]”" in said
        assert f"cosine to the unchanged one is {precise(cosine)}." in said
    both = explored(**NO_CLS, unheard="2-400", t="2")[0]["columns"]
    assert both.startswith("No other token may look at “[CLS]”:")
    assert "The weights on “animal” stay" in both
    assert both.endswith(", with all that is changed.")


def test_such_settings_have_a_label_and_a_link(model: Model) -> None:
    settings = Settings(PRESETS[0], "causal & unseen:0:4", values_off=(2,))
    said = words.label(settings, model)
    assert said == "mask causal, “[CLS]” and “'” hidden from all others, without the value of “animal”"
    assert Settings("how are you").digest != Settings("how are you", values_off=(1,)).digest
    for wrong in ("x", "-1", "1-", "1.2", "12345"):
        with pytest.raises(HeadlightError, match="“unheard” of a link has places of tokens"):
            Query(urlencode({"unheard": wrong}).encode()).settings()


# ---- value lengths


def test_the_lengths_are_those_of_the_values(model: Model) -> None:
    """Against the projection written down: ‖Wv x + bv‖ of the head's rows."""
    at, head = "1.10", slice(10 * 32, 11 * 32)
    header, _ = explored(at=at, look="values")
    weights = model.encoder.block(1).attention.save()
    assert weights.v_bias is not None
    x = model.run(PRESETS[0]).hidden[1]
    wanted = (x @ weights.v[head].T + weights.v_bias[head]).norm(dim=-1)
    torch.testing.assert_close(torch.tensor(header["values"]), wanted, atol=1e-5, rtol=1e-5)
    assert wanted[CLS] / wanted[1:-1].mean() == pytest.approx(0.013, abs=0.002)  # 1/100 of a word's


# ---- the mean


@pytest.mark.parametrize("link", [{}, {"mask": "causal", "t": "2"}], ids=["plain", "changed"])
def test_the_mean_is_what_torchs_module_returns_by_default(model: Model, link: dict[str, str]) -> None:
    header, floats = explored(at="3.1", look="mean", **link)
    if not link:
        module = as_implementation(model.encoder.block(3).attention, "torch").get_submodule("module")
        x = model.run(PRESETS[0]).hidden[3][None]
        _, wanted = module(x, x, x)
        assert (floats.view(N, N) - wanted[0]).abs().max() <= 1e-6
    maps = pictures.picture(Query(urlencode(link).encode()).settings()).run.weights[3]
    assert torch.equal(floats[: N * N].view(N, N), maps.mean(dim=0))
    far = [(own - maps.mean(dim=0)).abs().sum(dim=-1).mean() / 2 for own in maps]
    nearest = min(range(12), key=far.__getitem__)
    said = f"no head looks like this. Nearest is head {nearest}: of a row’s weight it puts {far[nearest]:.2f} elsewhere"
    assert said in header["mean"]


def test_the_mean_of_one_map_is_that_map(model: Model) -> None:
    alike = pictures.picture(Settings("how are you", "window:1"))
    assert mean_map.in_words(alike, [(2, head) for head in range(12)]).endswith("looks exactly like it.")
    header, floats = explored(look="mean_difference", pos="none")
    assert floats.numel() == 2 * N * N
    before = pictures.picture(Settings(PRESETS[0])).run.weights[3].mean(dim=0)
    assert torch.equal(floats[N * N :].view(N, N), before), "before the changes too it is the mean"
    assert len(header["before"]["distances"]) == N
