"""Models of every kind, long texts and what is measured of a head, on a CUDA device. Runs with `-m gpu` only."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

from mha_core import Model, Run, load_model, watch
from mha_core.heads.measures import head_measures
from mha_core.measure.benchmark import text_of
from mha_core.measure.channels import channels
from mha_core.measure.measures import largest_difference, relative_difference
from mha_core.measure.rollout import rollout
from mha_core.measure.value_norms import handed_lengths
from mha_core.models.generation import Generation
from mha_core.models.layer_pass import LayerPass
from mha_core.models.translator import Translator
from mha_core.models.vision import PictureModel
from mha_core.pretrained.foreign_vision import ForeignVision
from mha_core.training.tasks.shapes import read
from tests.hub_cache import put

from . import pictures
from .conftest import TIRED
from .runs import TINY_DATES, TINY_SHAPES, task, trained
from .test_foreign import plain
from .test_gpu import CUDA
from .test_watch import Block

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("exact_products")]

TEXT = "the quick brown fox sat on a mat"
DATE = "the 3rd of march, 2021"
ENDS = ("t5", "bart")
# one of each kind: both ways, one way, sliding windows, a sink, no positions in q and k
TYPES = ("bert", "gpt2", "llama", "gemma2", "gpt_oss", "albert", "bloom", *ENDS)
SWITCHES: list[dict[str, Any]] = [
    {"mask": "window:2"}, {"heads_off": [(1, 2)]}, {"temperature": 3.0}, {"values_off": [1]},
]  # fmt: skip


Load = Callable[[str], tuple[Model, Model]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """A model type -> its tiny model on the GPU, and on the CPU."""
    folders, known = tmp_path_factory.mktemp("models"), dict[str, tuple[Model, Model]]()

    def load(model_type: str) -> tuple[Model, Model]:
        if model_type not in known:
            folder = put(model_type, folders / model_type)
            on_gpu, on_cpu = (load_model(str(folder), device=where) for where in ("cuda", "cpu"))
            known[model_type] = on_gpu, on_cpu
        return known[model_type]

    return load


def near(run: Run, expected: Run) -> None:
    assert run.device == run.weights.device == run.hidden.device == CUDA
    assert run.tokens == expected.tokens
    assert largest_difference(run.weights.cpu(), expected.weights) <= 1e-4
    assert relative_difference(run.hidden.cpu(), expected.hidden) <= 1e-4


@pytest.mark.parametrize("model_type", [one for one in TYPES if one not in ENDS])
def test_a_model_of_transformers(both: Load, model_type: str) -> None:
    on_gpu, on_cpu = both(model_type)
    run = on_gpu.run(TEXT)
    found = plain(on_gpu, input_ids=torch.tensor([run.ids], device=CUDA))
    assert torch.equal(run.weights, torch.cat(found.attentions)), "bit by bit what the library computes there"
    assert torch.equal(run.hidden, torch.cat(found.hidden_states))
    if run.logits is not None:
        assert torch.equal(run.logits, found.logits[0, -1:])
    near(run, on_cpu.run(TEXT))
    for switches in SWITCHES if "heads" in on_gpu.can else ():
        changed = on_gpu.run(TEXT, **switches)
        assert not torch.equal(changed.hidden[-1], run.hidden[-1])
        near(changed, on_cpu.run(TEXT, **switches))
    if "positions" in on_gpu.can:
        near(on_gpu.run(TEXT, position="none"), on_cpu.run(TEXT, position="none"))
    if run.logits is not None:
        growing = [Generation(model, "the quick brown") for model in (on_gpu, on_cpu)]
        for _ in range(4):
            new, expected = (one.step() for one in growing)
            assert new.token == expected.token
            assert largest_difference(new.weights.cpu(), expected.weights) <= 1e-4


@pytest.mark.parametrize("model_type", ENDS)
def test_an_encoder_decoder_of_transformers(both: Load, model_type: str) -> None:
    on_gpu, on_cpu = both(model_type)
    for group in on_gpu.groups:
        target: dict[str, Any] = {} if group == "encoder" else {"target": "a cat"}
        run = on_gpu.of(group).run(TEXT, **target)
        near(run, on_cpu.of(group).run(TEXT, **target))
        assert run.columns == on_cpu.of(group).run(TEXT, **target).columns
    cross = cast(Any, on_gpu.of("cross")).run(TEXT, target="a cat")
    written = torch.tensor([cross.ids], device=CUDA)
    of_text = torch.tensor([on_gpu.tokenize(TEXT)[1]], device=CUDA)
    found = plain(on_gpu, input_ids=of_text, decoder_input_ids=written)
    assert torch.equal(cross.weights, torch.cat(found.cross_attentions))


@pytest.mark.parametrize("model_type", pictures.HEADS)
def test_a_vision_transformer_of_transformers(both: Load, model_type: str) -> None:
    on_gpu, on_cpu = both(model_type)
    picture: Any = pictures.file()
    run, expected = on_gpu.run(picture), on_cpu.run(picture)
    near(run, expected)
    assert isinstance(on_gpu, ForeignVision)
    assert run.patches is not None
    assert expected.patches is not None
    assert torch.equal(run.patches.pixels.cpu(), expected.patches.pixels)
    if "heads" in on_gpu.can:
        near(on_gpu.run(picture, heads_off=[(1, 2)]), on_cpu.run(picture, heads_off=[(1, 2)]))


def test_our_translator_and_our_eye(tmp_path: Path) -> None:
    for recipe in (TINY_DATES, TINY_SHAPES):
        trained(recipe).save(tmp_path / recipe.task)
    on_gpu, on_cpu = (cast(Translator, load_model(str(tmp_path / "dates"), device=one)) for one in ("cuda", "cpu"))
    for group in on_gpu.groups:
        target: dict[str, Any] = {} if group == "encoder" else {"target": "2021-03-03"}
        near(on_gpu.of(group).run(DATE, **target), on_cpu.of(group).run(DATE, **target))
    assert on_gpu.translate(DATE) == on_cpu.translate(DATE)
    eyes = [load_model(str(tmp_path / "shapes"), device=one) for one in ("cuda", "cpu")]
    pixels = read(cast(Any, task("shapes")).test[0].text).pixels
    near(*(cast(PictureModel, eye).look(pixels) for eye in eyes))


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
@pytest.mark.parametrize("switches", [{}, {"mask": "window:3", "temperature": 0.7, "heads_off": ((0, 1),)}], ids=str)
def test_a_text_layer_by_layer(name: str, switches: dict[str, Any]) -> None:
    model = load_model(name, device="cuda")
    run, one = model.run(TIRED, **switches), LayerPass(model, TIRED, every=2, **switches)
    for whole in run.weights:
        assert torch.equal(one.advance(), whole)
    assert all(torch.equal(one.maps(layer), whole) for layer, whole in enumerate(run.weights))


def test_a_long_text_layer_by_layer() -> None:
    text = text_of(1500)
    passes = [LayerPass(load_model("smollm2", device=where), text) for where in ("cuda", "cpu")]
    for _ in range(2):
        on_gpu, on_cpu = (one.advance() for one in passes)
        assert on_gpu.device == CUDA
        assert largest_difference(on_gpu.cpu(), on_cpu) <= 1e-4


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_what_is_measured_of_heads(name: str) -> None:
    found = []
    for where in ("cuda", "cpu"):
        model = load_model(name, device=where)
        run = model.run(TIRED)
        found.append((head_measures(run.weights, run.ids, handed_lengths(model, run)), rollout(run.weights)))
    (measures, rolled), (expected, by_cpu) = found
    assert list(measures.values) == list(expected.values)
    for kind, value in measures.values.items():
        assert value.device.type == "cpu"
        assert largest_difference(value, expected.values[kind]) <= 1e-2 * float(expected.values[kind].abs().max())
    assert largest_difference(rolled, by_cpu) <= 1e-3


def test_a_score_by_its_channels() -> None:
    run = load_model("minilm", device="cuda").run(TIRED, trace_layer=3)
    one = channels(run.steps, 1, 5, 2)
    assert one.total == pytest.approx(one.score, abs=1e-4)


@pytest.mark.parametrize("module", [Block, lambda: nn.MultiheadAttention(16, 2, batch_first=True)])
def test_a_watched_module(module: Callable[[], nn.Module]) -> None:
    made, x = module().eval(), torch.randn(2, 5, 16)
    given = (x,) * (3 if isinstance(made, nn.MultiheadAttention) else 1)
    on_cpu = watch(made, *given)
    made.to(CUDA)
    given = tuple(one.to(CUDA) for one in given)
    alone = made(*given)
    with watch() as seen:
        beside = made(*given)
    assert torch.equal(alone[0], beside[0])
    assert largest_difference(seen.maps[0].weights.cpu(), on_cpu.groups[0].maps[0, 0]) <= 1e-5
    on_gpu = watch(made, *given)
    assert largest_difference(on_gpu.groups[0].maps, on_cpu.groups[0].maps) <= 1e-5
