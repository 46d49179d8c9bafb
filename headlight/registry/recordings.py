"""Recordings as models of the list: nothing is computed, their text is a step, and a pass gives the maps of that step.

One is for its visitor, who alone knows its name, and lies in the store; another one the command has opened for all.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.queue.single_flight import single_flight
from headlight.server import store
from mha_core import Model, Run
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.models.block import BlockSizes
from mha_core.models.inputs import Input
from mha_core.models.model import EVERYTHING
from mha_core.pretrained import recording_file
from mha_core.pretrained.preprocessor import Named
from mha_core.pretrained.recordings import Recording

from .source import About, ModelSource

PREFIX = "recording:"
KIND = "recording"  # of data that a visit brings
MAX_TOKENS = 512  # of an axis that is drawn
CACHE_BYTES = 160 * 2**20
WHY = "this is a recording; its maps were computed elsewhere, without the model being available here"
GONE = "this recording is no longer stored; open its file again on Train"
ONE = "recorded"  # the text of a recording of one pass
_NAME = re.compile(rf"{PREFIX}([\w-]{{22}})", re.ASCII)

OF_COMMAND: dict[str, bytes] = {}  # those that the command has opened, by their names


class RecordedModel(Model):
    """A group of a recording in the place of a model: it reads steps, and can do nothing beside.

    Attributes:
        texts: one for each step, in their order.
        looks_at_others: its columns are other tokens than its rows.
    """

    origin = "recorded"
    can = frozenset[str]()
    reasons = dict.fromkeys((*EVERYTHING, "lengths", "text"), WHY)
    tokenizer = Named((), WHY)

    def __init__(self, name: str, recording: Recording, group: int = 0) -> None:
        chosen, steps = recording.groups[group], recording.steps
        self.name = name
        self.recording = recording
        self.facts = {"recording": recording.title, "maps": chosen.name, "steps": str(len(steps))}
        self.notices = recording.notices
        self.groups = tuple(map(str, range(len(recording.groups))))
        self.group = str(group)
        self.group_names = [group.name for group in recording.groups]
        self.looks_at_others = chosen.columns is not None
        self.texts = (ONE,) if len(steps) == 1 else tuple(f"step {step}" for step in steps)
        _, layers, heads, rows, _ = chosen.maps.shape
        self.sizes = BlockSizes(vocabulary=0, d_model=0, n_heads=heads, n_layers=layers, max_len=rows)

    def of(self, group: str) -> "RecordedModel":
        if group not in self.groups:
            raise Unsupported(f"this recording has the groups 0 to {len(self.groups) - 1}, not {group:.20}")
        return RecordedModel(self.name, self.recording, int(group))

    def step_of(self, text: str) -> int:
        """The step of one of the texts."""
        return self.recording.steps[self.texts.index(text)]

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32

    @property
    def nbytes(self) -> int:
        return sum(group.maps.nbytes for group in self.recording.groups)

    def encode(self, text: Input) -> tuple[list[str], list[int]]:
        run = self._at(text)
        return run.tokens, run.ids

    def run(self, text: Input, **switches: Any) -> Run:
        usual = {"mask": "none", "position": "trained", "heads_off": (), "temperature": 1.0, "values_off": ()}
        if any(value != usual.get(name) for name, value in switches.items() if not isinstance(value, Tensor)):
            raise Unsupported(WHY)
        return self._at(text)

    def run_padded(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(WHY)

    def switches(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(WHY)

    def _at(self, text: Input) -> Run:
        """The maps of a step, by themselves: those of all steps are not held by who keeps them."""
        if text not in self.texts:
            raise HeadlightError(f"{WHY}, so it reads no text; its texts are {self.texts[0]} to {self.texts[-1]}")
        run = self.recording.run(int(self.group), self.step_of(str(text)))
        return replace(run, weights=run.weights.clone())


class Recorded(ModelSource):
    """A recording by its name: a pass gives the maps of one of its steps."""

    prefixes = (PREFIX,)
    has_numbers = True
    first_preset = -1  # as far as the training had come

    @classmethod
    def listed(cls) -> Collection[str]:
        return OF_COMMAND

    def check(self) -> None:
        found = _NAME.fullmatch(self.name)
        if found is None or not (self.name in OF_COMMAND or store.has("data", found[1])):
            raise HeadlightError(GONE)

    @staticmethod
    @single_flight(LRUCache(CACHE_BYTES, lambda model: model.nbytes), lambda device, name: name)
    def load_shared(device: str, name: str) -> RecordedModel:
        content = OF_COMMAND.get(name) or store.read("data", name.removeprefix(PREFIX))
        if content is None:
            raise HeadlightError(GONE)
        return RecordedModel(name, drawable(content))

    @property
    def about(self) -> About:
        if not self.exists:
            return About("a recording", "Recorded")
        own = cast(RecordedModel, self.load("cpu"))
        steps = len(own.recording.steps)
        count = "one pass" if steps == 1 else f"{steps} steps"
        says = f"{own.sizes.n_layers} × {own.sizes.n_heads} heads, {count}"
        return About(own.recording.title, "Recorded", says, presets=own.texts)


def drawable(content: bytes) -> Recording:
    """The recording in a file's bytes. Raises a HeadlightError where it is none, or too large to be drawn."""
    recording = recording_file.of_bytes(content)
    longest = max(max(group.maps.shape[-2:]) for group in recording.groups)
    if longest > MAX_TOKENS:
        raise SizeError(f"it has maps of {longest:,} tokens; at most {MAX_TOKENS} can be drawn")
    return recording


def opened(path: Path) -> str:
    """The name of a recording that the command opens, for everybody. Raises a HeadlightError."""
    content = recording_file.content(path)
    drawable(content)
    name = PREFIX + urlsafe_b64encode(hashlib.blake2b(content, digest_size=16).digest()).decode()[:22]
    OF_COMMAND[name] = content
    return name


def refuse(model: Model) -> None:
    """Raises Unsupported for a recording, on a page that computes."""
    if isinstance(model, RecordedModel):
        raise Unsupported(f"{WHY}; it can be viewed on Explore")
