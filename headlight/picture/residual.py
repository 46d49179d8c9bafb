"""What the layers of a picture add to the residual stream, and its logit lens, cached for all clients."""

from dataclasses import dataclass
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

PARTS = ("attention", "mlp")
NEURONS = 8  # of each token and layer that are kept
STREAM_BYTES = LENS_BYTES = 16 * 2**20  # a stream of 512 tokens of SmolLM2 has 4 MiB, a lens of 12 tokens 40 KiB


class _Summary(NamedTuple):
    """An addition without its vectors: numbers of every token, (i,)."""

    norms: Tensor
    cosines: Tensor
    before: Tensor
    after: Tensor
    neurons: Neurons | None


@dataclass(frozen=True)
class Stream:
    """What each layer adds to the stream of each token; 0 where a part is ablated or does not exist.

    Attributes:
        tokens: of the text.
        norms: by part of `PARTS`, the length of what it adds, (layers, i) float64.
        cosines: by part, its cosine to the stream before, (layers, i).
        lengths: of the stream, (layers + 1, i), [0] = before the first layer.
        neurons: of the MLP of each layer; None where they are not known.
        is_normed: whether layers norm the stream after an addition (post-norm).
    """

    tokens: list[str]
    norms: dict[str, Tensor]
    cosines: dict[str, Tensor]
    lengths: Tensor
    neurons: list[Neurons | None]
    is_normed: bool

    @property
    def nbytes(self) -> int:
        """Memory that caching it costs."""
        return 8 * (5 + 3 * NEURONS) * self.lengths.numel()


@single_flight(LRUCache(STREAM_BYTES, lambda stream: stream.nbytes))
def stream(settings: Settings) -> Stream:
    """Return what the layers add in the picture of these settings, from a pass of its own.

    Raises what `pictures.picture` and `mha_core.measure.residual.additions` raise.
    """
    picture = pictures.picture(settings)
    model, run = picture.model, picture.run
    with pass_slot(pictures.pass_length(model, settings.text), models.count_heads(model)):
        layers = additions(model, run, lambda: settings.run(model), _summarize)
    nothing = torch.zeros(len(run.tokens), dtype=torch.float64)
    norms, cosines = (
        {
            part: torch.stack([getattr(layer[part], name) if part in layer else nothing for layer in layers])
            for part in PARTS
        }
        for name in ("norms", "cosines")
    )
    pairs = [(layer["attention"], layer["mlp"]) for layer in layers if len(layer) == len(PARTS)]
    return Stream(
        tokens=run.tokens,
        norms=norms,
        cosines=cosines,
        lengths=run.hidden.double().norm(dim=-1),
        neurons=[layer["mlp"].neurons if "mlp" in layer else None for layer in layers],
        is_normed=any(not torch.equal(first.after, then.before) for first, then in pairs),
    )


def _summarize(addition: Addition) -> _Summary:
    before, after = (x.double().norm(dim=-1).cpu() for x in (addition.before, addition.after))
    neurons = addition.neurons(NEURONS)
    parts = None if neurons is None else Neurons(*(part.cpu() for part in vars(neurons).values()))
    return _Summary(addition.norms.cpu(), addition.cosines.cpu(), before, after, parts)


@single_flight(LRUCache(LENS_BYTES, lambda lens: 5 * lens.index.nbytes))
def lens(settings: Settings, start: int, stop: int) -> Lens:
    """Return the logit lens of some rows of a picture. Raises what `pictures.picture` and `logit_lens.lens` raise."""
    picture = pictures.picture(settings)
    with pass_slot(len(picture.run.tokens), models.count_heads(picture.model)):
        return logit_lens.lens(picture.model, picture.run, slice(start, stop))
