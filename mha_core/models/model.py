"""A tokenizer and an encoder as one thing that takes text: `Model.run(text)` -> `Run`."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from .. import masks, positions
from ..attention import AttentionLayer, respelled
from ..device import is_out_of_memory
from ..errors import DeviceError, HeadlightError, MaskError, PositionError, SizeError, TooLong
from ..positions import Learned, Position, Sinusoidal
from ..trace import Step, Trace, no_trace
from .stack import Stack

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ..training.events import History

__all__ = ["Mask", "Model", "Run"]

T = TypeVar("T")
Mask = str | masks.Rule | Tensor


@dataclass(frozen=True)
class Run:
    """One sentence's way through a model. Tensors are detached, on the model's device and in its dtype.

    Attributes:
        tokens: as the tokenizer cut them, "##" kept, special tokens in.
        ids: their numbers in the vocabulary.
        weights: (layers, h, i, j), every head's map.
        hidden: (layers + 1, i, d_model); [0] = the embeddings after their norm.
        sentence: (d_model,), the last hidden state's mean over all tokens, scaled to length 1.
        steps: the steps of the traced layer, otherwise empty.
        device: where it was computed.
        notices: what happened that was not asked for, in whole sentences.
    """

    tokens: list[str]
    ids: list[int]
    weights: Tensor
    hidden: Tensor
    sentence: Tensor
    steps: tuple[Step, ...]
    device: torch.device
    notices: tuple[str, ...]


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
    """

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
        table = encoder.position.table if isinstance(encoder.position, Learned) else None
        # a wave of amplitude a has the root mean square a / √2
        self._trained_amplitude = 1.0 if table is None else math.sqrt(2 * float(table.detach().square().mean()))
        self._fall_back = fall_back
        self._on_cpu: Stack | None = None
        self._lock = threading.Lock()

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.encoder.words.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The weights' number format."""
        return self.encoder.words.weight.dtype

    def tokenize(self, text: str) -> tuple[list[str], list[int]]:
        """Tokens and ids of a text, special tokens included.

        Raises:
            TooLong: more tokens than the model has positions.
            HeadlightError: as in `coded`.
        """
        tokens, ids = self.coded(text)
        if len(ids) > self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(ids))
        return tokens, ids

    def coded(self, text: str) -> tuple[list[str], list[int]]:
        """As `tokenize`, for a text of any length.

        Raises:
            HeadlightError: not a str, or half a surrogate pair in it, which is no character.
        """
        try:
            coded = self.tokenizer.encode(text)
        except TypeError as error:  # the tokenizer's word for half a surrogate pair too
            raise HeadlightError(f"text must be a str of whole characters, got {text!r:.40}") from error
        return coded.tokens, coded.ids

    def run(
        self,
        text: str,
        *,
        mask: Mask = "none",
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
        trace_layer: int | None = None,
        implementation: str | None = None,
    ) -> Run:
        """Computes every map and hidden state of one text.

        Args:
            text: anything; "" is [CLS] [SEP]. Nothing is ever cut.
            mask: beside the model's own, for all layers: written form ("causal & window:3"), rule, or bool (i, j) |
                (h, i, j), True = may look.
            position: "trained", a name of `positions.NAMES`, or a Position on the model's device. "sinusoidal" by name
                is scaled to the size of the trained table: the paper's amplitude of 1 would drown these embeddings.
                "learned", "t5" and "shaw" by name have random tables, the same ones in every run. "shuffled" and
                "scaled:0.5" change the trained table, see `positions.altered`.
            heads_off: (layer, head) pairs, counted from 0, whose output is set to 0.
            temperature: divides the scores of every layer.
            trace_layer: the layer whose steps are recorded.
            implementation: a name of `IMPLEMENTATIONS`, with this layer's weights, takes the traced layer's place.

        Raises:
            TooLong, MaskError, PositionError, SizeError: with the numbers.
            Unsupported: that implementation is not known, or cannot do what is asked.
        """
        return self._run(
            [text],
            mask,
            None,
            position=position,
            heads_off=heads_off,
            temperature=temperature,
            trace_layer=trace_layer,
            implementation=implementation,
        )[0]

    def run_batch(
        self,
        texts: Sequence[str],
        *,
        mask: Mask = "none",
        mask_padding: bool = True,
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
    ) -> list[Run]:
        """One padded pass over several texts; a run each, with the padding cut off.

        mask_padding=False lets every token look at the padding too: the classic bug, for showing it.
        Other arguments and errors as in `run`; a mask tensor must have the padded length.
        """
        return self._run(
            list(texts),
            mask,
            mask_padding,
            position=position,
            heads_off=heads_off,
            temperature=temperature,
            trace_layer=None,
        )

    def without_each_head(
        self,
        text: str,
        *,
        mask: Mask = "none",
        position: str | Position = "trained",
        heads_off: Iterable[tuple[int, int]] = (),
        temperature: float = 1.0,
        told: Callable[[float], object] = lambda done: None,
    ) -> Tensor:
        """The sentence vector with one head more off, for each head alone: (layers, h, d_model), each of length 1.

        Faster than a run a head. `told` hears how much is done, 0 to 1; what it raises ends the work. Other arguments
        and errors as in `run`.
        """
        _, own_ids = self.tokenize(text)
        ids, allow, heads = torch.tensor([own_ids]), self._allow(mask, len(own_ids), None), self._heads(heads_off)

        def compute(encoder: Stack) -> Tensor:
            device = encoder.words.weight.device
            return encoder.without_each_head(
                ids.to(device),
                allow=None if allow is None else allow.to(device),
                position=self._position(position, encoder),
                heads=None if heads is None else heads.to(device),
                temperature=temperature,
                told=told,
            )

        means, _ = self._with_fall_back(compute)
        return torch.nn.functional.normalize(means, dim=-1)

    def _run(
        self,
        texts: list[str],
        mask: Mask,
        mask_padding: bool | None,
        *,
        position: str | Position,
        heads_off: Iterable[tuple[int, int]],
        temperature: float,
        trace_layer: int | None,
        implementation: str | None = None,
    ) -> list[Run]:
        if not texts:
            return []
        coded = [self.tokenize(text) for text in texts]
        lengths = torch.tensor([len(ids) for _, ids in coded])
        longest = int(lengths.max())
        ids = torch.tensor([ids + [self.pad_id] * (longest - len(ids)) for _, ids in coded])
        keep = torch.arange(longest)[None, :] < lengths[:, None] if mask_padding else None
        allow = self._allow(mask, longest, keep)
        heads = self._heads(heads_off)
        if trace_layer is not None and trace_layer not in range(self.sizes.n_layers):
            raise SizeError(f"trace_layer={trace_layer}: the layers are 0 to {self.sizes.n_layers - 1}")
        if implementation is not None and trace_layer is None:
            raise HeadlightError("implementation without trace_layer: say which layer it takes the place of")

        def compute(encoder: Stack) -> tuple[Tensor, Tensor, Trace]:
            device = encoder.words.weight.device
            trace = Trace()
            hidden, weights = encoder(
                ids.to(device),
                allow=None if allow is None else allow.to(device),
                position=self._position(position, encoder),
                heads=None if heads is None else heads.to(device),
                temperature=temperature,
                trace_layer=trace_layer,
                trace=no_trace if trace_layer is None else trace,
                attention=self._respelled(encoder, trace_layer, implementation),
            )
            return torch.stack(hidden, dim=1), _stacked(weights), trace

        (hidden, weights, trace), notices = self._with_fall_back(compute)
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
            )
            for row, (tokens, own_ids) in enumerate(coded)
        ]

    def _respelled(self, encoder: Stack, layer: int | None, name: str | None) -> AttentionLayer | None:
        own = encoder.layers[layer or 0].attention
        return None if name is None or not isinstance(own, AttentionLayer) else respelled(own, name)

    def _with_fall_back(self, compute: Callable[[Stack], T]) -> tuple[T, tuple[str, ...]]:
        """Runs `compute` on the model's device; on the CPU when a GPU that nobody chose by name is out of memory."""
        with torch.no_grad():
            try:
                return compute(self.encoder), ()
            except RuntimeError as error:
                if self.device.type == "cpu" or not is_out_of_memory(error):
                    raise
                if not self._fall_back:
                    raise DeviceError(f"{self.device} is out of memory; shorten the text or choose the cpu") from error
            return compute(self._cpu_encoder()), (f"{self.device} is out of memory; this was computed on the CPU.",)

    def _cpu_encoder(self) -> Stack:
        with self._lock:
            if self._on_cpu is None:
                with torch.device("meta"):  # no random numbers for weights that are replaced at once
                    twin = type(self.encoder)(self.sizes)
                state = {name: tensor.cpu() for name, tensor in self.encoder.state_dict().items()}
                twin.load_state_dict(state, assign=True)
                self._on_cpu = twin.eval().requires_grad_(False)
            return self._on_cpu

    def _allow(self, mask: Mask, length: int, keep: Tensor | None) -> Tensor | None:
        """The mask of all layers, the model's own in it; None when everything is allowed, which is faster."""
        own = masks.parse(self.own_mask)
        if isinstance(mask, Tensor):
            allow = masks.check(mask, 1, self.sizes.n_heads, length, length, mask.device)
            allow = allow & masks.allow(own, length, length, device=allow.device)
            return allow if keep is None else allow & keep.to(allow.device)[:, None, None, :]
        if not isinstance(mask, str) and not callable(mask):
            raise MaskError(f"mask must be a written form, a rule or a bool tensor, got {type(mask).__name__}")
        if keep is None and self.own_mask == "none" and (mask == "none" or mask is masks.full):
            return None
        rule = masks.parse(mask) if isinstance(mask, str) else mask
        allow = masks.allow(masks.both(own, rule), length, length, keep)
        return None if bool(allow.all()) else allow

    def _heads(self, heads_off: Iterable[tuple[int, int]]) -> Tensor | None:
        layers, h = self.sizes.n_layers, self.sizes.n_heads
        known = {(layer, head) for layer in range(layers) for head in range(h)}
        heads = torch.ones(layers, h, dtype=torch.bool)
        for pair in heads_off:
            if not isinstance(pair, (tuple, list)) or tuple(pair) not in known:
                ends = f"layers 0 to {layers - 1}, heads 0 to {h - 1}"
                raise SizeError(f"heads_off has {pair!r}; give pairs (layer, head), {ends}")
            heads[int(pair[0]), int(pair[1])] = False
        return None if bool(heads.all()) else heads

    def _position(self, position: str | Position, encoder: Stack) -> Position:
        if isinstance(position, Position):
            # the CPU that stands in for a full GPU needs its own copy; the caller's stays where it is
            return position if encoder is self.encoder else copy.deepcopy(position).to(encoder.words.weight.device)
        if position == "trained":
            return encoder.position
        if isinstance(position, str) and positions.is_altered(position):
            if not isinstance(encoder.position, Learned):
                raise PositionError(f"position={position!r} needs a learned table, which this model does not have")
            return positions.altered(encoder.position, position)
        sizes = self.sizes
        made = positions.build(  # with a seed: the same call gives the same numbers
            position, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=sizes.max_len, seed=0
        )
        if isinstance(made, Sinusoidal) and isinstance(encoder.position, Learned):
            made.amplitude = self._trained_amplitude
        return made.to(device=encoder.words.weight.device, dtype=self.dtype)


def _stacked(parts: list[Tensor]) -> Tensor:
    """(b, …) of every layer -> (b, layers, …). It empties the list, so that each is free as soon as it is copied."""
    whole = parts[0].new_empty(len(parts[0]), len(parts), *parts[0].shape[1:])
    for layer in range(len(parts)):
        whole[:, layer] = parts.pop(0)
    return whole
