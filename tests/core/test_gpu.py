"""The core on a CUDA device against the CPU's results. Runs with `-m gpu` only: `make test-gpu`.

Our own layers are compared in float64; models of transformers compute parts of a pass in float32 whatever their dtype.
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, Run, load_model, masks
from mha_core.errors import DeviceError
from mha_core.heads.measures import head_measures
from mha_core.measure import rounding
from mha_core.measure.channels import channels
from mha_core.measure.rollout import rollout
from mha_core.measure.value_norms import transformed_norms
from mha_core.models.generation import Generation
from mha_core.models.layer_pass import LayerPass
from mha_core.models.translator import Translator
from mha_core.models.vision import PictureModel
from mha_core.positions import NAMES, Learned
from mha_core.training import inference
from mha_core.training.recipe import Recipe
from mha_core.training.tasks.shapes import read
from tests.bench.core import text_of
from tests.closeness import identical, same_function, within_rounding
from tests.hub_cache import put

from . import pictures
from .conftest import TIRED
from .runs import TINY, TINY_DATES, TINY_SHAPES, TINY_WORDS, task, trained
from .test_foreign import plain

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("exact_products")]

CUDA = torch.device("cuda", 0)
DOUBLE = torch.float64
B, H, C, N = 4, 4, 64, 33
TINY_MODEL = rounding.sum_bound(*[64] * 8 * 4)  # four layers of eight sums, each of at most 64 products
MASKS: dict[str, Tensor | None] = {
    "none": None,
    "causal": masks.allow(masks.causal, N, N),
    "padding": masks.allow(masks.full, N, N, torch.arange(N) < torch.tensor([[N], [5], [17], [1]])),
    "empty rows": masks.allow(masks.invert(masks.causal), N, N),
    "per head": torch.cat([masks.allow(masks.window(w), N, N) for w in (1, 2, 9, 40)], dim=1),
}


@pytest.fixture(scope="module")
def on_gpu() -> Model:
    return load_model("minilm", device="cuda", dtype=DOUBLE)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_implementations(name: str) -> None:
    kind = IMPLEMENTATIONS[name]
    for mask, need_weights in ((mask, need) for mask in MASKS for need in (True, False)):
        if mask == "per head" and "head_mask" not in kind.can:
            continue
        layer = kind(C, H).to(DOUBLE)
        twin, x = copy.deepcopy(layer).to(CUDA), torch.randn(B, N, C, dtype=DOUBLE, requires_grad=True)
        x_twin = x.detach().to(CUDA).requires_grad_()
        options: dict[str, Any] = {"allow": MASKS[mask]}  # it is moved to the query's device
        options |= {"heads": torch.tensor([True, False, True, True])} if "heads" in kind.can else {}
        options |= {"temperature": 1.5} if "temperature" in kind.can else {}
        out, maps = layer(x, **options, need_weights=need_weights)
        out_twin, maps_twin = twin(x_twin, **options, need_weights=need_weights)
        assert out_twin.device == CUDA
        same_function(out_twin.cpu(), out)
        assert (maps is None) == (maps_twin is None) == (not need_weights)
        if maps is not None and maps_twin is not None:
            same_function(maps_twin.cpu(), maps)
        torch.autograd.backward(out.square().sum())
        torch.autograd.backward(out_twin.square().sum())
        assert x.grad is not None
        assert x_twin.grad is not None
        same_function(x_twin.grad.cpu(), x.grad)
    identical(kind(C, H).to(CUDA).load(layer.save()).save().q.cpu(), layer.save().q.float())
    x = x.detach()
    with pytest.raises(DeviceError, match=r"query is on cuda:0, the layer on cpu"):
        layer(x.to(CUDA))
    with pytest.raises(DeviceError, match=r"query is on cuda:0 and key is on cpu"):
        twin(x.to(CUDA), x)


def near(run: Run, expected: Run, bound: float | None = None) -> None:
    """Assert the same run, on the GPU; in float64, or in float32 up to a bound."""
    assert run.device == run.weights.device == run.hidden.device == run.sentence.device == CUDA
    assert (run.tokens, run.notices) == (expected.tokens, ())
    for found, wanted in ((run.weights.cpu(), expected.weights), (run.hidden.cpu(), expected.hidden)):
        same_function(found, wanted) if bound is None else within_rounding(found, wanted, bound)


@pytest.mark.parametrize("tokens", [2, 128, 512])
def test_minilm(minilm64: Model, on_gpu: Model, tokens: int) -> None:
    near(on_gpu.run(text_of(tokens)), minilm64.run(text_of(tokens)))
    first = on_gpu.run(text_of(tokens))
    identical(on_gpu.run(text_of(tokens)).weights, first.weights)


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
def test_minilms_switches(minilm64: Model, on_gpu: Model, options: dict[str, Any]) -> None:
    near(on_gpu.run(TIRED, **options), minilm64.run(TIRED, **options))
    found, expected = (model.ablate_each_head(TIRED, **options) for model in (on_gpu, minilm64))
    assert (found.device, found.shape) == (CUDA, (6, 12, 384))
    same_function(found.cpu(), expected)


@pytest.fixture
def no_room() -> Iterator[None]:
    """Lets this process have nothing more of the GPU's memory than it holds."""
    load_model("minilm", device="cuda").run("how are you")  # what the libraries need for themselves
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.0001, CUDA)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0, CUDA)
    torch.cuda.empty_cache()


