"""The residual stream of the token in focus: what attention and MLP of each layer add to it."""

from typing import TypedDict

import torch

from headlight.picture import next_token, pictures, residual
from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from headlight.picture.residual import Stream
from headlight.picture.settings import Settings
from headlight.ui import numbers
from mha_core.errors import Unsupported
from mha_core.measure import logit_lens, measures
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

GLOSS = (
    "Each layer does not replace a token’s vector: it adds to it. This running sum is the token’s residual stream. "
    "Attention adds what it gathers from other tokens, the MLP what it computes from this token alone."
)
NORMED = "This model norms the sum after each addition (post-norm), so the stream’s length stays similar and lengths do not add up."
NO_NEURONS = "The neurons of this MLP are not shown: it does not end in one matrix, because it has experts or norms its output."
NO_MLP = "This model has no MLP: only attention adds to the stream."
NAMES = {"attention": "attention", "mlp": "the MLP"}


class NeuronBar(TypedDict):
    """One neuron of an MLP."""

    index: int
    activation: float
    norm: float  # of the vector that it adds


class ResidualAnswer(TypedDict):
    """The header of the answer; lengths (layers) of what attention and the MLP add, their cosines and the stream follow."""

    tokens: list[str]
    layers: int
    row: int
    gloss: str
    sentences: list[str]
    layerSentences: list[str]  # one for each layer
    neurons: list[list[NeuronBar]]  # of each layer, the largest first
    notes: list[str]
    effect: str  # a sentence on what the changes do to the token; "" if nothing is changed


def answer(raw: bytes) -> bytes:
    """Return what each layer adds to the token in the row of a query."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    stream = residual.stream(settings)
    row = query.place(stream.tokens).row or 0
    model, layers = query.model, len(stream.neurons)
    has_mlp = model.encoder is None or bool(model.sizes.d_feed_forward)
    ablated = {*settings.mlps_off, *settings.layers_off}
    has_neurons = any(stream.neurons) or len(ablated) == layers
    header: ResidualAnswer = {
        "tokens": stream.tokens,
        "layers": layers,
        "row": row,
        "gloss": GLOSS,
        "sentences": _largest_text(stream, row),
        "layerSentences": [_layer_text(stream, row, layer, settings) for layer in range(layers)],
        "neurons": [_neurons(stream, layer, row) for layer in range(layers)],
        "notes": [NORMED] * stream.is_normed
        + ([NO_MLP] if not has_mlp else [NO_NEURONS] * (not has_neurons)),
        "effect": effect_text(settings, row),
    }
    values = [*(stream.norms[part][:, row] for part in residual.PARTS), *(stream.cosines[part][:, row] for part in residual.PARTS)]
    return pack_parts(pack_focus(header, *values, stream.lengths[:, row]))


def _neurons(stream: Stream, layer: int, row: int) -> list[NeuronBar]:
    found = stream.neurons[layer]
    if found is None:
        return []
    columns = (found.index[row].tolist(), found.activation[row].tolist(), found.norm[row].tolist())
    return [
        NeuronBar(index=index, activation=round(activation, 4), norm=round(norm, 4))
        for index, activation, norm in zip(*columns, strict=True)
    ]


def _largest_text(stream: Stream, row: int) -> list[str]:
    """Describe the growth of the stream, and where each part adds most."""
    token, lengths = quote(stream.tokens[row]), stream.lengths[:, row]
    texts = [
        f"The vector of {token} has length {_length(lengths[0])} before the first layer and {_length(lengths[-1])} "
        "after the last."
    ]
    most = []
    for part in residual.PARTS:
        norms = stream.norms[part][:, row]
        if bool(norms.any()):
            layer = int(norms.argmax())
            most.append(f"{NAMES[part]} of layer {layer} ({_length(norms[layer])})")
    return texts + ([f"Most is added by {' and by '.join(most)}."] if most else [])


def _layer_text(stream: Stream, row: int, layer: int, settings: Settings) -> str:
    """Describe what a layer adds."""
    if layer in settings.layers_off:
        return f"Layer {layer} is ablated: it hands on the stream unchanged."
    parts = []
    for part in residual.PARTS:
        norm, cosine = (values[part][layer, row] for values in (stream.norms, stream.cosines))
        if part == "mlp" and layer in settings.mlps_off:
            parts.append("its MLP is ablated and adds nothing")
        elif norm or part == "attention":
            parts.append(f"{NAMES[part]} adds a vector of length {_length(norm)}, {_direction(float(cosine))}")
    return f"Layer {layer} meets a stream of length {_length(stream.lengths[layer, row])}: {'; '.join(parts)}."


def _direction(cosine: float) -> str:
    text = f"cosine {numbers.number(cosine, 2)}"
    if abs(cosine) < 0.2:
        return f"nearly at a right angle to it ({text})"
    return f"partly {'along' if cosine > 0 else 'against'} it ({text})"


def _length(value: float | torch.Tensor) -> str:
    size = float(value)
    return numbers.number(size, 0 if size >= 100 else 1 if size >= 10 else 2)


def effect_text(settings: Settings, row: int) -> str:
    """Describe what the changes do to the last vector of a token, and to the next token of a language model."""
    if settings == settings.baseline:
        return ""
    now, before = pictures.compute_pair(settings, settings.baseline)
    cosine = measures.cosine(now.run.hidden[-1, row], before.run.hidden[-1, row])
    names = [f"the MLP of layer {layer}" for layer in settings.mlps_off]
    names += [f"layer {layer}" for layer in settings.layers_off]
    is_only = settings == Settings(**vars(settings.baseline) | {name: getattr(settings, name) for name in ("mlps_off", "layers_off")})
    start = f"Without {' and '.join(names)}" if is_only and len(names) < 4 else "With all that is changed"
    token = quote(now.run.tokens[row])
    return f"{start}, the last vector of {token} has cosine {numbers.precise(cosine)} to the unchanged one{_next_text(now, before, row)}."


def _next_text(now: Picture, before: Picture, row: int) -> str:
    try:
        if not next_token.continues_text(now):
            return ""
        rows = slice(row, row + 1)
        old, new = (
            logit_lens.logits(side.model, side.run, len(side.run.hidden) - 1, rows)[0].double().softmax(-1)
            for side in (before, now)
        )
    except Unsupported:
        return ""
    first, likeliest = int(old.argmax()), int(new.argmax())
    changed = f"{quote(next_token.token_label(now, first))} follows it with {numbers.weight(float(new[first]))} instead of {numbers.weight(float(old[first]))}"
    rest = "" if first == likeliest else f", and {quote(next_token.token_label(now, likeliest))} is now the likeliest"
    return f"; {changed}{rest}"
