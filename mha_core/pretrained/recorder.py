"""Recorder of attention maps during a user's own training, every few steps on the same input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import HeadlightError, SizeError
from .recordings import MAX_STEPS, MAX_WEIGHTS, Recording
from .watcher import Watcher


class Recorder:
    """Recorder of a module's maps in training, without effect on the module.

        recorder = Recorder(every=100, rows=tokens)
        for step in range(5000):
            …                                # one step of your own training
            recorder(step, model, x)
        recorder.save("training.safetensors")

    Args:
        every: steps between recordings. When there are too many, every second one is dropped and `every` doubles.
        rows: as in `watch`.
        columns: as in `watch`.
        batch: as in `watch`.
        title: as in `watch`.
    """

    def __init__(
        self,
        every: int = 100,
        *,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        batch: int = 0,
        title: str = "",
    ) -> None:
        if every < 1:
            raise HeadlightError(f"every={every}: choose a number of steps, at least 1")
        self.every = every
        self._recordings: dict[int, Recording] = {}
        self._rows, self._columns, self._batch = rows, columns, batch
        self._title = title or "A training"
        self._notices: tuple[str, ...] = ()

    def __call__(self, step: int, module: nn.Module, *inputs: Any, **keywords: Any) -> None:
        """Record the maps if `every` divides the step.

        The module runs in eval mode, so that dropout draws nothing and no running mean moves; then its mode is
        restored.

        Raises:
            SizeError: a step not after the last one, or maps of another shape than before.
            Unsupported: no attention was recorded.
        """
        if step % self.every:
            return
        if self._recordings and step <= max(self._recordings):
            raise SizeError(f"step {step} comes after step {max(self._recordings)}; count on, or start a new Recorder")
        training = [part for part in module.modules() if part.training]
        module.eval()
        try:
            with torch.no_grad(), Watcher(batch=self._batch) as watcher:
                module(*inputs, **keywords)
        finally:
            for part in training:
                part.training = True
        if not all(bool(call.weights.isfinite().all()) for call in watcher.maps):
            self._notices = self._notices or (f"The maps of step {step} held NaN; such steps are left out.",)
            return
        recording = watcher.recording(rows=self._rows, columns=self._columns, title=self._title)
        if self._recordings and _shapes(recording) != _shapes(next(iter(self._recordings.values()))):
            raise SizeError(f"step {step} has maps of other shapes than before; give the same input every time")
        self._recordings[step] = recording
        size = sum(group.maps.numel() for group in recording.groups)
        while (count := len(self._recordings)) > 1 and (count > MAX_STEPS or count * size > MAX_WEIGHTS):
            self.every *= 2
            remaining = {number: old for number, old in self._recordings.items() if number % self.every == 0}
            self._recordings = remaining or {step: recording}

    @property
    def recording(self) -> Recording:
        """Recording of all steps so far. Raises a HeadlightError before the first one."""
        if not self._recordings:
            raise HeadlightError(f"nothing is recorded yet; a step that {self.every} divides is looked at")
        first, *_ = recordings = list(self._recordings.values())
        groups = tuple(
            replace(group, maps=torch.cat([look.groups[number].maps for look in recordings]))
            for number, group in enumerate(first.groups)
        )
        return Recording(groups, tuple(self._recordings), first.title, first.notices + self._notices)

    def save(self, path: str | Path) -> Path:
        """Save the recording as `Recording.save`."""
        return self.recording.save(path)


def _shapes(recording: Recording) -> list[tuple[str, torch.Size]]:
    return [(group.name, group.maps.shape) for group in recording.groups]
