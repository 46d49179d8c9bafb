"""A model of transformers as a `Model`: text in, a `Run` out, its attention recorded and changed through `seam`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch import Tensor

from .. import masks
from ..attention.functional import check_temperature
from ..attention.switches import Ablation
from ..errors import PositionError, SizeError, TooLong, Unsupported
from ..models.block import BlockSizes
from ..models.fall_back import FallBack
from ..models.inputs import Mask, heads_on, joint_mask, padded
from ..models.model import Model, ends_of
from ..models.run import Run
from ..models.stack import Stack
from ..models.switches import RunSwitches
from ..positions import Position
from . import memory
from .check import Findings, Group
from .foreign_tokens import Tokens
from .wrapped import Answer, Wrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")

MOST_TOKENS = 512  # ours: the maps of every layer are kept
MOST_WRITTEN = 64  # tokens of an answer of its own
KINDS = {frozenset(("add",)): "learned", frozenset(("rotate",)): "rotary", frozenset(("bias",)): "t5"}


class ForeignModel(Model):
    """A read-only model of transformers that many threads may run at once.

    A model with several kinds of attention is one of these for each, see `of`; they share the weights.

    Args:
        name: what it was loaded as.
        tokens: its tokenizer.
        wrapped: on its device.
        findings: of the check.
        max_len: the most tokens of a text, special ones included.
    """

    encoder: Stack

    def __init__(
        self,
        name: str,
        tokens: Tokens,
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
        self.findings = findings
        self.can = findings.can
        self.reasons = findings.reasons
        self.groups = tuple(findings.groups)
        self.pad_id = wrapped.number("pad_token_id")
        self.ends = ends_of(self.tokenizer)
        self._max_len = max_len
        self._fall_back = FallBack(self.encoder, False)
        self._answered: Callable[[tuple[int, ...]], list[int]] = lru_cache(16)(self._write)
        self._speak_of(self.groups[0])

    def _speak_of(self, group: str) -> None:
        known = self.known(group)
        self.group = group
        self.own_mask = known.own_mask
        self.sizes = BlockSizes(
            vocabulary=self.wrapped.vocabulary,
            d_model=self.findings.d_model,
            n_heads=known.heads,
            n_layers=len(known.paths),
            max_len=self._max_len,
            position=KINDS.get(self.findings.acts, "none"),
        )

    def known(self, group: str) -> Group:
        """What the check has found of a group."""
        return self.findings.groups[group]

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

    def as_implementation(self, name: str) -> Model:
        if name == self.sizes.implementation:
            return self
        raise Unsupported(f"{self.name} is computed by transformers; it has no other implementation here")

    def ablate_each_head(
        self, text: str, *, on_progress: Callable[[float], object] = lambda done: None, **switches: Any
    ) -> Tensor:
        asked = {**switches}
        before = tuple(asked.pop("heads_off", ()))
        means = []
        pairs = [(layer, head) for layer in range(self.sizes.n_layers) for head in range(self.sizes.n_heads)]
        for pair in pairs:
            means.append(self.run(text, heads_off=(*before, pair), **asked).sentence)
            on_progress(len(means) / len(pairs))
        return torch.stack(means).view(self.sizes.n_layers, self.sizes.n_heads, -1)

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
        target: str | Sequence[int] | None = None,
    ) -> Run:
        """Computes every map of this group, and hidden state, of one text; see `Model.run`.

        Args:
            target: what the decoder of an encoder-decoder reads, or its ids; None = its own greedy answer, with
                nothing changed, of at most 64 tokens.

        Raises:
            Unsupported: something that is not in `can`, with its reason.
        """
        if trace_layer is not None or implementation is not None:
            raise self._cannot("steps")
        tokens, ids = self.tokenize(text)
        ends = self.ends if isinstance(text, str) else (0, 0)
        written = self._target(ids, target) if self.wrapped.family.answers else None
        rows = tokens, ids
        columns = None
        if written is not None and self.group != "encoder":
            rows, ends = (cast(Tokens, self.tokenizer).read(written), written), (1, 0)
            columns = tokens if self.group == "cross" else None
        lengths = len(rows[1]), len(rows[1] if columns is None else columns)
        switches = self.switches(
            lengths[0], None, mask, position, heads_off, temperature, values_off, columns=lengths[1]
        )
        whole = torch.tensor([ids])
        given = None if written is None else torch.tensor([written])
        return self._runs([rows], whole, switches, ends, target=given, columns=columns, all_logits=all_logits)[0]

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
        if not texts:
            return []
        if "batch" not in self.can:
            raise self._cannot("batch")
        coded = [self.tokenize(text) for text in texts]
        ids, keep = padded([own_ids for _, own_ids in coded], self.pad_id)
        kept = keep if mask_padding else None
        switches = self.switches(ids.shape[1], kept, mask, position, heads_off, temperature, values_off)
        return self._runs(coded, ids, switches, self.ends, keep=kept)

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
        values = tuple(values_off)
        off = tuple(heads_off)
        plain = (isinstance(mask, str) and mask == "none") or mask is masks.full
        asked = {"mask": not plain, "heads": bool(off), "temperature": temperature != 1, "values": bool(values)}
        if not isinstance(position, str) or position not in ("trained", "none"):
            raise PositionError(f"position={position!r:.40}: choose trained or none; {self.name} has its own alone")
        asked["positions"] = position == "none"
        for name, wanted in asked.items():
            if wanted and name not in self.can:
                raise self._cannot(name)
        check_temperature(temperature)
        allow = None if plain and self.own_mask == "none" else self._allow(mask, length, columns or length, keep)
        ablate = Ablation(heads_on(off, self.sizes), _values_on(values, length, columns or length))
        return RunSwitches(self, mask, position, temperature, allow, ablate, values)

    def _allow(self, mask: Mask, rows: int, columns: int, keep: Tensor | None) -> Tensor | None:
        if rows == columns and self.group != "cross":
            return joint_mask(mask, self.own_mask, self.sizes.n_heads, rows, keep)
        if isinstance(mask, Tensor):
            return masks.four_axes(mask, 1, self.sizes.n_heads, rows, columns)
        return masks.allow(masks.parse(mask) if isinstance(mask, str) else mask, rows, columns)

    def _cannot(self, name: str) -> Unsupported:
        return Unsupported(f"{self.name}: {self.reasons[name]}")

    def _target(self, ids: list[int], target: str | Sequence[int] | None) -> list[int]:
        """What the decoder reads: a start, then the target."""
        start = self.wrapped.start
        if self.group == "encoder" and target is None:
            return [start]
        if target is None:
            return self._answered(tuple(ids))
        front, behind = self.ends
        coded = self.coded(target)[1]
        inner = coded[front : len(coded) - behind] if isinstance(target, str) else coded
        if len(inner) >= self.sizes.max_len:
            raise TooLong(limit=self.sizes.max_len, got=len(inner) + 1)
        return [start, *inner]

    def _write(self, ids: tuple[int, ...]) -> list[int]:
        """The likeliest next token again and again, up to the end that the model sets."""
        read = torch.tensor([ids], device=self.device)
        written, states = [self.wrapped.start], None
        ends = self.wrapped.numbers("eos_token_id")
        while len(written) <= MOST_WRITTEN:
            target = torch.tensor([written], device=self.device)
            found = self.wrapped.answer(read, self.wrapped.request(), target=target, states=states)
            if found.logits is None:
                raise Unsupported(f"{self.name} writes nothing of its own; give a target")
            states = found.hidden["encoder"][-1] if states is None else states
            following = int(found.logits[0, -1].argmax())
            if following in ends:
                break
            written.append(following)
        return written

    def _runs(
        self,
        coded: Sequence[tuple[list[str], list[int]]],
        ids: Tensor,
        switches: RunSwitches,
        ends: tuple[int, int],
        *,
        target: Tensor | None = None,
        keep: Tensor | None = None,
        columns: list[str] | None = None,
        all_logits: bool = False,
    ) -> list[Run]:
        """One forward pass, and a run for each row; the padding is cut off."""
        known = self.known(self.group)
        self._require(len(ids), coded, columns)
        device = self.device
        here = self.wrapped.request(
            changed=frozenset(known.paths),
            allow=None if _untouched(switches) else _to(switches.allow, device),
            heads=_to(switches.ablate.heads, device),
            values=_to(switches.ablate.values, device),
            temperature=float(switches.temperature),
            positions=switches.position == "trained",
        )
        found = self.wrapped.answer(
            ids.to(device), here, target=_to(target, device), keep=_to(keep, device),
            attentions=not self.findings.by_seam,
        )  # fmt: skip
        maps = self._maps(found, known)
        states = found.hidden.get(self.group) or found.hidden[""]
        runs = []
        for row, (tokens, own_ids) in enumerate(coded):
            n = len(own_ids)
            m = n if columns is None else len(columns)
            weights = torch.stack([one[row, :, :n, :m] for one in maps])
            hidden = torch.stack([one[row, :n] for one in states])
            logits = found.logits if self.wrapped.family.writes and self.group != "encoder" else None
            changes = switches.changes(tokens if columns is None else columns, row)
            if changes.allow is not None:
                changes = replace(changes, allow=_cut(switches.allow, row, n, m))
            runs.append(
                Run(
                    tokens=tokens,
                    ids=own_ids,
                    weights=weights,
                    hidden=hidden,
                    sentence=torch.nn.functional.normalize(hidden[-1].mean(dim=0), dim=0),
                    steps=(),
                    device=hidden.device,
                    notices=self.notices,
                    logits=None if logits is None else logits[row, :n] if all_logits else logits[row, n - 1 : n],
                    kv_heads=known.kv_heads,
                    ends=ends,
                    changes=changes,
                    columns=columns,
                    nobody=(1 - weights.sum(dim=-1)).clamp(min=0) if known.sinks else None,
                    paths=known.paths,
                )
            )
        return runs

    def _maps(self, found: Answer, known: Group) -> list[Tensor]:
        if not self.findings.by_seam:
            shape = known.heads
            return [one for one in found.maps.get(self.group, found.maps.get("", [])) if one.shape[1] == shape]
        paths = set(known.paths)
        return [call.weights for call in found.calls if call.path in paths]

    def _require(self, batch: int, coded: Sequence[tuple[list[str], list[int]]], columns: list[str] | None) -> None:
        """Refuses a sentence whose maps do not fit into the memory that is left."""
        longest = max(len(ids) for _, ids in coded)
        cells = longest * (longest if columns is None else len(columns))
        maps = self.sizes.n_layers * self.sizes.n_heads * cells * batch * self.dtype.itemsize
        # the list of every layer's, the stack of them, and what one softmax takes beside
        memory.require(
            2 * maps + 4 * maps // self.sizes.n_layers, f"{longest} tokens of {self.name}", "shorten the text"
        )

    def needs(self, tokens: int) -> int:
        """Bytes that the maps of so many tokens take."""
        return self.sizes.n_layers * self.sizes.n_heads * tokens**2 * self.dtype.itemsize


def _untouched(switches: RunSwitches) -> bool:
    """The model's own mask needs no second one."""
    return (isinstance(switches.mask, str) and switches.mask == "none") or switches.mask is masks.full


def _to(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    return None if tensor is None else tensor.to(device)


def _cut(allow: Tensor | None, row: int, rows: int, columns: int) -> Tensor | None:
    if allow is None:
        return None
    cut = allow[row if len(allow) > 1 else 0, :, :rows, :columns]
    return None if bool(cut.all()) else cut


def _values_on(places: tuple[int, ...], rows: int, columns: int) -> Tensor | None:
    wrong = [place for place in places if not isinstance(place, int) or place < 0]
    if wrong:
        raise SizeError(f"values_off has {wrong[0]!r}; give places of tokens, counted from 0")
    rule = masks.unseen(*places)
    if rows == columns:
        values = masks.allow(rule, rows, columns)
    else:  # no key is the query's own
        values = torch.ones(1, 1, rows, columns, dtype=torch.bool)
        values[..., [place for place in places if place < columns]] = False
    return None if bool(values.all()) else values
