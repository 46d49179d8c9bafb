"""Runs that come with Headlight as numbers alone, because the texts that they were trained on may not be shipped.

Each is a folder with run.json, its history, and answers.safetensors: the probabilities of every test row and of the
probes, the true classes, and the probes' maps at the end. Runs with one vocabulary share a tokenizer.json, which stands
beside their folders. Nobody can read a text out of them: rows have numbers, and a vocabulary has no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..errors import HeadlightError, WeightsFileError
from ..models.classifier import Classifier
from . import saved, tokens
from .events import History, Start
from .long_post import ROWS, Line
from .loop import on_threads
from .objectives import Classes
from .report import confusion
from .tasks import Labelled

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER = Path(__file__).parents[2] / "assets" / "recorded"
ANSWERS = "answers.safetensors"
MOST_BYTES = 4 * 2**20  # of the answers: 50,000 rows with 20 classes
MOST_SEEDS = 10


@dataclass(frozen=True, eq=False)
class Recorded:
    """A run that ended.

    Attributes:
        name: as `read` takes it, "post/torch-1".
        line: of the experiment.
        seed: of weights and batches.
        history: every event, the probes' maps at each look among them.
        start: the history's first event.
        labels: the true class of every test row, int64 (rows,).
        probabilities: of every class, float32 (rows, classes), as the last look computed them, in batches.
        answers: the same for each probe by itself, float32 (probes, classes).
        maps: the weights of each probe at the end, float32 (layers, h, i, j), one tensor a probe.
    """

    name: str
    line: Line
    seed: int
    history: History
    start: Start
    labels: Tensor
    probabilities: Tensor
    answers: Tensor
    maps: tuple[Tensor, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(self.start.classes)

    @cached_property
    def predicted(self) -> list[int]:
        """The likeliest class of every test row."""
        return self.probabilities.argmax(dim=-1).tolist()

    @cached_property
    def confusion(self) -> list[list[int]]:
        """Counts (classes, classes): a row is the true class, a column the predicted one."""
        return confusion(self.labels.tolist(), self.predicted, len(self.classes))

    @property
    def accuracy(self) -> float:
        """Share of test rows whose likeliest class is the true one."""
        return sum(row[number] for number, row in enumerate(self.confusion)) / max(1, len(self.labels))

    @property
    def seconds_per_epoch(self) -> float:
        """Seconds of training for one look at every training row, evaluations left out."""
        return self.history.seconds / self.history.epochs


def names(folder: Path = FOLDER) -> list[str]:
    """The runs that are there, line by line in the order of the table, and by seed."""
    every = (f"{line.key}-{seed}" for line in ROWS for seed in range(1, MOST_SEEDS + 1))
    return [name for name in every if (folder / name / saved.RUN).is_file()]


def read(name: str, folder: Path = FOLDER) -> Recorded:
    """A run of `names`.

    Raises:
        WeightsFileError: there is no such run, or it is damaged, too large, or its parts do not fit one another.
    """
    line, seed = _line_and_seed(name)
    history = saved.read(folder / name)
    start, end = history.start, history.end
    if start is None or end is None or not start.classes:
        raise WeightsFileError(f"{name} is not the record of a classifier that came to its end")
    tensors = _tensors(folder / name / ANSWERS, start)
    found = Recorded(
        name=name,
        line=line,
        seed=seed,
        history=history,
        start=start,
        labels=tensors["labels"],
        probabilities=tensors["probabilities"],
        answers=tensors["answers"],
        maps=tuple(tensors[f"maps.{probe}"] for probe in range(len(start.probes))),
    )
    if found.predicted != end.predicted:
        raise WeightsFileError(f"{name}: the probabilities are not those of the classes that its history ends with")
    return found


def tokenizer(name: str, folder: Path = FOLDER) -> Tokenizer:
    """The tokenizer of a run of `names`, for its vocabulary. Raises a WeightsFileError as `read` does."""
    _line_and_seed(name)
    return saved.read_tokenizer((folder / name).parent)


def write(name: str, run: Path, task: Labelled, folder: Path = FOLDER) -> None:
    """Records a saved run, by its name in `folder`.

    Args:
        run: the folder of the saved run, weights and all.
        task: what it was trained on.

    Raises:
        WeightsFileError: no run can be recorded under this name, or the saved run cannot be read.
        HeadlightError: it was trained on something else.
    """
    from safetensors.torch import save_file

    _line_and_seed(name)
    history = saved.read(run)
    coded = tokens.of(task, history.recipe.vocabulary, all_texts=history.recipe.vocabulary_of == "all texts")
    stack, _ = saved.read_stack(run, history, coded.get_vocab_size())
    is_of_task = history.start is not None and history.start.fingerprint.startswith(task.fingerprint)
    if not is_of_task or not isinstance(stack, Classifier):
        raise HeadlightError(f"{run.name} was not trained on these texts")
    objective = Classes(stack, history.recipe, task, coded)
    with on_threads(history.recipe.threads), torch.no_grad():
        tensors = {"probabilities": objective.probabilities(), "labels": torch.tensor([row.label for row in task.test])}
        probes = [torch.tensor([ids]) for _, ids in objective.probes]
        logits = [objective.stack.logits(ids, torch.ones_like(ids, dtype=torch.bool)) for ids in probes]
        tensors["answers"] = torch.cat(logits).softmax(dim=-1)
        tensors |= {f"maps.{number}": torch.cat(objective.maps(ids)) for number, ids in enumerate(probes)}
    saved.save(folder / name, history, maps=True)
    save_file(tensors, folder / name / ANSWERS)
    coded.save(str((folder / name).parent / saved.TOKENIZER), pretty=False)


def _line_and_seed(name: str) -> tuple[Line, int]:
    """The line and the seed of a name."""
    known = {f"{line.key}-{seed}": (line, seed) for line in ROWS for seed in range(1, MOST_SEEDS + 1)}
    if name not in known:
        raise WeightsFileError(f"no run {name!r:.60} is recorded; there are {', '.join(names()[:3])} …")
    return known[name]


def _tensors(file: Path, start: Start) -> dict[str, Tensor]:
    """The tensors of a file, each of the shape and the kind that the run's start asks for."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    recipe, classes = start.recipe, len(start.classes)
    wanted = {
        "labels": [start.rows_test],
        "probabilities": [start.rows_test, classes],
        "answers": [len(start.probes), classes],
    }
    for number, probe in enumerate(start.probes):
        wanted[f"maps.{number}"] = [recipe.n_layers, recipe.n_heads, len(probe), len(probe)]
    try:
        if file.stat().st_size > MOST_BYTES:
            raise HeadlightError(f"it has more than {MOST_BYTES:,} bytes")
        data = file.read_bytes()
        if saved.shapes(data) != wanted:
            raise HeadlightError("its tensors are not those that its history asks for")
        tensors = load(data)
        _check(tensors, classes)
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, HeadlightError) else type(error).__name__
        raise WeightsFileError(f"{ANSWERS} does not hold the answers of this run ({why})") from error
    return tensors


def _check(tensors: dict[str, Tensor], classes: int) -> None:
    """Raises a HeadlightError for labels without a class, and for shares that do not sum to 1."""
    labels = tensors["labels"]
    if labels.dtype != torch.int64 or bool(((labels < 0) | (labels >= classes)).any()):
        raise HeadlightError(f"its labels are not whole numbers below {classes}")
    for name, shares in tensors.items():
        if name != "labels":
            fits = shares.dtype == torch.float32 and bool((shares >= 0).all())
            if not fits or not bool(((shares.sum(dim=-1) - 1).abs() <= 1e-4).all()):
                raise HeadlightError(f"the shares of {name} do not sum to 1")
