"""A model of transformers as a `Model`: text in, a `Run` out, its attention recorded and changed through `seam`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

import torch
from torch import Tensor

from ..attention.functional import check_temperature
from ..errors import PositionError, SizeError, TooLong, Unsupported, WeightsFileError
from ..models.block import BlockSizes
from ..models.fall_back import FallBack
from ..models.inputs import Mask, Switches, no_mask, padded
from ..models.model import Grown, Model, ends_of
from ..models.run import Run
from ..models.stack import Stack
from ..models.switches import RunSwitches
from ..positions import Position
from .byte_level import Tokens
from .check import Findings, GroupFindings, matrix
from .foreign_runs import Pass, call_of_layer, grow, runs
from .preprocessor import Named
from .seam import Call
from .wrapped import Wrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")

MOST_TOKENS = 512  # ours: the maps of every layer are kept
KINDS = {frozenset(("add",)): "learned", frozenset(("rotate",)): "rotary", frozenset(("bias",)): "t5"}


class ForeignModel(Model):
    """A read-only model of transformers that many threads may run at once.

    A model with several kinds of attention is one of these for each, see `of`; they share the weights.

    Args:
        name: what it was loaded as.
        tokens: its tokenizer, or what stands there.
        wrapped: on its device.
        findings: of the check.
        max_len: the most tokens of a text, special ones included.
    """

    encoder: Stack

    def __init__(
        self,
        name: str,
        tokens: Tokens | Named,
        wrapped: Wrapped,
        findings: Findings,
        *,
        max_len: int,
        folder: Path | None,
        facts: dict[str, str],
        notices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.tokenizer = cast("Tokenizer", tokens)
        self.encoder = cast(Stack, wrapped)
        self.origin = "pretrained"
        self.folder = folder
        self.facts = facts
        self.notices = notices
        self.history = None
        self.wrapped = wrapped
        self.reads = wrapped.family.reads
        self.findings = findings
        self.can = findings.can
        self.reasons = findings.reasons
        self.groups = tuple(findings.groups)
        self.pad_id = wrapped.number("pad_token_id")
        self.ends = ends_of(self.tokenizer)
        self._max_len = max_len
        self._fall_back = FallBack(self.encoder, False)
        self._answered: Callable[[tuple[int, ...]], list[int]] = lru_cache(16)(
            lambda ids: wrapped.greedy(torch.tensor([ids], device=wrapped.device))
        )
        self._speak_of(self.groups[0])

    def _speak_of(self, group: str) -> None:
        known = self.known(group)
        self.group = group
        self.own_mask = known.own_mask
        self.sizes = BlockSizes(
            vocabulary=self.wrapped.vocabulary or self._max_len,
            d_model=self.findings.d_model,
            n_heads=known.heads,
            n_layers=len(known.paths),
            max_len=self._max_len,
            position=KINDS.get(self.findings.acts, "none"),
        )

    def known(self, group: str) -> GroupFindings:
        """What the check has found of a group."""
        return self.findings.groups[group]

    def needs(self, rows: int, columns: int | None = None) -> int:
        """Bytes that the maps of so many tokens take."""
        return self.sizes.n_layers * self.sizes.n_heads * rows * (columns or rows) * self.dtype.itemsize

    def of(self, group: str) -> ForeignModel:
        super().of(group)
        if group == self.group:
            return self
        twin = copy.copy(self)
        twin._speak_of(group)
        return twin

    @property
    def device(self) -> torch.device:
        return self.wrapped.device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.wrapped.parameters()).dtype

    def coded(self, text: str | Sequence[int]) -> tuple[list[str], list[int]]:
        tokens, ids = super().coded(text)
        beyond = max(ids, default=0)
        if beyond >= self.sizes.vocabulary:
            raise WeightsFileError(
                f"token {beyond} has no embedding, there are {self.sizes.vocabulary}; the tokenizer is another's"
            )
        return tokens, ids

    def as_implementation(self, name: str) -> Model:
        if name == self.sizes.implementation:
            return self
        raise Unsupported(f"{self.name} is computed by transformers; it has no other implementation here")

    def ablate_each_head(
        self, text: str, *, on_progress: Callable[[float], object] = lambda done: None, **switches: Unpack[Switches]
    ) -> Tensor:
        return self._ablate_by_runs(text, on_progress, **switches)

    def run(
        self,
        text: str | Sequence[int],
        *,
        trace_layer: int | None = None,
        implementation: str | None = None,
        all_logits: bool = False,
        target: str | Sequence[int] | None = None,
        **switches: Unpack[Switches],
    ) -> Run:
        """Computes every map of this group, and hidden state, of one text; see `Model.run`.

        Args:
            target: what the decoder of an encoder-decoder reads, or its ids; None = its own greedy answer, with
                nothing changed, of at most 64 tokens.
            switches: as in `Model.run`.

        Raises:
            Unsupported: something that is not in `can`, with its reason.
        """
        if trace_layer is not None or implementation is not None:
            raise self.cannot("steps")
        rows, whole, asked = self._asked(text, target, **switches)
        return runs(self, [rows], whole, replace(asked, all_logits=all_logits))[0]

    def output_matrix(self, layer: int) -> Tensor:
        """Wᵒ of a layer of this group, (h·d, c), on the model's device; `reasons` says where there is none."""
        name = self.findings.outputs[self.known(self.group).paths[layer]]
        return matrix(self.wrapped.module.get_submodule(name))

    def call_of_layer(
        self, text: str, layer: int, record: Iterable[str], **switches: Unpack[Switches]
    ) -> tuple[Call, list[str], list[str]]:
        """What passed the seam in a layer of this group, and the tokens that look and those that are looked at.

        Args:
            record: names of parts, see `seam.Call`.
            switches: as in `run`.

        Raises:
            SizeError: there is no such layer. Unsupported: the model hands its maps out itself.
        """
        if layer not in range(self.sizes.n_layers):
            raise SizeError(f"layer={layer}: the layers are 0 to {self.sizes.n_layers - 1}")
        if not self.findings.by_seam:
            raise Unsupported(f"{self.name} hands out its maps and nothing of how they are made")
        rows, whole, asked = self._asked(text, None, **switches)
        call = call_of_layer(self, whole, replace(asked, record=frozenset(record)), layer)
        return call, rows[0], asked.columns or rows[0]

    def _asked(
        self, text: str | Sequence[int], target: str | Sequence[int] | None, **switches: Unpack[Switches]
    ) -> tuple[tuple[list[str], list[int]], Tensor, Pass]:
        """The tokens of the rows and their ids, what the model reads (1, i), and the pass over it."""
        tokens, ids = self.tokenize(text)
        ends = self.ends if isinstance(text, str) else (0, 0)
        return self._passed((tokens, ids), torch.tensor([ids]), ends, target, **switches)

    def _passed(
        self,
        rows: tuple[list[str], list[int]],
        read: Tensor,
        ends: tuple[int, int],
        target: str | Sequence[int] | None,
        **switches: Unpack[Switches],
    ) -> tuple[tuple[list[str], list[int]], Tensor, Pass]:
        """As `_asked`, of what the model reads (1, …) and its tokens."""
        tokens, columns = rows[0], None
        written = self._target(read, target) if self.wrapped.family.answers else None
        if written is not None and self.group != "encoder":
            rows, ends = (cast(Tokens, self.tokenizer).read(written), written), (1, 0)
            columns = tokens if self.group == "cross" else None
        len_k = None if columns is None else len(columns)
        given = None if written is None else torch.tensor([written])
        asked = Pass(self.switches(len(rows[1]), None, columns=len_k, **switches), ends, given, None, columns)
        return rows, read, asked

    def run_batch(self, texts: Sequence[str], *, mask_padding: bool = True, **switches: Unpack[Switches]) -> list[Run]:
        if not texts:
            return []
        if "batch" not in self.can:
            raise self.cannot("batch")
        coded = [self.tokenize(text) for text in texts]
        ids, keep = padded([own_ids for _, own_ids in coded], self.pad_id)
        kept = keep if mask_padding else None
        return runs(self, coded, ids, Pass(self.switches(ids.shape[1], kept, **switches), self.ends, keep=kept))

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
        """As `Model.switches`.

        Raises:
            Unsupported: something that is not in `can`, with its reason.
        """
        values, off = tuple(values_off), tuple(heads_off)
        if not isinstance(position, str) or position not in ("trained", "none"):
            raise PositionError(f"position={position!r:.40}: choose trained or none; {self.name} has its own alone")
        wanted = {
            "mask": not no_mask(mask),
            "heads": bool(off),
            "temperature": temperature != 1,
            "values": bool(values),
            "positions": position == "none",
        }
        for name, asked in wanted.items():
            if asked and name not in self.can:
                raise self.cannot(name)
        check_temperature(temperature)
        return super().switches(length, keep, mask, position, off, temperature, values, columns)

    def grow(self, ids: Sequence[int], kept: Any, asked: Switches) -> Grown:
        return grow(self, ids, kept, asked)

    def cannot(self, name: str) -> Unsupported:
        """The error of asking for what is not in `can`."""
        return Unsupported(f"{self.name}: {self.reasons[name]}")

    def _target(self, read: Tensor, target: str | Sequence[int] | None) -> list[int]:
        """What the decoder reads beside what the encoder reads, (1, …): a start, then the target."""
        start = self.wrapped.start
        if self.group == "encoder" and target is None:
            return [start]
        if target is None:
            return list(self._own_answer(read))
        front, behind = self.ends
        coded = self.coded(target)[1]
        inner = coded[front : len(coded) - behind] if isinstance(target, str) else coded
        if len(inner) >= self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(inner) + 1)
        return [start, *inner]

    def _own_answer(self, read: Tensor) -> Sequence[int]:
        return self._answered(tuple(read[0].tolist()))
