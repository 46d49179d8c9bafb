"""How well a model foresaw each token of its text: the loss that it was trained on, token by token."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..models.model import Model
from ..models.run import Run
from ..models.stack import Stack

ROWS_AT_ONCE = 64  # rows of a whole vocabulary each, which are not kept


def losses(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """The loss of every token, −log p in nats: (i,), float32, nan for the first, before which there is nothing.

    0 = it was certain; log v = all v words were equally likely; log 2 = .69 more is half as likely.

    Args:
        logits: (i, v), at each position the token that comes next; those of the last tell nothing here.
        ids: the i tokens.

    Raises:
        SizeError: not one row a token, or a token outside the vocabulary.
    """
    if logits.dim() != 2 or len(logits) != len(ids) or not all(0 <= one < logits.shape[1] for one in ids):
        raise SizeError(f"logits {tuple(logits.shape)} for {len(ids)} tokens; need one row a token, a column a word")
    chances = torch.log_softmax(logits[:-1].float(), dim=-1)
    came = torch.tensor(list(ids[1:]), dtype=torch.int64, device=logits.device)
    found = -chances.gather(1, came[:, None])[:, 0]
    return torch.cat((found.new_full((min(1, len(ids)),), torch.nan), found))


def surprise(model: Model, run: Run) -> Tensor:
    """The loss of every token of a run under the model that made it, as in `losses`: (i,), on the CPU.

    Whatever the run was made with (positions, mask, heads off) is in it; its logits need not be of all positions.

    Raises:
        Unsupported: the model predicts no next token.
    """

    if model.encoder is None:
        raise Unsupported(f"the losses of model {model.name!r} cannot be told: its layers are not of this package")

    def compute(stack: Stack) -> Tensor:
        x, parts = run.hidden[-1].to(stack.device), []
        for first in range(0, len(run.ids), ROWS_AT_ONCE):
            # one row more than is kept: the token in front of the first one foretells it
            rows = slice(max(0, first - 1), first + ROWS_AT_ONCE)
            logits = stack.next_token(x[None, rows])
            if logits is None:
                raise Unsupported(f"model {model.name!r} predicts no next token, so it has no surprise")
            parts.append(losses(logits[0], run.ids[rows])[min(first, 1) :])
        return torch.cat(parts)

    return model.run_on_stack(compute)[0].cpu()
