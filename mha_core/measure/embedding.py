"""Steps from the tokens of a text to the first hidden state: table rows, added embeddings, and the norm."""

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
    """Layer norm of rows: (row − mean) / deviation · gain + shift.

    Attributes:
        mean: (i, 1), over the channels of each row.
        deviation: (i, 1), with the norm's ε inside the root.
        gain: (c,), learnt.
        shift: (c,), learnt.
    """

    mean: Tensor
    deviation: Tensor
    gain: Tensor
    shift: Tensor


@dataclass(frozen=True)
class Embedding:
    """Steps from the tokens of a text to x, which enters layer 0; on the CPU, in the model's dtype.

    Attributes:
        tokens: the tokens of the text, special tokens included.
        ids: token ids.
        table: size of the embedding table, (rows, channels).
        words: (i, c), the rows of the table.
        segment: (c,), BERT's embedding of the first segment; None in other models.
        position: (i, c), what the positional encoding adds; zeros if it acts inside the attention (rotary, bias).
        summed: (i, c), words + segment + position.
        norm: the layer norm applied to `summed`; None if the model has none.
        x: (i, c), `run.hidden[0]` of the same text.
        notices: warnings of the pass, in whole sentences.
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
    """Compute the embedding of a text step by step.

    Args:
        model: a model built from this package's own layers, not a hooked external model.
        text: as in `Model.run`.
        position: as in `Model.run`.

    Raises:
        TooLong, PositionError, HeadlightError: as `Model.run`.
    """
    tokens, ids = model.tokenize(text)

    def compute(stack: Stack) -> Embedding:
        encoding = position_for(stack, position)
        batch = torch.tensor([ids], device=stack.device)
        words = stack.words(batch)
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
            stack.embed(batch, encoding)[0].cpu(),
        )

    steps, notices = model.run_on_stack(compute)
    return replace(steps, notices=notices)


def _norm(rows: Tensor, layer: torch.nn.LayerNorm) -> Norm:
    deviation = (rows.var(dim=-1, correction=0, keepdim=True) + layer.eps).sqrt()
    return Norm(rows.mean(dim=-1, keepdim=True).cpu(), deviation.cpu(), layer.weight.cpu(), layer.bias.cpu())
