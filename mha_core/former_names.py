"""Modules keep the names under which notebooks import them: `mha_core.tasks` is `mha_core.training.tasks`.

Each of them is one module under two names, so `mha_core.recipe.Recipe is mha_core.training.recipe.Recipe`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["FORMER", "Finder", "keep"]

FORMER = {  # name in mha_core -> its place now
    "asking": "training.inference",
    "benchmark": "measure.benchmark",
    "by_hand": "measure.by_hand",
    "checkpoints": "training.checkpoints",
    "classifier": "models.classifier",
    "compare": "measure.compare",
    "encoder": "models.encoder",
    "events": "training.events",
    "initial": "training.initial_weights",
    "language_model": "models.language_model",
    "model": "models.model",
    "objectives": "training.objectives",
    "recipe": "training.recipe",
    "report": "training.report",
    "reproduce": "training.reproduce",
    "saved": "training.saved",
    "stack": "models.stack",
    "tasks": "training.tasks",
    "timing": "measure.timing",
    "tokens": "training.tokens",
    "worker": "training.worker",
    "workload": "training.limits",
}


class Finder(MetaPathFinder, Loader):
    """Finds a module under its former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        first, dot, rest = name.partition(".")
        if package != __package__ or first not in FORMER:
            return None
        return ModuleSpec(fullname, self, loader_state=f"{package}.{FORMER[first]}{dot}{rest}")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(spec.loader_state)
        spec.loader_state = module.__spec__  # the import system now writes the former name's over it
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def keep() -> None:
    """Makes the former names importable; a second call changes nothing."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        # first: Python's own would find `mha_core.tasks.table` in the package's folder, and load it a second time
        sys.meta_path.insert(0, Finder())
