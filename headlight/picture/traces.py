"""The steps of one layer as a pass recorded them, in any implementation, kept for all visitors; and random draws."""

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
from mha_core.device import seed_draws

from . import pictures, words
from .source import Excerpt, excerpt

NAMES = {"q", "k", "scores", "masked", "weights"}  # of the steps in a `Recorded`
_drawing = threading.Lock()  # torch's one generator must not be somebody else's meanwhile
_SHOWN_AS = {"torch": "nn.MultiheadAttention"}
TRACED_BYTES = 48 * 2**20  # naive on 511 tokens takes 93 MiB and is not kept


@dataclass(frozen=True)
class RandomLayer:
    """What a visitor chose instead of the model's weights.

    Attributes:
        biases: a key of `mha_core.measure.agreement.BIASES`.
        dropout: rate of the weights' dropout.
        seed: of the weights, and of what is dropped.
    """

    biases: str = "all"
    dropout: float = 0.0
    seed: int = 0

    @property
    def label(self) -> str:
        """In a few words."""
        dropped = f", dropout {self.dropout:g}" if self.dropout else ""
        return f"random weights (seed {self.seed}), {biases_in_words(self.biases)}{dropped}"


def biases_in_words(biases: str) -> str:
    """A key of `mha_core.measure.agreement.BIASES` as a sentence has it."""
    alone = f"biases of {biases.removesuffix(' alone')} alone"
    return {"all": "all biases", "none": "no biases"}.get(biases, alone)


@dataclass(frozen=True)
class Traced:
    """The steps of one layer.

    Attributes:
        steps: in the order in which they were made.
        notices: what must be said of the pass, in whole sentences.
        instead: the random weights, where they are not the model's own.
    """

    settings: Settings
    layer: int
    implementation: str
    tokens: list[str]
    steps: tuple[Step, ...]
    notices: tuple[str, ...] = ()
    instead: RandomLayer | None = None

    @property
    def nbytes(self) -> int:
        """Memory that keeping it costs; tensors that share memory count once."""
        pieces = {step.value.untyped_storage().data_ptr(): step.value.untyped_storage().nbytes() for step in self.steps}
        return sum(pieces.values())

    def parents(self, at: int) -> list[int]:
        """The numbers of the steps that step `at` was made from."""
        numbers = {step.name: number for number, step in enumerate(self.steps[:at])}
        return [numbers[name] for name in self.steps[at].of]

    def source(self, step: Step) -> Excerpt:
        """The function that recorded a step, with the lines that made it."""
        return excerpt(step.code, step.line)


def settings_within(settings: Settings, layer: int, implementation: str) -> tuple[Settings, list[str]]:
    """The settings as far as this implementation can take them, and what it cannot, as whole sentences."""
    can, left_out = IMPLEMENTATIONS[implementation].can, []
    if settings.temperature != 1 and "temperature" not in can:
        settings = replace(settings, temperature=1.0)
        left_out.append(f"{_SHOWN_AS.get(implementation, implementation)} has no temperature; shown at temperature 1.")
    if mask_codec.per_head(settings.painted) and "head_mask" not in can:
        settings = settings.without_painting
        left_out.append(
            f"{implementation} takes one mask for all heads: its steps are those without the painted cells."
        )
    model = pictures.model_of(settings)
    if not words.places(settings.position, model) - {"add"} <= can:
        name = model.sizes.position if settings.position == "trained" else settings.position
        trained = words.places("trained", model) - {"add"} <= can
        instead = "the trained ones" if trained else "none"
        left_out.append(f"{implementation} cannot apply {name} positions; shown with {instead}.")
        settings = replace(settings, position="trained" if trained else "none")
    of_layer = tuple(pair for pair in settings.heads_off if pair[0] == layer)
    if of_layer and "heads" not in can:
        settings = replace(settings, heads_off=tuple(pair for pair in settings.heads_off if pair[0] != layer))
        left_out.append(
            f"{implementation} cannot switch heads off: its steps are those with all heads of this layer on."
        )
    if settings.values_off and "values_off" not in can:
        settings = replace(settings, values_off=())
        left_out.append(f"{implementation} cannot switch a value off: its steps are those with all values on.")
    return settings, left_out


@single_flight(LRUCache(TRACED_BYTES, getsizeof=lambda trace: trace.nbytes))
def traced(settings: Settings, layer: int, implementation: str) -> Traced:
    """The steps, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    model = pictures.model_of(settings)
    models.require(model, "steps")
    with pass_slot(len(model.tokenize(settings.text)[1]), models.heads(model)):
        run = settings.run(model, trace_layer=layer, implementation=implementation)
    return Traced(settings, layer, implementation, run.tokens, run.steps, run.notices)


@dataclass(frozen=True)
class Recorded:
    """The tensors of one layer that a pass recorded, on the CPU.

    Attributes:
        q: (h, i, d). k: (h, j, d). scores, weights: (h, i, j).
        allow: (h, i, j), True = may look; None when everything is allowed.
        notices: what must be said of the pass, in whole sentences.
    """

    tokens: list[str]
    q: Tensor
    k: Tensor
    scores: Tensor
    weights: Tensor
    allow: Tensor | None
    notices: tuple[str, ...] = ()

    def bias(self, head: int, temperature: float) -> Tensor | None:
        """(i, j), what the scores of a head have beyond q·k / √d: the position's part; None when that is rounding."""
        plain = self.q[head].double() @ self.k[head].double().T / math.sqrt(self.q.shape[-1])
        beyond = self.scores[head].double() * temperature - plain
        return beyond if float(beyond.abs().max()) > 1e-4 * max(1.0, float(plain.abs().max())) else None


def recorded(settings: Settings, layer: int) -> Recorded:
    """Return the trace of one layer in the pass of these settings. Raises what `Model.run` raises."""
    trace = traced(settings, layer, "fused")
    steps = {step.name: step.value[0] for step in trace.steps if step.name in NAMES}
    masked = steps.pop("masked", None)
    return Recorded(trace.tokens, **steps, allow=None if masked is None else masked > -math.inf, notices=trace.notices)


def value_lengths(settings: Settings, layer: int) -> Tensor:
    """‖v‖ of every key in every head, (h, j): float32, of the pass, or of a recorded one of the layer.

    Weights tell who is looked at, and not how much is handed over. Heads that share their values have the same. Raises
    what `Model.run` raises.
    """
    model = pictures.model_of(settings)
    if "steps" not in model.can:
        v = pictures.picture(settings).run.extras.values[layer]
    else:
        v = next(step.value for step in traced(settings, layer, "fused").steps if step.name == "v")[0]
    found: Tensor = torch.linalg.vector_norm(v.float(), dim=-1)
    return found.repeat_interleave(model.sizes.n_heads // len(found), dim=0)


@contextmanager
def drawn(seed: int, x: Tensor) -> Iterator[None]:
    """In here torch draws by this seed on the device of `x`, without gradients, the same on every rerun; afterwards it
    goes on as before.
    """
    devices = [x.device] if x.is_cuda else []
    with _drawing, torch.random.fork_rng(devices), torch.no_grad():
        seed_draws(x.device, seed)
        yield
