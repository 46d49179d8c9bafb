"""Words on the screen, each computed from what is shown."""

from __future__ import annotations

from importlib.metadata import version

from mha_core import Model, device, positions
from mha_core.positions import Position

from . import painted
from .cached import Picture, Settings
from .limits import POSITIONS

__all__ = ["about", "figures", "label", "places", "position_note", "precise", "sentence", "status"]

_UNTRAINED = "(this model was not trained for them)"
_POSITIONS = {"none": "no positions"} | {
    core: f"{name} positions {_UNTRAINED}" for name, core in POSITIONS.items() if core not in ("trained", "none")
}
_PLACES = {"add": "Added to the embeddings", "rotate": "Turns queries and keys", "bias": "Added to the scores"}


def sentence(error: Exception) -> str:
    """An error's message as a sentence."""
    message = str(error)
    return f"{message[:1].upper()}{message[1:]}."


def figures(picture: Picture, model: Model, difference: float | None) -> list[dict[str, str]]:
    """The strip of four: value, what it is, and a note on how to get it."""
    off, n_heads = len(picture.settings.heads_off), model.sizes.n_layers * model.sizes.n_heads
    return [
        {"value": precise(picture.cosine), "label": "cosine of the sentence vector to the untouched model"},
        {"value": f"{off} of {n_heads}", "label": "heads switched off in the model"},
        {"value": f"{picture.worst_row_sum:.6f}", "label": "the row sum farthest from 1, over all rows of all maps"},
        {
            "value": "" if difference is None else "0" if difference == 0 else f"{difference:.1e}",
            "label": "largest difference to transformers, untouched model: all maps and hidden states",
            "ask": "compare now",
        },
    ]


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
    parts = []
    if settings.mask != "none":
        parts.append(f"mask {settings.mask.replace(':', ' ')}")
    if settings.painted:
        parts.append("painted cells for single heads" if painted.per_head(settings.painted) else "painted cells")
    if settings.position != "trained":
        parts.append(_POSITIONS.get(settings.position, f"{settings.position} positions {_UNTRAINED}"))
    if settings.temperature != 1:
        parts.append(f"temperature {settings.temperature:g}")
    if settings.heads_off:
        parts.append(f"{len(settings.heads_off)} head{'s' if len(settings.heads_off) > 1 else ''} off")
    return ", ".join(parts) or "nothing changed"


def position_note(position: str, model: Model) -> str:
    """What a position of the core's does in this model, beside the learned table that it was trained with."""
    table = "the model's learned table"
    if position == "trained":
        return f"The{table[3:]}, added to the embeddings, as it was trained."
    if positions.is_altered(position):
        how = "its rows in another, fixed order" if position == "shuffled" else f"times {position.partition(':')[2]}"
        done = f"The{table[3:]}, {how}"
    elif position == "none":
        done = f"The{table[3:]} is left out"
    else:
        made = _made(position, model)
        acts = " and ".join(_PLACES[place] for place in sorted(made.acts))
        where = "" if made.acts == {"add"} else " in every layer"
        size = ", as large as the trained rows on average" if isinstance(made, positions.Sinusoidal) else ""
        tables = ", random numbers that nobody trained" if list(made.parameters()) else ""
        done = f"{acts}{where}{size}{tables}; {table} is left out"
    return f"{done}. The model was not trained for this."


def places(position: str, model: Model) -> frozenset[str]:
    """Where a position of the core's acts, as in `Position.acts`."""
    if position == "trained" or positions.is_altered(position):
        return frozenset({"add"})
    return _made(position, model).acts


def _made(position: str, model: Model) -> Position:
    sizes = model.sizes
    return positions.build(position, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=sizes.max_len, seed=0)


def about(model: Model, picture: Picture) -> dict[str, str]:
    """Everything that is needed to get these numbers again."""
    facts = model.facts
    return {
        "model": f"{facts['model']} ({model.origin} weights)",
        "sha256 of the weights": facts["sha256"],
        "settings": f"{label(picture.settings)}; {len(picture.run.tokens)} tokens",
        "versions": f"torch {facts['torch']}, streamlit {version('streamlit')}, python {facts['python']}",
        "device": f"{picture.run.device}, {model.dtype}".replace("torch.", ""),
        "threads": str(device.threads()),
    }
