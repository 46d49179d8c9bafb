"""The core on a CUDA device against the CPU's results. Runs with `-m gpu` only: `make test-gpu`."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, Run, Trace, attention, device, load_model, masks
from mha_core.errors import DeviceError
from mha_core.heads import kinds
from mha_core.measure import surprise
from mha_core.measure.benchmark import text_of
from mha_core.measure.measures import largest_difference, relative_difference
from mha_core.models.generation import Generation
from mha_core.positions import NAMES, ALiBi, Learned, Position, Rotary, Shaw, Sinusoidal, T5Bias
from mha_core.training import inference
from mha_core.training.recipe import Recipe

from .attention_cases import bounds
from .conftest import TIRED
from .runs import TINY, TINY_WORDS, WHO, trained

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("exact_products")]

CUDA = torch.device("cuda", 0)
B, H, C, N = 4, 4, 64, 33
GRADIENTS = {torch.float64: 1e-12, torch.float32: 5e-5}

MASKS: dict[str, Tensor | None] = {
    "none": None,
    "causal": masks.allow(masks.causal, N, N),
    "padding": masks.allow(masks.full, N, N, torch.arange(N) < torch.tensor([[N], [5], [17], [1]])),
    "empty rows": masks.allow(masks.invert(masks.causal), N, N),
    "per head": torch.cat([masks.allow(masks.window(w), N, N) for w in (1, 2, 9, 40)], dim=1),
}


@pytest.fixture(scope="module")
def on_gpu() -> Model:
    return load_model("minilm", device="cuda")


def test_auto_takes_the_gpu() -> None:
    assert device.available()[0] == "cuda"
    assert device.pick("auto").type == "cuda"
    with pytest.raises(DeviceError, match="it has"):
        device.pick(f"cuda:{torch.cuda.device_count()}")


@pytest.mark.parametrize(
    ("mask", "need_weights", "dtype"),
    [(mask, n % 2 == 0, (torch.float64, torch.float32)[n // 5]) for n, mask in enumerate([*MASKS, *MASKS])],
    ids=str,
)
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_implementations(name: str, mask: str, need_weights: bool, dtype: torch.dtype) -> None:
    kind = IMPLEMENTATIONS[name]
    allow = MASKS["causal"] if mask == "per head" and "head_mask" not in kind.can else MASKS[mask]
    layer = kind(C, H).to(dtype)
    twin = copy.deepcopy(layer).to(CUDA)
    x = torch.randn(B, N, C, dtype=dtype, requires_grad=True)
    x_twin = x.detach().to(CUDA).requires_grad_()
    options: dict[str, Any] = {"allow": allow}  # it is moved to the query's device
    if "heads" in kind.can:
        options["heads"] = torch.tensor([True, False, True, True])
    if "temperature" in kind.can:
        options["temperature"] = 1.5
    out, maps = layer(x, **options, need_weights=need_weights)
    out_twin, maps_twin = twin(x_twin, **options, need_weights=need_weights)
    of_out, of_maps = bounds(layer.save(), H, [x], options)
    assert out_twin.device == CUDA
    assert relative_difference(out_twin.cpu(), out) <= of_out
    assert (maps is None) == (maps_twin is None) == (not need_weights)
    if maps is not None and maps_twin is not None:
        assert relative_difference(maps_twin.cpu(), maps) <= of_maps
    torch.autograd.backward(out.square().sum())
    torch.autograd.backward(out_twin.square().sum())
    assert x.grad is not None
    assert x_twin.grad is not None
    assert x_twin.grad.isfinite().all()
    assert relative_difference(x_twin.grad.cpu(), x.grad) <= GRADIENTS[dtype]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_weights_move_between_devices(name: str) -> None:
    layer = IMPLEMENTATIONS[name](C, H)
    twin = IMPLEMENTATIONS[name](C, H).to(CUDA).load(layer.save())
    assert twin.save().q.device == CUDA
    assert torch.equal(IMPLEMENTATIONS[name](C, H).load(twin.save()).save().q, layer.save().q)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_two_devices_raise_and_say_which(name: str) -> None:
    layer, x = IMPLEMENTATIONS[name](C, H), torch.randn(B, N, C)
    with pytest.raises(DeviceError, match=r"query is on cuda:0, the layer on cpu"):
        layer(x.to(CUDA))
    with pytest.raises(DeviceError, match=r"query is on cuda:0 and key is on cpu"):
        layer.to(CUDA)(x.to(CUDA), x)


def test_the_bare_function() -> None:
    q, allow = torch.randn(2, 3, 6, dtype=torch.float64), torch.ones(3, 3, dtype=torch.bool).tril(-1)
    mixed, weights = attention(q, allow=allow)
    mixed_twin, weights_twin = attention(q.to(CUDA), allow=allow)
    assert relative_difference(mixed_twin.cpu(), mixed) <= 1e-14
    assert relative_difference(weights_twin.cpu(), weights) <= 1e-14
    assert not weights_twin[:, 0].any()


ENCODINGS = [
    Sinusoidal(C), Learned(C, N), Rotary(C // H), Rotary(C // H, base=100.0), ALiBi(H), ALiBi(H, symmetric=False),
    T5Bias(H), T5Bias(H, causal=True), Shaw(C // H, 5),
]  # fmt: skip


@pytest.mark.parametrize("dtype", GRADIENTS, ids=str)
@pytest.mark.parametrize("position", ENCODINGS, ids=lambda position: type(position).__name__)
def test_positions(position: Position, dtype: torch.dtype) -> None:
    position = copy.deepcopy(position).to(dtype)
    twin = copy.deepcopy(position).to(CUDA)
    x, q, k = (torch.randn(shape, dtype=dtype) for shape in ((B, N, C), (B, H, N, C // H), (B, H, 7, C // H)))
    assert largest_difference(twin.add(x.to(CUDA)).cpu(), position.add(x)) <= 1e-6
    for found, expected in zip(twin.rotate(q.to(CUDA), k.to(CUDA)), position.rotate(q, k), strict=True):
        assert found.device == CUDA
        assert largest_difference(found.cpu(), expected) <= (1e-14 if dtype == torch.float64 else 1e-6)
    bias, expected_bias = twin.bias(q.to(CUDA), 40), position.bias(q, 40)
    assert (bias is None) == (expected_bias is None) == ("bias" not in position.acts)
    if bias is not None and expected_bias is not None:
        assert bias.device == CUDA
        assert largest_difference(bias.cpu(), expected_bias) <= 1e-5


def test_a_trace_sees_views_on_the_gpu() -> None:
    def steps(where: torch.device | str) -> list[tuple[str, tuple[int, ...], bool, bool]]:
        trace = Trace()
        IMPLEMENTATIONS["efficient"](C, H).to(where)(torch.randn(B, N, C, device=where), trace=trace)
        return [(step.name, step.strides, step.contiguous, step.is_view) for step in trace.steps]

    assert steps(CUDA) == steps("cpu")


def near(run: Run, expected: Run, most: float = 1e-4) -> None:
    assert run.device == run.weights.device == run.hidden.device == run.sentence.device == CUDA
    assert (run.tokens, run.notices) == (expected.tokens, ())
    assert largest_difference(run.weights.cpu(), expected.weights) <= most
    assert largest_difference(run.hidden.cpu(), expected.hidden) <= most


@pytest.mark.parametrize("tokens", [2, 16, 128, 512])
def test_minilm(minilm: Model, on_gpu: Model, tokens: int) -> None:
    near(on_gpu.run(text_of(tokens)), minilm.run(text_of(tokens)))


def test_minilm_in_float64(minilm64: Model) -> None:
    near(load_model("minilm", device="cuda", dtype=torch.float64).run(TIRED), minilm64.run(TIRED), 1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"mask": "causal & window:4 | sinks:1"},
        {"mask": torch.ones(15, 15, dtype=torch.bool).triu(1)},
        {"heads_off": [(0, 2), (3, 1)]},
        {"temperature": 0.5},
        *({"position": name} for name in (*NAMES, "shuffled", "scaled:0.5")),
    ],
    ids=lambda options: next(iter(options)),
)
def test_minilms_switches(minilm: Model, on_gpu: Model, options: dict[str, Any]) -> None:
    near(on_gpu.run(TIRED, **options), minilm.run(TIRED, **options))


@pytest.mark.parametrize("options", [{}, {"mask": "causal", "position": "rotary"}, {"heads_off": [(0, 2)]}], ids=str)
def test_without_each_head(minilm: Model, on_gpu: Model, options: dict[str, Any]) -> None:
    found, expected = (model.ablate_each_head(TIRED, **options) for model in (on_gpu, minilm))
    assert found.device == CUDA
    assert found.shape == (6, 12, 384)
    assert largest_difference(found.cpu(), expected) <= 1e-4


def test_a_padded_batch(minilm: Model, on_gpu: Model) -> None:
    texts = ["how are you", TIRED, ""]
    for run, expected in zip(on_gpu.run_batch(texts), minilm.run_batch(texts), strict=True):
        assert largest_difference(run.weights.cpu(), expected.weights) <= 1e-4


def test_runs_are_bit_equal(on_gpu: Model) -> None:
    first = on_gpu.run(TIRED)
    assert all(torch.equal(on_gpu.run(TIRED).weights, first.weights) for _ in range(3))


@pytest.fixture
def no_room() -> Iterator[None]:
    """Lets this process have nothing more of the GPU's memory than it holds."""
    load_model("minilm", device="cuda").run("how are you")  # what the libraries need for themselves
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.0001, CUDA)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0, CUDA)
    torch.cuda.empty_cache()


