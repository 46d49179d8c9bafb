"""The result of running a model on one text."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import HeadlightError
from ..heads import tables
from ..show import HtmlView, standalone
from ..trace import Step, steps_to_cpu
from .interventions import Interventions

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class PatchedImage:
    """Input picture of a model, cut into patches.

    Attributes:
        pixels: uint8 (height, width, 3), resized to what the model reads.
        n_special: the number of special tokens in front of those of the patches.
        rows: of patches.
        columns: of patches.
    """

    pixels: Tensor
    n_special: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Audio:
    """Input sound of a model.

    Attributes:
        samples: float32 (n,), -1 to 1, mixed down to mono, on the CPU.
        rate: samples per second.
        step: samples from the beginning of a token to that of the next.
    """

    samples: Tensor
    rate: int
    step: int


@dataclass(frozen=True)
class Extras:
    """Results that only some kinds of model have.

    Attributes:
        kv_heads: key/value heads of a layer; each group of h / kv_heads consecutive query heads shares one.
        unassigned: (layers, h, i), the share of each row that goes to no token (an attention sink outside of the text),
            so that the row sums to 1 with it; None if every row sums to 1 by itself.
        paths: of each layer the name of the module that computed its maps; empty for the models of this package.
        values: of each layer (kv_heads, j, d), the value vectors; empty if they can be computed from `hidden`.
        image: the picture that was read, if any.
        audio: the sound that was read, if any.
    """

    kv_heads: int = 0
    unassigned: Tensor | None = None
    paths: tuple[str, ...] = ()
    values: tuple[Tensor, ...] = ()
    image: PatchedImage | None = None
    audio: Audio | None = None


@dataclass(frozen=True)
class Run:
    """Result of running a model on one text. Tensors are detached, on the model's device and in its dtype.

    Attributes:
        tokens: as the tokenizer cut them, "##" kept, special tokens included.
        ids: their token ids.
        weights: (layers, h, i, j), every head's map.
        hidden: (layers + 1, i, d_model); [0] = the embeddings after their norm.
        sentence: (d_model,), the last hidden state's mean over all tokens, scaled to length 1.
        steps: the steps of the traced layer, otherwise empty.
        device: where it was computed.
        notices: warnings, such as a fallback to the CPU, as full sentences.
        logits: (1, v), next-token logits of the last position, or (i, v) with `all_logits`; None from a model that
            predicts no next token.
        ends: how many special tokens precede and follow the text, such as [CLS] and [SEP].
        interventions: how the run differs from its model as trained.
        key_tokens: the keys, where they are not the queries: the j tokens of (…, i, j); None where both are `tokens`.
        extras: results that only some kinds of model have.
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
    interventions: Interventions = field(default_factory=Interventions)
    key_tokens: list[str] | None = None
    extras: Extras = field(default_factory=Extras)

    @property
    def columns(self) -> list[str] | None:
        """Deprecated name of `key_tokens`, removed in version 0.7."""
        warnings.warn("Run.columns is now called Run.key_tokens", DeprecationWarning, stacklevel=2)
        return self.key_tokens

    @property
    def changes(self) -> Interventions:
        """Deprecated name of `interventions`, removed in version 0.7."""
        warnings.warn("Run.changes is now called Run.interventions", DeprecationWarning, stacklevel=2)
        return self.interventions

    def cpu(self) -> Run:
        """Return the same run with its tensors on the CPU; `device` still names where it was computed."""
        moved: Run = _on_cpu(replace(self, steps=()))
        return replace(moved, steps=steps_to_cpu(self.steps))  # moved together, since steps may be views of each other

    def frame(self, layer: int, head: int) -> DataFrame:
        """Return one map as a pandas frame with a row per cell.

        The columns are query, query_token, key, key_token, weight, and, if this layer was traced, its score: q·k /
        √d_head plus the position's bias.

        Raises:
            SizeError: the run has no such layer or head.
        """
        return tables.map_frame(self.weights, self.tokens, self.key_tokens, layer, head, self.steps)

    def measures(self, lengths: Tensor | None = None) -> DataFrame:
        """Return a pandas frame with a row per head, by layer and head, and a column per available measure.

        `.attrs["rows"]` holds the number of map rows that each measure averages, `.attrs["missing"]` why others are
        left out. See `heads.measures` for their definitions.

        Args:
            lengths: (layers, h, j), norms of the transformed value vectors, as from
                `measure.value_norms.transformed_norms`.
        """
        return tables.measures_frame(self.weights, None if self.key_tokens else self.ids, lengths)

    def show(
        self, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "", link: str = "", height: int = 760
    ) -> HtmlView:
        """Return a viewer of all maps, which a notebook displays and `.save(path)` writes to a file.

        Args:
            layer: the layer shown enlarged initially, counted from 0.
            head: the head shown enlarged initially, counted from 0.
            row: the query selected initially, counted from 0.
            title: as in `show.standalone`.
            link: as in `show.standalone`.
            height: of the frame in the notebook, in pixels.

        Raises:
            SizeError: the run has no such layer, head or row.
        """
        page = standalone(self, layer=layer, head=head, row=row, title=title, link=link)
        return HtmlView(page, title or "Attention maps", height)


def _on_cpu(value: Any) -> Any:
    """Move every tensor in a value, in its dataclass fields or in a tuple to the CPU."""
    if isinstance(value, Tensor):
        return value.cpu()
    if type(value) is tuple:
        return tuple(map(_on_cpu, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: _on_cpu(getattr(value, part.name)) for part in fields(value)})
    return value


def sentence_vector(hidden: Tensor) -> Tensor:
    """Return the mean over the tokens of a hidden state (i, c), scaled to length 1."""
    return torch.nn.functional.normalize(hidden.mean(dim=0), dim=0)


def require_finite(name: str, weights: Tensor, hidden: Tensor, logits: Tensor | None) -> None:
    """Raise a HeadlightError if a pass computed NaN or infinity; logits may be -inf."""
    finite = bool(weights.isfinite().all()) and bool(hidden.isfinite().all())
    if not finite or (logits is not None and bool((logits.isnan() | logits.isposinf()).any())):
        remedy = "choose other weights" if hidden.dtype == torch.float32 else "load it with dtype=torch.float32"
        raise HeadlightError(f"{name} computes NaN or infinity from this input; {remedy}")


def last_rows(x: Tensor, lengths: list[int]) -> Tensor:
    """Return each text's last real token, (b, i, c) -> (b, 1, c); padding may follow it."""
    return torch.stack([x[row, length - 1 : length] for row, length in enumerate(lengths)])


def stack_layers(parts: list[Tensor]) -> Tensor:
    """Stack tensors (b, …) of the layers to (b, layers, …), and empty the list.

    Each tensor is freed as soon as it is copied, so that not all of them are in memory twice.
    """
    stack = parts[0].new_empty(len(parts[0]), len(parts), *parts[0].shape[1:])
    for layer in range(len(parts)):
        stack[:, layer] = parts.pop(0)
    return stack
