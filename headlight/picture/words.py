"""Texts about a picture, computed from its settings and tensors."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import NotRequired, TypedDict

from torch import Tensor

from headlight.link import mask_codec, rules
from headlight.link.limits import POSITIONS
from headlight.registry import MINILM, get_source, models
from headlight.registry.recordings import RecordedModel
from headlight.ui import numbers
from mha_core import Model, positions
from mha_core.measure.measures import repeated_words
from mha_core.models import interventions
from mha_core.models.model import EVERYTHING
from mha_core.positions import Learned
from mha_core.token_text import quote, quote_all

from .pictures import Picture
from .settings import Settings

NOT_TRAINED = "The model was not trained this way, so its output may not be meaningful"

_ROUNDING = 1e-5  # largest difference between rows that are called the same
_TRAINED = {
    "sinusoidal": "the model’s sinusoidal table",
    "learned": "the model’s learned table",
    "rotary": "the model’s rotation",
    "alibi": "the model’s ALiBi bias",
    "t5": "the model’s learned T5 bias",
    "shaw": "the model’s learned Shaw bias",
}
_WITH_TABLES = {"learned", "t5", "shaw"}
_PLACES = {"add": "Added to the embeddings", "rotate": "Turns queries and keys", "bias": "Added to the scores"}


class Figure(TypedDict):
    """A value with its label."""

    value: str
    label: str
    ask: NotRequired[str]  # label of the button that computes the value


def error_sentence(error: Exception) -> str:
    """Return the message of an error as a sentence."""
    return f"{numbers.capital(str(error)).rstrip('.')}."


def figures(picture: Picture) -> list[Figure]:
    """Return the figures below the maps."""
    model, settings = picture.model, picture.settings
    if isinstance(model, RecordedModel):
        return [_row_sum(picture)]
    n_layers, n_heads = model.sizes.n_layers, models.count_heads(model)
    counts = {"heads": (len(settings.heads_off), n_heads)}
    layers = {"MLPs": settings.mlps_off, "layers": settings.layers_off}
    counts |= {noun: (len(off), n_layers) for noun, off in layers.items() if off}
    ablations: list[Figure] = [
        {"value": f"{off} of {count}", "label": f"ablated {noun}"} for noun, (off, count) in counts.items()
    ]
    strip: list[Figure] = [
        {"value": numbers.precise(picture.cosine), "label": "cosine to the unchanged model’s sentence vector"},
        *ablations,
        _row_sum(picture),
    ]
    if settings.model != MINILM:
        first, *others = models.answer(model, picture.run) or [""]
        then = f"; then {', '.join(others)}" if others else ""
        label = f"the model’s answer for this {input_noun(model)} with these settings{then}"
        answer: Figure = {"value": first, "label": label}
        return [answer, *strip] if first else strip
    label = "largest difference from Hugging Face transformers (unchanged model, all maps and hidden states)"
    return [*strip, {"value": "", "label": label, "ask": "compare now"}]


def _row_sum(picture: Picture) -> Figure:
    label = "row sum farthest from 1, over all rows of all maps"
    return {"value": f"{picture.worst_row_sum:.6f}", "label": label}


def status(picture: Picture, sent: int) -> str:
    """Return device, computation time, size in bytes and number of tokens."""
    size = f"{sent / 1000:.0f} kB" if sent < 10**6 else f"{sent / 10**6:.1f} MB"
    if isinstance(picture.model, RecordedModel):
        return f"{picture.run.interventions.summary} · {size} of maps · {len(picture.run.tokens)} tokens"
    tokens = f"{len(picture.run.tokens)} of at most {picture.model.sizes.max_len} tokens"
    took = f" · computed in {picture.seconds * 1000:.1f} ms" if picture.seconds else ""
    return f"{picture.run.device}{took} · {size} of maps · {tokens}"


def row_notes(model: Model) -> list[str]:
    """Return a note on whose tokens the rows are, if they are not those of the sentence."""
    if model.group not in ("decoder", "cross") or len(model.groups) == 1:
        return []
    looked_at = f"; the columns are the {input_noun(model)}" if model.group == "cross" else ""
    return [f"The rows are the tokens that the model generates, the most likely one at each step{looked_at}."]


def ablation_notes(settings: Settings, model: Model) -> list[str]:
    """Return a note on what is left if every layer or every head is ablated."""
    n_layers = model.sizes.n_layers
    if len(settings.layers_off) == n_layers:
        end = "." if model.encoder is None else ", so the last one gives the embeddings."
        return [f"Every layer with these maps is ablated: each hands on its input unchanged{end}"]
    if len(settings.silent_heads(model)) < models.count_heads(model):
        return []
    mlps = "; every MLP is ablated too" if len(settings.mlps_off) == n_layers else ""
    return [f"Every head is ablated: in these layers no token receives anything from another{mlps}."]


def input_noun(model: Model) -> str:
    """Return the noun for a model's input: "sentence", "picture" or "sound"."""
    return "sentence" if model.reads == "text" else model.reads


