"""The names and signatures that notebooks and other programs rely on. Add freely; do not rename."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mha_core
from mha_core import IMPLEMENTATIONS, Model, Run, Step, Trace, Weights, errors, masks, positions
from mha_core.attention import AttentionLayer

PACKAGE = pkgutil.walk_packages(mha_core.__path__, "mha_core.")
MODULES = ["mha_core", *(found.name for found in PACKAGE)]
REQUIRED = inspect.Parameter.empty

CONTRACT = """
load_model MultiHeadAttention IMPLEMENTATIONS Weights attention split_heads join_heads masks positions Trace no_trace
errors Model Run Step
"""


def test_the_contracts_names() -> None:
    assert set(CONTRACT.split()) <= set(mha_core.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_name_in_all_exists_once(module: str) -> None:
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", [])  # of packages and of the modules that the contract names
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(loaded, name)] == []


def signature(function: Callable[..., Any]) -> list[tuple[str, str, Any]]:
    """(name, "/" | "*" | "=" for keyword-only, default) of each parameter but self."""
    return [
        (parameter.name, "keyword" if parameter.kind is parameter.KEYWORD_ONLY else "any", parameter.default)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]


PASS = [
    ("allow", "keyword", None),
    ("position", "keyword", None),
    ("heads", "keyword", None),
    ("temperature", "keyword", 1.0),
    ("need_weights", "keyword", True),
    ("trace", "keyword", mha_core.no_trace),
    ("ablate", "keyword", None),
]
SWITCHES = [
    ("position", "keyword", "trained"),
    ("heads_off", "keyword", ()),
    ("temperature", "keyword", 1.0),
    ("values_off", "keyword", ()),
]


def test_attention() -> None:
    assert signature(mha_core.attention) == [
        ("q", "any", REQUIRED),
        ("k", "any", None),
        ("v", "any", None),
        ("allow", "keyword", None),
        ("bias", "keyword", None),
        ("temperature", "keyword", 1.0),
        ("trace", "keyword", mha_core.no_trace),
    ]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_layer(name: str) -> None:
    kind = IMPLEMENTATIONS[name]
    assert signature(kind.__init__) == [
        ("d_model", "any", REQUIRED),
        ("n_heads", "any", REQUIRED),
        ("bias", "keyword", True),
        ("out_bias", "keyword", None),
        ("dropout", "keyword", 0.0),
        ("n_kv_heads", "keyword", None),
        ("v_bias", "keyword", None),
    ]
    inputs = [("query", "any", REQUIRED), ("key", "any", None), ("value", "any", None)]
    assert signature(kind.forward) == inputs + PASS
    assert issubclass(kind, (AttentionLayer, torch.nn.Module))
    assert signature(kind.load) == [("weights", "any", REQUIRED)]
    assert signature(kind.save) == []


def test_load_model_run_and_run_batch() -> None:
    assert signature(mha_core.load_model) == [
        ("name", "any", "minilm"),
        ("device", "any", "auto"),
        ("dtype", "any", torch.float32),
        ("revision", "any", None),
    ]
    mask = ("mask", "keyword", "none")
    added = [("trace_layer", "keyword", None), ("implementation", "keyword", None), ("all_logits", "keyword", False)]
    assert signature(Model.run) == [("text", "any", REQUIRED), mask, *SWITCHES, *added]
    assert signature(Model.run_batch) == [
        ("texts", "any", REQUIRED),
        mask,
        ("mask_padding", "keyword", True),
        *SWITCHES,
    ]


def test_masks() -> None:
    assert signature(masks.allow) == [
        ("rule", "any", REQUIRED),
        ("len_q", "any", REQUIRED),
        ("len_k", "any", REQUIRED),
        ("keep", "any", None),
        ("device", "any", None),
    ]
    names = "full causal window prefix sinks dilated documents unseen cells both either invert parse allow"
    assert set(names.split()) <= set(masks.__all__)


def test_positions() -> None:
    names = "Position Nothing Sinusoidal Learned Rotary ALiBi T5Bias Shaw Together"
    assert set(names.split()) <= set(positions.__all__)
    assert positions.NAMES == ("none", "sinusoidal", "learned", "rotary", "alibi", "t5", "shaw")
    assert [name for name, *_ in signature(positions.Position.add)] == ["x"]
    assert [name for name, *_ in signature(positions.Position.rotate)] == ["q", "k"]
    assert [name for name, *_ in signature(positions.Position.bias)] == ["q", "len_k"]
    assert signature(positions.Sinusoidal.__init__) == [("d_model", "any", REQUIRED), ("amplitude", "any", 1.0)]
    assert [name for name, *_ in signature(positions.Learned.__init__)][:2] == ["d_model", "max_len"]
    assert signature(positions.Rotary.__init__) == [("d_head", "any", REQUIRED), ("base", "any", 10000.0)]
    assert signature(positions.ALiBi.__init__) == [("n_heads", "any", REQUIRED), ("symmetric", "any", True)]
    assert signature(positions.T5Bias.__init__)[:4] == [
        ("n_heads", "any", REQUIRED),
        ("buckets", "any", 32),
        ("max_distance", "any", 128),
        ("causal", "any", False),
    ]
    assert [name for name, *_ in signature(positions.Shaw.__init__)][:2] == ["d_head", "max_distance"]
    assert [name for name, *_ in signature(positions.Together.__init__)] == ["a", "b"]


def test_the_fields_of_results() -> None:
    def fields(kind: Any) -> list[str]:
        return list(inspect.get_annotations(kind))

    assert fields(Run) == [
        "tokens",
        "ids",
        "weights",
        "hidden",
        "sentence",
        "steps",
        "device",
        "notices",
        "logits",
        "kv_heads",
        "ends",
        "changes",
        "columns",
        "nobody",
        "paths",
        "patches",
        "heard",
        "values",
    ]
    step = ["name", "expression", "of", "axes", "shape", "strides", "contiguous", "is_view", "value", "code", "line"]
    assert fields(Step) == step
    assert fields(Weights) == ["q", "k", "v", "o", "q_bias", "k_bias", "v_bias", "o_bias"]
    assert Trace().steps == []


def test_the_error_tree() -> None:
    names = [
        "SizeError",
        "MaskError",
        "PositionError",
        "Unsupported",
        "TooLong",
        "WeightsFileError",
        "DeviceError",
        "DtypeError",
    ]
    assert set(errors.__all__) == {"HeadlightError", *names}
    drawn = {line.split()[1] for line in (errors.__doc__ or "").splitlines() if line.strip().startswith(("├", "└"))}
    assert drawn == set(names), "as the module's text draws it"
    assert errors.HeadlightError.__bases__ == (ValueError,)
    assert all(getattr(errors, name).__bases__ == (errors.HeadlightError,) for name in names)
    assert list(inspect.signature(errors.TooLong).parameters) == ["limit", "got"]
