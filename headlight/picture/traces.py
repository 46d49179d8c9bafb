"""Recorded steps of one layer, cached for all clients, and seeded random draws."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link import mask_codec
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import IMPLEMENTATIONS, Step
from mha_core.device import seed_dropout

from . import pictures, words
from .step_source import Excerpt, excerpt

STEP_NAMES = {"q", "k", "scores", "masked", "weights"}  # steps in a `LayerTensors`
_generator_lock = threading.Lock()  # torch's generator is shared by all threads
_LABELS = {"torch": "nn.MultiheadAttention"}
TRACED_BYTES = 48 * 2**20  # naive on 511 tokens takes 93 MiB and is not cached


@dataclass(frozen=True)
class RandomLayer:
    """A layer with random weights in place of the model's."""

    biases: str = "all"  # a key of `mha_core.measure.agreement.BIASES`
    dropout: float = 0.0  # dropout rate of the attention weights
    seed: int = 0  # seed of the weights and of the dropout

    @property
    def label(self) -> str:
        """A short description."""
        dropped = f", dropout {self.dropout:g}" if self.dropout else ""
        return f"random weights (seed {self.seed}), {biases_in_words(self.biases)}{dropped}"


def biases_in_words(biases: str) -> str:
    """Return a short description of a key of `mha_core.measure.agreement.BIASES`."""
    alone = f"biases of {biases.removesuffix(' alone')} alone"
    return {"all": "all biases", "none": "no biases"}.get(biases, alone)


@dataclass(frozen=True)
class LayerTrace:
    """The recorded steps of one layer."""

    settings: Settings
    layer: int
    implementation: str
    tokens: list[str]
    steps: tuple[Step, ...]  # steps in the order of the computation
    notices: tuple[str, ...] = ()  # notices about the pass, whole sentences
    random_layer: RandomLayer | None = None  # the random layer that replaces the model's, if any

    @property
    def nbytes(self) -> int:
        """Memory that caching the trace costs; storage that tensors share counts once."""
        pieces = {step.value.untyped_storage().data_ptr(): step.value.untyped_storage().nbytes() for step in self.steps}
        return sum(pieces.values())

    def parents(self, index: int) -> list[int]:
        """Return the indices of the steps that a step was computed from."""
        numbers = {step.name: number for number, step in enumerate(self.steps[:index])}
        return [numbers[name] for name in self.steps[index].inputs]

    def source(self, step: Step) -> Excerpt:
        """Return the function that recorded a step, with the lines that computed it."""
        return excerpt(step.code, step.line)


def supported_settings(settings: Settings, layer: int, implementation: str) -> tuple[Settings, list[str]]:
    """Return the settings that an implementation supports, and warnings about the others."""
    can, warnings = IMPLEMENTATIONS[implementation].can, []
    if settings.temperature != 1 and "temperature" not in can:
        settings = replace(settings, temperature=1.0)
        warnings.append(f"{_LABELS.get(implementation, implementation)} has no temperature; shown at temperature 1.")
    if mask_codec.is_per_head(settings.painted) and "head_mask" not in can:
        settings = settings.without_painting
        warnings.append(
            f"{implementation} takes one mask for all heads: its steps are those without the painted cells."
        )
    model = pictures.model_for(settings)
    if not words.position_places(settings.position, model) - {"add"} <= can:
        name = model.sizes.position if settings.position == "trained" else settings.position
        trained = words.position_places("trained", model) - {"add"} <= can
        instead = "the trained ones" if trained else "none"
        warnings.append(f"{implementation} cannot apply {name} positions; shown with {instead}.")
        settings = replace(settings, position="trained" if trained else "none")
    heads_off = tuple(pair for pair in settings.heads_off if pair[0] == layer)
    if heads_off and "heads" not in can:
        settings = replace(settings, heads_off=tuple(pair for pair in settings.heads_off if pair[0] != layer))
        warnings.append(
            f"{implementation} cannot switch heads off: its steps are those with all heads of this layer on."
        )
    if settings.values_off and "values_off" not in can:
        settings = replace(settings, values_off=())
        warnings.append(f"{implementation} cannot switch a value off: its steps are those with all values on.")
    return settings, warnings


@single_flight(LRUCache(TRACED_BYTES, getsizeof=lambda trace: trace.nbytes))
def trace_layer(settings: Settings, layer: int, implementation: str) -> LayerTrace:
    """Compute or fetch the cached trace of a layer. Raises what `Model.run` raises."""
    model = pictures.model_for(settings)
    models.require(model, "steps")
    with pass_slot(len(model.tokenize(settings.text)[1]), models.count_heads(model)):
        run = settings.run(model, trace_layer=layer, implementation=implementation)
    return LayerTrace(settings, layer, implementation, run.tokens, run.steps, run.notices)


@dataclass(frozen=True)
class LayerTensors:
    """The recorded tensors of one layer, on the CPU."""

    tokens: list[str]
    q: Tensor  # (h, i, d)
    k: Tensor  # (h, j, d)
    scores: Tensor  # (h, i, j)
    weights: Tensor  # (h, i, j)
    allow: Tensor | None  # (h, i, j), True = may attend; None if all cells are allowed
    notices: tuple[str, ...] = ()  # notices about the pass, whole sentences

    def bias(self, head: int, temperature: float) -> Tensor | None:
        """Return the position's part (i, j) of a head's scores, beyond q·k / √d; None within rounding."""
        plain = self.q[head].double() @ self.k[head].double().T / math.sqrt(self.q.shape[-1])
        beyond = self.scores[head].double() * temperature - plain
        return beyond if float(beyond.abs().max()) > 1e-4 * max(1.0, float(plain.abs().max())) else None


def layer_tensors(settings: Settings, layer: int) -> LayerTensors:
    """Return the recorded tensors of one layer. Raises what `Model.run` raises."""
    trace = trace_layer(settings, layer, "fused")
    steps = {step.name: step.value[0] for step in trace.steps if step.name in STEP_NAMES}
    mask = steps.pop("masked", None)
    return LayerTensors(trace.tokens, **steps, allow=None if mask is None else mask > -math.inf, notices=trace.notices)


def value_norms(settings: Settings, layer: int) -> Tensor:
    """Return ‖v‖ of every key in every head, (h, j) in float32.

    Weights show where a query looks, but not how much it receives. Heads that share their values have the same norms.
    Raises what `Model.run` raises.
    """
    model = pictures.model_for(settings)
    if "steps" not in model.can:
        v = pictures.picture(settings).run.extras.values[layer]
    else:
        v = next(step.value for step in trace_layer(settings, layer, "fused").steps if step.name == "v")[0]
    lengths: Tensor = torch.linalg.vector_norm(v.float(), dim=-1)
    return lengths.repeat_interleave(model.sizes.n_heads // len(lengths), dim=0)


@contextmanager
def fixed_seed(seed: int, x: Tensor) -> Iterator[None]:
    """Seed torch's generator for the device of `x` and disable gradients, restoring both at the end of the block."""
    devices = [x.device] if x.is_cuda else []
    with _generator_lock, torch.random.fork_rng(devices), torch.no_grad():
        seed_dropout(x.device, seed)
        yield
