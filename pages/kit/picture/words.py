"""Words on the screen, each computed from what is shown."""

from __future__ import annotations

from importlib.metadata import version

from mha_core import Model, positions
from mha_core.positions import Learned, Position, Sinusoidal

from . import mask_codec, models, pictures
from .limits import POSITIONS
from .models import MINILM
from .pictures import Picture, Settings

__all__ = [
    "about",
    "as_trained",
    "figures",
    "has_positions",
    "is_masked",
    "label",
    "own_position",
    "places",
    "position_note",
    "precise",
    "sentence",
    "status",
]

_UNTRAINED = "(this model was not trained for them)"
_POSITIONS = {"none": "no positions"} | {
    core: f"{name} positions {_UNTRAINED}" for name, core in POSITIONS.items() if core not in ("trained", "none")
}
# what a model was trained with
_OWN = {
    "sinusoidal": "the model's sinusoidal table",
    "learned": "the model's learned table",
    "rotary": "the model's rotation",
    "alibi": "the model's ALiBi bias",
    "t5": "the model's learned T5 bias",
    "shaw": "the model's learned Shaw bias",
}
_PLACES = {"add": "Added to the embeddings", "rotate": "Turns queries and keys", "bias": "Added to the scores"}


def sentence(error: Exception) -> str:
    """An error's message as a sentence."""
    message = str(error)
    return f"{message[:1].upper()}{message[1:]}."


def figures(picture: Picture, model: Model, difference: float | None) -> list[dict[str, str]]:
    """The strip under the maps: value, what it is, and a note on how to get it."""
    off, n_heads = len(picture.settings.heads_off), model.sizes.n_layers * model.sizes.n_heads
    found = [
        {"value": precise(picture.cosine), "label": "cosine of the sentence vector to the untouched model"},
        {"value": f"{off} of {n_heads}", "label": "heads switched off in the model"},
        {"value": f"{picture.worst_row_sum:.6f}", "label": "the row sum farthest from 1, over all rows of all maps"},
    ]
    if picture.settings.model != MINILM:
        first, *others = models.answer(model, picture.run) or [""]
        then = f"; then {', '.join(others)}" if others else ""
        answer = {"value": first, "label": f"what the model says of this sentence, under these settings{then}"}
        return [answer, *found] if first else found
    compared = {
        "value": "" if difference is None else "0" if difference == 0 else f"{difference:.1e}",
        "label": "largest difference to transformers, untouched model: all maps and hidden states",
        "ask": "compare now",
    }
    return [*found, compared]


def precise(value: float) -> str:
    """Three digits, six where three would say 1 of something that is not."""
    long = f"{value:.6f}"
    return long if f"{value:.3f}" == "1.000" and long != "1.000000" else f"{value:.3f}"


def status(picture: Picture, model: Model, sent: int) -> str:
    """Device, compute time, bytes, and how much of the limit is used."""
    size = f"{sent / 1000:.0f} kB" if sent < 10**6 else f"{sent / 10**6:.1f} MB"
    tokens = f"{len(picture.run.tokens)} of at most {model.sizes.max_len} tokens"
    return f"{picture.run.device} · computed in {picture.seconds * 1000:.1f} ms · {size} of maps · {tokens}"


def label(settings: Settings) -> str:
    """What differs from the untouched model, in a few words."""
    parts, model = [], pictures.model_of(settings)
    if settings.mask != "none":
        parts.append(f"mask {settings.mask.replace(':', ' ')}")
    if settings.painted:
        parts.append("painted cells for single heads" if mask_codec.per_head(settings.painted) else "painted cells")
    if settings.position != "trained":
        own = as_trained(settings.position, model)
        untrained = _POSITIONS.get(settings.position, f"{settings.position} positions {_UNTRAINED}")
        parts.append(f"{untrained.replace(_UNTRAINED, '').strip()}, as it was trained" if own else untrained)
    if settings.temperature != 1:
        parts.append(f"temperature {settings.temperature:g}")
    if settings.heads_off:
        parts.append(f"{len(settings.heads_off)} head{'s' if len(settings.heads_off) > 1 else ''} off")
    built_in = "" if model.own_mask == "none" else f", {model.own_mask} mask: built in"
    return (", ".join(parts) or "nothing changed") + built_in


