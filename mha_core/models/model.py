"""What every model can do, wherever its layers are: `Model.run(text)` -> `Run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack

import torch
from torch import Tensor

from ..attention.switches import Ablation
from ..errors import HeadlightError, SizeError, TooLong, Unsupported
from ..positions import Position
from .block import BlockSizes
from .inputs import Input, Mask, Switches, Tokenizer, combined_mask, head_mask, padded, tokens_of_ids, value_mask
from .run import Run
from .stack import Stack
from .switches import RunSwitches

if TYPE_CHECKING:
    from ..training.events import History

T = TypeVar("T")

EVERYTHING = frozenset(("mask", "heads", "temperature", "values", "positions", "steps", "batch"))


class Model(Protocol):
    """A read-only model that many threads may run at once.

    Attributes:
        name: what it was loaded as.
        tokenizer: with padding and truncation switched off; of a model that reads no text it has the tokens' names.
        encoder: its layers, where they are of this package; None where another one computes.
        origin: "pretrained", "trained here", "random" or "recorded".
        folder: where the weights were read, if from files.
        facts: where the weights came from, for "about this picture".
        notices: what every run of it must say.
        history: how it was trained, if it was trained here.
        can: what of a run can be changed or asked for: "mask", "heads", "temperature", "values", "positions", "steps"
            (a traced layer) and "batch"; asking for another raises Unsupported.
        reasons: of each that it cannot, why, in a sentence; also of "lengths", how long what its tokens hand over is.
        groups: the kinds of attention in it, of "encoder", "decoder" and "cross"; `of` gives the model of one.
        group: the one whose maps, layers and heads this model's runs and `sizes` speak of.
        own_mask: written form of the mask that belongs to the model itself.
        ends: how many tokens of its own it puts in front of a text and behind it.
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
    ends: tuple[int, int] = (0, 0)
    pad_id: int = 0
    sizes: BlockSizes
    reads: str = "text"

    def of(self, group: str) -> Model:
        """The same model, its runs and sizes those of one kind of attention.

        Raises:
            Unsupported: it has no attention of that kind.
        """
        if group not in self.groups:
            raise Unsupported(f"{self.name} has no {group!r} attention; it has {', '.join(self.groups)}")
        return self

    @property
    def device(self) -> torch.device:
        """The device of the weights."""

    @property
    def dtype(self) -> torch.dtype:
        """The weights' number format."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""

    @property
    def stack(self) -> Stack:
        """The encoder. Raises Unsupported where the layers are not of this package."""
        if self.encoder is None:
            raise self.cannot("steps")
        return self.encoder

    def cannot(self, ability: str) -> Unsupported:
        """The error of asking for what is not in `can`."""
        return Unsupported(f"{self.name}: {self.reasons[ability]}")

    def tokenize(self, text: Input) -> tuple[list[str], list[int]]:
        """Tokens and ids of a text, special tokens included.

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
        """As `tokenize`, for a text of any length.

        Raises:
            HeadlightError: not a str, or half a surrogate pair in it, which is no character; or ids that it has not.
        """
        if isinstance(text, (list, tuple)):
            return tokens_of_ids(text, self.tokenizer, self.sizes.vocabulary)
        if isinstance(text, str):
            with suppress(TypeError):  # the tokenizer's word for half a surrogate pair
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
    ) -> Run:
        """Computes every map and hidden state of one text.

        Args:
            text: anything; "" is [CLS] [SEP]. Nothing is ever cut. Or a list of ids, to which nothing is added; of a
                model that reads pictures or sounds one of them, see `HfModel.run`.
            mask: beside the model's own, for all layers: written form ("causal & window:3"), rule, or bool (i, j) |
                (h, i, j), True = may look.
            position: "trained", a name of `positions.NAMES`, or a Position on the model's device. "sinusoidal" by name
                is scaled to the size of the trained table: the paper's amplitude of 1 would drown these embeddings.
                "learned", "t5" and "shaw" by name have random tables, the same ones in every run. "shuffled" and
                "scaled:0.5" change the trained table, see `positions.altered`.
            heads_off: (layer, head) pairs, counted from 0, whose output is set to 0.
            temperature: divides the scores of every layer.
            values_off: places of tokens, counted from 0, whose value no other token mixes in; who looks at them
                stays as it is, so a row hands on less than it looks at.
            trace_layer: the layer whose steps are recorded.
            implementation: a name of `IMPLEMENTATIONS`, with this layer's weights, takes the traced layer's place.
            all_logits: `run.logits` of every position, not of the last alone.

        Raises:
            TooLong, MaskError, PositionError, SizeError: with the numbers.
            Unsupported: that implementation is not known, or cannot do what is asked; or something is not in `can`.
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
    ) -> list[Run]:
        """One padded pass over several texts; a run each, with the padding cut off.

        mask_padding=False lets every token look at the padding too: the classic bug, for showing it.
        Other arguments and errors as in `run`; a mask tensor must have the padded length.
        """
        if "batch" not in self.can:
            raise self.cannot("batch")
        if not texts:
            return []
        coded = [self.tokenize(text) for text in texts]
        ids, keep = padded([own_ids for _, own_ids in coded], self.pad_id)
        kept = keep if mask_padding else None
        switches: Switches = {
            "mask": mask,
            "position": position,
            "heads_off": heads_off,
            "temperature": temperature,
            "values_off": values_off,
        }
        return self.run_padded(coded, ids, kept, self.switches(ids.shape[1], kept, **switches))

    def run_padded(
        self, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, keep: Tensor | None, switches: RunSwitches
    ) -> list[Run]:
        """One pass over the padded ids (b, i) of several texts; a run each. `keep`: as in `switches`."""

    def ablate_each_head(
        self,
        text: str,
        *,
        on_progress: Callable[[float], object] = lambda done: None,
        **switches: Unpack[Switches],
    ) -> Tensor:
        """The sentence vector with one head more off, for each head alone: (layers, h, d_model), each of length 1.

        `on_progress` is called with the share that is done, 0 to 1; an error that it raises ends the work. Switches and
        errors as in `run`.
        """
        layers, heads, found = self.sizes.n_layers, self.sizes.n_heads, list[Tensor]()
        off = tuple(switches.get("heads_off", ()))
        for pair in product(range(layers), range(heads)):
            found.append(self.run(text, **switches | {"heads_off": (*off, pair)}).sentence)
            on_progress(len(found) / (layers * heads))
        return torch.stack(found).view(layers, heads, -1)

    def run_on_stack(self, call: Callable[[Stack], T]) -> tuple[T, tuple[str, ...]]:
        """The result of `call` on its layers, without gradients, and what must be said of it.

        Raises:
            Unsupported: its layers are not of this package.
        """
        return call(self.stack), ()

    def as_implementation(self, name: str) -> Model:
        """The same weights with every attention layer in that implementation; this model, if they are in it already.

        Raises:
            Unsupported: no implementation has that name, or the layers are not of this package.
        """
        if name == self.sizes.implementation:
            return self
        raise Unsupported(f"the layers of {self.name} are not of this package; it has no other implementation here")

    def switches(
        self, length: int, keep: Tensor | None, columns: int | None = None, **switches: Unpack[Switches]
    ) -> RunSwitches:
        """Checks masks, heads and values, and gives them, position and temperature to whichever stack will compute.

        Args:
            length: tokens of the text, or of the longest.
            keep: bool (b, i), True = a real token; None = there is no padding.
            columns: how many tokens are looked at, where they are others.
            switches: as in `run`.
        """
        mask, values = switches.get("mask", "none"), tuple(switches.get("values_off", ()))
        allow = combined_mask(mask, self.own_mask, self.sizes.n_heads, length, keep, columns)
        ablate = Ablation(head_mask(switches.get("heads_off", ()), self.sizes), value_mask(values, length, columns))
        position, temperature = switches.get("position", "trained"), switches.get("temperature", 1.0)
        return RunSwitches(self, mask, position, temperature, allow, ablate, values)


def ends_of(tokenizer: Tokenizer) -> tuple[int, int]:
    """How many tokens it puts in front of every text and behind it: those of an empty text, parted by a letter."""
    try:
        empty, letter = (tokenizer.encode(text).ids for text in ("", "a"))
    except HeadlightError:  # an empty text has no token
        return 0, 0
    first = next((at for at, (one, other) in enumerate(zip(empty, letter, strict=False)) if one != other), len(empty))
    return first, len(empty) - first