def test_a_full_gpu_that_auto_chose(minilm: Model, request: pytest.FixtureRequest) -> None:
    model, text = load_model("minilm", device="auto"), text_of(512)
    learned = Learned(384, 512).to(CUDA)
    request.getfixturevalue("no_room")
    runs = model.run_batch([text] * 4)
    assert runs[0].device.type == "cpu"
    assert runs[0].notices == ("cuda:0 is out of memory; this was computed on the CPU.",)
    assert largest_difference(runs[3].weights, minilm.run(text).weights) <= 1e-5
    assert model.run_batch([text] * 4, position=learned)[0].notices
    assert learned.table.device == CUDA


def test_a_full_gpu_that_was_chosen_by_name(on_gpu: Model, request: pytest.FixtureRequest) -> None:
    text = text_of(512)
    request.getfixturevalue("no_room")
    with pytest.raises(DeviceError):
        on_gpu.run_batch([text] * 4)


@pytest.mark.usefixtures("no_room")
def test_a_gpu_without_room_for_the_weights(minilm: Model) -> None:
    model = load_model("minilm", device="auto")
    run = model.run(TIRED)
    assert run.device.type == "cpu"
    assert len(run.notices) == 1
    assert torch.equal(run.weights, minilm.run(TIRED).weights)


# What is trained here. On a GPU sums are rounded otherwise, so runs drift apart with their steps.


