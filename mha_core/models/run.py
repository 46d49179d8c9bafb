"""The result of one text's way through a model."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..heads import tables
from ..show import Shown, standalone
from ..trace import Step, on_cpu
from .changes import Changes

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Patches:
    """A picture as a model sees it.

    Attributes:
        pixels: uint8 (height, width, 3), after it was made as large as the model reads it.
        own: how many tokens of no patch come before those of the patches.
        rows, columns: of patches.
    """

    pixels: Tensor
    own: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Heard:
    """A sound as a model hears it.

    Attributes:
        samples: float32 (n,), -1 to 1, its channels mixed, on the CPU.
        rate: samples a second.
        step: samples from the beginning of a token to that of the next.
    """

    samples: Tensor
    rate: int
    step: int


@dataclass(frozen=True)
class Extras:
    """What a run tells beside the contract; each kind of model fills what it knows.

    Attributes:
        kv_heads: key/value heads of a layer; h / kv_heads query heads that follow each other share one.
        nobody: (layers, h, i), the share of each row that goes to no token of these, so that the row sums to 1 with it;
            None where every row sums to 1 by itself.
        paths: of each layer the name of the module that computed its maps; empty for the models of this package.
        values: of each layer (kv_heads, j, d), what its weights mix; empty where `hidden` tells it.
        patches: the picture that was read; None of anything else.
        heard: the sound that was read; None of anything else.
    """

    kv_heads: int = 0
    nobody: Tensor | None = None
    paths: tuple[str, ...] = ()
    values: tuple[Tensor, ...] = ()
    patches: Patches | None = None
    heard: Heard | None = None


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
        logits: (1, v), the last position's number for each word that may come next, or (i, v) when those of all
            positions were asked for; None from a model that does not predict one.
        ends: how many tokens of its own the model put in front of the text and behind it, such as [CLS] and [SEP].
        changes: what it did otherwise than its model as it was trained.
        columns: the tokens that are looked at, where they are others than those that look: (…, i, j) has one column
            for each; None where both are `tokens`.
        extras: what only some kinds of model tell.
    """

    tokens: list[str]
    ids: list[int]
    weights: Tensor
    hidden: Tensor
    sentence: Tensor
    steps: tuple[Step, ...]
    device: torch.device
    notices: tuple[str, ...]
    logits: Tensor | None = None
    ends: tuple[int, int] = (0, 0)
    changes: Changes = field(default_factory=Changes)
    columns: list[str] | None = None
    extras: Extras = field(default_factory=Extras)

    def cpu(self) -> Run:
        """The same run with its tensors on the CPU; `device` still says where it was computed."""
        moved: Run = _on_cpu(replace(self, steps=()))
        return replace(moved, steps=on_cpu(self.steps))  # which share memory

    def frame(self, layer: int, head: int) -> DataFrame:
        """One map as a pandas frame, a row a cell: query, query_token, key, key_token, weight, and where this layer
        was traced its score, q·k / √d_head with the position's bias.

        Raises:
            SizeError: the run has no such layer or head.
        """
        return tables.of_map(self.weights, self.tokens, self.columns, layer, head, self.steps)

    def measures(self, lengths: Tensor | None = None) -> DataFrame:
        """Every head as a row of a pandas frame, by layer and head; a column for each measure that can be had.

        `.attrs["rows"]` says of how many rows of the map each is the mean, `.attrs["missing"]` why the others are not
        there. What they are, `heads.measures` says.

        Args:
            lengths: (layers, h, j), how long what each key hands over is, as `measure.value_norms.handed_lengths` says.
        """
        return tables.of_heads(self.weights, None if self.columns else self.ids, lengths)

    def show(
        self, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "", height: int = 760
    ) -> Shown:
        """Every map to look at: as the last line of a notebook's cell it is drawn there; `.save(path)` makes a file.

        Args:
            layer, head, row: what stands large at first, counted from 0.
            title, link: as in `show.standalone`.
            height: of the frame in the notebook, in pixels.

        Raises:
            SizeError: the run has no such layer, head or row.
        """
        page = standalone(self, layer=layer, head=head, row=row, title=title, link=link)
        return Shown(page, title or "Attention maps", height)


def _on_cpu(value: Any) -> Any:
    """A value with every tensor in it, of its fields or of a tuple, on the CPU."""
    if isinstance(value, Tensor):
        return value.cpu()
    if type(value) is tuple:
        return tuple(map(_on_cpu, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _on_cpu(getattr(value, one.name)) for one in fields(value)})
    return value


def sentence_of(hidden: Tensor) -> Tensor:
    """The last hidden state (i, c) -> its mean over all tokens (c,), scaled to length 1."""
    return torch.nn.functional.normalize(hidden.mean(dim=0), dim=0)


def last_rows(x: Tensor, lengths: list[int]) -> Tensor:
    """(b, i, c) -> (b, 1, c): each text's last token, which padding may follow."""
    return torch.stack([x[row, length - 1 : length] for row, length in enumerate(lengths)])


def stacked(parts: list[Tensor]) -> Tensor:
    """(b, …) of every layer -> (b, layers, …). It empties the list, so that each is free as soon as it is copied."""
    whole = parts[0].new_empty(len(parts[0]), len(parts), *parts[0].shape[1:])
    for layer in range(len(parts)):
        whole[:, layer] = parts.pop(0)
    return whole
