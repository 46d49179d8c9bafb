"""Recordings as models of the list: nothing is computed, their text is a step, and a pass gives the maps of that step.

One is for its visitor, who alone knows its name, and lies in the store; another one the command has opened for all.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.queue.single_flight import shared
from headlight.server import store
from mha_core import Model, Run
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.models.block import BlockSizes
from mha_core.models.inputs import Input
from mha_core.models.model import EVERYTHING
from mha_core.pretrained import recording_file
from mha_core.pretrained.preprocessor import Named
from mha_core.pretrained.recordings import Recording

PREFIX = "recording:"
KIND = "recording"  # of data that a visit brings
MOST_TOKENS = 512  # of an axis that is drawn
CACHE_BYTES = 160 * 2**20
WHY = "this is a recording: its maps were computed elsewhere, and the model that made them is not here"
GONE = "this recording is gone: open its file again, on the page Train"
ONE = "recorded"  # the text of a recording of one pass
_NAME = re.compile(rf"{PREFIX}([\w-]{{22}})", re.ASCII)

OF_COMMAND: dict[str, bytes] = {}  # those that the command has opened, by their names


class RecordedModel(Model):
    """A group of a recording in the place of a model: it reads steps, and can do nothing beside."""

    origin = "recorded"
    can = frozenset[str]()
    reasons = dict.fromkeys((*EVERYTHING, "lengths", "text"), WHY)
    tokenizer = Named((), WHY)

    def __init__(self, name: str, recording: Recording, group: int = 0) -> None:
        chosen = recording.groups[group]
        self.name = name
        self.recording = recording
        self.facts = {"recording": recording.title, "maps": chosen.name, "steps": str(len(recording.steps))}
        self.notices = recording.notices
        self.groups = tuple(map(str, range(len(recording.groups))))
        self.group = str(group)
        _, layers, heads, rows, _ = chosen.maps.shape
        self.sizes = BlockSizes(vocabulary=0, d_model=0, n_heads=heads, n_layers=layers, max_len=rows)

    def of(self, group: str) -> "RecordedModel":
        if group not in self.groups:
            raise Unsupported(f"this recording has the groups 0 to {len(self.groups) - 1}, not {group:.20}")
        return RecordedModel(self.name, self.recording, int(group))

    @property
    def texts(self) -> tuple[str, ...]:
        """One for each step, in their order."""
        steps = self.recording.steps
        return (ONE,) if len(steps) == 1 else tuple(f"step {step}" for step in steps)

    def step_of(self, text: str) -> int:
        """The step of one of the texts."""
        return self.recording.steps[self.texts.index(text)]

    @property
    def looks_at_others(self) -> bool:
        """Whether its columns are other tokens than its rows."""
        return self.recording.groups[int(self.group)].columns is not None

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.recording.groups)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32

    @property
    def nbytes(self) -> int:
        return sum(group.maps.nbytes for group in self.recording.groups)

    def coded(self, text: Input) -> tuple[list[str], list[int]]:
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


def is_recording(name: str) -> bool:
    """Tells whether a name is of this form, whatever it names."""
    return name.startswith(PREFIX)


def is_there(name: str) -> bool:
    """Tells whether there is such a recording, for who knows its name."""
    found = _NAME.fullmatch(name)
    return found is not None and (name in OF_COMMAND or store.has("data", found[1]))


def check(name: str) -> None:
    """Raises a HeadlightError where there is none."""
    if not is_there(name):
        raise HeadlightError(GONE)


def model(name: str) -> RecordedModel:
    """A recording by its name. Raises a HeadlightError where it is gone, or cannot be drawn."""
    check(name)
    return _read(name)


@shared(LRUCache(CACHE_BYTES, lambda model: model.nbytes))
def _read(name: str) -> RecordedModel:
    content = OF_COMMAND.get(name) or store.read("data", name.removeprefix(PREFIX))
    if content is None:
        raise HeadlightError(GONE)
    return RecordedModel(name, drawable(content))


def drawable(content: bytes) -> Recording:
    """The recording in a file's bytes. Raises a HeadlightError where it is none, or too large to be drawn."""
    recording = recording_file.of_bytes(content)
    longest = max(max(group.maps.shape[-2:]) for group in recording.groups)
    if longest > MOST_TOKENS:
        raise SizeError(f"it has maps of {longest:,} tokens, at most {MOST_TOKENS} are drawn here")
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
        raise Unsupported(f"{WHY}; the page Explore shows it")


def title(name: str) -> str:
    """What it is called; "a recording" where it is gone."""
    return model(name).recording.title if is_there(name) else "a recording"


def says(name: str) -> str:
    """Its size in words: "2 × 4 heads, 41 steps"."""
    own = model(name)
    steps = len(own.recording.steps)
    count = "one pass" if steps == 1 else f"{steps} steps"
    return f"{own.sizes.n_layers} × {own.sizes.n_heads} heads, {count}"
