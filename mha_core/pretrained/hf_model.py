"""Models of transformers as a `Model`: a text, a picture or a sound in, a `Run` out.

Their attention is recorded and changed through `attention_hook`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Unpack

import torch
from torch import Tensor

from ..attention.functional import check_temperature
from ..attention.key_value import KVCache
from ..errors import PositionError, SizeError, TooLong, Unsupported, WeightsFileError
from ..models.block import BlockSizes
from ..models.inputs import Input, Switches, Tokenizer, ids_to_tokens, is_no_mask
from ..models.model import Model, count_special_tokens
from ..models.run import Extras, Run
from ..models.switches import RunSwitches
from .attention_hook import Call
from .audio_processor import AudioProcessor
from .check import Findings, GroupFindings, output_matrix
from .hf_module import HfModule
from .hf_runs import Pass, group_calls, run_new_tokens, run_pass, runs
from .image_processor import ImageProcessor
from .preprocessor import Features

MAX_TOKENS = 512  # our limit, because the maps of every layer are stored
KINDS = {frozenset(("add",)): "learned", frozenset(("rotate",)): "rotary", frozenset(("bias",)): "t5"}
MAX_CACHED = 8  # preprocessed pictures or sounds of the album


class HfModel(Model):
    """A read-only model of transformers; many threads may run it at once.

    A model with several groups of attention has one instance per group, which share the weights.

    Args:
        name: as it was loaded.
        tokenizer: of the text that it reads or its decoder writes; for a model without text its preprocessor.
        module: the model, on its device.
        findings: results of the checks.
        max_len: maximum number of tokens of a text, special tokens included.
        folder: of its files.
        facts: descriptions for "about this picture".
        notices: to show with every run.
        preprocessor: of a model that reads pictures or sounds.
    """

    origin = "pretrained"

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        module: HfModule,
        findings: Findings,
        *,
        max_len: int,
        folder: Path | None,
        facts: dict[str, str],
        notices: tuple[str, ...] = (),
        preprocessor: ImageProcessor | AudioProcessor | None = None,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.folder = folder
        self.facts = facts
        self.notices = notices
        self.hf_module = module
        self.reads = module.family.input_kind
        self.findings = findings
        self.can = findings.can
        self.reasons = findings.reasons
        self.groups = tuple(findings.groups)
        self.pad_id = module.number("pad_token_id")
        self.ends = count_special_tokens(tokenizer)
        self.preprocessor = preprocessor
        ids = module.answer.suppressed_ids if module.answer else ()
        self.suppressed_ids = [number for number in ids if number in range(module.vocabulary)]
        self._max_len = max_len
        self._album_features: Callable[[str], Features] | None = None
        # cached by ids, or by the identity of a tensor, which the album cache makes stable
        self._greedy_answer: Callable[[tuple[int, ...] | Tensor], list[int]] = lru_cache(16)(
            lambda source: module.greedy(source if isinstance(source, Tensor) else torch.tensor([source]), max_len)
        )
        self._select_group(self.groups[0])

    def _select_group(self, group: str) -> None:
        self.group, finding = group, self.findings.groups[group]
        self.own_mask = finding.own_mask
        self.sizes = BlockSizes(
            vocabulary=self.hf_module.vocabulary or self._max_len,
            d_model=self.findings.d_model,
            n_heads=finding.heads,
            n_layers=len(finding.paths),
            max_len=self._max_len,
            position=KINDS.get(self.findings.mechanisms, "none"),
        )

    @property
    def group_findings(self) -> GroupFindings:
        """Findings of the checks about this group."""
        return self.findings.groups[self.group]

    def map_bytes(self, rows: int, columns: int | None = None) -> int:
        """Return the size in bytes of the maps for this many tokens, including those of padding in the encoder."""
        maps = self.sizes.n_layers * self.sizes.n_heads * rows * (columns or rows) * self.dtype.itemsize
        if self.fixed_tokens is None:
            return maps
        encoder = self.findings.groups["encoder"]
        encoder_maps = len(encoder.paths) * encoder.heads * self.fixed_tokens**2 * self.dtype.itemsize
        return encoder_maps if self.group == "encoder" else encoder_maps + maps

    @property
    def fixed_tokens(self) -> int | None:
        """Number of tokens of every sound, padded with silence; None where sounds are not padded."""
        return self.preprocessor.fixed_tokens if isinstance(self.preprocessor, AudioProcessor) else None

    def for_group(self, group: str) -> HfModel:
        """Return the model for a group of its attention, with the same weights."""
        super().for_group(group)
        if group == self.group:
            return self
        twin = copy.copy(self)
        twin._select_group(group)
        return twin

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.hf_module.device

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights."""
        return self.hf_module.dtype

    @property
    def nbytes(self) -> int:
        """Size of the weights in bytes."""
        return sum(weight.nbytes for weight in self.hf_module.parameters())

    @property
    def classes(self) -> list[str]:
        """Class labels of the logits, in order."""
        labels: dict[int, str] = self.hf_module.family.config.id2label or {}
        return [str(labels.get(number, number)) for number in range(len(labels))]

    def open_album(self, album: Mapping[str, Input]) -> None:
        """Accept pictures or sounds by their names in an album; the features of the last few are cached."""
        preprocessor = self.preprocessor
        if preprocessor is not None:
            self._album_features = lru_cache(MAX_CACHED)(lambda name: preprocessor.read(album[name]))

    def features(self, source: Input) -> Features:
        """Preprocess a picture or a sound. Raises as `run`, and Unsupported where the model reads neither."""
        if self.preprocessor is None:
            raise Unsupported("this model reads no pictures and no sounds")
        if self._album_features is not None and isinstance(source, str):
            return self._album_features(source)
        return self.preprocessor.read(source)

    def tokenize(self, text: Input) -> tuple[list[str], list[int]]:
        """Tokenize as `Model.tokenize`; an album name gives the patches of its picture or the times of its sound."""
        if self._album_features is None or not isinstance(text, str):
            return super().tokenize(text)
        names = self.features(text).tokens
        return names, list(range(len(names)))

    def encode(self, text: Input) -> tuple[list[str], list[int]]:
        """Tokenize as `Model.encode`, and check that every id has an embedding."""
        tokens, ids = super().encode(text)
        highest = max(ids, default=0)
        if highest >= self.sizes.vocabulary:
            raise WeightsFileError(
                f"token {highest} has no embedding, there are {self.sizes.vocabulary}; the tokenizer does not fit"
            )
        return tokens, ids

    def run(
        self,
        text: Input,
        *,
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
        target: str | Sequence[int] | None = None,
        **switches: Unpack[Switches],
    ) -> Run:
        """Compute the maps and hidden states of this group; see `Model.run`.

        The tokens of a sound are their start times, "0.48 s"; weight on the padding behind it is reported per row in
        `extras`. `logits` of a picture are (1, classes).

        Args:
            text: a text, or for other models a picture or sound, as `picture_file.read` and `sound_file.read` take it,
                or its name in the album.
            trace_layer: unsupported.
            implementation: unsupported.
            all_logits: keeps the logits of every position instead of the last.
            target: input of the decoder of an encoder-decoder, or its ids; None = its own greedy answer, without
                changes, of at most 64 tokens.
            **switches: as in `Model.run`.

        Raises:
            Unsupported: an option that is not in `can`, with its reason.
        """
        if trace_layer is not None or implementation is not None:
            raise self.cannot("steps")
        rows, inputs, spec = self._prepare(text, target, all_logits=all_logits, **switches)
        return runs(self, [rows], inputs, spec)[0]

    def run_new_tokens(
        self, ids: Sequence[int], caches: Sequence[KVCache] = (), shift: int = 0, **switches: Unpack[Switches]
    ) -> Run:
        """Run the tokens that are not cached yet, with a cache of transformers where that keeps all tokens."""
        is_shiftable = self.hf_module.accepts("position_ids") or not shift
        if len(self.groups) > 1 or self.preprocessor is not None or not is_shiftable:
            return super().run_new_tokens(ids, caches, shift, **switches)
        return run_new_tokens(self, ids, caches, shift, self.switches(len(ids), None, **switches))

    def output_matrix(self, layer: int) -> Tensor:
        """Return Wᵒ of a layer of this group, (h·d, c), on the model's device.

        `reasons` says why a model has none.
        """
        name = self.findings.outputs[self.group_findings.paths[layer]]
        return output_matrix(self.hf_module.module.get_submodule(name))

    def layer_call(
        self, text: Input, layer: int, record: Iterable[str], **switches: Unpack[Switches]
    ) -> tuple[Call, list[str], list[str]]:
        """Return the recorded call of a layer of this group, with its row and column tokens.

        Args:
            text: as in `run`.
            layer: counted from 0 in this group.
            record: names of parts, see `attention_hook.Call`.
            **switches: as in `run`.

        Raises:
            SizeError: there is no such layer.
            Unsupported: the model returns its maps itself.
        """
        if layer not in range(self.sizes.n_layers):
            raise SizeError(f"layer={layer}: the layers are 0 to {self.sizes.n_layers - 1}")
        if not self.findings.by_hook:
            raise Unsupported(f"{self.name} returns its maps, but not how they are computed")
        rows, inputs, spec = self._prepare(text, None, frozenset(record), **switches)
        return group_calls(self, run_pass(self, inputs, spec))[layer], rows[0], spec.columns or rows[0]

    def _prepare(
        self,
        text: Input,
        target: str | Sequence[int] | None,
        record: frozenset[str] = frozenset(),
        all_logits: bool = False,
        **switches: Unpack[Switches],
    ) -> tuple[tuple[list[str], list[int]], Tensor, Pass]:
        """Return row tokens with their ids, the model's input (1, …), and the pass over it."""
        answers = self.hf_module.family.is_encoder_decoder
        if target is not None and not answers:
            raise SizeError(f"a model that reads {self.reads}s takes no target")
        if self.preprocessor is None:
            tokens, ids = self.tokenize(text)
            source, own_tokens, extras = torch.tensor([ids]), tokens, Extras()
            ends = self.ends if isinstance(text, str) else (0, 0)
        else:
            source, own_tokens, front, extras = self.features(text)
            tokens = list(
                self.preprocessor.names[: self.fixed_tokens or len(own_tokens)]
            )  # masks cover the padding too
            ids, ends = list(range(len(tokens))), (front, 0)
        rows, columns = (tokens, ids), None
        target_ids = self._target(source, target) if answers else None
        if target_ids is not None and self.group != "encoder":
            rows, ends = (ids_to_tokens(target_ids, self.tokenizer), target_ids), (1, 0)
            columns = tokens if self.group == "cross" else None
        spec = Pass(
            self.switches(len(rows[1]), None, None if columns is None else len(columns), **switches),
            ends,
            target=None if target_ids is None else torch.tensor([target_ids]),
            columns=None if columns is None else own_tokens,
            all_logits=all_logits,
            extras=extras,
            has_hidden_keys=len(own_tokens) < len(tokens) and self.group != "decoder",
            record=record,
            notices=self._answer_notices if target is None and target_ids is not None else (),
        )
        return (own_tokens, ids[: len(own_tokens)]) if self.group == "encoder" else rows, source, spec

    def try_runs(self, source: Tensor, target: Tensor | None, length: int) -> None:
        """Run every group once, as `run` does, so that no picture fails later.

        Args:
            source: the model's input (1, …).
            target: int64 (1, n), input of the decoder of an encoder-decoder.
            length: number of tokens of the source.
        """
        for group in self.groups:
            model = self.for_group(group)
            n = length if target is None or group == "encoder" else target.shape[1]
            columns = [""] * length if group == "cross" else None
            switches = model.switches(n, None, None if columns is None else length)
            runs(model, [([""] * n, [0] * n)], source, Pass(switches, self.ends, target=target, columns=columns))

    @property
    def _answer_notices(self) -> tuple[str, ...]:
        answer = self.hf_module.answer
        return (answer.remark,) if answer and answer.remark and self.group != "encoder" else ()

    def run_padded(
        self, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, keep: Tensor | None, switches: RunSwitches
    ) -> list[Run]:
        """Run the model on padded ids (b, i) and return a run per text."""
        return runs(self, coded, ids, Pass(switches, self.ends, keep=keep))

    def switches(
        self, length: int, keep: Tensor | None, len_k: int | None = None, **switches: Unpack[Switches]
    ) -> RunSwitches:
        """Check and convert the options as `Model.switches`.

        Raises:
            Unsupported: an option that is not in `can`, with its reason.
        """
        position, temperature = switches.get("position", "trained"), switches.get("temperature", 1.0)
        heads, values = tuple(switches.get("heads_off", ())), tuple(switches.get("values_off", ()))
        if not isinstance(position, str) or position not in ("trained", "none"):
            raise PositionError(f"position={position!r:.40}: choose trained or none; {self.name} has no other")
        mlps, layers = tuple(switches.get("mlps_off", ())), tuple(switches.get("layers_off", ()))
        changes = {
            "mask": not is_no_mask(switches.get("mask", "none")),
            "heads": bool(heads),
            "mlps": bool(mlps),
            "layers": bool(layers),
            "temperature": temperature != 1,
            "values": bool(values),
            "positions": position == "none",
        }
        for name, is_wanted in changes.items():
            if is_wanted and name not in self.can:
                raise self.cannot(name)
        check_temperature(temperature)
        lists: Switches = {"heads_off": heads, "values_off": values, "mlps_off": mlps, "layers_off": layers}
        return super().switches(length, keep, len_k, **switches | lists)

    def _target(self, source: Tensor, target: str | Sequence[int] | None) -> list[int]:
        """Return the ids that the decoder reads for a source (1, …): the start token, then the target."""
        start = self.hf_module.start
        if self.group == "encoder" and target is None:
            return [start]
        if target is None:
            return list(self._greedy_answer(tuple(source[0].tolist()) if self.preprocessor is None else source))
        front, behind = self.ends
        coded = self.encode(target)[1]
        inner = coded[front : len(coded) - behind] if isinstance(target, str) else coded
        if len(inner) >= self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(inner) + 1)
        return [start, *inner]