def own_position(model: Model) -> str:
    """The name of the encoding that the model was trained with, out of `mha_core.positions.NAMES`."""
    return str(getattr(model.sizes, "position", "learned"))


def as_trained(position: str, model: Model) -> bool:
    """True when a position of the core's is just what the model was trained with."""
    if position in ("rotary", "alibi", "none"):
        return position == own_position(model)
    own = model.encoder.position
    return position == "trained" or (
        position == "sinusoidal"
        and isinstance(own, Sinusoidal)
        and own.amplitude == 1
        and own_position(model) == position
    )


def position_note(position: str, model: Model) -> str:
    """What a position of the core's does in this model, beside the encoding that it was trained with."""
    table = _OWN.get(own_position(model), "")
    if position == "trained":
        if not table:
            return "The model was trained without positions."
        how = " and ".join(_PLACES[place] for place in sorted(model.encoder.position.acts))
        return f"The{table[3:]}, {how[:1].lower()}{how[1:]}, as it was trained."
    if positions.is_altered(position):
        how = "its rows in another, fixed order" if position == "shuffled" else f"times {position.partition(':')[2]}"
        done = f"The{table[3:]}, {how}"
    elif position == "none":
        done = f"The{table[3:]} is left out" if table else "Nothing says where a token stands"
    else:
        made = _made(position, model)
        acts = " and ".join(_PLACES[place] for place in sorted(made.acts))
        where = "" if made.acts == {"add"} else " in every layer"
        scaled = isinstance(made, Sinusoidal) and isinstance(model.encoder.position, Learned)
        size = ", as large as the trained rows on average" if scaled else ""
        tables = ", random numbers that nobody trained" if list(made.parameters()) else ""
        rest = f"; {table} is left out" if table and not as_trained(position, model) else ""
        done = f"{acts}{where}{size}{tables}{rest}"
    fits = "The model was trained like this" if as_trained(position, model) else "The model was not trained for this"
    return f"{done}. {fits}."


def places(position: str, model: Model) -> frozenset[str]:
    """Where a position of the core's acts, as in `Position.acts`."""
    if position == "trained" or positions.is_altered(position):
        return model.encoder.position.acts
    return _made(position, model).acts


def has_positions(settings: Settings) -> bool:
    """True when something says where a token stands."""
    return bool(places(settings.position, pictures.model_of(settings)))


def is_masked(settings: Settings) -> bool:
    """True when a mask is set, or built into the model."""
    return settings.mask != "none" or bool(settings.painted) or pictures.model_of(settings).own_mask != "none"


def _trained(model: Model) -> dict[str, str]:
    """How a model was trained, when that is known."""
    history = model.history
    if history is None or history.start is None or history.end is None:
        return {}
    recipe, own = history.recipe, getattr(model.sizes, "implementation", "")
    shown = "" if own == recipe.implementation else f" (shown as {own}, with the same weights)"
    attention = f"{recipe.implementation} attention{shown}, {own_position(model)} positions"
    seeds = f"seed {recipe.seed}, data {history.start.fingerprint}"
    return {"trained": f"{history.end.step} steps, {attention}, {seeds}, {history.start.machine}"}


def _made(position: str, model: Model) -> Position:
    sizes = model.sizes
    return positions.build(position, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=sizes.max_len, seed=0)


def about(model: Model, picture: Picture) -> dict[str, str]:
    """Everything that is needed to get these numbers again."""
    facts, name = model.facts, picture.settings.model
    return {
        "model": f"{facts['model']} ({model.origin} weights)"
        if name == MINILM
        else f"{models.title(name)} ({model.origin})",
        "sha256 of the weights": facts["sha256"],
        **_trained(model),
        "settings": f"{label(picture.settings)}; {len(picture.run.tokens)} tokens",
        "versions": f"torch {facts['torch']}, streamlit {version('streamlit')}, python {facts['python']}",
        "device": f"{picture.run.device}, {model.dtype}".replace("torch.", ""),
        "threads": str(picture.threads),
    }
