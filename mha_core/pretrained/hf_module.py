"""A model of transformers behind one call: ids in, attention maps, hidden states and logits out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from . import attention_hook
from .answer import FILE, MAX_TOKENS, Answer
from .attention_hook import Call, Request
from .families import Family, text_config
from .folders import library_errors

LAST_FIRST = ("mbart", "plbart")  # classifiers whose decoder begins with the last token of the text, the language


@dataclass(frozen=True)
class PassOutput:
    """Output of one pass.

    Attributes:
        calls: recorded calls of the hook.
        maps: by group, the maps that the model returns itself, if requested.
        hidden: by group, the hidden states of its rows' stack.
        logits: (b, i, v) or (b, classes), None from a model without a head.
        past: the library's own KV cache, if requested.
    """

    calls: list[Call]
    maps: dict[str, list[Tensor]]
    hidden: dict[str, list[Tensor]]
    logits: Tensor | None
    past: Any = None

    @property
    def last(self) -> Tensor:
        """Final output: the logits, else the last hidden state."""
        return self.logits if self.logits is not None else next(reversed(self.hidden.values()))[-1]


class HfModule(nn.Module):
    """Wrapper of a transformers model in eval mode, without gradients, with eager attention.

    Args:
        module: the model; a text classifier runs without its head, which may need an end token or padding.
        family: its class.
        answer: settings of its own answer, for a model that writes.
    """

    def __init__(self, module: Any, family: Family, answer: Answer | None = None) -> None:
        super().__init__()
        names = " ".join(getattr(family.config, "architectures", None) or ())
        self.is_headless = family.input_kind == "text" and "ForSequenceClassification" in names
        self.module = module = module.base_model if self.is_headless else module
        self.answer = answer
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
        for part in self._configs:
            for name in ("decoder_start_token_id", "bos_token_id"):
                if ids := self._ids(part, name):
                    return ids[0]
        return self.number("pad_token_id")

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return the ids that the configs have under a name: one, several or none."""
        return next(filter(None, (self._ids(part, name) for part in self._configs)), ())

    @property
    def _configs(self) -> tuple[Any, ...]:
        """Configs from the first that counts to the last."""
        first = () if self.answer is None else (self.answer.config,)
        return (*first, self.family.config, text_config(self.family.config))

    def _ids(self, config: Any, name: str) -> tuple[int, ...]:
        value = getattr(config, name, None)
        values = value if isinstance(value, (list, tuple)) else [value]
        return tuple(number for number in values if isinstance(number, int) and 0 <= number < self.vocabulary)

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
        **more: Any,
    ) -> PassOutput:
        """Run one pass, on the device and in the dtype of the weights.

        Args:
            ids: int64 (b, i), or features of pictures or sounds, (b, …).
            request: parts to record, and changes.
            target: int64 (b, n), input of the decoder of an encoder-decoder.
            keep: bool (b, i), False = padding.
            states: (b, i, c), of the encoder, to skip its pass.
            attentions: also requests the model's own maps.
            **more: further arguments of the model's `forward`, left out where it does not take them.

        Raises:
            WeightsFileError: the library cannot compute it.
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
        flags = {"output_hidden_states": True, "output_attentions": attentions, "return_dict": True, **more}
        arguments |= {name: value for name, value in flags.items() if self._takes_any or self.accepts(name)}
        message = f"this {self.family.config.model_type} cannot be run on a {self.family.input_kind}"
        with library_errors(message), torch.no_grad(), attention_hook.apply_request(request) as calls:
            output = self.module(**arguments)
        hidden = _hidden(output)
        for layers in hidden.values():
            if request.unprojected is not None and layers and layers[-1].shape[-1] != layers[0].shape[-1]:
                layers[-1] = request.unprojected
        past = getattr(output, "past_key_values", None)
        return PassOutput(calls, _maps(output), hidden, _tensor(output, "logits"), past)

    def greedy(self, read: Tensor, max_length: int, max_time: float | None = None) -> list[int]:
        """Return an encoder-decoder's greedy answer to an input (1, …), as the library's own `generate` writes it.

        A classifier reads its own input in the decoder, shifted by one.

        Args:
            read: int64 (1, i), or features.
            max_length: largest number of tokens, the start token included.
            max_time: seconds after which it ends; None = no limit.

        Raises:
            Unsupported: it has no language-model head.
            WeightsFileError: the library cannot compute it.
        """
        if self.is_headless:
            ids = read[0].tolist()
            return [ids[-1] if self.family.config.model_type in LAST_FIRST else self.start, *ids[:-1]][:max_length]
        if self.answer is None:
            raise Unsupported(f"this {self.family.config.model_type} cannot generate text; give a target")
        read = read.to(self.device, self.dtype if read.is_floating_point() else None)
        options: dict[str, Any] = {"max_length": min(MAX_TOKENS + 1, max_length), "max_time": max_time}
        options[self.module.main_input_name] = read
        if self.answer.config.decoder_start_token_id is None:
            options["decoder_start_token_id"] = self.start
        if self.family.input_kind == "text":
            options["attention_mask"] = torch.ones_like(read)  # no token of the text is padding
        if self.family.config.model_type == "whisper":
            options["force_unique_generate_call"] = True  # the ids as they were decoded
        with library_errors(f"its own answer cannot be written as {FILE} or config.json asks"), torch.no_grad():
            first, *others = self.module.generate(generation_config=self.answer.config, **options)[0].tolist()
        ends = self.numbers("eos_token_id")
        return [first, *takewhile(lambda number: number not in ends, others)]


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