def modality_notes(model: Model) -> list[str]:
    """Return a note on what a word is for a model that reads pictures or sounds."""
    meanings = {"picture": "a patch, named by its row and column", "sound": "a moment, named by its start time"}
    if model.reads not in meanings:
        return []
    return [f"This model reads {model.reads}s, so “word” on this page means {meanings[model.reads]}."]


def weights(model: Model) -> str:
    """Return whose weights these are, as in "pretrained weights"."""
    texts = {"trained here": "weights trained here", "recorded": "without the model’s weights"}
    return texts.get(model.origin, f"{model.origin} weights")


def label(settings: Settings, model: Model) -> str:
    """Return a short description of what differs from the unmodified model; of a recording, its step."""
    if isinstance(model, RecordedModel):
        return model.recording.describe(model.step_number(settings.text))
    mask = _mask_label(settings, model) if settings.mask != "none" else []
    if settings.painted:
        mask.append("painted cells for single heads" if mask_codec.is_per_head(settings.painted) else "painted cells")
    return interventions.describe(
        model,
        mask,
        position=settings.position,
        temperature=settings.temperature,
        n_heads_off=len(settings.heads_off),
        n_mlps_off=len(settings.mlps_off),
        n_layers_off=len(settings.layers_off),
        values_off=_tokens_at(settings, model, settings.values_off),
    )


def _mask_label(settings: Settings, model: Model) -> list[str]:
    """Return descriptions of the mask and of the tokens hidden from all others."""
    unseen, rest = rules.unseen_tokens(settings.mask), rules.without_unseen(settings.mask)
    hidden = quote_all(_tokens_at(settings, model, unseen))
    rule = rest if hidden else settings.mask
    return [
        *([f"mask {rule.replace(':', ' ')}"] if rule != "none" else []),
        *([f"{hidden} masked for all others"] if hidden else []),
    ]


def _tokens_at(settings: Settings, model: Model, places: Sequence[int]) -> list[str]:
    """Return the tokens of the sentence at these places, skipping places beyond its end."""
    tokens = model.encode(settings.text)[0] if places else []
    return [tokens[place] for place in places if place < len(tokens)]


def zeroed_values(settings: Settings, model: Model) -> str:
    """Return the description of the zeroed values, 'without the value of “[CLS]”'; "" without any."""
    return interventions.ablated_values_text(_tokens_at(settings, model, settings.values_off))


def implementation_note(model: Model) -> str:
    """Return a note if the model's implementation is not the one it was trained in, otherwise ""."""
    if model.history is None:
        return ""
    current, trained = model.sizes.implementation, model.history.recipe.implementation
    return "" if trained == current else f"Trained with {trained}, computed here by {current} with the same weights."


def encodings(model: Model) -> list[tuple[str, str]]:
    """Return the encodings that a model supports, each with its effect."""
    can = models.encodings(model)
    return [(name, position_note(core, model)) for name, core in POSITIONS.items() if core in can]


def position_note(position: str, model: Model) -> str:
    """Return the effect of a positional encoding in this model, compared with the one it was trained with."""
    stack = model.encoder
    if stack is None:
        return "As it was trained." if position == "trained" else f"No position information at all. {NOT_TRAINED}."
    trained = _TRAINED.get(model.sizes.position, "")
    if position == "trained":
        if not trained:
            return "The model was trained without positions."
        effect = _acting(stack.position.mechanisms)
        return f"The{trained[3:]}, {effect[:1].lower()}{effect[1:]}, as in training."
    if positions.is_altered(position):
        factor = position.partition(":")[2]
        effect = "its rows shuffled (always the same way)" if position == "shuffled" else f"times {factor}"
        note = f"The{trained[3:]}, {effect}"
    elif position == "none":
        note = f"The{trained[3:]} is left out" if trained else "No position information at all"
    else:
        acts = positions.mechanisms(position)
        scope = "" if acts == {"add"} else " in every layer"
        scaled = position == "sinusoidal" and isinstance(stack.position, Learned)
        size = ", as large as the trained rows on average" if scaled else ""
        tables = ", with random numbers instead of trained ones" if position in _WITH_TABLES else ""
        rest = f"; {trained} is left out" if trained and not interventions.is_as_trained(position, model) else ""
        note = f"{_acting(acts)}{scope}{size}{tables}{rest}"
    fits = "The model was trained like this" if interventions.is_as_trained(position, model) else NOT_TRAINED
    return f"{note}. {fits}."


