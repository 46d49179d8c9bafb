"""The settings of a picture: the key of every cache, and the arguments of a model's run."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from itertools import product
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
    """All settings that a picture's numbers depend on."""

    text: str
    mask: str = "none"  # expression, as in `mha_core.masks.parse`
    position: str = "trained"  # "trained" or a name of `mha_core.positions.NAMES`
    temperature: float = 1.0  # divisor of the scores
    heads_off: tuple[tuple[int, int], ...] = ()  # sorted (layer, head) pairs, counted from 0
    device: str = "auto"  # as in `mha_core.device.pick`
    painted: str = ""  # inverted cells of the mask, as in `headlight.link.mask_codec`
    model: str = MINILM  # a name that `headlight.registry.models` knows
    values_off: tuple[int, ...] = ()  # sorted places of tokens whose values are zeroed
    mlps_off: tuple[int, ...] = ()  # sorted layers, counted from 0, whose MLP adds nothing
    layers_off: tuple[int, ...] = ()  # sorted layers that hand on their input unchanged

    @property
    def without_painting(self) -> Settings:
        """Settings with the mask's rule alone."""
        return replace(self, painted="")

    @property
    def baseline(self) -> Settings:
        """Settings of the same sentence in the unmodified model."""
        return Settings(self.text, device=self.device, model=self.model)

    @property
    def digest(self) -> str:
        """A short hash of these settings."""
        parts = list(astuple(self))
        while parts[-1] == ():  # so that digests stay the same when a field is added
            parts.pop()
        return hashlib.blake2b(repr(tuple(parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def allow(self, model: Model) -> str | Tensor:
        """Return the mask as `Model.run` takes it: the rule, or a tensor if cells are painted."""
        if not self.painted:
            return self.mask
        return mask_codec.allow_mask(self.mask, self.painted, mask_codec.token_count(self.painted), model.sizes.n_heads)

    def allowed_cells(self, model: Model, n: int, keys: int | None = None) -> Tensor:
        """Return the cells that this mask and the model's own allow, as `mask_codec.allowed`, for n queries."""
        return mask_codec.allow_mask(self.mask, self.painted, n, model.sizes.n_heads, model.own_mask, keys)

    def forbidden_cells(self, model: Model, n: int, keys: int | None = None) -> list[str]:
        """Return the cells that this mask or the model's own forbids, as `mask_codec.forbidden`, for n queries."""
        return mask_codec.forbidden_cells(self.mask, self.painted, n, model.sizes.n_heads, model.own_mask, keys)

    def silent_heads(self, model: Model) -> frozenset[tuple[int, int]]:
        """Return the heads whose output counts as 0: those that are off, and all of a layer that is."""
        return frozenset((*self.heads_off, *product(self.layers_off, range(model.sizes.n_heads))))

    def switches(self, model: Model) -> dict[str, Any]:
        """Return the settings as keyword arguments of `Model.run` and `Model.run_batch`."""
        return {
            "mask": self.allow(model),
            "position": self.position,
            "heads_off": self.heads_off,
            "temperature": self.temperature,
            "values_off": self.values_off,
            "mlps_off": self.mlps_off,
            "layers_off": self.layers_off,
        }

    def run(self, model: Model, text: str | Sequence[int] | None = None, **more: Any) -> Run:
        """Run the model under these settings, and return the run with its tensors on the CPU.

        They are moved there, since of two runs to compare one may have fallen back from a full GPU. `text` is another
        text than the sentence, or token ids; `more` are further arguments of `Model.run`, such as `trace_layer`.

        Raises:
            HeadlightError: what `Model.run` raises, or a text with too many tokens for the maps of all layers.
        """
        text = self.text if text is None else text
        _check(model, text)
        return model.run(text, **self.switches(model), **more).cpu()

    def run_batch(self, model: Model, texts: Sequence[str], *, mask_padding: bool) -> list[Run]:
        """Run the model on several texts in one padded batch. Raises what `run` raises."""
        for text in texts:
            _check(model, text)
        return [run.cpu() for run in model.run_batch(texts, mask_padding=mask_padding, **self.switches(model))]


def _check(model: Model, text: str | Sequence[int]) -> None:
    """Raise TooLong if the maps of all layers would be too large: SmolLM2's of 2,048 tokens take 4.5 GB."""
    count = len(model.tokenize(text)[1])
    if count > MAX_TOKENS:
        raise TooLong(limit=MAX_TOKENS, got=count)
