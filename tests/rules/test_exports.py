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
from mha_core import IMPLEMENTATIONS, Model, Run, Step, Trace, Weights, errors, load_model, masks, positions, show
from mha_core.attention import AttentionLayer

PACKAGE = pkgutil.walk_packages(mha_core.__path__, "mha_core.")
MODULES = ["mha_core", *(found.name for found in PACKAGE)]

NAMES = {  # of modules; add freely
    mha_core: "load_model MultiHeadAttention IMPLEMENTATIONS Weights attention split_heads join_heads masks positions "
    "Trace no_trace errors Model Run Step",
    masks: "full causal window prefix sinks dilated documents unseen cells both either invert parse allow",
    positions: "Position Nothing Sinusoidal Learned Rotary ALiBi T5Bias Shaw Together",
}
SWITCHES = "position='trained', heads_off=(), temperature=1.0, values_off=()"
TRACE = f"trace={mha_core.no_trace}"
SIGNATURES: dict[Any, str] = {  # what follows the parameters that are written here may change
    mha_core.attention: f"(q, k=None, v=None, *, allow=None, bias=None, temperature=1.0, {TRACE})",
    mha_core.load_model: "(name='minilm', device='auto', dtype=torch.float32, revision=None)",
    Model.run: f"(text, *, mask='none', {SWITCHES}, trace_layer=None, implementation=None, all_logits=False, "
    "mlps_off=(), layers_off=())",
    Model.run_batch: f"(texts, *, mask='none', mask_padding=True, {SWITCHES}, mlps_off=(), layers_off=())",
    masks.allow: "(rule, len_q, len_k, keep=None, device=None)",
    positions.Position.add: "(x)",
    positions.Position.rotate: "(q, k)",
    positions.Position.bias: "(q, len_k)",
    positions.Sinusoidal.__init__: "(d_model, amplitude=1.0)",
    positions.Learned.__init__: "(d_model, max_len, ",
    positions.Rotary.__init__: "(d_head, base=10000.0)",
    positions.ALiBi.__init__: "(n_heads, symmetric=True)",
    positions.T5Bias.__init__: "(n_heads, buckets=32, max_distance=128, causal=False, ",
    positions.Shaw.__init__: "(d_head, max_distance, ",
    positions.Together.__init__: "(a, b)",
}


def test_every_name_in_all_exists_once_and_those_of_the_contract_are_there() -> None:
    for module in MODULES:
        loaded = importlib.import_module(module)
        names = getattr(loaded, "__all__", [])  # of packages and of the modules that the contract names
        assert len(set(names)) == len(names), module
        assert [name for name in names if not hasattr(loaded, name)] == [], module
    for named, contract in NAMES.items():
        assert set(contract.split()) <= set(named.__all__), named.__name__
    assert positions.NAMES == ("none", "sinusoidal", "learned", "rotary", "alibi", "t5", "shaw")


def signature(function: Callable[..., Any]) -> str:
    """Its parameters but self as they are written, without their types."""
    own = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    return str(inspect.Signature([one.replace(annotation=one.empty) for one in own]))


def test_signatures() -> None:
    for function, written in SIGNATURES.items():
        assert signature(function).startswith(written), function
    made = "(d_model, n_heads, *, bias=True, out_bias=None, dropout=0.0, n_kv_heads=None, v_bias=None)"
    switches = "allow=None, position=None, heads=None, temperature=1.0, need_weights=True"
    called = f"(query, key=None, value=None, *, {switches}, {TRACE}, ablate=None)"
    for name, kind in IMPLEMENTATIONS.items():
        signatures = [signature(one) for one in (kind.__init__, kind.forward, kind.load, kind.save)]
        assert signatures == [made, called, "(weights)", "()"], name
        assert issubclass(kind, AttentionLayer), name
        assert issubclass(kind, torch.nn.Module), name


def test_the_fields_of_results() -> None:
    def fields(kind: Any) -> list[str]:
        return list(inspect.get_annotations(kind))

    run = "tokens ids weights hidden sentence steps device notices logits ends interventions key_tokens extras"
    assert fields(Run) == run.split()
    step = "name expression inputs axes shape strides contiguous is_view value code line"
    assert fields(Step) == step.split()
    assert fields(Weights) == ["q", "k", "v", "o", "q_bias", "k_bias", "v_bias", "o_bias"]
    assert Trace().steps == []


def test_the_error_tree() -> None:
    names = [*("SizeError", "MaskError", "PositionError", "Unsupported", "TooLong"),
             *("WeightsFileError", "DeviceError", "DtypeError")]  # fmt: skip
    assert set(errors.__all__) == {"HeadlightError", *names}
    drawn = {line.split()[1] for line in (errors.__doc__ or "").splitlines() if line.strip().startswith(("├", "└"))}
    assert drawn == set(names), "as the module's text draws it"
    assert errors.HeadlightError.__bases__ == (ValueError,)
    assert all(getattr(errors, name).__bases__ == (errors.HeadlightError,) for name in names)
    assert list(inspect.signature(errors.TooLong).parameters) == ["limit", "got"]


def test_renamed_names_work_for_one_version() -> None:
    with pytest.warns(DeprecationWarning, match="HtmlView"):
        assert show.Shown is show.HtmlView
    model = load_model("minilm", device="cpu")
    with pytest.warns(DeprecationWarning, match="for_group"):
        assert model.of("encoder") is model.for_group("encoder")
    run = model.run("how are you")
    with pytest.warns(DeprecationWarning, match="key_tokens"):
        assert run.columns is run.key_tokens
    with pytest.warns(DeprecationWarning, match="interventions"):
        assert run.changes is run.interventions
    with pytest.raises(AttributeError, match="has no attribute 'Gone'"):
        _ = show.Gone
