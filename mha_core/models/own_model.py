"""`Model` over a tokenizer and a stack of this package."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

import torch
from torch import Tensor

from ..attention import as_implementation
from ..device import run_with_cpu_fallback
from ..errors import HeadlightError, SizeError
from ..trace import Trace, no_trace
from .inputs import Input, Switches, Tokenizer, padded
from .model import Model, count_special_tokens
from .run import Extras, Run, last_rows, require_finite, sentence_vector, stack_layers
from .stack import Stack
from .switches import RunSwitches

if TYPE_CHECKING:
    from ..training.events import History

T = TypeVar("T")
NO_MLP = "this model’s layers are attention alone, without an MLP"


class OwnModel(Model):
    """Model with this package's own layers, every step of which can be recorded and changed.

    Args:
        name: the name that it was loaded by.
        tokenizer: with padding and truncation switched off.
        encoder: in eval mode, without gradients; also a classifier or a language model.
        origin: "pretrained", "trained here" or "random".
        fall_back: True allows to compute on the CPU when the device runs out of memory.
        folder: as in `Model`.
        facts: as in `Model`.
        notices: as in `Model`.
        history: as in `Model`.
    """

    encoder: Stack

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
        self._set_encoder(encoder)
        self.origin = origin
        self.folder = folder
        self.facts = facts or {}
        self.notices = notices
        self.history = history
        self.own_mask = encoder.own_mask
        if not encoder.sizes.d_feed_forward:
            self.can, self.reasons = self.can - {"mlps"}, {**self.reasons, "mlps": NO_MLP}
        self.pad_id = tokenizer.token_to_id("[PAD]") or 0
        self.ends = count_special_tokens(tokenizer)
        self.groups: tuple[str, ...] = ("encoder" if encoder.own_mask == "none" else "decoder",)
        self.group = self.groups[0]
        self._fall_back = fall_back

    def _set_encoder(self, encoder: Stack) -> None:
        self.encoder, self.sizes = encoder, encoder.sizes
        # copied when the device is first out of memory, and shared by the groups of this model
        self._on_cpu = cache(
            lambda: encoder.from_state(encoder.sizes, {name: w.cpu() for name, w in encoder.state_dict().items()})
        )

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.encoder.device

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights."""
        return self.encoder.words.weight.dtype

    @property
    def nbytes(self) -> int:
        """Size of the weights in bytes."""
        return sum(weight.nbytes for weight in self.encoder.parameters())

    @property
    def extras(self) -> Extras:
        """Extras of its runs."""
        return Extras(kv_heads=self.encoder.block(0).attention.n_kv_heads)

    def run(
        self,
        text: Input,
        *,
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
        **switches: Unpack[Switches],
    ) -> Run:
        """Compute every map and hidden state of one text; see `Model.run`."""
        self._check_traced(trace_layer, implementation)
        tokens, ids = self.tokenize(text)
        run_switches = self.switches(len(ids), None, **switches)
        batch = padded([ids], self.pad_id)[0]
        ends = self.ends if isinstance(text, str) else (0, 0)
        return self._pass([(tokens, ids)], batch, run_switches, ends, trace_layer, implementation, all_logits)[0]

    def run_padded(
        self, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, keep: Tensor | None, switches: RunSwitches
    ) -> list[Run]:
        """Run padded ids (b, i) of several texts in one pass; see `Model.run_padded`."""
        return self._pass(coded, ids, switches, self.ends)

    def ablate_each_head(
        self, text: str, *, on_progress: Callable[[float], object] = lambda done: None, **switches: Unpack[Switches]
    ) -> Tensor:
        """Return the sentence vector without each single head, faster than one run per head."""
        _, ids = self.tokenize(text)
        run_switches = self.switches(len(ids), None, **switches)

        def compute(stack: Stack) -> Tensor:
            batch = torch.tensor([ids], device=stack.device)
            return stack.ablate_each_head(batch, on_progress=on_progress, **run_switches(stack))

        means, _ = self.run_on_stack(compute)
        return torch.nn.functional.normalize(means, dim=-1)

    def run_on_stack(self, call: Callable[[Stack], T]) -> tuple[T, tuple[str, ...]]:
        """Call `call` on the layers, on the CPU if an automatically chosen device is out of memory.

        Raises:
            DeviceError: the device is out of memory, and the CPU may not take over.
        """
        with torch.no_grad():
            return run_with_cpu_fallback(
                lambda device: call(self.encoder if device == self.device else self._on_cpu()),
                self.device,
                allowed=self._fall_back,
            )

    def as_implementation(self, name: str) -> OwnModel:
        """Return the same weights with every attention layer in that implementation."""
        if self.sizes.implementation == name:
            return self
        twin = copy.copy(self)
        twin._set_encoder(self.encoder.as_implementation(name))
        return twin

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
        """Run ids (b, i) in one forward pass and return a run for each row, with the padding cut off."""

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
            return torch.stack(hidden, dim=1), stack_layers(weights), trace, stack.next_token(last)

        (hidden, weights, trace, logits), notices = self.run_on_stack(compute)
        require_finite(self.name, weights, hidden, logits)
        return [
            Run(
                tokens=tokens,
                ids=own_ids,
                weights=weights[row, :, :, : len(own_ids), : len(own_ids)],
                hidden=hidden[row, :, : len(own_ids)],
                sentence=sentence_vector(hidden[row, -1, : len(own_ids)]),
                steps=tuple(trace.steps),
                device=hidden.device,
                notices=self.notices + notices,
                logits=None if logits is None else logits[row, : len(own_ids)],
                ends=ends,
                interventions=switches.interventions(tokens, row),
                extras=self.extras,
            )
            for row, (tokens, own_ids) in enumerate(coded)
        ]
