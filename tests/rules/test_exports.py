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


def signature(function: Callable[..., Any]) -> str:
    """Its parameters but self as they are written, without their types."""
    own = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    return str(inspect.Signature([one.replace(annotation=one.empty) for one in own]))


SWITCHES = "position='trained', heads_off=(), temperature=1.0, values_off=()"


def test_attention() -> None:
    trace = mha_core.no_trace
    assert signature(mha_core.attention) == (
        f"(q, k=None, v=None, *, allow=None, bias=None, temperature=1.0, trace={trace})"
    )


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_layer(name: str) -> None:
    kind = IMPLEMENTATIONS[name]
    assert signature(kind.__init__) == (
        "(d_model, n_heads, *, bias=True, out_bias=None, dropout=0.0, n_kv_heads=None, v_bias=None)"
    )
    switches = "allow=None, position=None, heads=None, temperature=1.0, need_weights=True"
    trace = mha_core.no_trace
    assert signature(kind.forward) == f"(query, key=None, value=None, *, {switches}, trace={trace}, ablate=None)"
    assert issubclass(kind, (AttentionLayer, torch.nn.Module))
    assert signature(kind.load) == "(weights)"
    assert signature(kind.save) == "()"


def test_load_model_run_and_run_batch() -> None:
    assert signature(mha_core.load_model) == "(name='minilm', device='auto', dtype=torch.float32, revision=None)"
    added = "trace_layer=None, implementation=None, all_logits=False"
    assert signature(Model.run) == f"(text, *, mask='none', {SWITCHES}, {added})"
    assert signature(Model.run_batch) == f"(texts, *, mask='none', mask_padding=True, {SWITCHES})"


def test_masks() -> None:
    assert signature(masks.allow) == "(rule, len_q, len_k, keep=None, device=None)"
    names = "full causal window prefix sinks dilated documents unseen cells both either invert parse allow"
    assert set(names.split()) <= set(masks.__all__)


def test_positions() -> None:
    names = "Position Nothing Sinusoidal Learned Rotary ALiBi T5Bias Shaw Together"
    assert set(names.split()) <= set(positions.__all__)
    assert positions.NAMES == ("none", "sinusoidal", "learned", "rotary", "alibi", "t5", "shaw")
    assert signature(positions.Position.add) == "(x)"
    assert signature(positions.Position.rotate) == "(q, k)"
    assert signature(positions.Position.bias) == "(q, len_k)"
    assert signature(positions.Sinusoidal.__init__) == "(d_model, amplitude=1.0)"
    assert signature(positions.Learned.__init__).startswith("(d_model, max_len, ")
    assert signature(positions.Rotary.__init__) == "(d_head, base=10000.0)"
    assert signature(positions.ALiBi.__init__) == "(n_heads, symmetric=True)"
    assert signature(positions.T5Bias.__init__).startswith("(n_heads, buckets=32, max_distance=128, causal=False, ")
    assert signature(positions.Shaw.__init__).startswith("(d_head, max_distance, ")
    assert signature(positions.Together.__init__) == "(a, b)"


def test_the_fields_of_results() -> None:
    def fields(kind: Any) -> list[str]:
        return list(inspect.get_annotations(kind))

    run = (
        "tokens ids weights hidden sentence steps device notices logits kv_heads ends changes columns nobody paths "
        "patches heard values"
    )
    assert fields(Run) == run.split()
    step = "name expression of axes shape strides contiguous is_view value code line"
    assert fields(Step) == step.split()
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
