"""The maps of somebody's own training: one look every so many steps, at the same input."""

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
    """Looks at a module while it learns, and changes nothing in it.

        recorder = Recorder(every=100, rows=tokens)
        for step in range(5000):
            …                                # one step of your own training
            recorder(step, model, x)
        recorder.save("training.safetensors")

    Args:
        every: steps from one look to the next. When the looks become too many, every second one is dropped, and
            `every` doubles.
        rows, columns, batch, title: as in `watch`.
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
        self._kept: dict[int, Recording] = {}
        self._rows, self._columns, self._batch = rows, columns, batch
        self._title = title or "A training"
        self._said: tuple[str, ...] = ()

    def __call__(self, step: int, module: nn.Module, *inputs: Any, **keywords: Any) -> None:
        """Looks, if it is this step's turn: in eval mode, so that no dropout draws and no mean moves; then as before.

        Raises:
            SizeError: a step not after the last one, or maps of another shape than before.
            Unsupported: nothing was seen.
        """
        if step % self.every:
            return
        if self._kept and step <= max(self._kept):
            raise SizeError(f"step {step} comes after step {max(self._kept)}; count on, or begin another Recorder")
        learning = [one for one in module.modules() if one.training]
        module.eval()
        try:
            with torch.no_grad(), Watcher(batch=self._batch) as watcher:
                module(*inputs, **keywords)
        finally:
            for one in learning:
                one.training = True
        look = watcher.recording(rows=self._rows, columns=self._columns, title=self._title)
        if not all(bool(group.maps.isfinite().all()) for group in look.groups):
            self._said = self._said or (f"The maps of step {step} held NaN; such steps are left out.",)
            return
        if self._kept and _shapes(look) != _shapes(next(iter(self._kept.values()))):
            raise SizeError(f"step {step} has maps of other shapes than before; give the same input every time")
        self._kept[step] = look
        size = sum(group.maps.numel() for group in look.groups)
        while len(self._kept) > 1 and (len(self._kept) > MAX_STEPS or len(self._kept) * size > MAX_WEIGHTS):
            self.every *= 2
            self._kept = {at: kept for at, kept in self._kept.items() if at % self.every == 0} or {step: look}

    @property
    def recording(self) -> Recording:
        """All looks so far. Raises a HeadlightError before the first one."""
        if not self._kept:
            raise HeadlightError(f"nothing is recorded yet; a step that {self.every} divides is looked at")
        first, *_ = looks = list(self._kept.values())
        groups = tuple(
            replace(group, maps=torch.cat([look.groups[number].maps for look in looks]))
            for number, group in enumerate(first.groups)
        )
        return Recording(groups, tuple(self._kept), first.title, first.notices + self._said)

    def save(self, path: str | Path) -> Path:
        """As `recording.save`."""
        return self.recording.save(path)


def _shapes(look: Recording) -> list[tuple[str, torch.Size]]:
    return [(group.name, group.maps.shape) for group in look.groups]
