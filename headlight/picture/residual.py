"""The residual stream of a picture and its logit lens, cached for all clients."""

from typing import NamedTuple

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.measure import logit_lens
from mha_core.measure.logit_lens import Lens
from mha_core.measure.residual import Addition, Neurons, additions

from . import pictures
from .settings import Settings

NEURONS = 8  # of each token and layer that are kept
STREAM_BYTES = LENS_BYTES = 16 * 2**20  # a stream of 512 tokens of SmolLM2 has 4 MiB, a lens of 12 tokens 40 KiB


class Stream(NamedTuple):
    """Sizes of the additions to the stream of each token; 0 where a part is ablated or does not exist."""

    tokens: list[str]
    norms: Tensor  # lengths of what attention and the MLP add, (2, layers, i) float64
    cosines: Tensor  # their cosines to the stream before, (2, layers, i)
    lengths: Tensor  # of the stream, (layers + 1, i), [0] = before the first layer
    neurons: list[Neurons | None]  # of the MLP of each layer; None where they are not known
    is_normed: bool  # whether layers norm the stream after an addition (post-norm)


@single_flight(LRUCache(STREAM_BYTES, lambda stream: 8 * (5 + 3 * NEURONS) * stream.lengths.numel()))
def stream(settings: Settings) -> Stream:
    """Return what the layers add in the picture of these settings, from a pass of its own.

    Raises what `pictures.picture` and `mha_core.measure.residual.additions` raise.
    """
    picture = pictures.picture(settings)
    model, run = picture.model, picture.run
    with pass_slot(pictures.pass_length(model, settings.text), models.count_heads(model)):
        layers = additions(model, run, lambda: settings.run(model), _sizes)
    nothing = torch.zeros(4, len(run.tokens), dtype=torch.float64), None
    parts = [[layer.get(part, nothing) for layer in layers] for part in ("attention", "mlp")]
    sizes = torch.stack([torch.stack([numbers for numbers, _ in part], dim=1) for part in parts])
    norms, cosines, starts, sums = sizes.unbind(dim=1)
    # the MLP adds to the sum itself, or beside attention to the same stream
    is_normed = not bool(((starts[1] == sums[0]) | (starts[1] == starts[0]) | (starts[1] == 0)).all())
    neurons = [neurons for _, neurons in parts[1]]
    return Stream(run.tokens, norms, cosines, run.hidden.double().norm(dim=-1), neurons, is_normed)


def _sizes(addition: Addition) -> tuple[Tensor, Neurons | None]:
    """Return length, cosine, and the lengths of the stream before and after, (4, i), and the largest neurons."""
    lengths = (torch.linalg.vector_norm(x.double(), dim=-1) for x in (addition.stream, addition.total))
    return torch.stack([addition.norms, addition.cosines, *lengths]).cpu(), addition.neurons(NEURONS)


@single_flight(LRUCache(LENS_BYTES, lambda lens: 5 * lens.ids.nbytes))
def lens(settings: Settings, start: int, stop: int, token: int | None = None) -> Lens:
    """Return the logit lens of some rows of a picture. Raises what `pictures.picture` and `logit_lens.lens` raise."""
    picture = pictures.picture(settings)
    with pass_slot(len(picture.run.tokens), models.count_heads(picture.model)):
        return logit_lens.lens(picture.model, picture.run, slice(start, stop), token=token)
