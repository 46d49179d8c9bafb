"""How the first hidden state of a text comes about: token, id, row of the table, what is added to it, and its norm."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..models.encoder import Encoder
from ..models.inputs import position_for
from ..models.model import Model
from ..models.stack import Stack
from ..positions import Position


@dataclass(frozen=True)
class Norm:
    """A layer norm of rows: (row − mean) / deviation · gain + shift.

    Attributes:
        mean, deviation: (i, 1), over the channels of each row; the norm's ε stands inside the deviation's root.
        gain, shift: (c,), learnt.
    """

    mean: Tensor
    deviation: Tensor
    gain: Tensor
    shift: Tensor


@dataclass(frozen=True)
class Embedding:
    """Every step from the tokens of a text to x, which enters layer 0; on the CPU, in the model's dtype.

    Attributes:
        tokens, ids: of the text, special tokens included.
        table: (rows, channels) of the embedding table.
        words: (i, c), the rows of the table.
        segment: (c,), which BERT adds to every token of a first sentence; None where a model has none.
        position: (i, c), what the positional encoding adds; zeros where it acts elsewhere.
        summed: (i, c), words + segment + position.
        norm: of `summed`; None where none follows.
        x: (i, c), `run.hidden[0]` of the same text.
        notices: what must be said of the pass, in whole sentences.
    """

    tokens: list[str]
    ids: list[int]
    table: tuple[int, int]
    words: Tensor
    segment: Tensor | None
    position: Tensor
    summed: Tensor
    norm: Norm | None
    x: Tensor
    notices: tuple[str, ...] = ()


def embedding_steps(model: Model, text: str, *, position: str | Position = "trained") -> Embedding:
    """The steps of one text.

    Args:
        position: as in `Model.run`.

    Raises:
        TooLong, PositionError, HeadlightError: as `Model.run`.
    """
    tokens, ids = model.tokenize(text)

    def compute(stack: Stack) -> Embedding:
        encoding = position_for(stack, position)
        whole = torch.tensor([ids], device=stack.device)
        words = stack.words(whole)
        segment = stack.segment.cpu() if isinstance(stack, Encoder) else None
        summed = encoding.add(words + stack.segment if isinstance(stack, Encoder) else words)
        rows, channels = stack.words.weight.shape
        return Embedding(
            tokens,
            ids,
            (rows, channels),
            words[0].cpu(),
            segment,
            encoding.add(torch.zeros_like(words))[0].cpu(),
            summed[0].cpu(),
            _norm(summed[0], stack.norm) if isinstance(stack, Encoder) else None,
            stack.embed(whole, encoding)[0].cpu(),
        )

    steps, notices = model.run_on_stack(compute)
    return replace(steps, notices=notices)


def _norm(rows: Tensor, layer: torch.nn.LayerNorm) -> Norm:
    """rows (i, c)."""
    deviation = (rows.var(dim=-1, correction=0, keepdim=True) + layer.eps).sqrt()
    return Norm(rows.mean(dim=-1, keepdim=True).cpu(), deviation.cpu(), layer.weight.cpu(), layer.bias.cpu())
