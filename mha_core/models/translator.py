"""An encoder-decoder as a `Model`: `Translator.translate(text)`, and the maps of its three groups."""

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
from .encoder_decoder import Decoded, EncoderDecoder
from .inputs import Input, Switches, Tokenizer, position_for
from .model import EVERYTHING, Model
from .own_model import NO_MLP, OwnModel
from .run import Run, sentence_vector
from .stack import Stack, layer_ablation
from .switches import RunSwitches
from .vision import PictureModel, VisionTransformer

START, END = "[START]", "[END]"  # delimiters of a translation
GROUPS = ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
_ONE_BY_ONE = "The decoder runs one text at a time; only the encoder can run a batch"
_CAN = {
    ENCODER: EVERYTHING,
    DECODER: EVERYTHING - {"batch"},
    CROSS: EVERYTHING - {"batch", "positions"},
}
_REASONS = {
    "batch": _ONE_BY_ONE,
    "mlps": NO_MLP,
    "positions": "Cross-attention has no positional encoding of its own: its inputs contain those of both texts",
}


class Translator(OwnModel):
    """Encoder-decoder model; a run shows its encoder, decoder or cross-attention, depending on the group.

    A run of the groups "decoder" and "cross" has a row per token that the decoder reads, `START` first, and predicts
    the next one in it; the keys of "cross" are the tokens of the source text.
    """

    encoder: EncoderDecoder

    def __init__(self, name: str, tokenizer: Tokenizer, encoder: EncoderDecoder, **about: Any) -> None:
        super().__init__(name, tokenizer, encoder, **about)
        self.groups = GROUPS
        self.group = ENCODER

    def for_group(self, group: str) -> Translator:
        """Return the same model with the runs and sizes of one group."""
        super().for_group(group)
        twin = copy.copy(self)
        twin.group = group
        twin.own_mask = "causal" if group == DECODER else "none"
        twin.can = _CAN[group] if self.sizes.d_feed_forward else _CAN[group] - {"mlps"}
        twin.reasons = MappingProxyType({name: why for name, why in _REASONS.items() if name not in twin.can})
        return twin

    def translate(self, text: str) -> list[str]:
        """Return the tokens of the greedy translation, without `START` and `END`.

        Raises:
            TooLong: the text has more tokens than the encoder has positions.
        """
        return self._translate_ids(self.tokenize(text)[1])[0][1:]

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
        """Run the layers of this model's group on a text; see `Model.run`.

        Args:
            text: the source text.
            target: what the decoder reads, character by character; None = the model's own translation without any
                switch, so that the rows stay the same whatever is switched.
            trace_layer: as in `Model.run`.
            implementation: as in `Model.run`.
            all_logits: as in `Model.run`.
            switches: as in `Model.run`.

        Raises:
            Unsupported: the group does not support an option, see `reasons`.
        """
        if self.group == ENCODER:
            traced: dict[str, Any] = {"trace_layer": trace_layer, "implementation": implementation}
            return super().run(text, all_logits=all_logits, **traced, **switches)
        self._check_traced(trace_layer, implementation)
        if switches.get("position", "trained") != "trained" and "positions" not in self.can:
            raise Unsupported(self.reasons["positions"])
        columns, ids = self.tokenize(text)
        tokens, target_ids = self._translate_ids(ids) if target is None else self._target_tokens(target)
        options = self.switches(len(target_ids), None, len_k=len(ids) if self.group == CROSS else None, **switches)

        def compute(stack: Stack) -> tuple[Decoded, Trace, Tensor]:
            trace, seq2seq = Trace(), cast(EncoderDecoder, stack)
            decoded = self._decode(seq2seq, ids, target_ids, options, trace, trace_layer, implementation)
            return decoded, trace, seq2seq.to_logits(decoded.hidden[-1] if all_logits else decoded.hidden[-1][:, -1:])

        (decoded, trace, logits), notices = self.run_on_stack(compute)
        hidden = torch.cat(decoded.hidden)
        maps = decoded.cross if self.group == CROSS else decoded.decoder
        return Run(
            tokens=tokens,
            ids=target_ids,
            weights=torch.cat(cast(list[Tensor], maps)),
            hidden=hidden,
            sentence=sentence_vector(hidden[-1]),
            steps=tuple(trace.steps),
            device=hidden.device,
            notices=self.notices + notices,
            logits=logits[0],
            ends=(1, 0),
            interventions=options.interventions(tokens, key_tokens=columns if self.group == CROSS else None),
            key_tokens=columns if self.group == CROSS else None,
            extras=self.extras,
        )

    def ablate_each_head(
        self, text: str, *, on_progress: Callable[[float], object] = lambda done: None, **switches: Unpack[Switches]
    ) -> Tensor:
        """Return the sentence vector without each single head of this model's group."""
        if self.group == ENCODER:
            return super().ablate_each_head(text, on_progress=on_progress, **switches)
        return Model.ablate_each_head(self, text, on_progress=on_progress, **switches)

    def _decode(
        self,
        stack: EncoderDecoder,
        ids: list[int],
        target_ids: list[int],
        switches: RunSwitches,
        trace: Trace,
        trace_layer: int | None,
        implementation: str | None,
    ) -> Decoded:
        """Run the decoder with the switches applied to the layers of this model's group."""
        arguments = switches(stack)
        position, ablate = stack.target_position, arguments["ablate"]
        if self.group == DECODER:
            position = position_for(stack, switches.position, trained=position)
        is_cross = self.group == CROSS
        blocks = stack.cross_layers if is_cross else stack.back_layers

        def other_switches(layer: int) -> dict[str, Any]:
            """Return the switches of the layer's other block: the MLP and the layer are parts of both groups."""
            return {"ablate": layer_ablation(ablate._replace(heads=None, values=None), layer)}

        def group_switches(layer: int) -> dict[str, Any]:
            layer_arguments = {"ablate": layer_ablation(ablate, layer), "temperature": arguments["temperature"]}
            if arguments["allow"] is not None:
                layer_arguments["allow"] = arguments["allow"]
            if layer == trace_layer:
                layer_arguments["trace"] = trace
                if implementation is not None:
                    layer_arguments["attention"] = as_implementation(cast(Any, blocks[layer]).attention, implementation)
            return layer_arguments

        source, target = (torch.tensor([row], device=stack.device) for row in (ids, target_ids))
        return stack.decode(
            target,
            stack.encode_source(source),
            position=position,
            self_switches=other_switches if is_cross else group_switches,
            cross_switches=group_switches if is_cross else other_switches,
        )

    def _translate_ids(self, ids: list[int]) -> tuple[list[str], list[int]]:
        """Translate ids greedily; return tokens and ids with `START` in front and without `END`."""
        start, end = (cast(int, self.tokenizer.token_to_id(token)) for token in (START, END))

        def compute(stack: Stack) -> list[int]:
            source = torch.tensor([ids], device=stack.device)
            seq2seq = cast(EncoderDecoder, stack)
            generated: list[int] = seq2seq.greedy(source, None, start, seq2seq.sizes.target_len - 1)[0].tolist()
            return generated

        generated = self.run_on_stack(compute)[0]
        target_ids = [start, *(generated[: generated.index(end)] if end in generated else generated)]
        return [self.tokenizer.id_to_token(number) or "" for number in target_ids], target_ids

    def _target_tokens(self, target: str) -> tuple[list[str], list[int]]:
        tokens, unknown = [START, *target], self.sizes.vocabulary - 1
        limit = self.encoder.sizes.target_len
        if len(tokens) > limit:
            raise TooLong(limit=limit, got=len(tokens))
        ids = [self.tokenizer.token_to_id(token) for token in tokens]
        return tokens, [unknown if number is None else number for number in ids]


def build_model(name: str, tokenizer: Tokenizer, stack: Stack, **about: Any) -> OwnModel:
    """Build the model for a stack of any kind; arguments as of `OwnModel`."""
    if isinstance(stack, EncoderDecoder):
        return Translator(name, tokenizer, stack, **about)
    if isinstance(stack, VisionTransformer):
        return PictureModel(name, tokenizer, stack, **about)
    return OwnModel(name, tokenizer, stack, **about)
