"""The trained models: those of assets/trained, and those of visits, whose names nobody can guess."""

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
GONE = (
    "this trained model is no longer stored, or belongs to another session; train it again, choose another, or ask its "
    "owner for the zip file"
)
OWN = "Yours"  # the group of a visit's runs in the list
OWN_RUN = "my-run"  # the folder into which a visitor unpacks the run that was trained in the visit
BOTH_WAYS, ONE_WAY, TRANSLATES = (
    "reads in both directions",
    "reads left to right",
    "reads in both directions, writes left to right",
)
CACHE_BYTES = 48 * 2**20  # a trained model mostly has 0.5 MB, and none has more than `saved.MAX_BYTES` allows
_loaded: LRUCache[object, Model] = LRUCache(CACHE_BYTES, lambda model: model.nbytes)


class Trained(ModelSource):
    """A run of a visitor, out of the store: every process that reads it can be asked for its name."""

    @classmethod
    def matches(cls, name: str) -> bool:
        return ":" not in name

    def check(self) -> None:
        if not store.NAME.fullmatch(self.name):
            raise HeadlightError("there is no model of this name")
        if not store.has("model", self.name):
            raise HeadlightError(GONE)

    @property
    def about(self) -> About:
        with suppress(HeadlightError):  # it is gone or damaged, as whoever loads it is told
            if self.exists:
                return _read(self.name)
        return About(self.name, OWN)

    @property
    def in_code(self) -> tuple[str, str]:
        return OWN_RUN, f"The model: unpack “The trained model, zip” of Train into the folder {OWN_RUN}."

    @staticmethod
    @single_flight(_loaded)
    def load_shared(device: str, name: str) -> Model:
        with Trained(name).opened() as folder:
            return with_full_implementation(load_model(str(folder), device=device))

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """The folder with the weights, while it is read.

        Raises a HeadlightError as `check`, or as the disk is full; a WeightsFileError where it is damaged or too new.
        """
        content = self.packed()
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

    def packed(self) -> bytes:
        """The run as one zip file. Raises as `check` does."""
        content = store.read("model", self.name)
        if content is None:
            raise HeadlightError(GONE)
        return content


class Shipped(ModelSource):
    """A model that Headlight brings along."""

    @classmethod
    def listed(cls) -> Collection[str]:
        return shipped()

    @property
    def about(self) -> About:
        start = _shipped_start(self.name)
        return About(shipped()[self.name], "Trained here", _describe(start), bool(start.get("picture")))

    @property
    def presets(self) -> tuple[str, ...]:
        return _built(self.name.split("-")[0], 0)

    @property
    def in_code(self) -> tuple[str, str]:
        return f"assets/trained/{self.name}", "The model, a folder of Headlight: run this where `assets` is."

    @staticmethod
    @single_flight(_loaded)
    def load_shared(device: str, name: str) -> Model:
        return with_full_implementation(load_model(str(SHIPPED / name), device=device))

    def packed(self) -> bytes:
        return saved.pack(SHIPPED / self.name)


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, str]:
    """The trained models that Headlight brings along: name -> title. Only names are read, in the order of the tasks."""
    names = [folder.name for folder in SHIPPED.glob("*") if (folder / "model.safetensors").is_file()]
    order = list(tasks.NAMES)
    known = [name for name in names if name.split("-")[0] in order]
    return {name: _title(name) for name in sorted(known, key=lambda name: (order.index(name.split("-")[0]), name))}


def keep(name: str, folder: Path) -> None:
    """Has the store hold a saved run, which every process that reads it then has by this name.

    Raises a HeadlightError where it cannot be written.
    """
    if not store.has("model", name):
        store.put("model", saved.pack(folder), name)


@lru_cache(maxsize=64)
def _read(name: str) -> About:
    with Trained(name).opened() as folder:
        return about(saved.read(folder))


def about(history: History) -> About:
    """The words that tell a run from its neighbours."""
    start, recipe = history.start, history.recipe
    title = f"{start.title if start else recipe.task}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"
    says = _describe(asdict(start)) if start else ""
    return About(title, OWN, says, bool(start and start.picture), _questions(history))


def _title(name: str) -> str:
    """ "who-sinusoidal-1" -> "Who did what, sinusoidal"."""
    task, _, variant = name.partition("-")
    kind = re.sub(r"-\d+$", "", variant).replace("-", " ")
    kind = {"none": "no positions", "1layer": "one layer", "2layers": "two layers"}.get(kind, kind)
    return f"{tasks.NAMES[task]}, {kind}"


@lru_cache(maxsize=64)
def _shipped_start(name: str) -> dict[str, Any]:
    start: dict[str, Any] = json.loads((SHIPPED / name / "run.json").read_text("utf-8"))["start"]
    return start


def _describe(start: Mapping[str, Any]) -> str:
    """A classifier reads both ways; a language model, which has no classes, does not; a translator does, and writes."""
    way = BOTH_WAYS if start["classes"] else TRANSLATES if start.get("target_length") else ONE_WAY
    recipe = start["recipe"]
    return f"{recipe['n_layers']} × {recipe['n_heads']} heads, vocabulary of {start['vocabulary']:,} tokens, {way}"


@lru_cache(maxsize=16)
def _built(task: str, seed: int) -> tuple[str, ...]:
    return tasks.build(task, seed).questions


def _questions(history: History) -> tuple[str, ...]:
    """Sentences to ask a run: its task's questions; of a visitor's data the texts whose maps were kept."""
    recipe = history.recipe
    if recipe.task in tasks.NAMES:
        return _built(recipe.task, recipe.data_seed)
    probes = history.start.probes if history.start else []
    joined = "" if recipe.task == "text" else " "
    words = [joined.join(token for token in tokens if token not in ("[CLS]", "[SEP]")) for tokens in probes]
    return tuple(text.replace(" ##", "") for text in words) or PRESETS[2:4]