def test_a_full_gpu(minilm64: Model, on_gpu: Model, request: pytest.FixtureRequest) -> None:
    model, text = load_model("minilm", device="auto", dtype=DOUBLE), text_of(512)
    learned = Learned(384, 512).to(CUDA)
    request.getfixturevalue("no_room")
    runs = model.run_batch([text] * 4)
    assert runs[0].device.type == "cpu"
    assert runs[0].notices == ("cuda:0 is out of memory; this was computed on the CPU.",)
    same_function(runs[3].weights, minilm64.run(text).weights)
    assert model.run_batch([text] * 4, position=learned)[0].notices
    assert learned.table.device == CUDA
    with pytest.raises(DeviceError):
        on_gpu.run_batch([text] * 4)


# ---- what is trained here, in float32


@pytest.mark.parametrize("recipe", [TINY, TINY_WORDS], ids=["classes", "next tokens"])
def test_a_few_steps_of_training(recipe: Recipe) -> None:
    found, expected = trained(replace(recipe, device="cuda")).history, trained(recipe).history
    assert found.start
    assert found.start.machine.startswith("cuda")
    tokens = recipe.batch * recipe.max_len
    each_step = [tokens, recipe.vocabulary, recipe.d_model, recipe.d_model] * 2 * recipe.n_layers
    bound = rounding.sum_bound(*each_step * recipe.steps)
    losses, wanted = (
        torch.tensor([*(step.loss for step in one.steps), *(own.test_loss for own in one.evaluations)])
        for one in (found, expected)
    )
    within_rounding(losses, wanted, bound)
    first, reference = found.snapshots[0], expected.snapshots[0]
    assert first.shape == reference.shape
    assert max(abs(a - b) for a, b in zip(first.maps, reference.maps, strict=True)) <= 1


@pytest.mark.parametrize("trained_on", ["cpu", "cuda"])
def test_a_saved_run_on_both_devices(tmp_path: Path, trained_on: str) -> None:
    def both(folder: str) -> tuple[Model, Model]:
        on_gpu, on_cpu = (load_model(str(tmp_path / folder), device=one, dtype=DOUBLE) for one in ("cuda", "cpu"))
        return on_gpu, on_cpu

    for folder, recipe in (("run", TINY), ("words", TINY_WORDS), ("dates", TINY_DATES), ("shapes", TINY_SHAPES)):
        trained(replace(recipe, device=trained_on)).save(tmp_path / folder)
    texts = ["the dog chased the cat", "the cat was chased by the dog", ""]
    found, expected = both("run")
    same_function(inference.logits(found, texts).cpu().double(), inference.logits(expected, texts).double())
    near(found.run(texts[0]), expected.run(texts[0]))
    found, expected = both("words")
    text, own_mask = "apple ball bird apple", torch.ones(4, 4, dtype=torch.bool)
    for mask in ("none", "window:2", own_mask, own_mask.to(CUDA)):
        assert not found.run(text, mask=mask).weights[..., torch.ones(4, 4).triu(1).bool()].any()
    near(found.run(text), expected.run(text))
    same_function(found.ablate_each_head(text).cpu(), expected.ablate_each_head(text))
    assert inference.continuation(found, text, 5, seed=1) == inference.continuation(found, text, 5, seed=1)
    on_gpu, on_cpu = (cast(Translator, one) for one in both("dates"))
    for group in on_gpu.groups:
        target: dict[str, Any] = {} if group == "encoder" else {"target": "2021-03-03"}
        date = "the 3rd of march, 2021"
        near(on_gpu.for_group(group).run(date, **target), on_cpu.for_group(group).run(date, **target))
    assert on_gpu.translate(date) == on_cpu.translate(date)
    pixels = read(cast(Any, task("shapes")).test[0].text).pixels
    eye, other = (cast(PictureModel, one).look(pixels) for one in both("shapes"))
    near(eye, other)


# ---- SmolLM2

TWICE = "Mr Dursley of number four said hello. Then Mr Dursley of number"


@pytest.fixture(scope="module")
def both_write() -> tuple[Model, Model]:
    """SmolLM2 on the GPU, and on the CPU."""
    return load_model("smollm2", device="cuda", dtype=DOUBLE), load_model("smollm2", device="cpu", dtype=DOUBLE)


@pytest.mark.parametrize("options", [{}, {"heads_off": [(3, 1)]}, {"position": "none"}, {"values_off": [2]}], ids=str)
def test_smollm2(both_write: tuple[Model, Model], options: dict[str, Any]) -> None:
    run, expected = (model.run(TWICE, **options) for model in both_write)
    near(run, expected)
    assert run.logits is not None
    assert expected.logits is not None
    assert run.logits.device == CUDA
    same_function(run.logits.cpu(), expected.logits)


