"""MiniLM with each encoding in place of its own table."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from mha_core import Model, positions
from mha_core.measure.measures import largest_difference, worst_row_sum

from .conftest import TIRED

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def in_another_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """MiniLM's maps under every name, computed elsewhere with as many threads."""
    file = tmp_path_factory.mktemp("maps") / "maps.safetensors"
    program = f"""
import torch
from safetensors.torch import save_file
torch.set_num_threads({torch.get_num_threads()})
from mha_core import load_model, positions
model = load_model("minilm", device="cpu")
save_file({{name: model.run({TIRED!r}, position=name).weights for name in positions.NAMES}}, {str(file)!r})
"""
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
    return load_file(file)


@pytest.mark.parametrize("name", positions.NAMES)
def test_minilm_with_every_name(minilm: Model, in_another_process: dict[str, Tensor], name: str) -> None:
    run = minilm.run(TIRED, position=name)
    assert run.weights.isfinite().all()
    assert run.hidden.isfinite().all()
    assert worst_row_sum(run.weights) == pytest.approx(1, abs=1e-6)
    assert torch.equal(run.weights, minilm.run(TIRED, position=name).weights)
    assert torch.equal(run.weights, in_another_process[name])
    bag = minilm.run(TIRED, position="none")
    assert (largest_difference(run.weights, bag.weights) > 0.1) == (name != "none")
    the = [place for place, token in enumerate(run.tokens) if token == "the"]
    rows = run.weights[:, :, the]
    assert (largest_difference(rows[:, :, 0], rows[:, :, 1]) > 0.1) == (name != "none")


@pytest.mark.parametrize("name", positions.NAMES)
def test_the_trace_shows_the_encoding(minilm: Model, name: str) -> None:
    position = positions.build(name, d_model=384, n_heads=12, max_len=512, seed=0)
    told, bag = (
        {step.name: step.value for step in minilm.run(TIRED, position=way, trace_layer=0).steps}
        for way in (position, "none")
    )
    same_x, same_q = (torch.equal(told[step], bag[step]) for step in ("x", "q"))
    assert same_x == ("add" not in position.acts)
    assert same_q == (position.acts <= {"bias"})
    with torch.no_grad():
        bias = position.bias(told["q"], told["k"].shape[2])
        expected = told["q"] @ told["k"].mT / math.sqrt(32) + (0 if bias is None else bias)
    torch.testing.assert_close(told["scores"], expected)
