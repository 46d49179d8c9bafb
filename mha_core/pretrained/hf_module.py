"""A model of transformers behind one call: ids in, attention maps, hidden states and logits out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from . import attention_hook
from .attention_hook import Call, Request
from .families import Family, text_config

MAX_ANSWER_TOKENS = 64  # of a greedy answer


@dataclass(frozen=True)
class PassOutput:
    """Output of one pass.

    Attributes:
        calls: recorded calls of the hook.
        maps: by group, the maps that the model returns itself, if requested.
        hidden: by group, the hidden states of its rows' stack.
        logits: (b, i, v) or (b, classes), None from a model without a head.
    """

    calls: list[Call]
    maps: dict[str, list[Tensor]]
    hidden: dict[str, list[Tensor]]
    logits: Tensor | None

    @property
    def last(self) -> Tensor:
        """Final output: the logits, else the last hidden state."""
        return self.logits if self.logits is not None else next(reversed(self.hidden.values()))[-1]


class HfModule(nn.Module):
    """Wrapper of a transformers model in eval mode, without gradients, with eager attention."""

    def __init__(self, module: Any, family: Family) -> None:
        super().__init__()
        self.module = module
        self.family = family
        self.names = attention_hook.module_names(module)
        parameters = inspect.signature(module.forward).parameters
        self._takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        self._parameter_names = frozenset(parameters)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        device: torch.device = next(self.module.parameters()).device
        return device

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights."""
        return next(self.parameters()).dtype

    @property
    def vocabulary(self) -> int:
        """Number of token embeddings; 0 for a model without text."""
        if self.family.input_kind != "text" and not self.family.is_encoder_decoder:
            return 0
        return int(self.module.get_input_embeddings().weight.shape[0])

    @property
    def start(self) -> int:
        """Start token of the decoder."""
        starts = self.numbers("decoder_start_token_id") or self.numbers("bos_token_id")
        return starts[0] if starts else self.number("pad_token_id")

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return the ids that the config has under a name: one, several or none."""
        for part in (self.family.config, text_config(self.family.config)):
            value = getattr(part, name, None)
            values = value if isinstance(value, (list, tuple)) else [value]
            ids = tuple(number for number in values if isinstance(number, int) and 0 <= number < self.vocabulary)
            if ids:
                return ids
        return ()

    def number(self, name: str) -> int:
        """Return the first of `numbers`, or 0."""
        return next(iter(self.numbers(name)), 0)

    def accepts(self, name: str) -> bool:
        """Return whether the model's forward has a parameter of that name."""
        return name in self._parameter_names

    def request(self, **changes: Any) -> Request:
        """Return a request with these changes, see `attention_hook.Request`."""
        return Request(self.names, **changes)

    def compute(
        self,
        ids: Tensor,
        request: Request,
        *,
        target: Tensor | None = None,
        keep: Tensor | None = None,
        states: Tensor | None = None,
        attentions: bool = False,
    ) -> PassOutput:
        """Run one pass, on the device and in the dtype of the weights.

        Args:
            ids: int64 (b, i), or features of pictures or sounds, (b, …).
            request: parts to record, and changes.
            target: int64 (b, n), input of the decoder of an encoder-decoder.
            keep: bool (b, i), False = padding.
            states: (b, i, c), of the encoder, to skip its pass.
            attentions: also requests the model's own maps.
        """
        read = ids.to(self.device, self.dtype if ids.is_floating_point() else None)
        arguments: dict[str, Any] = {self.module.main_input_name: read}
        if keep is not None:
            arguments["attention_mask"] = keep.to(self.device, torch.int64)
        if target is not None:
            arguments["decoder_input_ids"] = target.to(self.device)
        if states is not None:
            from transformers.modeling_outputs import BaseModelOutput

            arguments["encoder_outputs"] = BaseModelOutput(last_hidden_state=states)
        flags = {"output_hidden_states": True, "output_attentions": attentions, "return_dict": True}
        arguments |= {name: value for name, value in flags.items() if self._takes_any or self.accepts(name)}
        with torch.no_grad(), attention_hook.apply_request(request) as calls:
            output = self.module(**arguments)
        return PassOutput(calls, _maps(output), _hidden(output), _tensor(output, "logits"))

    def greedy(self, read: Tensor) -> list[int]:
        """Decode greedily an encoder-decoder's answer to an input (1, …), up to its end token.

        Raises:
            Unsupported: it has no language-model head.
        """
        ids, states = [self.start], None
        while len(ids) <= MAX_ANSWER_TOKENS:
            answer = self.compute(read, self.request(), target=torch.tensor([ids]), states=states)
            if answer.logits is None or not self.family.is_generative:
                raise Unsupported(f"this {self.family.config.model_type} cannot generate text; give a target")
            states = answer.hidden["encoder"][-1] if states is None else states
            next_id = int(answer.logits[0, -1].argmax())
            if next_id in self.numbers("eos_token_id"):
                break
            ids.append(next_id)
        return ids


def _maps(output: Any) -> dict[str, list[Tensor]]:
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    maps = {group: _tensors(output, name) for group, name in names.items()}
    return {group: some for group, some in maps.items() if some} or {"": _tensors(output, "attentions")}


def _hidden(output: Any) -> dict[str, list[Tensor]]:
    encoder, decoder = _tensors(output, "encoder_hidden_states"), _tensors(output, "decoder_hidden_states")
    if encoder or decoder:
        return {"encoder": encoder, "cross": decoder, "decoder": decoder}
    states = _tensors(output, "hidden_states")
    last = _tensor(output, "last_hidden_state")
    return {"": states or ([] if last is None else [last])}


def _tensor(output: Any, name: str) -> Tensor | None:
    value = getattr(output, name, None)
    return value if isinstance(value, Tensor) else None


def _tensors(output: Any, name: str) -> list[Tensor]:
    value = getattr(output, name, None)
    return [part for part in value if isinstance(part, Tensor)] if isinstance(value, (tuple, list)) else []
