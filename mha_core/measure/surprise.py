"""Loss of a language model on each token of a text."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..models.model import Model
from ..models.run import Run
from ..models.stack import Stack

ROWS_AT_ONCE = 64  # logits over the whole vocabulary at a time, to bound memory


def losses(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """Compute the loss of every token, −log p in nats: (i,), float32, nan for the first one.

    0 = it was certain; log v = all v words were equally likely; log 2 = .69 more is half as likely.

    Args:
        logits: (i, v), at each position those of the next token; the last row is not used.
        ids: the i tokens.

    Raises:
        SizeError: not one row a token, or a token outside the vocabulary.
    """
    if logits.dim() != 2 or len(logits) != len(ids) or not all(0 <= token < logits.shape[1] for token in ids):
        raise SizeError(f"logits {tuple(logits.shape)} for {len(ids)} tokens; need one row a token, a column a word")
    chances = torch.log_softmax(logits[:-1].float(), dim=-1)
    targets = torch.tensor(list(ids[1:]), dtype=torch.int64, device=logits.device)
    values = -chances.gather(1, targets[:, None])[:, 0]
    return torch.cat((values.new_full((min(1, len(ids)),), torch.nan), values))


def surprise(model: Model, run: Run) -> Tensor:
    """Compute the loss of every token of a run under its model, as in `losses`: (i,), on the CPU.

    The switches of the run (positions, mask, heads off) have their effect; its logits need not be of all positions.

    Raises:
        Unsupported: the model predicts no next token.
    """
    if model.encoder is None:
        raise Unsupported(f"the losses of model {model.name!r} are not available: its layers are not of this package")

    def compute(stack: Stack) -> Tensor:
        x, parts = run.hidden[-1].to(stack.device), []
        for first in range(0, len(run.ids), ROWS_AT_ONCE):
            # one row more in front, whose logits predict the first token
            rows = slice(max(0, first - 1), first + ROWS_AT_ONCE)
            logits = stack.next_token(x[None, rows])
            if logits is None:
                raise Unsupported(f"model {model.name!r} predicts no next token, so it has no surprise")
            parts.append(losses(logits[0], run.ids[rows])[min(first, 1) :])
        return torch.cat(parts)

    return model.run_on_stack(compute)[0].cpu()
