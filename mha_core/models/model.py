"""A tokenizer and an encoder as one thing that takes text: `Model.run(text)` -> `Run`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Unpack

import torch
from torch import Tensor

from ..attention import as_implementation
from ..attention.switches import Ablation
from ..errors import HeadlightError, SizeError, TooLong, Unsupported
from ..positions import Position
from ..trace import Trace, no_trace
from .fall_back import FallBack
from .inputs import Mask, Switches, heads_on, joint_mask, padded, tokens_of_ids, values_on
from .run import Run, last_rows, stacked
from .stack import Stack
from .switches import RunSwitches

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ..training.events import History

T = TypeVar("T")

EVERYTHING = frozenset(("mask", "heads", "temperature", "values", "positions", "steps", "batch"))


class Grown(NamedTuple):
    """The last token of a growing text: its rows of the maps (layers, h, j), hidden states (layers + 1, d_model) and
    logits (v,), and what is to be kept for the next one.
    """

    weights: Tensor
    hidden: Tensor
    logits: Tensor
    kept: Any


class Model:
    """A read-only model that many threads may run at once.

    Args:
        name: what it was loaded as.
        tokenizer: with padding and truncation switched off.
        encoder: in eval mode, without gradients; also a classifier or a language model.
        origin: "pretrained", "trained here" or "random".
        fall_back: True allows to compute on the CPU when the device runs out of memory.
        folder: where the weights were read, if from files.
        facts: where the weights came from, for "about this picture".
        notices: what every run of it must say.
        history: how it was trained, if it was trained here.

    Attributes:
        can: what of a run can be changed or asked for: "mask", "heads", "temperature", "values", "positions", "steps"
            (a traced layer) and "batch"; asking for another raises Unsupported.
        reasons: of each that it cannot, why, in a sentence; also of "lengths", how long what its tokens hand over is.
        groups: the kinds of attention in it, of "encoder", "decoder" and "cross"; `of` gives the model of one.
        group: the one whose maps, layers and heads this model's runs and `sizes` speak of.
        reads: "text", "picture" or "sound".
    """

    reads = "text"
    can = EVERYTHING
    reasons: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        encoder: Stack,
        *,
        origin: str,
        fall_back: bool = False,
        folder: Path | None = None,
        facts: dict[str, str] | None = None,
        notices: tuple[str, ...] = (),
        history: History | None = None,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.encoder = encoder
        self.origin = origin
        self.folder = folder
        self.facts = facts or {}
        self.notices = notices
        self.history = history
        self.own_mask = encoder.own_mask
        self.sizes = encoder.sizes
        self.pad_id = tokenizer.token_to_id("[PAD]") or 0
        self.ends = ends_of(tokenizer)
        self.groups: tuple[str, ...] = ("encoder" if encoder.own_mask == "none" else "decoder",)
        self.group = self.groups[0]
        self._fall_back = FallBack(encoder, fall_back)

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
        return self.encoder.device

    @property
    def dtype(self) -> torch.dtype:
        """The weights' number format."""
        return self.encoder.words.weight.dtype

    def tokenize(self, text: str | Sequence[int]) -> tuple[list[str], list[int]]:
        """Tokens and ids of a text, special tokens included.

        Raises:
            TooLong: more tokens than the model has positions.
            SizeError: no token at all, where the model adds none of its own.
            HeadlightError: as in `coded`.
        """
        tokens, ids = self.coded(text)
        if not ids:
            raise SizeError("the text has no token, and this model adds none of its own; type at least one word")
        if len(ids) > self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(ids))
        return tokens, ids

    def coded(self, text: str | Sequence[int]) -> tuple[list[str], list[int]]:
        """As `tokenize`, for a text of any length.

        Raises:
            HeadlightError: not a str, or half a surrogate pair in it, which is no character; or ids that it has not.
        """
        if isinstance(text, (list, tuple)):
            return tokens_of_ids(text, self.tokenizer, self.sizes.vocabulary)
        try:
            coded = self.tokenizer.encode(text)
        except TypeError as error:  # the tokenizer's word for half a surrogate pair too
            raise HeadlightError(f"text must be a str of whole characters, got {text!r:.40}") from error
        return coded.tokens, coded.ids

    def run(
        self,
        text: str | Sequence[int],
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
            text: anything; "" is [CLS] [SEP]. Nothing is ever cut. Or a list of ids, to which nothing is added.
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
            Unsupported: that implementation is not known, or cannot do what is asked.
        """
        self._check_traced(trace_layer, implementation)
        tokens, ids = self.tokenize(text)
        switches = self.switches(len(ids), None, mask, position, heads_off, temperature, values_off)
        whole = padded([ids], self.pad_id)[0]
        ends = self.ends if isinstance(text, str) else (0, 0)
        return self._pass([(tokens, ids)], whole, switches, ends, trace_layer, implementation, all_logits)[0]

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
        if not texts:
            return []
        coded = [self.tokenize(text) for text in texts]
        ids, keep = padded([own_ids for _, own_ids in coded], self.pad_id)
        kept = keep if mask_padding else None
        switches = self.switches(ids.shape[1], kept, mask, position, heads_off, temperature, values_off)
        return self._pass(coded, ids, switches, self.ends)

    def ablate_each_head(
        self,
        text: str,
        *,
        on_progress: Callable[[float], object] = lambda done: None,
        **switches: Unpack[Switches],
    ) -> Tensor:
        """The sentence vector with one head more off, for each head alone: (layers, h, d_model), each of length 1.

        Faster than a run a head. `on_progress` is called with the share that is done, 0 to 1; an error that it raises
        ends the work. Switches and errors as in `run`.
        """
        _, ids = self.tokenize(text)
        asked = self.switches(len(ids), None, **switches)

        def compute(stack: Stack) -> Tensor:
            one = torch.tensor([ids], device=stack.device)
            return stack.ablate_each_head(one, on_progress=on_progress, **asked(stack))

        means, _ = self.compute(compute)
        return torch.nn.functional.normalize(means, dim=-1)

    def _ablate_by_runs(
        self, text: str, on_progress: Callable[[float], object], heads_off: Iterable[tuple[int, int]] = (), **how: Any
    ) -> Tensor:
        """As `ablate_each_head`, by a run for each, of a model that has no faster way."""
        layers, heads, off = self.sizes.n_layers, self.sizes.n_heads, tuple(heads_off)
        found = []
        for pair in product(range(layers), range(heads)):
            found.append(self.run(text, heads_off=(*off, pair), **how).sentence)
            on_progress(len(found) / (layers * heads))
        return torch.stack(found).view(layers, heads, -1)

    def compute(self, call: Callable[[Stack], T]) -> tuple[T, tuple[str, ...]]:
        """The result of `call` on the stack, without gradients, and what must be said of it (see `FallBack`)."""
        return self._fall_back.compute(call, self.device)

    def grow(self, ids: Sequence[int], kept: Any, asked: Switches) -> Grown | None:
        """The last token of a growing text, by a model that keeps keys and values itself; None = its stack can do it.

        Args:
            ids: of the whole text.
            kept: what the text without its last token gave; None = nothing yet.
            asked: switches, as in `run`.
        """
        return None

    def as_implementation(self, name: str) -> Model:
        """The same weights with every attention layer in that implementation; this model, if they are in it already.

        Raises:
            Unsupported: no implementation has that name.
        """
        if self.sizes.implementation == name:
            return self
        twin = copy.copy(self)
        twin.encoder = self.encoder.as_implementation(name)
        twin.sizes = twin.encoder.sizes
        twin._fall_back = FallBack(twin.encoder, self._fall_back.allowed)
        return twin

    def switches(
        self,
        length: int,
        keep: Tensor | None,
        mask: Mask = "none",
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
        values_off: Iterable[int] = (),
        columns: int | None = None,
    ) -> RunSwitches:
        """Checks masks, heads and values, and gives them, position and temperature to whichever stack will compute.

        Args:
            length: tokens of the text, or of the longest.
            keep: bool (b, i), True = a real token; None = there is no padding.
            columns: how many tokens are looked at, where they are others.
        """
        values = tuple(values_off)
        allow = joint_mask(mask, self.own_mask, self.sizes.n_heads, length, keep, columns)
        ablate = Ablation(heads_on(heads_off, self.sizes), values_on(values, length, columns))
        return RunSwitches(self, mask, position, temperature, allow, ablate, values)

    def _check_traced(self, trace_layer: int | None, implementation: str | None) -> None:
        if trace_layer is not None and trace_layer not in range(self.sizes.n_layers):
            raise SizeError(f"trace_layer={trace_layer}: the layers are 0 to {self.sizes.n_layers - 1}")
        if implementation is not None and trace_layer is None:
            raise HeadlightError("implementation without trace_layer: say which layer it takes the place of")

    def _pass(
        self,
        coded: Sequence[tuple[list[str], list[int]]],
        ids: Tensor,
        switches: RunSwitches,
        ends: tuple[int, int],
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
    ) -> list[Run]:
        """One forward pass over ids (b, i), and a run for each row; the padding is cut off."""

        def compute(stack: Stack) -> tuple[Tensor, Tensor, Trace, Tensor | None]:
            trace, others = Trace(), {}
            if trace_layer is not None and implementation not in (None, stack.sizes.implementation):
                others[trace_layer] = as_implementation(stack.block(trace_layer).attention, implementation)
            hidden, weights = stack(
                ids.to(stack.device),
                trace_layer=trace_layer,
                trace=no_trace if trace_layer is None else trace,
                attentions=others,
                **switches(stack),
            )
            last = hidden[-1] if all_logits else last_rows(hidden[-1], [len(own_ids) for _, own_ids in coded])
            return torch.stack(hidden, dim=1), stacked(weights), trace, stack.next_token(last)

        (hidden, weights, trace, logits), notices = self.compute(compute)
        return [
            Run(
                tokens=tokens,
                ids=own_ids,
                weights=weights[row, :, :, : len(own_ids), : len(own_ids)],
                hidden=hidden[row, :, : len(own_ids)],
                sentence=torch.nn.functional.normalize(hidden[row, -1, : len(own_ids)].mean(dim=0), dim=0),
                steps=tuple(trace.steps),
                device=hidden.device,
                notices=self.notices + notices,
                logits=None if logits is None else logits[row, : len(own_ids)],
                kv_heads=self.encoder.block(0).attention.n_kv_heads,
                ends=ends,
                changes=switches.changes(tokens, row),
            )
            for row, (tokens, own_ids) in enumerate(coded)
        ]


def ends_of(tokenizer: Tokenizer) -> tuple[int, int]:
    """How many tokens it puts in front of every text and behind it: those of an empty text, parted by a letter."""
    try:
        empty, letter = (tokenizer.encode(text).ids for text in ("", "a"))
    except HeadlightError:  # an empty text has no token
        return 0, 0
    first = next((at for at, (one, other) in enumerate(zip(empty, letter, strict=False)) if one != other), len(empty))
    return first, len(empty) - first