def position_title(name: str) -> str:
    """Return the heading of an encoding."""
    return {"none": "No positional encoding", "alibi": "ALiBi"}.get(name, numbers.capital(name))


def _acting(acts: frozenset[str]) -> str:
    return " and ".join(_PLACES[place] for place in sorted(acts))


def position_places(position: str, model: Model) -> frozenset[str]:
    """Return the places where a positional encoding acts, as `Position.mechanisms`."""
    if position != "trained":
        return positions.mechanisms(position)
    stack = model.encoder
    return stack.position.mechanisms if stack else frozenset(("add",))


def has_positions(settings: Settings, model: Model) -> bool:
    """Return whether the model receives any position information."""
    return bool(position_places(settings.position, model))


def is_masked(settings: Settings, model: Model) -> bool:
    """Return whether a mask is set, or built into the model."""
    return settings.mask != "none" or bool(settings.painted) or model.own_mask != "none"


def _trained(model: Model) -> dict[str, str]:
    """Return how the model was trained, if that is known."""
    history = model.history
    if history is None or history.start is None or history.end is None:
        return {}
    recipe, now = history.recipe, model.sizes.implementation
    note = "" if now == recipe.implementation else f" (shown as {now}, with the same weights)"
    attention = f"{recipe.implementation} attention{note}, {model.sizes.position} positions"
    seeds = f"seed {recipe.seed}, data {history.start.fingerprint}"
    return {"trained": f"{history.end.step} steps, {attention}, {seeds}, {history.start.machine}"}


def provenance(picture: Picture) -> dict[str, str]:
    """Return all details needed to reproduce these numbers."""
    model, name = picture.model, picture.settings.model
    facts, title = model.facts, f"{get_source(name).title} ({model.origin})"
    if model.encoder is None:
        return {"model": title, **facts, **_capabilities(model), **_device_facts(picture)}
    return {
        "model": f"{facts['model']} ({weights(model)})" if name == MINILM else title,
        "sha256 of the weights": facts["sha256"],
        **_trained(model),
        "versions": f"torch {facts['torch']}, streamlit {version('streamlit')}, python {facts['python']}",
        **_device_facts(picture),
    }


def _device_facts(picture: Picture) -> dict[str, str]:
    """Return how this picture was computed."""
    model = picture.model
    return {
        "memory of these maps": f"{picture.run.weights.nbytes / 1e6:.1f} MB",
        "settings": f"{label(picture.settings, model)}; {len(picture.run.tokens)} tokens",
        "device": f"{picture.run.device}, {model.dtype}".replace("torch.", ""),
        "threads": str(picture.threads),
    }


def _capabilities(model: Model) -> dict[str, str]:
    """Return what can be changed in a model, and why the rest cannot."""
    lacks = {f"no {name}": models.reason(model, name) for name in sorted(EVERYTHING - model.can)}
    return {"can be changed": ", ".join(sorted(model.can)) or "nothing", **lacks}


def describe_repeats(tokens: Sequence[str], weights: Tensor) -> str:
    """Return whether the rows (i, j) of a repeated token are equal, or where each one peaks; "" without a repeat."""
    rows = repeated_words(weights, [tokens.index(token) for token in tokens])
    if rows is None:
        return ""
    places = f"{', '.join(map(str, rows.places[:-1]))} and {rows.places[-1]}"
    start = f"The rows of {quote(tokens[rows.places[0]])} (at {places})"
    if rows.difference <= _ROUNDING:
        return f"{start} are the same up to rounding (largest difference {numbers.small(rows.difference)})."
    maxima = []
    for place in rows.places:
        row = weights[place]
        peak = int(row.argmax())
        maxima.append(
            f"the one at {place} attends most to {quote(tokens[peak])} at {peak} ({numbers.share(float(row[peak]), 2)})"
        )
    return f"{start} differ by up to {numbers.small(rows.difference)}: {', '.join(maxima)}."
