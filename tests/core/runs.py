"""Small runs that several tests look at; each is trained once for all of them."""

import copy
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
from torch import nn

from mha_core import Model, Run, load_model
from mha_core.training import saved, sweep, tasks
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Task
from tests.closeness import SAME_FUNCTION, relative_error

Files = dict[str, bytes]  # of a saved run, by name
Refused = Callable[[bytes, str], None]
RUN, TOKENIZER, WEIGHTS = saved.FILES
SHIPPED = Path(__file__).parents[2] / "assets" / "trained"
TINY = Recipe(task="who", d_model=16, n_heads=2, vocabulary=60, max_len=32, steps=8, evaluations=2, batch=8)
TINY_WORDS = replace(TINY, task="words", n_layers=2, residual=True, norm=True, position="rotary")
TINY_DATES = replace(TINY, task="dates", n_layers=2, residual=True, norm=True, d_feed_forward=16)
TINY_SHAPES = replace(TINY, task="shapes", n_layers=2, residual=True, norm=True)
WHO = Recipe(task="who", max_len=64, evaluations=2)


@contextmanager
def case(name: object) -> Iterator[None]:
    """Add to an error the row of a table that it is about."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the row {name!r}")
        raise


def differ(a: torch.Tensor, b: torch.Tensor) -> None:
    """Assert that float64 tensors differ by far more than two roads to one result do."""
    assert a.dtype == b.dtype == torch.float64
    assert relative_error(a, b) > 1000 * SAME_FUNCTION


def here(jobs: Mapping[Path, sweep.PlannedRun], _workers: int = 1) -> sweep.Results:
    """The runs of `sweep` in this process."""
    for folder, job in jobs.items():
        yield folder, sweep.train(job, folder)


@cache
def task(name: str) -> Task:
    """The task of that name with the data of seed 0."""
    return tasks.build(name)


def run(recipe: Recipe) -> Training:
    """The run of a recipe, at its end."""
    made = Training(recipe, task(recipe.task))
    for _ in made.events():
        pass
    return made


trained = cache(run)  # for all tests: not to be trained on


def shipped(name: str, dtype: torch.dtype = torch.float32) -> Model:
    """The model that lies in assets/trained under this name."""
    return load_model(str(SHIPPED / name), device="cpu", dtype=dtype)


def randomised(stack: nn.Module) -> None:
    """Gives every parameter a random value, norms too, so that a test sees each of them."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))


def state_of(training: Training) -> dict[str, torch.Tensor]:
    """A copy of the weights."""
    return copy.deepcopy(training.stack.state_dict())


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """True when all weights are equal, bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def same_run(a: Run, b: Run) -> bool:
    """The same words and bit for bit the same numbers."""
    numbers = all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("weights", "hidden", "sentence"))
    return numbers and (a.tokens, a.ids, a.device, a.notices) == (b.tokens, b.ids, b.device, b.notices)


def zipped(files: Files, way: int = zipfile.ZIP_DEFLATED) -> bytes:
    """These files as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", way) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
