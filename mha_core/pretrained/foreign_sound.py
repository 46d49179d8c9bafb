"""A speech model of transformers as a `Model`: a sound in, a `Run` out, its rows and columns moments of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from torch import Tensor

from ..models.run import Heard, Run
from .byte_level import Tokens
from .foreign import ForeignModel
from .foreign_runs import Pass
from .hearing import Hearing
from .sound_file import Sound

KEPT = 8  # sounds of the album, as the model reads them


class ForeignSound(ForeignModel):
    """A `ForeignModel` that reads sounds, and with a decoder writes text.

    Args:
        words: the tokenizer of its decoder; None without one.

    Attributes:
        album: sounds that may be given by their names.
    """

    def __init__(self, name: str, hearing: Hearing, *args: Any, words: Tokens | None = None, **about: Any) -> None:
        super().__init__(name, hearing if words is None else words, *args, **about)
        self.hearing = hearing
        self.album: Mapping[str, Sound] = {}
        self._written: Callable[[Tensor], list[int]] = lru_cache(KEPT)(
            lambda read: self.wrapped.greedy(read.to(self.device, self.dtype))
        )  # of the same features, by which a sound of the album is known again
        self._named: Callable[[str], tuple[Tensor, list[str], Heard]] = lru_cache(KEPT)(
            lambda name: hearing.read(self.album[name])
        )

    def heard(self, sound: Sound | str) -> tuple[Tensor, list[str], Heard]:
        """What the model reads of a sound, (1, …); its tokens; and the sound itself. Raises as `run`."""
        return self._named(sound) if isinstance(sound, str) and self.album else self.hearing.read(cast(Any, sound))

    def tokenize(self, text: str | Sequence[int]) -> tuple[list[str], list[int]]:
        """As of others, of what its decoder reads; of a name in the album the moments of that sound."""
        if not self.album or not isinstance(text, str):
            return super().tokenize(text)
        times = self.heard(text)[1]
        return times, list(range(len(times)))

    def needs(self, rows: int, columns: int | None = None) -> int:
        """As of others; the whole maps of an encoder that hears silence too are made in every pass."""
        known, whole = self.known("encoder"), self.hearing.whole
        if whole is None:
            return super().needs(rows, columns)
        encoder: int = len(known.paths) * known.heads * whole**2 * self.dtype.itemsize
        return encoder if self.group == "encoder" else encoder + super().needs(rows, columns)

    def run(self, sound: Sound | str, /, **switches: Any) -> Run:  # type: ignore[override]  # it reads no text
        """Computes every map and hidden state of one sound.

        Args:
            sound: a WAV file by its bytes or its Path, at most 30 s, float (n,) at the model's rate, or a name in the
                album.
            switches: as in `ForeignModel.run`; a mask is of the tokens; `target` is a text or ids for the decoder.

        Returns:
            a run with `heard`. The tokens of the encoder are the times at which they begin, "0.48 s". Where it hears
            silence behind every sound, that has no rows and columns here, and `nobody` is what each row gives it.

        Raises:
            HeadlightError: of the sound, as `sound_file.read`. SizeError: more tokens than are read, or none.
            Unsupported: something that is not in `can`, with its reason.
        """
        return super().run(cast(Any, sound), **switches)

    def _asked(self, text: Any, target: Any, **switches: Any) -> tuple[tuple[list[str], list[int]], Tensor, Pass]:
        features, times, heard = self.heard(text)
        every = list(self.hearing.names[: self.hearing.whole or len(times)])  # which a mask goes over
        rows, whole, asked = self._passed((every, list(range(len(every)))), features, (0, 0), target, **switches)
        if self.group == "encoder":
            rows = times, rows[1][: len(times)]
        elif self.group == "cross":
            asked = replace(asked, columns=times)
        is_left_out = len(times) < len(every) and self.group != "decoder"
        return rows, whole.to(self.dtype), replace(asked, heard=heard, is_left_out=is_left_out)

    def _own_answer(self, read: Tensor) -> Sequence[int]:
        return self._written(read)
