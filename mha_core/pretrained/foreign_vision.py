"""A vision transformer of transformers as a `Model`: a picture in, a `Run` out, its rows and columns the patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor

from ..errors import SizeError
from ..models.run import Run
from .foreign import ForeignModel
from .foreign_runs import Pass
from .picture_file import Picture
from .sight import Sight


class ForeignVision(ForeignModel):
    """A `ForeignModel` that reads pictures.

    Attributes:
        sight: how it is shown one.
        classes: what its logits are of, in their order; empty where it has none.
    """

    @property
    def sight(self) -> Sight:
        """How it is shown a picture."""
        return cast(Sight, self.tokenizer)

    @property
    def classes(self) -> list[str]:
        """What its logits are of, in their order."""
        labels: dict[int, str] = self.wrapped.family.config.id2label or {}
        return [str(labels.get(number, number)) for number in range(len(labels))]

    def coded(self, text: str | Sequence[int]) -> tuple[list[str], list[int]]:
        names = self.sight.names
        return list(names), list(range(len(names)))

    def run(self, picture: Picture, /, **switches: Any) -> Run:  # type: ignore[override]  # it reads no text
        """Computes every map and hidden state of one picture.

        Args:
            picture: PNG, JPEG or WebP by its bytes or its Path, or uint8 (height, width, 3).
            switches: as in `Model.run`; a mask is of the tokens.

        Returns:
            a run with `patches`; `logits` are (1, classes).

        Raises:
            HeadlightError: of the picture, as `picture_file.read`.
            Unsupported: something that is not in `can`, with its reason.
        """
        return super().run(cast(Any, picture), **switches)

    def _asked(self, text: Any, target: Any, **switches: Any) -> tuple[tuple[list[str], list[int]], Tensor, Pass]:
        if target is not None:
            raise SizeError("a model that reads pictures takes no target")
        pixels, patches = self.sight.pixels(text)
        rows = self.coded("")
        asked = Pass(self.switches(len(rows[1]), None, **switches), (patches.own, 0), patches=patches)
        return rows, pixels.to(self.dtype), asked
