"""Pictures are shared between visitors and bounded in memory and number of passes."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import torch

from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.queue import single_flight
from headlight.queue.single_flight import peek, run_heavy
from headlight.ui.packing import pack_maps
from mha_core import Model, Run
from mha_core.measure import reference, rounding
from mha_core.models.own_model import OwnModel
from tests.closeness import within_rounding


@pytest.fixture(autouse=True)
def _empty_caches() -> None:
    single_flight.clear_caches()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that models run from now on."""
    texts, run = list[str](), OwnModel.run

    def counted(self: OwnModel, text: str, **options: Any) -> Run:
        texts.append(text)
        return run(self, text, **options)

    monkeypatch.setattr(OwnModel, "run", counted)
    return texts


def test_everything_that_changes_the_numbers_is_in_the_key() -> None:
    base = Settings("it")
    others = [
        Settings("It"), Settings("it", "causal"), Settings("it", position="none"), Settings("it", temperature=2.0),
        Settings("it", heads_off=((0, 0),)), Settings("it", device="cpu"), Settings("it", painted="3.rB"),
        Settings("it", model="small-1"), Settings("it", values_off=(1,)), Settings("it", mlps_off=(1,)),
        Settings("it", layers_off=(1,)), Settings("it", mlps_off=(1,), layers_off=(1,)),
    ]  # fmt: skip
    assert len({base, *others}) == len({settings.digest for settings in (base, *others)}) == 13
    older = repr(("it", "none", "trained", 1.0, (), "auto", "", "minilm")).encode()  # before values could be off
    assert base.digest == hashlib.blake2b(older, digest_size=8).hexdigest()
    assert Settings("it", "causal", device="cpu").baseline == Settings("it", device="cpu")


def test_a_picture_is_computed_and_packed_once_and_its_size_is_that_of_its_tensors(runs: list[str]) -> None:
    short = pictures.picture(Settings("one of a kind"))
    assert pictures.picture(Settings("one of a kind")) is short
    assert runs == ["one of a kind"]
    assert short.nbytes == short.run.weights.nbytes + short.run.hidden.nbytes, "MiniLM stays for good"
    assert pictures.packed_maps(short, 3) is pictures.packed_maps(short, 5)
    digest = short.settings.digest
    assert pictures.packed_maps(short, 3) == pack_maps(short.run.weights, short.run.tokens, digest, 0, short.run.ends)
    within_rounding(torch.tensor(short.cosine), torch.tensor(1.0), rounding.sum_bound(384, 384))
    assert pictures.picture(Settings("one of a kind", position="none")).cosine < 0.999
    small = pictures.picture(Settings("how are you", model="food-none-1"))
    held = small.model.nbytes
    assert small.nbytes == small.run.weights.nbytes + small.run.hidden.nbytes + held


def test_the_difference_to_transformers_is_computed_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def difference(_: Model, text: str) -> float:
        calls.append(text)
        return 0.5

    monkeypatch.setattr(reference, "difference_to_transformers", difference)
    plain, masked = Settings("how are you"), Settings("how are you", "causal")
    assert peek(pictures.difference_to_transformers, plain) is None
    assert run_heavy(pictures.difference_to_transformers, plain) == 0.5
    assert peek(pictures.difference_to_transformers, masked) == 0.5, "it is the untouched model's"
    assert (run_heavy(pictures.difference_to_transformers, masked), calls) == (0.5, ["how are you"])
