"""An encoder–decoder as one thing that takes text: `Translator.translate(text)`, and the maps of its three groups."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Unpack, cast

import torch
from torch import Tensor

from ..attention import as_implementation
from ..errors import TooLong, Unsupported
from ..trace import Trace
from .encoder_decoder import Decoded, EncoderDecoder, nothing_switched
from .inputs import Input, Switches, Tokenizer, position_for
from .model import EVERYTHING, Model
from .own_model import OwnModel
from .run import Run, sentence_of
from .stack import Stack, of_layer
from .switches import RunSwitches
from .vision import PictureModel, VisionTransformer

START, END = "[START]", "[END]"  # what a translation stands between
GROUPS = ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
_ONE_BY_ONE = "The decoder writes each text by itself, so several texts at once can be run in the encoder alone"
_CAN = {
    ENCODER: EVERYTHING,
    DECODER: EVERYTHING - {"batch"},
    CROSS: EVERYTHING - {"batch", "positions"},
}
_REASONS = {
    "batch": _ONE_BY_ONE,
    "positions": "Cross-attention has no positions of its own: those of the two texts are in what they read",
}


class Translator(OwnModel):
    """A model with an encoder, whose runs are of the text, and a decoder that writes another text from it.

    A run of the groups "decoder" and "cross" has a row for each token that the decoder reads, `START` first, from which
    it says the next one; the columns of "cross" are the tokens of the text.
    """

    encoder: EncoderDecoder

    def __init__(self, name: str, tokenizer: Tokenizer, encoder: EncoderDecoder, **about: Any) -> None:
        super().__init__(name, tokenizer, encoder, **about)
        self.groups = GROUPS
        self.group = ENCODER

    def of(self, group: str) -> Translator:
        super().of(group)
        twin = copy.copy(self)
        twin.group = group
        twin.own_mask = "causal" if group == DECODER else "none"
        twin.can = _CAN[group]
        twin.reasons = MappingProxyType({name: why for name, why in _REASONS.items() if name not in twin.can})
        return twin

    def translate(self, text: str) -> list[str]:
        """The tokens of its answer, the likeliest one after another, without `START` and `END`.

        Raises:
            TooLong: the text has more tokens than the encoder has positions.
        """
        return self._written(self.tokenize(text)[1])[0][1:]

    def run(
        self,
        text: Input,
        *,
        target: str | None = None,
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
        **switches: Unpack[Switches],
    ) -> Run:
        """As `Model.run`, of this model's group: its layers, rows and columns are what the arguments speak of.

        Args:
            target: what the decoder reads, character by character; None = the answer that it gives by itself as it was
                trained, so that the rows stay the same whatever is switched.
            switches: as in `Model.run`.

        Raises:
            Unsupported: as in `reasons`.
        """
        if self.group == ENCODER:
            traced: dict[str, Any] = {"trace_layer": trace_layer, "implementation": implementation}
            return super().run(text, all_logits=all_logits, **traced, **switches)
        self._check_traced(trace_layer, implementation)
        if switches.get("position", "trained") != "trained" and "positions" not in self.can:
            raise Unsupported(self.reasons["positions"])
        columns, ids = self.tokenize(text)
        tokens, written = self._written(ids) if target is None else self._read(target)
        asked = self.switches(len(written), None, columns=len(ids) if self.group == CROSS else None, **switches)

        def compute(stack: Stack) -> tuple[Decoded, Trace, Tensor]:
            trace, own = Trace(), cast(EncoderDecoder, stack)
            decoded = self._decode(own, ids, written, asked, trace, trace_layer, implementation)
            return decoded, trace, own.answer(decoded.hidden[-1] if all_logits else decoded.hidden[-1][:, -1:])

        (decoded, trace, logits), notices = self.run_on_stack(compute)
        hidden = torch.cat(decoded.hidden)
        maps = decoded.cross if self.group == CROSS else decoded.decoder
        return Run(
            tokens=tokens,
            ids=written,
            weights=torch.cat(cast(list[Tensor], maps)),
            hidden=hidden,
            sentence=sentence_of(hidden[-1]),
            steps=tuple(trace.steps),
            device=hidden.device,
            notices=self.notices + notices,
            logits=logits[0],
            ends=(1, 0),
            changes=asked.changes(tokens, columns=columns if self.group == CROSS else None),
            columns=columns if self.group == CROSS else None,
            extras=self.extras,
        )

    def ablate_each_head(
        self, text: str, *, on_progress: Callable[[float], object] = lambda done: None, **switches: Unpack[Switches]
    ) -> Tensor:
        if self.group == ENCODER:
            return super().ablate_each_head(text, on_progress=on_progress, **switches)
        return Model.ablate_each_head(self, text, on_progress=on_progress, **switches)

    def _decode(
        self,
        stack: EncoderDecoder,
        ids: list[int],
        written: list[int],
        switches: RunSwitches,
        trace: Trace,
        trace_layer: int | None,
        implementation: str | None,
    ) -> Decoded:
        """The pass, with what is asked for in the layers of this model's group."""
        asked = switches(stack)
        position, ablate = stack.target_position, asked["ablate"]
        if self.group == DECODER:
            position = position_for(stack, switches.position, trained=position)
        blocks = stack.cross_layers if self.group == CROSS else stack.back_layers

        def of_group(layer: int) -> dict[str, Any]:
            how = {"ablate": of_layer(ablate, layer), "temperature": asked["temperature"]}
            if asked["allow"] is not None:
                how["allow"] = asked["allow"]
            if layer == trace_layer:
                how["trace"] = trace
                if implementation is not None:
                    how["attention"] = as_implementation(cast(Any, blocks[layer]).attention, implementation)
            return how

        source, target = (torch.tensor([row], device=stack.device) for row in (ids, written))
        is_cross = self.group == CROSS
        return stack.decode(
            target,
            stack.memory(source),
            position=position,
            back=nothing_switched if is_cross else of_group,
            cross=of_group if is_cross else nothing_switched,
        )

    def _written(self, ids: list[int]) -> tuple[list[str], list[int]]:
        """Tokens and ids of the answer to a text of these ids, `START` in front; it ends before `END`."""
        start, end = (cast(int, self.tokenizer.token_to_id(token)) for token in (START, END))

        def compute(stack: Stack) -> list[int]:
            source = torch.tensor([ids], device=stack.device)
            own = cast(EncoderDecoder, stack)
            found: list[int] = own.greedy(source, None, start, own.sizes.target_len - 1)[0].tolist()
            return found

        found = self.run_on_stack(compute)[0]
        written = [start, *(found[: found.index(end)] if end in found else found)]
        return [self.tokenizer.id_to_token(one) or "" for one in written], written

    def _read(self, target: str) -> tuple[list[str], list[int]]:
        tokens, unknown = [START, *target], self.sizes.vocabulary - 1
        limit = self.encoder.sizes.target_len
        if len(tokens) > limit:
            raise TooLong(limit=limit, got=len(tokens))
        found = [self.tokenizer.token_to_id(token) for token in tokens]
        return tokens, [unknown if one is None else one for one in found]


def model_of(name: str, tokenizer: Tokenizer, stack: Stack, **about: Any) -> OwnModel:
    """The model of a stack of any kind; arguments as of `OwnModel`."""
    if isinstance(stack, EncoderDecoder):
        return Translator(name, tokenizer, stack, **about)
    if isinstance(stack, VisionTransformer):
        return PictureModel(name, tokenizer, stack, **about)
    return OwnModel(name, tokenizer, stack, **about)
