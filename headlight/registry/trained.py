"""The trained models: those of assets/trained, and those of users, under unguessable names."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cachetools import LRUCache

from headlight import ROOT
from headlight.link.presets import PRESETS
from headlight.queue.single_flight import single_flight
from headlight.server import store
from mha_core import Model, load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.training import saved, tasks
from mha_core.training.events import History

from .models import with_full_implementation
from .source import About, ModelSource

SHIPPED = ROOT / "assets" / "trained"
DELETED = "this trained model was deleted or is not yours: train it again, choose another, or ask its owner for the zip"
USER_GROUP = "Yours"  # group of the user's runs in the list
OWN_RUN = "my-run"  # folder into which users unpack their run
BOTH_WAYS, ONE_WAY, TRANSLATES = "reads both ways", "reads left to right", "reads both ways, writes left to right"
CACHE_BYTES = 48 * 2**20  # a trained model usually has 0.5 MB, at most `saved.MAX_BYTES`
_loaded: LRUCache[object, Model] = LRUCache(CACHE_BYTES, lambda model: model.nbytes)


class Trained(ModelSource):
    """A user's run in the store, which all processes that share the store can load."""

    @classmethod
    def matches(cls, name: str) -> bool:
        """See `ModelSource`."""
        return ":" not in name

    def check(self) -> None:
        """See `ModelSource`."""
        if not store.NAME.fullmatch(self.name):
            raise HeadlightError("there is no model of this name")
        if not store.has("model", self.name):
            raise HeadlightError(DELETED)

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        with suppress(HeadlightError):  # loading the model reports that it was deleted or is damaged
            if self.exists:
                return _read_about(self.name)
        return About(self.name, USER_GROUP)

    @property
    def in_code(self) -> tuple[str, str]:
        """See `ModelSource`."""
        return OWN_RUN, f"The model: unpack “The trained model, zip” of Train into the folder {OWN_RUN}."

    @staticmethod
    @single_flight(_loaded)
    def load_shared(device: str, name: str) -> Model:
        """See `ModelSource`."""
        with Trained(name).unpack() as folder:
            return with_full_implementation(load_model(str(folder), device=device))

    @contextmanager
    def unpack(self) -> Iterator[Path]:
        """Unpack the run into a temporary folder for the duration of a with block.

        Raises:
            HeadlightError: the run was deleted, or the disk is full.
            WeightsFileError: the run is damaged, or of a newer version.
        """
        content = self.to_zip()
        try:
            temporary = TemporaryDirectory(prefix="headlight-opened-")
        except OSError:
            raise HeadlightError("the server’s disk is full or not writable; try again later") from None
        with temporary as place:
            folder = Path(place) / "run"
            try:
                saved.unpack(content, folder)
            except WeightsFileError as error:
                raise WeightsFileError(f"this trained model cannot be opened: {error}") from error
            yield folder

    def to_zip(self) -> bytes:
        """Return the run as a zip file.

        Raises:
            HeadlightError: it was deleted.
        """
        content = store.read("model", self.name)
        if content is None:
            raise HeadlightError(DELETED)
        return content


class Shipped(ModelSource):
    """A trained model that is bundled with Headlight."""

    @classmethod
    def listed(cls) -> Collection[str]:
        """See `ModelSource`."""
        return shipped()

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        start = _shipped_start(self.name)
        return About(shipped()[self.name], "Trained here", _describe(start), bool(start.get("picture")))

    @property
    def presets(self) -> tuple[str, ...]:
        """See `ModelSource`."""
        if self.name.startswith("text-"):
            return tuple("".join(tokens) for tokens in _shipped_start(self.name)["probes"])
        return _task_questions(self.name.split("-")[0], 0)

    @property
    def in_code(self) -> tuple[str, str]:
        """See `ModelSource`."""
        return f"assets/trained/{self.name}", "The model, a folder of Headlight: run this where `assets` is."

    @staticmethod
    @single_flight(_loaded)
    def load_shared(device: str, name: str) -> Model:
        """See `ModelSource`."""
        return with_full_implementation(load_model(str(SHIPPED / name), device=device))

    def to_zip(self) -> bytes:
        """Return the run as a zip file."""
        return saved.pack(SHIPPED / self.name)


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, str]:
    """Return the bundled models, name -> title, in the order of the tasks, without reading their files."""
    names = [folder.name for folder in SHIPPED.glob("*") if (folder / "model.safetensors").is_file()]
    order = [*tasks.NAMES, "text"]
    ordered = [name for name in names if name.split("-")[0] in order]
    return {name: _title(name) for name in sorted(ordered, key=lambda name: (order.index(name.split("-")[0]), name))}


def save_to_store(name: str, folder: Path) -> None:
    """Save a run to the store under this name.

    Raises:
        HeadlightError: it cannot be written.
    """
    if not store.has("model", name):
        store.put("model", saved.pack(folder), name)


@lru_cache(maxsize=64)
def _read_about(name: str) -> About:
    with Trained(name).unpack() as folder:
        return about(saved.read(folder))


def about(history: History) -> About:
    """Return the facts that distinguish a run from others."""
    start, recipe = history.start, history.recipe
    title = f"{start.title if start else recipe.task}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"
    summary = _describe(asdict(start)) if start else ""
    return About(title, USER_GROUP, summary, bool(start and start.picture), _questions(history))


def _title(name: str) -> str:
    """Return the title of a bundled model: "who-sinusoidal-1" -> "Who did what, sinusoidal"."""
    task, _, variant = name.partition("-")
    kind = re.sub(r"-\d+$", "", variant).replace("-", " ")
    kind = {"none": "no positions", "1layer": "one layer", "2layers": "two layers"}.get(kind, kind)
    return f"{tasks.NAMES.get(task, 'Characters of Shakespeare')}, {kind}"


@lru_cache(maxsize=64)
def _shipped_start(name: str) -> dict[str, Any]:
    start: dict[str, Any] = json.loads((SHIPPED / name / "run.json").read_text("utf-8"))["start"]
    return start


def _describe(start: Mapping[str, Any]) -> str:
    """Summarize size and direction: classifiers and translators read both ways, language models left to right."""
    way = BOTH_WAYS if start["classes"] else TRANSLATES if start.get("target_length") else ONE_WAY
    recipe = start["recipe"]
    return f"{recipe['n_layers']} × {recipe['n_heads']} heads, vocabulary of {start['vocabulary']:,} tokens, {way}"


@lru_cache(maxsize=16)
def _task_questions(task: str, seed: int) -> tuple[str, ...]:
    return tasks.build(task, seed).questions


def _questions(history: History) -> tuple[str, ...]:
    """Return example sentences for a run: its task's questions, or for uploaded data its probes."""
    recipe = history.recipe
    if recipe.task in tasks.NAMES:
        return _task_questions(recipe.task, recipe.data_seed)
    probes = history.start.probes if history.start else []
    separator = "" if recipe.task == "text" else " "
    words = [separator.join(token for token in tokens if token not in ("[CLS]", "[SEP]")) for tokens in probes]
    return tuple(text.replace(" ##", "") for text in words) or PRESETS[2:4]