@pytest.mark.parametrize("recipe", [TINY, TINY_WORDS], ids=["classes", "next tokens"])
def test_a_few_steps_of_training(recipe: Recipe) -> None:
    found, expected = trained(replace(recipe, device="cuda")).history, trained(recipe).history
    assert found.start
    assert found.start.machine.startswith("cuda")
    assert [step.loss for step in found.steps] == pytest.approx([step.loss for step in expected.steps], rel=1e-3)
    for ours, theirs in zip(found.evaluations, expected.evaluations, strict=True):
        assert ours.test_loss == pytest.approx(theirs.test_loss, rel=1e-3)
    first, reference = found.snapshots[0], expected.snapshots[0]
    assert first.shape == reference.shape
    assert max(abs(a - b) for a, b in zip(first.maps, reference.maps, strict=True)) <= 1


def test_a_training_that_learns() -> None:
    assert trained(replace(WHO, device="cuda")).history.evaluations[-1].test_accuracy >= 0.99
    blind = trained(replace(WHO, device="cuda", position="none")).history.evaluations[-1]
    assert blind.test_accuracy == 0.5


@pytest.mark.parametrize("trained_on", ["cpu", "cuda"])
def test_a_saved_run_on_both_devices(tmp_path: Path, trained_on: str) -> None:
    trained(replace(TINY, device=trained_on)).save(tmp_path / "run")
    trained(replace(TINY_WORDS, device=trained_on)).save(tmp_path / "words")
    texts = ["the dog chased the cat", "the cat was chased by the dog", ""]
    found, expected = (load_model(str(tmp_path / "run"), device=where) for where in ("cuda", "cpu"))
    assert found.device == CUDA
    assert largest_difference(inference.logits(found, texts).cpu(), inference.logits(expected, texts)) <= 1e-4
    assert largest_difference(found.run(texts[0]).weights.cpu(), expected.run(texts[0]).weights) <= 1e-4
    found, expected = (load_model(str(tmp_path / "words"), device=where) for where in ("cuda", "cpu"))
    text = "apple ball bird apple"
    own_mask = torch.ones(4, 4, dtype=torch.bool)
    for mask in ("none", "window:2", own_mask, own_mask.to(CUDA)):
        run = found.run(text, mask=mask)
        assert not run.weights[..., torch.ones(4, 4).triu(1).bool()].any()
    assert largest_difference(found.run(text).weights.cpu(), expected.run(text).weights) <= 1e-4
    assert largest_difference(found.ablate_each_head(text).cpu(), expected.ablate_each_head(text)) <= 1e-4
    assert inference.continuation(found, text, 5, seed=1) == inference.continuation(found, text, 5, seed=1)


