"""A model of transformers behind one call: ids in; its maps, hidden states and logits out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsFileError
from ..positions import Position
from . import offline, seam
from .families import Family, text_config
from .folders import Tensors, read_tensors
from .seam import Call, Request

SPARE_PARAMETERS = 16 * 2**20  # what a description may ask for beyond its file: buffers, tables that are computed
MOST_MISSING = 3  # names that a message lists


@dataclass(frozen=True)
class Answer:
    """What one pass gave.

    Attributes:
        calls: what passed the seam.
        maps: by group, the maps that the model itself hands out, None where none were asked for.
        hidden: by group, the hidden states of the stack that its rows belong to.
        logits: (b, i, v) or (b, classes), None from a model without a head.
    """

    calls: list[Call]
    maps: dict[str, list[Tensor]]
    hidden: dict[str, list[Tensor]]
    logits: Tensor | None

    @property
    def last(self) -> Tensor:
        """What comes out at the end: the logits, else the last hidden state."""
        return self.logits if self.logits is not None else next(reversed(self.hidden.values()))[-1]


class Wrapped(nn.Module):
    """The model in eval mode, without gradients, eager.

    Attributes:
        position: what stands for the positions that it was trained with.
    """

    def __init__(self, module: Any, family: Family) -> None:
        super().__init__()
        self.module = module
        self.family = family
        self.position = Position()
        self.names = seam.names_of(module)
        parameters = inspect.signature(module.forward).parameters
        self._open = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        self._takes = frozenset(parameters)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        found: torch.device = next(self.module.parameters()).device
        return found

    @property
    def vocabulary(self) -> int:
        """How many tokens it has an embedding for."""
        return int(self.module.get_input_embeddings().weight.shape[0])

    @property
    def start(self) -> int:
        """The token that a decoder reads first."""
        return next(
            iter((*self.numbers("decoder_start_token_id"), *self.numbers("bos_token_id"), self.number("pad_token_id")))
        )

    def numbers(self, name: str) -> tuple[int, ...]:
        """The ids that the description has under a name: one, several or none."""
        for part in (self.family.config, text_config(self.family.config)):
            value = getattr(part, name, None)
            found = value if isinstance(value, (list, tuple)) else [value]
            ids = tuple(one for one in found if isinstance(one, int) and 0 <= one < self.vocabulary)
            if ids:
                return ids
        return ()

    def number(self, name: str) -> int:
        """The first of them, 0 without any."""
        return next(iter(self.numbers(name)), 0)

    def takes(self, name: str) -> bool:
        """Whether its pass has an argument of that name."""
        return name in self._takes

    def request(self, **asked: Any) -> Request:
        """What a pass is asked, see `seam.Request`."""
        return Request(self.names, **asked)

    def answer(
        self,
        ids: Tensor,
        request: Request,
        *,
        target: Tensor | None = None,
        keep: Tensor | None = None,
        states: Tensor | None = None,
        attentions: bool = False,
    ) -> Answer:
        """One pass.

        Args:
            ids: int64 (b, i).
            target: int64 (b, n), what the decoder of an encoder-decoder reads.
            keep: bool (b, i), False = padding.
            states: (b, i, c), of the encoder, when it need not run again.
            attentions: asks the model for its own maps too.
        """
        given: dict[str, Any] = {"input_ids": ids}
        if keep is not None:
            given["attention_mask"] = keep.to(torch.int64)
        if target is not None:
            given["decoder_input_ids"] = target
        if states is not None:
            from transformers.modeling_outputs import BaseModelOutput

            given["encoder_outputs"] = BaseModelOutput(last_hidden_state=states)
        asks = {"output_hidden_states": True, "output_attentions": attentions, "return_dict": True}
        given |= {name: value for name, value in asks.items() if self._open or self.takes(name)}
        with torch.no_grad(), seam.answering(request) as calls:
            found = self.module(**given)
        return Answer(calls, _maps(found), _hidden(found), _tensor(found, "logits"))


def load(family: Family, weights: Tensors, dtype: torch.dtype) -> Any:
    """The model, its weights mapped from the files where their number format is the one that was asked for.

    Raises:
        WeightsFileError: the files do not hold its tensors.
    """
    offline.transformers()
    config = family.config
    for part in (config, text_config(config)):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    try:
        with torch.device("meta"):
            whole = family.kind(config)
        wanted = sum(one.numel() for one in {*whole.parameters(), *whole.buffers()})
        del whole
        if wanted > 1.25 * weights.parameters + SPARE_PARAMETERS:
            raise WeightsFileError(
                f"config.json describes {wanted:,} numbers, the weights are {weights.parameters:,}; "
                "they do not belong together"
            )
        model, told = family.kind.from_pretrained(
            None, config=config, state_dict=read_tensors(weights), attn_implementation="eager", dtype=dtype,
            output_loading_info=True,
        )  # fmt: skip
    except WeightsFileError:
        raise
    except Exception as error:  # each family has its own
        raise WeightsFileError(
            f"the weights do not fit config.json: {type(error).__name__}: {str(error).strip():.300}"
        ) from error
    missing = sorted(name for name in told["missing_keys"] if "pooler" not in name)
    if missing:
        names = ", ".join(missing[:MOST_MISSING])
        raise WeightsFileError(f"the weights lack {len(missing):,} tensors of {family.kind.__name__}, as {names}")
    return model.eval().requires_grad_(False)


def _maps(found: Any) -> dict[str, list[Tensor]]:
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    maps = {group: _tensors(found, name) for group, name in names.items()}
    return {group: some for group, some in maps.items() if some} or {"": _tensors(found, "attentions")}


def _hidden(found: Any) -> dict[str, list[Tensor]]:
    encoder, decoder = _tensors(found, "encoder_hidden_states"), _tensors(found, "decoder_hidden_states")
    if encoder or decoder:
        return {"encoder": encoder, "cross": decoder, "decoder": decoder}
    states = _tensors(found, "hidden_states")
    last = _tensor(found, "last_hidden_state")
    return {"": states or ([] if last is None else [last])}


def _tensor(found: Any, name: str) -> Tensor | None:
    value = getattr(found, name, None)
    return value if isinstance(value, Tensor) else None


def _tensors(found: Any, name: str) -> list[Tensor]:
    value = getattr(found, name, None)
    return [one for one in value if isinstance(one, Tensor)] if isinstance(value, (tuple, list)) else []
