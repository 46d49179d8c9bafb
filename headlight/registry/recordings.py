"""Recordings as models of the list: their texts are steps, and a pass returns the recorded maps of a step.

An uploaded recording is in the store under an unguessable name; the command can offer one to all users.
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
from mha_core.pretrained.preprocessor import NameTokenizer
from mha_core.pretrained.recordings import Recording

from .source import About, ModelSource

PREFIX = "recording:"
KIND = "recording"  # of an upload
MAX_TOKENS = 512  # on an axis of a map
CACHE_BYTES = 160 * 2**20
WHY = "this is a recording: its maps were computed elsewhere, and the model that made them is not here"
DELETED = "this recording was deleted: open its file again, on the page Train"
SINGLE_PASS = "recorded"  # the text of a recording with a single pass
_NAME = re.compile(rf"{PREFIX}([\w-]{{22}})", re.ASCII)

COMMAND_RECORDINGS: dict[str, bytes] = {}  # name -> content of the recordings that the command offers


class RecordedModel(Model):
    """A group of a recording as a model without abilities, whose texts are steps.

    Attributes:
        texts: one for each step, in order.
        has_other_keys: whether its keys are other tokens than its queries.
    """

    origin = "recorded"
    can = frozenset[str]()
    reasons = dict.fromkeys((*EVERYTHING, "lengths", "text"), WHY)
    tokenizer = NameTokenizer((), WHY)

    def __init__(self, name: str, recording: Recording, group: int = 0) -> None:
        selected, steps = recording.groups[group], recording.steps
        self.name = name
        self.recording = recording
        self.facts = {"recording": recording.title, "maps": selected.name, "steps": str(len(steps))}
        self.notices = recording.notices
        self.groups = tuple(map(str, range(len(recording.groups))))
        self.group = str(group)
        self.group_names = [group.name for group in recording.groups]
        self.has_other_keys = selected.columns is not None
        self.texts = (SINGLE_PASS,) if len(steps) == 1 else tuple(f"step {step}" for step in steps)
        _, layers, heads, rows, _ = selected.maps.shape
        self.sizes = BlockSizes(vocabulary=0, d_model=0, n_heads=heads, n_layers=layers, max_len=rows)

    def for_group(self, group: str) -> "RecordedModel":
        """See `Model`."""
        if group not in self.groups:
            raise Unsupported(f"this recording has the groups 0 to {len(self.groups) - 1}, not {group:.20}")
        return RecordedModel(self.name, self.recording, int(group))

    def step_number(self, text: str) -> int:
        """Return the step of a text."""
        return self.recording.steps[self.texts.index(text)]

    @property
    def device(self) -> torch.device:
        """See `Model`."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """See `Model`."""
        return torch.float32

    @property
    def nbytes(self) -> int:
        """Bytes of all maps."""
        return sum(group.maps.nbytes for group in self.recording.groups)

    def encode(self, text: Input) -> tuple[list[str], list[int]]:
        """See `Model`."""
        run = self._run_step(text)
        return run.tokens, run.ids

    def run(self, text: Input, **switches: Any) -> Run:
        """Return the maps of a step; raise Unsupported for any switch."""
        usual = {"mask": "none", "position": "trained", "temperature": 1.0}
        if any(value != usual.get(name, ()) for name, value in switches.items() if not isinstance(value, Tensor)):
            raise Unsupported(WHY)
        return self._run_step(text)

    def run_padded(self, *_: Any, **__: Any) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported(WHY)

    def switches(self, *_: Any, **__: Any) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported(WHY)

    def _run_step(self, text: Input) -> Run:
        """Return the run of a step, with a copy of its maps: a view would keep all steps alive."""
        if text not in self.texts:
            raise HeadlightError(f"{WHY}, so it reads no text; its texts are {self.texts[0]} to {self.texts[-1]}")
        run = self.recording.run(int(self.group), self.step_number(str(text)))
        return replace(run, weights=run.weights.clone())


class Recorded(ModelSource):
    """A recording by its name."""

    prefixes = (PREFIX,)
    has_numbers = True
    first_preset = -1  # the latest step

    @classmethod
    def listed(cls) -> Collection[str]:
        """See `ModelSource`."""
        return COMMAND_RECORDINGS

    def check(self) -> None:
        """See `ModelSource`."""
        match = _NAME.fullmatch(self.name)
        if match is None or not (self.name in COMMAND_RECORDINGS or store.has("data", match[1])):
            raise HeadlightError(DELETED)

    @staticmethod
    @single_flight(LRUCache(CACHE_BYTES, lambda model: model.nbytes), lambda device, name: name)
    def load_shared(device: str, name: str) -> RecordedModel:
        """See `ModelSource`."""
        content = COMMAND_RECORDINGS.get(name) or store.read("data", name.removeprefix(PREFIX))
        if content is None:
            raise HeadlightError(DELETED)
        return RecordedModel(name, parse_recording(content))

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        if not self.exists:
            return About("a recording", "Recorded")
        model = cast(RecordedModel, self.load("cpu"))
        steps = len(model.recording.steps)
        count = "one pass" if steps == 1 else f"{steps} steps"
        summary = f"{model.sizes.n_layers} × {model.sizes.n_heads} heads, {count}"
        return About(model.recording.title, "Recorded", summary, presets=model.texts)


def parse_recording(content: bytes) -> Recording:
    """Return the recording in a file's bytes.

    Raises:
        HeadlightError: it is not a recording, or its maps are too large to be drawn.
    """
    recording = recording_file.from_bytes(content)
    max_tokens = max(max(group.maps.shape[-2:]) for group in recording.groups)
    if max_tokens > MAX_TOKENS:
        raise SizeError(f"it has maps of {max_tokens:,} tokens; at most {MAX_TOKENS} can be drawn")
    return recording


def offer(path: Path) -> str:
    """Offer the recording of a file to all users; return its name.

    Raises:
        HeadlightError: it cannot be read.
    """
    content = recording_file.read_content(path)
    parse_recording(content)
    name = PREFIX + urlsafe_b64encode(hashlib.blake2b(content, digest_size=16).digest()).decode()[:22]
    COMMAND_RECORDINGS[name] = content
    return name


def reject(model: Model) -> None:
    """Raise Unsupported for a recording, on a page that computes."""
    if isinstance(model, RecordedModel):
        raise Unsupported(f"{WHY}; it can be viewed on Maps")
