"""Modules that raise, hang, print or return nonsense: a sentence each, and the other properties are still decided."""

import sys
import time
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mha_core import check
from mha_core.check import HOLDS, UNKNOWN
from mha_core.errors import SizeError, Unsupported

D_MODEL, N_HEADS = 32, 4


def same(x: Any) -> Any:
    return x


class Own(nn.Module):
    """torch's layer with something done before or after it."""

    def __init__(self, before: Any = same, after: Any = same) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)
        self.before, self.after = before, after

    def forward(self, x: Any) -> Any:
        x = self.before(x)
        return self.after(self.layer(x, x, x, need_weights=False)[0])


def refuse(x: Any) -> Any:
    raise KeyError("no such layer")


def loop(x: Any) -> Any:
    while True:
        pass


def loud(x: Any) -> Any:
    print("something" * 100)
    return x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (Own(refuse), "could not be run .*KeyError"),
        (Own(lambda x: x.cuda()), "could not be run"),
        (nn.Sequential(nn.Embedding(10, D_MODEL)), "takes token ids"),
        (Own(after=lambda out: "text"), "no tensor of numbers"),
        (Own(after=lambda out: out[:, :2]), "its output is"),
        (lambda: None, "takes no input"),
        (lambda x, mask, strength: x, "“strength”"),
        (dict, "signature|could not|cannot"),
    ],
    ids=["raises", "a GPU", "token ids", "text", "shape", "no input", "unknown parameter", "a class"],
)
def test_uncallable_object_is_refused(function: Any, words: str) -> None:
    with pytest.raises(Unsupported, match=words) as caught:
        check(function, D_MODEL, N_HEADS)
    assert "\n" not in str(caught.value)


def test_an_endless_loop_ends() -> None:
    start = time.monotonic()
    with pytest.raises(Unsupported, match=r"more than 0\.5 s"):
        check(Own(loop), D_MODEL, N_HEADS, seconds=0.5)
    assert time.monotonic() - start < 60


@pytest.mark.thorough("it takes tens of seconds and repeats the quick cases")
def test_a_loop_in_one_case_leaves_the_other_properties() -> None:
    def only_one_token(x: Any) -> Any:
        return loop(x) if x.shape[1] == 1 else x

    report = check(Own(only_one_token), D_MODEL, N_HEADS, seconds=20.0)
    assert report[14].verdict == UNKNOWN
    assert "longer than" in report[14].words
    assert report[1].verdict == report[15].verdict == HOLDS


def test_prints_are_kept_off_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(Own(loud), D_MODEL, N_HEADS)[1].verdict == HOLDS
    assert capsys.readouterr().out == ""


def test_input_changed_in_place_is_reported() -> None:
    report = check(Own(lambda x: x.mul_(2)), D_MODEL, N_HEADS)
    assert "changes its input in place" in str(report)
    assert report[1].verdict == HOLDS


def test_what_a_call_prints_stays_off_the_screen_too(capsys: pytest.CaptureFixture[str]) -> None:
    check(Own(loud), D_MODEL, N_HEADS, call=lambda m, x: m(x), properties=[1])
    assert capsys.readouterr() == ("", "")


class Remembers(nn.Module):
    """A layer that adds to its output with each call, and keeps a tensor of its last pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Own()
        self.count = 0
        self.last: Any = None

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.last = self.layer(x)
        return self.last * self.count


def test_a_layer_that_keeps_state_fails_there_alone() -> None:
    layer = Remembers().double()
    layer(torch.randn(1, 3, D_MODEL, dtype=torch.float64))  # it holds a result that has a gradient
    report = check(layer, D_MODEL, N_HEADS)
    assert [finding.number for finding in report.failures] == [11], str(report)
    assert report[11].cause == "keeps state"
    assert "fresh copy" in str(report)
    assert layer.count == 1
    assert [report[number].verdict for number in (1, 5, 6, 7, 13, 15)] == [HOLDS] * 6


def test_a_layer_that_is_random_in_evaluation_fails_there_alone() -> None:
    report = check(Own(lambda x: F.dropout(x, 0.1)), D_MODEL, N_HEADS)
    assert [finding.number for finding in report.failures] == [11], str(report)
    assert report[11].cause == "dropout in evaluation"
    assert [report[number].verdict for number in (1, 6, 7, 8)] == [HOLDS] * 4
    assert report[5].verdict == UNKNOWN


def test_a_layer_that_raises_in_one_case_leaves_the_others() -> None:
    def refuse_one(x: Any) -> Any:
        return refuse(x) if x.shape[1] == 3 else x

    report = check(Own(refuse_one), D_MODEL, N_HEADS)
    assert not report.failures
    assert "KeyError: 'no such layer'" in report[13].words
    assert report[1].verdict == report[15].verdict == HOLDS


def test_nan_is_reported_once_and_stops_the_check() -> None:
    report = check(Own(after=lambda out: out * float("nan")), D_MODEL, N_HEADS)
    assert [finding.number for finding in report.failures] == [14]
    assert all("not finite" in report[number].words for number in (1, 7, 15))


def test_module_without_attention_is_reported() -> None:
    assert "nothing attends" in str(check(nn.Linear(D_MODEL, D_MODEL), D_MODEL, N_HEADS))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"n_heads": 5}, SizeError),
        ({"layout": "dbs"}, Unsupported),
        ({"mask_true": "yes"}, Unsupported),
        ({"positions": "rope"}, Unsupported),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        check(nn.MultiheadAttention(D_MODEL, N_HEADS), **{"d_model": D_MODEL, "n_heads": N_HEADS, **options})


def test_a_large_module_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["mha_core.check.target"], "MAX_COPIED", 10)
    layer = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)
    report = check(layer, D_MODEL, N_HEADS)
    assert layer.training
    copy: Any = report.probe.target.function
    assert copy.in_proj_weight is layer.in_proj_weight
    assert report.probe.target.dtype == torch.float32
    assert [finding.number for finding in report.failures] == [12]
    assert report[13].verdict == UNKNOWN
