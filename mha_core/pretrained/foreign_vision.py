"""A vision transformer of transformers as a `Model`: a picture in, a `Run` out, its rows and columns the patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from torch import Tensor

from ..errors import HeadlightError, SizeError
from ..models.run import Patches, Run
from .foreign import ForeignModel
from .foreign_runs import Pass
from .picture_file import Picture
from .sight import Sight

KEPT = 8  # pictures of the album, made as large as the model reads them


class ForeignVision(ForeignModel):
    """A `ForeignModel` that reads pictures.

    Attributes:
        album: pictures that may be given by their names.
    """

    def __init__(self, *args: Any, **about: Any) -> None:
        super().__init__(*args, **about)
        self.album: Mapping[str, Picture] = {}
        self._named: Callable[[str], tuple[Tensor, Patches]] = lru_cache(KEPT)(
            lambda name: self.sight.pixels(self.album[name])
        )

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

    def shown(self, picture: Picture | str) -> tuple[Tensor, Patches]:
        """What the model reads of a picture, (1, 3, height, width), and what can be seen of it. Raises as `run`."""
        if not isinstance(picture, str):
            return self.sight.pixels(picture)
        if not self.album:
            raise HeadlightError("this model reads pictures: give it the bytes of one, its Path or a tensor, no str")
        return self._named(picture)

    def run(self, picture: Picture | str, /, **switches: Any) -> Run:  # type: ignore[override]  # it reads no text
        """Computes every map and hidden state of one picture.

        Args:
            picture: PNG, JPEG or WebP by its bytes or its Path, uint8 (height, width, 3), or a name in the album.
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
        pixels, patches = self.shown(text)
        rows = self.coded("")
        asked = Pass(self.switches(len(rows[1]), None, **switches), (patches.own, 0), patches=patches)
        return rows, pixels.to(self.dtype), asked
