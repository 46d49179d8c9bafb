"""Words on the screen, each computed from what is shown."""

from __future__ import annotations

from importlib.metadata import version

from mha_core import Model, device

from .cached import Picture, Settings

__all__ = ["about", "figures", "label", "precise", "sentence", "status"]


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
    if settings.position != "trained":
        parts.append("no positions" if settings.position == "none" else f"{settings.position} positions")
    if settings.temperature != 1:
        parts.append(f"temperature {settings.temperature:g}")
    if settings.heads_off:
        parts.append(f"{len(settings.heads_off)} head{'s' if len(settings.heads_off) > 1 else ''} off")
    return ", ".join(parts) or "nothing changed"


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
