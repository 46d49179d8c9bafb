"""The lines of the long post's experiment: the four models that it compares, and five that are compared fairly."""

import math
from dataclasses import dataclass, replace

from .recipe import Recipe, defaults

PROBES = ("how are you", "you how are", "can you can that")  # the texts whose maps the post shows


@dataclass(frozen=True)
class Said:
    """What the post itself prints of a model: its accuracy, the seconds of all ten epochs, and those of one."""

    accuracy: float
    seconds: float
    seconds_per_epoch: float


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        name: on the screen.
        as_the_post: trained as the post does it, or fairly; see `reproduce`.
        implementation, position, amplitude: as in a recipe.
        said: the post's own figures, where it has this model.
    """

    name: str
    as_the_post: bool
    implementation: str
    position: str = "none"
    amplitude: float = 1.0
    said: Said | None = None

    @property
    def key(self) -> str:
        """Its name in files: "post/torch", "fair/fused-sinusoidal-0.1"."""
        parts = [self.implementation]
        parts += [self.position] if self.position != "none" else []
        parts += [f"{self.amplitude:g}"] if self.amplitude != 1 else []
        return f"{'post' if self.as_the_post else 'fair'}/{'-'.join(parts)}"


ROWS = (
    Line("torch", True, "torch", said=Said(0.87, 155, 15)),
    Line("naive", True, "naive", said=Said(0.876, 218, 21)),
    Line("efficient", True, "efficient", said=Said(0.85, 186, 18.5)),
    Line("efficient + sinusoidal", True, "efficient", "sinusoidal", said=Said(0.81, 195, 19)),
    Line("torch", False, "torch"),
    Line("naive", False, "naive"),
    Line("fused", False, "fused"),
    Line("fused + sinusoidal", False, "fused", "sinusoidal"),
    Line("fused + sinusoidal × 0.1", False, "fused", "sinusoidal", 0.1),
)


def recipe(
    line: Line,
    rows: int,
    *,
    seed: int,
    epochs: int,
    threads: int = 1,
    device: str = "cpu",
    all_rows: bool = False,
) -> Recipe:
    """The recipe of a line: the post's sizes and steps, for so many epochs of so many training rows."""
    base = defaults("news")
    return replace(
        base,
        implementation=line.implementation,
        position=line.position,
        amplitude=line.amplitude,
        mask_padding=not line.as_the_post,
        start="own" if line.as_the_post else "shared",
        vocabulary_of="all texts" if line.as_the_post else "training rows",
        steps=epochs * math.ceil(rows / base.batch),
        evaluations=epochs,
        seconds=24 * 3600.0,
        seed=seed,
        threads=threads,
        device=device,
        all_rows=all_rows,
    )