def test_a_text_that_grows(both_write: tuple[Model, Model]) -> None:
    on_gpu, on_cpu = (Generation(model, TWICE) for model in both_write)
    for _ in range(4):
        new, expected = on_gpu.step(), on_cpu.step()
        assert new.weights.device == CUDA
        assert (new.token, on_gpu.ids) == (expected.token, on_cpu.ids)
        same_function(new.weights, both_write[0].run(on_gpu.ids).weights[:, :, -1])
    on_gpu.cut(5)
    same_function(on_gpu.logits, both_write[0].run(on_gpu.ids[:5]).logits[-1])  # type: ignore[index]


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_a_text_layer_by_layer_and_what_is_measured_of_heads(name: str) -> None:
    models = [load_model(name, device=where, dtype=DOUBLE) for where in ("cuda", "cpu")]
    switches: list[dict[str, Any]] = [{}, {"mask": "window:3", "temperature": 0.7, "heads_off": ((0, 1),)}]
    for options in switches:
        run, one = models[0].run(TIRED, **options), LayerPass(models[0], TIRED, keep_every=2, **options)
        for whole in run.weights:
            identical(one.advance(), whole)
        for layer, whole in enumerate(run.weights):
            identical(one.maps(layer), whole)
    long = [LayerPass(model, text_of(500)) for model in models]
    for _ in range(2):
        on_gpu, on_cpu = (one.advance() for one in long)
        assert on_gpu.device == CUDA
        same_function(on_gpu.cpu(), on_cpu)
    runs = [model.run(TIRED) for model in models]
    found, expected = (
        head_measures(run.weights, run.ids, transformed_norms(model, run)).values
        for model, run in zip(models, runs, strict=True)
    )
    assert list(found) == list(expected)
    for kind, value in found.items():
        assert value.device.type == "cpu"
        within_rounding(value, expected[kind], 2 * rounding.sum_bound(models[0].sizes.d_model, *[len(runs[0].ids)] * 3))
    same_function(*(rollout(run.weights) for run in runs))
    steps = models[0].run(TIRED, trace_layer=3).steps
    one_score = channels(steps, 1, 5, 2)
    same_function(one_score.total, one_score.score)


# ---- models of transformers, in float32: bit by bit what the library computes there, and near the CPU

TEXT = "the quick brown fox sat on a mat"
# one of each kind that reads texts: both ways, one way, sliding windows, a sink, no positions in q and k
TYPES = ("bert", "gpt2", "llama", "gemma2", "gpt_oss", "albert", "bloom")
SWITCHES: list[dict[str, Any]] = [
    {"mask": "window:2"}, {"heads_off": [(1, 2)]}, {"temperature": 3.0}, {"values_off": [1]},
]  # fmt: skip


def both(folder: Path) -> list[Model]:
    return [load_model(str(folder), device=where) for where in ("cuda", "cpu")]


@pytest.mark.parametrize("model_type", [*TYPES, *pictures.HEADS])
def test_a_model_of_transformers(tmp_path: Path, model_type: str) -> None:
    on_gpu, on_cpu = both(put(model_type, tmp_path / model_type))
    given: Any = TEXT if on_gpu.reads == "text" else pictures.file()
    run = on_gpu.run(given)
    if on_gpu.reads == "text":
        found = plain(on_gpu, input_ids=torch.tensor([run.ids], device=CUDA))
        identical(run.weights, torch.cat(found.attentions))
        identical(run.hidden, torch.cat(found.hidden_states))
        if run.logits is not None:
            identical(run.logits, found.logits[0, -1:])
    near(run, on_cpu.run(given), TINY_MODEL)
    for switches in SWITCHES if "heads" in on_gpu.can else ():
        changed = on_gpu.run(given, **switches)
        assert not torch.equal(changed.hidden[-1], run.hidden[-1])
        near(changed, on_cpu.run(given, **switches), TINY_MODEL)
    if "positions" in on_gpu.can:
        near(on_gpu.run(given, position="none"), on_cpu.run(given, position="none"), TINY_MODEL)


@pytest.mark.parametrize("model_type", ["t5", "bart"])
def test_an_encoder_decoder_of_transformers(tmp_path: Path, model_type: str) -> None:
    on_gpu, on_cpu = (cast(Any, one) for one in both(put(model_type, tmp_path / model_type)))
    for group in on_gpu.groups:
        target: dict[str, Any] = {} if group == "encoder" else {"target": "a cat"}
        run, expected = on_gpu.for_group(group).run(TEXT, **target), on_cpu.for_group(group).run(TEXT, **target)
        near(run, expected, TINY_MODEL)
        assert run.key_tokens == expected.key_tokens
    cross = on_gpu.for_group("cross").run(TEXT, target="a cat")
    written = torch.tensor([cross.ids], device=CUDA)
    of_text = torch.tensor([on_gpu.tokenize(TEXT)[1]], device=CUDA)
    identical(cross.weights, torch.cat(plain(on_gpu, input_ids=of_text, decoder_input_ids=written).cross_attentions))
