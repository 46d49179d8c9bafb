"""What the screen must show: the core's own numbers, computed in this process and written as the pages write them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.registry import MINILM, trained
from mha_core import Model, Run, device, load_model

__all__ = ["DEVICE", "TIRED", "WIDE", "core", "largest", "run_of", "written"]

DEVICE = device.available()[0]
TIRED, WIDE = PRESETS[:2]


@lru_cache(maxsize=4)
def core(name: str = MINILM) -> Model:
    """The model that the pictures are compared with, in this process."""
    return load_model(MINILM if name == MINILM else str(trained.SHIPPED / name))


@lru_cache(maxsize=64)
def run_of(settings: Settings, **more: Any) -> Run:
    """The picture of these settings, computed in this process; `more`: of Model.run."""
    return core(settings.model).run(
        settings.text,
        mask=settings.mask,
        position=settings.position,
        heads_off=settings.heads_off,
        temperature=settings.temperature,
        values_off=settings.values_off,
        mlps_off=settings.mlps_off,
        layers_off=settings.layers_off,
        **more,
    )


def written(weight: float) -> str:
    """A weight as the page writes it: two digits, "<0.01" where they would say 0 of something that is more."""
    return f"{weight:.2f}" if weight == 0 or weight >= 0.005 else "<0.01"


def largest(run: Run, layer: int, head: int, row: int) -> list[str]:
    """What "… looks at …" must say: the four largest weights of a row."""
    row_of = run.weights[layer, head, row].tolist()
    best = sorted(enumerate(row_of), key=lambda pair: (-pair[1], pair[0]))[:4]
    return [f"{run.tokens[key]} {written(weight)}" for key, weight in best if weight > 0]
