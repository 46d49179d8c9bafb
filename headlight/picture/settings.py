"""The settings of a picture: the one key of every cache, and how a model is run under them."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from headlight.link import mask_codec
from headlight.link.limits import MAX_TOKENS
from headlight.registry import MINILM
from mha_core.errors import TooLong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from mha_core import Model, Run


@dataclass(frozen=True)
class Settings:
    """Everything that a picture's numbers depend on.

    Attributes:
        mask: written form, as in `mha_core.masks.parse`.
        position: "trained" or a name of `mha_core.positions.NAMES`.
        heads_off: sorted (layer, head) pairs, counted from 0.
        device: as in `mha_core.device.pick`.
        painted: cells of the mask that are turned round, as in `headlight.link.mask_codec`.
        model: a name that `headlight.registry.models` knows.
        values_off: sorted places of tokens whose value no other token mixes in.
    """

    text: str
    mask: str = "none"
    position: str = "trained"
    temperature: float = 1.0
    heads_off: tuple[tuple[int, int], ...] = ()
    device: str = "auto"
    painted: str = ""
    model: str = MINILM
    values_off: tuple[int, ...] = ()

    @property
    def without_painting(self) -> Settings:
        """The same with the mask's rule alone."""
        return replace(self, painted="")

    @property
    def baseline(self) -> Settings:
        """The same sentence in the model as it was trained."""
        return Settings(self.text, device=self.device, model=self.model)

    @property
    def digest(self) -> str:
        """A short name for exactly these settings."""
        parts = astuple(self) if self.values_off else astuple(self)[:-1]  # so that a picture keeps the name it had
        return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def allow(self, model: Model) -> str | Tensor:
        """The mask as `Model.run` takes it: the rule, or with painted cells the tensor of both."""
        if not self.painted:
            return self.mask
        return mask_codec.allowed(self.mask, self.painted, mask_codec.tokens_of(self.painted), model.sizes.n_heads)

    def allowed_cells(self, model: Model, n: int, keys: int | None = None) -> Tensor:
        """Which cells may be looked at by the mask and the model's own, as `mask_codec.allowed`; n tokens look."""
        return mask_codec.allowed(self.mask, self.painted, n, model.sizes.n_heads, model.own_mask, keys)

    def forbidden_cells(self, model: Model, n: int, keys: int | None = None) -> list[str]:
        """The others, as `mask_codec.forbidden`."""
        return mask_codec.forbidden(self.mask, self.painted, n, model.sizes.n_heads, model.own_mask, keys)

    def switches(self, model: Model) -> dict[str, Any]:
        """Mask, position, heads, temperature and values as keyword arguments of `Model.run` and `Model.run_batch`."""
        return {
            "mask": self.allow(model),
            "position": self.position,
            "heads_off": self.heads_off,
            "temperature": self.temperature,
            "values_off": self.values_off,
        }

    def run(self, model: Model, text: str | Sequence[int] | None = None, **more: Any) -> Run:
        """Runs the model on the sentence, or on another text or its ids, under these settings.

        Its tensors lie on the CPU, wherever it was computed: of two runs that meet, one may have found the GPU full.

        Args:
            more: further arguments of `Model.run`, such as `trace_layer`.

        Raises:
            HeadlightError: whatever `Model.run` raises, and for a text whose maps of all layers would be too many.
        """
        text = self.text if text is None else text
        _check(model, text)
        return model.run(text, **self.switches(model), **more).cpu()

    def run_batch(self, model: Model, texts: Sequence[str], *, mask_padding: bool) -> list[Run]:
        """Runs the model on several texts in one padded batch, as `run`. Raises what `Model.run_batch` raises."""
        for text in texts:
            _check(model, text)
        return [run.cpu() for run in model.run_batch(texts, mask_padding=mask_padding, **self.switches(model))]


def _check(model: Model, text: str | Sequence[int]) -> None:
    """Raises TooLong where the maps of all layers are not kept: of 2,048 tokens SmolLM2's would take 4.5 GB."""
    count = len(model.tokenize(text)[1])
    if count > MAX_TOKENS:
        raise TooLong(limit=MAX_TOKENS, got=count)