# SmolLM2: thirty layers, each of which rounds what the one before rounded.

TWICE = "Mr Dursley of number four said hello. Then Mr Dursley of number"


@pytest.fixture(scope="module")
def both_write() -> tuple[Model, Model]:
    """SmolLM2 on the GPU, and on the CPU."""
    return load_model("smollm2", device="cuda"), load_model("smollm2", device="cpu")


@pytest.mark.parametrize("options", [{}, {"heads_off": [(3, 1)]}, {"position": "none"}, {"values_off": [2]}], ids=str)
def test_smollm2(both_write: tuple[Model, Model], options: dict[str, Any]) -> None:
    run, expected = (model.run(TWICE, **options) for model in both_write)
    assert run.logits is not None
    assert expected.logits is not None
    assert run.device == run.logits.device == CUDA
    assert largest_difference(run.weights.cpu(), expected.weights) <= 1e-3
    assert relative_difference(run.hidden.cpu(), expected.hidden) <= 1e-3
    assert int(run.logits[-1].argmax()) == int(expected.logits[-1].argmax())


def test_surprise_and_kinds_of_heads(both_write: tuple[Model, Model]) -> None:
    runs = [model.run(TWICE) for model in both_write]
    found, expected = (surprise.surprise(model, run) for model, run in zip(both_write, runs, strict=True))
    assert found.device == torch.device("cpu")
    assert found[1:].numpy() == pytest.approx(expected[1:].numpy(), abs=1e-2)
    scores, of_cpu = (kinds.head_scores(run.weights, run.ids) for run in runs)
    for kind, score in scores.items():
        assert score.device == torch.device("cpu")
        assert largest_difference(score, of_cpu[kind]) <= 1e-3


def test_a_text_that_grows(both_write: tuple[Model, Model]) -> None:
    on_gpu, on_cpu = (Generation(model, TWICE) for model in both_write)
    for place in range(4):
        new, expected = on_gpu.step(), on_cpu.step()
        assert new.weights.device == CUDA
        assert (new.token, on_gpu.ids) == (expected.token, on_cpu.ids)
        whole = both_write[0].run(on_gpu.ids)
        assert largest_difference(new.weights, whole.weights[:, :, -1]) <= 1e-3, place
    on_gpu.cut(5)
    assert relative_difference(on_gpu.logits, both_write[0].run(on_gpu.ids[:5]).logits[-1]) <= 1e-3  # type: ignore[index]
