"""The residual stream of the token in focus: what attention and MLP of each layer add to it."""

from dataclasses import replace
from typing import TypedDict

from torch import Tensor

from headlight.picture import pictures, residual
from headlight.picture.link_query import LinkQuery
from headlight.picture.residual import Stream
from headlight.picture.settings import Settings
from headlight.ui import numbers
from mha_core.measure import measures
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

NORMED = (
    "This model norms the sum after each addition (post-norm): the stream’s length stays similar, and the vectors that "
    "are added do not sum up to the last one."
)
NO_NEURONS = (
    "The neurons of this MLP are not shown: it does not end in one matrix, because it has experts or norms its output."
)
NO_MLP = "This model has no MLP: only attention adds to the stream."


class ResidualAnswer(TypedDict):
    """The header of the answer; for each layer lengths of what attention and the MLP add, and their cosines follow."""

    layers: int
    sentences: list[str]
    neurons: list[list[tuple[int, float, float]]]  # of each layer: number, activation, length of what it adds
    effect: str  # a sentence on what the changes do to the token; "" if nothing is changed
    notes: list[str]


def answer(raw: bytes) -> bytes:
    """Return what each layer adds to the token in the row of a query."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    stream = residual.stream(settings)
    row = query.place(stream.tokens).row or 0
    model, layers = query.model, len(stream.neurons)
    has_mlp = model.encoder is None or bool(model.sizes.d_feed_forward)
    has_neurons = any(stream.neurons) or len({*settings.mlps_off, *settings.layers_off}) == layers
    header: ResidualAnswer = {
        "layers": layers,
        "sentences": _sentences(stream, row),
        "neurons": [
            [] if bars is None else list(zip(*(column[row].tolist() for column in bars), strict=True))
            for bars in stream.neurons
        ],
        "effect": _effect_text(settings, row),
        "notes": [NORMED] * stream.is_normed + ([NO_NEURONS] * (not has_neurons) if has_mlp else [NO_MLP]),
    }
    return pack_parts(pack_focus(header, stream.norms[..., row], stream.cosines[..., row]))


def _sentences(stream: Stream, row: int) -> list[str]:
    """Describe the growth of the stream, and where each part adds most."""
    start, end = (_length(stream.lengths[level, row]) for level in (0, -1))
    grows = (
        f"The vector of {quote(stream.tokens[row])} has length {start} before the first layer and {end} after the last."
    )
    places = zip(("attention", "the MLP"), stream.norms[..., row], strict=True)
    peaks = [f"{name} of layer {int(norms.argmax())} ({_length(norms.max())})" for name, norms in places if norms.any()]
    return [grows, f"Most is added by {' and by '.join(peaks)}."] if peaks else [grows]


def _length(value: Tensor) -> str:
    return numbers.number(size := float(value), 0 if size >= 100 else 1 if size >= 10 else 2)


def _effect_text(settings: Settings, row: int) -> str:
    """Describe the effect of the changes on a token’s last vector; "" if nothing is changed."""
    if settings == settings.baseline:
        return ""
    now, baseline = pictures.compute_pair(settings, settings.baseline)
    cosine = measures.cosine(now.run.hidden[-1, row], baseline.run.hidden[-1, row])
    names = [f"the MLP of layer {layer}" for layer in settings.mlps_off]
    names += [f"layer {layer}" for layer in settings.layers_off]
    is_all = settings == replace(settings.baseline, mlps_off=settings.mlps_off, layers_off=settings.layers_off)
    start = f"Without {' and '.join(names)}" if is_all and len(names) < 4 else "With all that is changed"
    fact = f"the last vector of {quote(now.run.tokens[row])} has cosine {numbers.precise(cosine)} to the unchanged one"
    return f"{start}, {fact}."
