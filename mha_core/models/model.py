"""Interface of every model, wherever its layers are computed: `Model.run(text)` -> `Run`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack

import torch
from torch import Tensor

from ..attention.key_value import KVCache
from ..errors import HeadlightError, SizeError, TooLong, Unsupported
from ..positions import Position
from .block import BlockSizes, StackAblation
from .inputs import (
    Input,
    Mask,
    Switches,
    Tokenizer,
    combined_mask,
    head_mask,
    layer_set,
    padded,
    validated_ids,
    value_mask,
)  # fmt: skip
from .run import Run
from .stack import Stack
from .switches import RunSwitches

if TYPE_CHECKING:
    from ..training.events import History

T = TypeVar("T")

EVERYTHING = frozenset(("mask", "heads", "mlps", "layers", "temperature", "values", "positions", "steps", "batch"))


class Model(Protocol):
    """Read-only model that many threads may run at once.

    Attributes:
        name: the name that it was loaded by.
        tokenizer: without padding and truncation; a model that reads no text has only token names.
        encoder: its layers, if they are of this package; None if another library computes them.
        origin: "pretrained", "trained here", "random" or "recorded".
        folder: where the weights were read, if from files.
        facts: provenance of the weights, for "about this picture".
        notices: warnings that every run repeats.
        history: how it was trained, if it was trained here.
        can: the supported options of a run: "mask", "heads", "mlps", "layers", "temperature", "values", "positions",
            "steps" (a traced layer) and "batch"; using another raises Unsupported.
        reasons: unsupported option -> why, in a sentence; also for "lengths", the norms of transformed values.
        groups: the kinds of attention in it, out of "encoder", "decoder" and "cross".
        group: the one that this model's runs and `sizes` describe.
        own_mask: expression of the mask that is built into the model.
        suppressed_ids: tokens that it never writes, by the settings of its maker.
        ends: the numbers of special tokens in front of a text and behind it.
        pad_id: the id of the padding token.
        sizes: of the layers of `group`.
        reads: "text", "picture" or "sound".
    """

    name: str
    tokenizer: Tokenizer
    encoder: Stack | None = None
    origin: str
    folder: Path | None = None
    facts: dict[str, str]
    notices: tuple[str, ...] = ()
    history: History | None = None
    can: frozenset[str] = EVERYTHING
    reasons: Mapping[str, str] = MappingProxyType({})
    groups: tuple[str, ...]
    group: str
    own_mask: str = "none"
    suppressed_ids: Sequence[int] = ()
    ends: tuple[int, int] = (0, 0)
    pad_id: int = 0
    sizes: BlockSizes
    reads: str = "text"

    def for_group(self, group: str) -> Model:
        """Return the same model with the runs and sizes of one group, a kind of attention.

        Raises:
            Unsupported: the model has no attention of that kind.
        """
        if group not in self.groups:
            raise Unsupported(f"{self.name} has no {group!r} attention; it has {', '.join(self.groups)}")
        return self

    def of(self, group: str) -> Model:
        """Return `for_group(group)`; deprecated, removed in version 0.7."""
        warnings.warn("Model.of is now called Model.for_group", DeprecationWarning, stacklevel=2)
        return self.for_group(group)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights."""

    @property
    def nbytes(self) -> int:
        """Size of the weights in bytes."""

    @property
    def stack(self) -> Stack:
        """Layers of this package.

        Raises:
            Unsupported: another library computes the layers.
        """
        if self.encoder is None:
            raise self.cannot("steps")
        return self.encoder

    def cannot(self, ability: str) -> Unsupported:
        """Build the error for using an option that is not in `can`."""
        return Unsupported(f"{self.name}: {self.reasons[ability]}")

    def tokenize(self, text: Input) -> tuple[list[str], list[int]]:
        """Return tokens and ids of a text, including special tokens.

        Raises:
            TooLong: more tokens than the model has positions.
            SizeError: no token at all, where the model adds none of its own.
            HeadlightError: as in `encode`.
        """
        tokens, ids = self.encode(text)
        if not ids:
            raise SizeError("the text has no token, and this model adds none of its own; type at least one word")
        if len(ids) > self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(ids))
        return tokens, ids

    def encode(self, text: Input) -> tuple[list[str], list[int]]:
        """Return tokens and ids of a text of any length.

        Raises:
            HeadlightError: not a str, a str with a lone surrogate, or unknown ids.
        """
        if isinstance(text, (list, tuple)):
            return validated_ids(text, self.tokenizer, self.sizes.vocabulary)
        if isinstance(text, str):
            with suppress(TypeError):  # raised by tokenizers for a lone surrogate
                coded = self.tokenizer.encode(text)
                return coded.tokens, coded.ids
        raise HeadlightError(f"text must be a str of whole characters, got {text!r:.40}")

    def run(
        self,
        text: Input,
        *,
        mask: Mask = "none",
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
        values_off: Iterable[int] = (),
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
        mlps_off: Iterable[int] = (),
        layers_off: Iterable[int] = (),
    ) -> Run:
        """Compute every map and hidden state of one text.

        Args:
            text: any str; "" is [CLS] [SEP]. Nothing is ever cut. Or a list of ids, to which nothing is added. A model
                that reads pictures or sounds takes one of those, see `HfModel.run`.
            mask: applied in all layers beside the model's own: expression ("causal & window:3"), rule, or bool (i, j)
                | (h, i, j), True = may attend.
            position: "trained", a name of `positions.NAMES`, or a Position on the model's device. "sinusoidal" by name
                is scaled to the size of the trained table: the paper's amplitude of 1 would drown these embeddings.
                "learned", "t5" and "shaw" by name have random tables, the same ones in every run. "shuffled" and
                "scaled:0.5" change the trained table, see `positions.altered`.
            heads_off: (layer, head) pairs, counted from 0, whose output is set to 0.
            temperature: divides the scores of every layer.
            values_off: positions of tokens, counted from 0, whose values other tokens do not mix in; the weights stay
                as they are, so the mixed weights of a row sum to less than 1.
            trace_layer: the layer whose steps are recorded.
            implementation: a name of `IMPLEMENTATIONS` that computes the traced layer, with the same weights.
            all_logits: return the logits of every position, not only of the last one.
            mlps_off: layers, counted from 0, whose MLP (feed-forward network) adds nothing: its output, bias included,
                is set to 0.
            layers_off: layers, counted from 0, that hand on their input unchanged; their maps are still computed.

        Raises:
            TooLong, MaskError, PositionError, SizeError: with the numbers.
            Unsupported: the implementation is not known or cannot do this, or an option is not in `can`.
        """

    def run_batch(
        self,
        texts: Sequence[str],
        *,
        mask: Mask = "none",
        mask_padding: bool = True,
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
        values_off: Iterable[int] = (),
        mlps_off: Iterable[int] = (),
        layers_off: Iterable[int] = (),
    ) -> list[Run]:
        """Run several texts in one padded pass and return a run for each, with the padding cut off.

        Args:
            texts: as in `run`.
            mask: as in `run`; a tensor must have the padded length.
            mask_padding: False lets every token attend to the padding too, to demonstrate that bug.
            position: as in `run`.
            heads_off: as in `run`.
            temperature: as in `run`.
            values_off: as in `run`.
            mlps_off: as in `run`.
            layers_off: as in `run`.

        Raises:
            HeadlightError: as in `run`.
        """
        if "batch" not in self.can:
            raise self.cannot("batch")
        if not texts:
            return []
        coded = [self.tokenize(text) for text in texts]
        ids, keep = padded([own_ids for _, own_ids in coded], self.pad_id)
        key_mask = keep if mask_padding else None
        switches: Switches = {
            "mask": mask,
            "position": position,
            "heads_off": heads_off,
            "temperature": temperature,
            "values_off": values_off,
            "mlps_off": mlps_off,
            "layers_off": layers_off,
        }
        return self.run_padded(coded, ids, key_mask, self.switches(ids.shape[1], key_mask, **switches))

    def run_padded(
        self, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, keep: Tensor | None, switches: RunSwitches
    ) -> list[Run]:
        """Run padded ids (b, i) of several texts in one pass and return a run for each.

        Args:
            coded: tokens and ids of each text.
            ids: int64 (b, i).
            keep: bool (b, i), True = a real token; None = no mask over the padding.
            switches: those of `switches`.
        """

    def ablate_each_head(
        self,
        text: str,
        *,
        on_progress: Callable[[float], object] = lambda done: None,
        **switches: Unpack[Switches],
    ) -> Tensor:
        """Return the sentence vector without each single head: (layers, h, d_model), each of length 1.

        Args:
            text: as in `run`.
            on_progress: called with the share of the work that is done, 0 to 1; it may raise to cancel the work.
            switches: as in `run`; `heads_off` are off in addition.

        Raises:
            HeadlightError: as in `run`.
        """
        layers, heads, vectors = self.sizes.n_layers, self.sizes.n_heads, list[Tensor]()
        off = tuple(switches.get("heads_off", ()))
        for pair in product(range(layers), range(heads)):
            vectors.append(self.run(text, **switches | {"heads_off": (*off, pair)}).sentence)
            on_progress(len(vectors) / (layers * heads))
        return torch.stack(vectors).view(layers, heads, -1)

    def run_on_stack(self, call: Callable[[Stack], T]) -> tuple[T, tuple[str, ...]]:
        """Call `call` on the layers without gradients; return its result and warnings for the user.

        Raises:
            Unsupported: its layers are not of this package.
        """
        return call(self.stack), ()

    def run_new_tokens(
        self, ids: Sequence[int], caches: Sequence[KVCache] = (), shift: int = 0, **switches: Unpack[Switches]
    ) -> Run:
        """Run the tokens that are not in the caches, one per layer, `shift` positions further on, and cache them.

        A library without such a cache runs the whole text. Raises Unsupported where its positions cannot be shifted.
        """
        if shift:
            raise Unsupported(f"the positions of {self.name} cannot be shifted")
        return self.run(ids, **switches)

    def as_implementation(self, name: str) -> Model:
        """Return the same weights with every attention layer in that implementation.

        Raises:
            Unsupported: no implementation has that name, or the layers are not of this package.
        """
        if name == self.sizes.implementation:
            return self
        raise Unsupported(f"the layers of {self.name} are not of this package; it has no other implementation here")

    def switches(
        self, length: int, keep: Tensor | None, len_k: int | None = None, **switches: Unpack[Switches]
    ) -> RunSwitches:
        """Validate the switches of a run and bundle them for the stack that will compute it.

        Args:
            length: the number of tokens of the text, or of the longest.
            keep: bool (b, i), True = a real token; None = there is no padding.
            len_k: the number of keys in cross-attention.
            switches: as in `run`.
        """
        mask, values = switches.get("mask", "none"), tuple(switches.get("values_off", ()))
        allow = combined_mask(mask, self.own_mask, self.sizes.n_heads, length, keep, len_k)
        heads = head_mask(switches.get("heads_off", ()), self.sizes)
        mlps = layer_set("mlps_off", switches.get("mlps_off", ()), self.sizes.n_layers)
        layers = layer_set("layers_off", switches.get("layers_off", ()), self.sizes.n_layers)
        for ability, numbers in (("mlps", mlps), ("layers", layers)):
            if numbers and ability not in self.can:
                raise self.cannot(ability)
        ablate = StackAblation(heads, value_mask(values, length, len_k), mlps, layers)
        position, temperature = switches.get("position", "trained"), switches.get("temperature", 1.0)
        return RunSwitches(self, mask, position, temperature, allow, ablate, values)


def count_special_tokens(tokenizer: Tokenizer) -> tuple[int, int]:
    """Count the special tokens that a tokenizer puts in front of every text and behind it.

    They are those of an empty text; where a letter appears between them, the front ones end.
    """
    try:
        empty, letter = (tokenizer.encode(text).ids for text in ("", "a"))
    except HeadlightError:  # raised for an empty text where it has no token
        return 0, 0
    first = next((n for n, (a, b) in enumerate(zip(empty, letter, strict=False)) if a != b), len(empty))
    return first, len(empty) - first
