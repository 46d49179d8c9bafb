"""Runs that kept random maps, as a training leaves them."""

from __future__ import annotations

import torch

from mha_core.training.events import End, Event, History, Snapshot, Start
from mha_core.training.recipe import Recipe

PROBES = [["[CLS]", "the", "dog", "##s", "[SEP]"], ["[CLS]", "a", "[SEP]"]]


def filmed(
    steps: range = range(0, 41, 10),
    *,
    probes: list[list[str]] = PROBES,
    layers: int = 2,
    heads: int = 4,
    classes: tuple[str, ...] = ("cat", "dog"),
    over: bool = True,
    columns: list[list[str]] | None = None,
    seed: int = 0,
) -> History:
    """A run with a snapshot of every probe after each of these steps."""
    recipe = Recipe(steps=40, n_layers=layers, n_heads=heads)
    written = max(map(len, probes)) if columns else 0
    start = Start(recipe, "t", [*classes], 8, 4, "f", [], 30, 100, 5, probes, {}, "cpu", columns or [], written)
    events: list[Event] = [start]
    generator = torch.Generator().manual_seed(seed)
    for step in steps:
        for number, tokens in enumerate(probes):
            shape = [layers, heads, len(tokens), len(columns[number] if columns else tokens)]
            maps = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
            events.append(Snapshot(step, number, shape, maps.numpy().tobytes()))
    if over:
        events.append(End("steps", 40, 0.5))
    return History.of(events)
