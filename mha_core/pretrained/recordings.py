"""Recordings of attention maps, of one pass or of the steps of a training.

docs/recordings.md describes the format and its limits.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError
from ..models.interventions import Interventions
from ..models.run import Extras, Run
from ..show import HtmlView

FORMAT = "headlight recording 1"
KEY = "headlight"  # of the description in the file's metadata
MAX_WEIGHTS = 2**25  # of all maps in total: 128 MiB
MAX_GROUPS = 64
MAX_STEPS = 1000
MAX_HEADS = 4096  # of a group, in all layers
MAX_TOKENS = 4096  # of an axis
MAX_NOTICES = 20
MAX_WORDS_LENGTH = 300  # characters of a token or a name
LAST_STEP = 10**12
ABOVE_ONE = 2**-7  # tolerance for a weight or a row's sum: rounding in half precision


@dataclass(frozen=True)
class Group:
    """Layers whose maps have one shape.

    Attributes:
        name: their path in the module, as "layers.*.self_attn".
        paths: module name of each layer; "" where it has none.
        rows: the query tokens.
        columns: the key tokens, where they differ; None where both are one sequence.
        maps: (steps, layers, h, i, j), float32.

    Raises:
        HeadlightError: a token or a name is no text, or the maps are no softmax weights.
    """

    name: str
    paths: tuple[str, ...]
    rows: list[str]
    columns: list[str] | None
    maps: Tensor

    def __post_init__(self) -> None:
        check_texts((self.name, *self.paths, *self.rows, *(self.columns or ())))
        check_maps(self.name, self.maps)


@dataclass(frozen=True)
class Recording:
    """Maps recorded by `watch` or a `Recorder`, displayed as the last line of a notebook cell.

    Attributes:
        groups: of layers, in the order of the pass.
        steps: of the training, in order; (0,) for one pass.
        title: of the recording.
        notices: whole sentences to show with it.
    """

    groups: tuple[Group, ...]
    steps: tuple[int, ...]
    title: str
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_texts((self.title, *self.notices))

    def run(self, group: int | str = 0, step: int | None = None) -> Run:
        """Return the maps of a group after one step, by default the last, as a run with maps alone.

        Raises:
            SizeError: there is no such group or step.
        """
        layers, index = self._group(group), self._index(step)
        weights = layers.maps[index]
        return Run(
            tokens=layers.rows,
            ids=[layers.rows.index(token) for token in layers.rows],  # equal tokens get equal ids
            weights=weights,
            hidden=weights.new_zeros(len(weights) + 1, len(layers.rows), 0),
            sentence=weights.new_zeros(1),
            steps=(),
            device=weights.device,
            notices=self.notices,
            interventions=Interventions(self.describe(step)),
            key_tokens=layers.columns,
            extras=Extras(paths=layers.paths),
        )

    def describe(self, step: int | None = None) -> str:
        """Describe the recording in a few words: "recorded after step 300"."""
        return "recorded" if len(self.steps) == 1 else f"recorded after step {self.steps[self._index(step)]:,}"

    def show(self, group: int | str = 0, step: int | None = None, *, layer: int = 0, head: int = 0) -> HtmlView:
        """Show the maps of a group. Raises as `run` and `Run.show`."""
        title = f"{self.title}: {self._group(group).name}"
        return self.run(group, step).show(layer=layer, head=head, title=title)

    def save(self, path: str | Path) -> Path:
        """Write the file that the app opens, and return its path.

        Raises:
            HeadlightError: it is larger than the reader allows, or has maps that are not weights.
        """
        path = Path(path)
        path.write_bytes(self.to_bytes())
        return path

    def to_bytes(self) -> bytes:
        """Return the file's content. Raises as `save`."""
        from safetensors.torch import save

        groups = [{name: asdict(group)[name] for name in ("name", "paths", "rows", "columns")} for group in self.groups]
        description = {"format": FORMAT, "title": self.title, "steps": self.steps, "notices": self.notices}
        text = json.dumps({**description, "groups": groups})
        check_description(json.loads(text))
        for group in self.groups:
            check_maps(group.name, group.maps)
        maps = {f"maps.{number}": group.maps.contiguous() for number, group in enumerate(self.groups)}
        return bytes(save(maps, {KEY: text}))

    def _repr_html_(self) -> str:
        others = ", ".join(f"{number}: {group.name}" for number, group in enumerate(self.groups))
        legend = [f"Groups of maps, each with .show(group): {others}."] if len(self.groups) > 1 else []
        return f"<p>{html.escape(' '.join([*legend, *self.notices]))}</p>{self.show()._repr_html_()}"

    def _group(self, group: int | str) -> Group:
        names = [entry.name for entry in self.groups]
        number = names.index(group) if group in names else group
        if not isinstance(number, int) or not 0 <= number < len(names):
            raise SizeError(f"group={group!r} is not there; there are {', '.join(names)}")
        return self.groups[number]

    def _index(self, step: int | None) -> int:
        if step is not None and step not in self.steps:
            raise SizeError(f"step={step} was not recorded; there are {', '.join(map(str, self.steps))}")
        return len(self.steps) - 1 if step is None else self.steps.index(step)


