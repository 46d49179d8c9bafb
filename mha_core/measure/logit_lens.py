"""The logit lens: the next tokens that the state after each layer would give (nostalgebraist 2020).

The final norm and the head, which were trained for the last state alone, are applied to the earlier ones. The model
never reads these out; only those of the last state are its own prediction.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from ..models.encoder_decoder import EncoderDecoder
from ..models.model import Model
from ..models.own_model import OwnModel
from ..models.run import Run
from ..models.stack import Stack
from ..pretrained.hf_model import HfModel
from .rounding import sum_bound

ROWS_AT_ONCE = 16  # whose logits over the whole vocabulary are in memory
NO_HEAD = "this model predicts no next token, so there is no head to apply to its states; choose a language model"
OTHER_HEAD = "the way from this model’s states to its logits is more than one norm and one matrix; choose another model"


class Lens(NamedTuple):
    """The likeliest next tokens after each layer, in some rows, and a token that is followed through the layers."""

    ids: Tensor  # int64 (layers + 1, i, k), the likeliest first; [0] = of the embeddings
    probability: Tensor  # of these, (layers + 1, i, k) float64
    followed_probability: Tensor  # of the followed token, (layers + 1, i) float64
    followed_rank: Tensor  # its rank, 1 = the likeliest, (layers + 1, i) int64


def lens(model: Model, run: Run, rows: slice = slice(None), count: int = 5, token: int | None = None) -> Lens:
    """Return the likeliest next tokens after each layer, computed for a few rows of one layer at a time.

    Args:
        model: the model that was run.
        run: of a text.
        rows: of the run.
        count: k.
        token: the id that is followed; None = in each row the likeliest after the last layer.

    Raises:
        Unsupported: the model has no next-token head, or its head is not known.
    """
    places, chunks = range(len(run.ids))[rows], []
    for first in range(places.start, places.stop, ROWS_AT_ONCE):
        chunk, levels, goal = slice(first, min(first + ROWS_AT_ONCE, places.stop)), [], None
        for level in reversed(range(len(run.hidden))):
            chances = logits(model, run, level, chunk).double().softmax(dim=-1)
            if goal is None:
                goal = chances.argmax(dim=-1) if token is None else torch.full((len(chances),), token)
            top, chance = chances.topk(min(count, chances.shape[-1]), dim=-1), chances.gather(-1, goal[:, None])
            levels.append((top.indices, top.values, chance[:, 0], 1 + (chances > chance).sum(dim=-1)))
        chunks.append([torch.stack(column[::-1]) for column in zip(*levels, strict=True)])
    return Lens(*(torch.cat(column, dim=1) for column in zip(*chunks, strict=True)))


def logits(model: Model, run: Run, level: int, rows: slice = slice(None)) -> Tensor:
    """Return the logits (i, v) that final norm and head give for the states after `level` layers, on the CPU.

    Raises:
        Unsupported: as `lens`.
    """
    if run.logits is None or run.extras.image is not None or not isinstance(model, OwnModel | HfModel):
        raise Unsupported(NO_HEAD)
    x = run.hidden[level, rows][None]
    if isinstance(model, OwnModel):
        read, _ = model.run_on_stack(lambda stack: _own_logits(stack, model.group, x.to(stack.device)))
        return read[0].cpu()
    with torch.no_grad():
        norm, head, is_normed = _foreign_head(model, run)
        x = x.to(model.device, model.dtype)
        return cast(Tensor, head(x if is_normed and level == len(run.hidden) - 1 else norm(x)))[0].cpu()


def _own_logits(stack: Stack, group: str, x: Tensor) -> Tensor:
    if isinstance(stack, EncoderDecoder) and group != "encoder":
        return stack.to_logits(x)
    return cast(Tensor, stack.next_token(x))


def _foreign_head(model: HfModel, run: Run) -> tuple[nn.Module, nn.Module, bool]:
    """Return the final norm and the head of a transformers model, and whether the run's last state is already normed.

    The norm is the one beside the list of layers, if there is one; that the last state gives the logits is checked.
    """
    module = model.hf_module.module
    head, base = module.get_output_embeddings(), module.get_decoder() if len(model.groups) > 1 else module
    lists = [name for name, part in base.named_modules() if isinstance(part, nn.ModuleList)]
    siblings = base.get_submodule(lists[0].rpartition(".")[0]).named_children() if lists else ()
    norms = [part for name, part in siblings if "Norm" in type(part).__name__ and "emb" not in name]
    if not isinstance(head, nn.Linear) or not lists or len(norms) > 1 or run.logits is None:
        raise Unsupported(OTHER_HEAD)
    norm, last = (norms or [nn.Identity()])[0], run.hidden[-1, -1:].to(model.device, model.dtype)
    for x in (last, norm(last)):
        terms = x.abs().double() @ head.weight.abs().double().T
        error = (head(x).double().cpu() - run.logits[-1].double().cpu()).abs()
        if bool((error <= 2 * sum_bound(x.shape[-1], dtype=model.dtype) * terms.cpu()).all()):
            return norm, head, x is last
    raise Unsupported(OTHER_HEAD)
