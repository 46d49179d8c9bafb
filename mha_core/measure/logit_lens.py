"""The logit lens: the next tokens that the state after each layer would give (nostalgebraist 2020).

The final norm and the head, which were trained for the last state alone, are applied to the earlier ones. The model
never reads these out; only those of the last state are its own prediction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from ..models.encoder_decoder import EncoderDecoder
from ..models.model import Model
from ..models.run import Run
from ..models.stack import Stack
from ..pretrained.hf_model import HfModel
from .rounding import sum_bound

ROWS_AT_ONCE = 16  # whose logits over the whole vocabulary are in memory
NO_HEAD = "this model predicts no next token, so there is no head to apply to its states; choose a language model"
NO_LAYERS = "only the maps of this model are available, not its head; choose a model with its weights"
OTHER_HEAD = "the way from this model’s states to its logits is more than one norm and one matrix; choose another model"


@dataclass(frozen=True)
class Lens:
    """The likeliest next tokens after each layer, of some rows of a run.

    Attributes:
        index: token ids int64 (layers + 1, i, k), the likeliest first; [0] = of the embeddings.
        probability: of these, (layers + 1, i, k) float64.
        final_probability: of the token that is the likeliest after the last layer, (layers + 1, i) float64.
        final_rank: the rank of that token, 1 = the likeliest, (layers + 1, i) int64.
    """

    index: Tensor
    probability: Tensor
    final_probability: Tensor
    final_rank: Tensor


def lens(model: Model, run: Run, rows: slice = slice(None), count: int = 5) -> Lens:
    """Return the likeliest next tokens after each layer, computed for a few rows of one layer at a time.

    Args:
        model: the model that was run.
        run: of a text.
        rows: of the run.
        count: k.

    Raises:
        Unsupported: the model has no next-token head, or its head is not known.
    """
    goals = [row.argmax(dim=-1) for row in _chances(model, run, len(run.hidden) - 1, rows)]
    levels = []
    for level in range(len(run.hidden)):
        parts = []
        for chances, goal in zip(_chances(model, run, level, rows), goals, strict=True):
            top = chances.topk(min(count, chances.shape[-1]), dim=-1)
            own = chances.gather(-1, goal[:, None])
            parts.append((top.indices, top.values, own[:, 0], 1 + (chances > own).sum(dim=-1)))
        levels.append([torch.cat(same) for same in zip(*parts, strict=True)])
    return Lens(*(torch.stack(same) for same in zip(*levels, strict=True)))


def _chances(model: Model, run: Run, level: int, rows: slice) -> Iterator[Tensor]:
    places = range(len(run.ids))[rows]
    for first in range(places.start, places.stop, ROWS_AT_ONCE):
        chunk = slice(first, min(first + ROWS_AT_ONCE, places.stop))
        yield logits(model, run, level, chunk).double().softmax(dim=-1)


def logits(model: Model, run: Run, level: int, rows: slice = slice(None)) -> Tensor:
    """Return the logits (i, v) that final norm and head give for the states after `level` layers, on the CPU.

    Raises:
        Unsupported: as `lens`.
    """
    if run.logits is None or run.extras.image is not None:
        raise Unsupported(NO_HEAD)
    x = run.hidden[level, rows][None]
    if model.encoder is not None:
        read, _ = model.run_on_stack(lambda stack: _own_head(stack, model.group)(x.to(stack.device)))
        return read[0].cpu()
    if not isinstance(model, HfModel):
        raise Unsupported(NO_LAYERS)
    with torch.no_grad():
        norm, head, is_normed = _foreign_head(model, run)
        x = x.to(model.device, model.dtype)
        return cast(Tensor, head(x if is_normed and level == len(run.hidden) - 1 else norm(x)))[0].cpu()


def _own_head(stack: Stack, group: str) -> Callable[[Tensor], Tensor]:
    is_translator = isinstance(stack, EncoderDecoder) and group != "encoder"
    return stack.to_logits if is_translator else cast(Callable[[Tensor], Tensor], stack.next_token)


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