def check_description(description: dict[str, Any]) -> None:
    """Raise a HeadlightError for more or longer texts, steps and layers than allowed."""
    steps, groups = description["steps"], description["groups"]
    check_max("steps", len(steps), MAX_STEPS)
    check_max("groups of maps", len(groups), MAX_GROUPS)
    check_max("notices", len(description["notices"]), MAX_NOTICES)
    if not groups or not steps:
        raise HeadlightError("it has no maps")
    if not all(type(step) is int and 0 <= step <= LAST_STEP for step in steps) or steps != sorted(set(steps)):
        raise HeadlightError("its steps must be increasing integers from 0 on")
    words = [description["title"], *description["notices"]]
    for group in groups:
        check_max("layers in a group", len(group["paths"]), MAX_HEADS)
        for tokens in (group["rows"], group["columns"] or group["rows"]):
            check_max("tokens on an axis", len(tokens), MAX_TOKENS)
            words += tokens
        words += [group["name"], *group["paths"]]
    check_texts(words)
    check_max("characters in one of its texts", max(map(len, words)), MAX_WORDS_LENGTH)
    names = [group["name"] for group in groups]
    if len(set(names)) < len(names) or not all(names):
        raise HeadlightError("its groups must have distinct names")


def check_texts(texts: Iterable[object]) -> None:
    """Raise a HeadlightError for a token or a name that is not a string which can be written as UTF-8."""
    for text in texts:
        if not isinstance(text, str):
            raise HeadlightError(f"one of its tokens or names is a {type(text).__name__}, not a string; give texts")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise HeadlightError(f"{text!r:.40} holds half of a surrogate pair, which is no character; give whole ones")


def check_maps(name: str, maps: Tensor) -> None:
    """Raise a HeadlightError for values that cannot be softmax weights."""
    if not maps.numel():
        raise HeadlightError(f"the maps of “{name:.40}” are empty; give the module at least one token")
    if not bool(maps.isfinite().all()):
        raise HeadlightError(f"the maps of “{name:.40}” hold NaN or infinity; look for it in the inputs and weights")
    if float(maps.min()) < 0 or float(maps.max()) > 1 + ABOVE_ONE:
        raise HeadlightError(f"the maps of “{name:.40}” go beyond 0 to 1: they are not softmax weights")
    row_sum = float(maps.sum(-1, dtype=torch.float64).max())
    if row_sum > 1 + ABOVE_ONE:
        raise HeadlightError(f"a row of “{name:.40}” sums to {row_sum:.3f}, it must not exceed 1")


def check_max(name: str, value: int, maximum: int) -> None:
    """Raise a HeadlightError if a value exceeds its maximum."""
    if value > maximum:
        raise HeadlightError(f"it has {value:,} {name}, at most {maximum:,} are read")
