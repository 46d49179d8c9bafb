"""A layer with random weights in the place of the model's own: its biases and dropout are the visitor's to choose."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from headlight.picture import pictures, traces
from headlight.picture.settings import Settings
from headlight.picture.traces import RandomLayer, Traced, drawn
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import IMPLEMENTATIONS, Step
from mha_core.attention import AttentionLayer, as_implementation
from mha_core.measure import agreement
from mha_core.models.stack import Stack, of_layer
from mha_core.positions import LayerPart
from mha_core.trace import Trace, on_cpu

KEPT_BYTES = 24 * 2**20


def chosen(values: Mapping[str, Any] | Any) -> RandomLayer | None:
    """What a link says, by its keys; None = the model's own weights."""
    if values["lw"] != "random":
        return None
    return RandomLayer(values["biases"], values["drop"], values["dice"])


def traced(settings: Settings, layer: int, implementation: str, instead: RandomLayer | None) -> Traced:
    """The steps of a layer of the model, or of a random layer on the same input. Raises what `Model.run` raises."""
    if instead is None:
        return traces.traced(settings, layer, implementation)
    return _traced(settings, layer, implementation, instead)


@single_flight(LRUCache(KEPT_BYTES, getsizeof=lambda trace: trace.nbytes))
def _traced(settings: Settings, layer: int, implementation: str, instead: RandomLayer) -> Traced:
    own = traces.traced(settings, layer, "efficient")  # whatever enters it, enters this layer
    model = pictures.model_of(settings)
    switches = model.switches(len(own.tokens), None, **settings.switches(model))

    def run(stack: Stack) -> tuple[Step, ...]:
        trace = Trace()
        x = own.steps[0].value.to(stack.device)
        options = switches(stack)
        off = of_layer(options["ablate"], layer)
        own_layer = build(instead, implementation, stack.block(layer).attention).to(stack.device)
        with drawn(instead.seed, x):
            own_layer(x, trace=trace, **options | {"ablate": off, "position": LayerPart(options["position"])})
        return on_cpu(trace.steps)

    with pass_slot(len(own.tokens), models.heads(model)):
        steps, notices = model.run_on_stack(run)
    notices = tuple(dict.fromkeys(own.notices + notices))
    return replace(own, implementation=implementation, steps=steps, notices=notices, instead=instead)


def build(instead: RandomLayer, implementation: str, like: AttentionLayer) -> AttentionLayer:
    """The random layer, of the same width and heads as a layer of the model; it drops weights where that is asked."""
    weights = agreement.random_weights(like.d_model, seed=instead.seed, biases=instead.biases)
    layer = agreement.loaded(implementation, weights, like.n_heads, dropout=instead.dropout)
    return layer.train(instead.dropout > 0).requires_grad_(False)


def attention(layer: Traced, implementation: str) -> AttentionLayer:
    """The very layer whose steps are shown, in eval mode and in any implementation, on the CPU as they are."""
    model = pictures.model_of(layer.settings)
    if layer.instead is None:
        return model.run_on_stack(
            lambda stack: as_implementation(stack.block(layer.layer).attention, implementation, "cpu")
        )[0]
    return build(layer.instead, implementation, model.stack.block(layer.layer).attention).eval()


def notices(implementation: str, instead: RandomLayer | None) -> list[str]:
    """What must be said of an implementation with such weights."""
    if instead is None:
        return []
    sentences, kind = [], IMPLEMENTATIONS[implementation]
    if instead.biases == "value and output" and kind.one_matrix:
        sentences.append(f"{implementation} has one bias for q, k and v together: its parts for q and k are 0 here.")
    if instead.dropout and implementation == "sdpa":
        sentences.append(
            "sdpa drops weights inside torch’s kernel and has no step for it; its mixed values include the dropout."
        )
    if instead.dropout and implementation == "torch":
        sentences.append("nn.MultiheadAttention drops weights internally; only its output includes the dropout.")
    return sentences


def parameters(like: AttentionLayer, biases: str) -> str:
    """How many parameters the layer has, with all biases and without."""
    c = like.d_model
    whole, matrices, own = 4 * c * c + 4 * c, 4 * c * c, 4 * c * c + len(agreement.BIASES[biases]) * c
    return f"{own:,} parameters; with all biases {whole:,}, with none {matrices:,}."


def theirs(layer: AttentionLayer, origin: str) -> str:
    """What biases the model's own layer has, and why they are not a visitor's to choose."""
    biases = {name: parts for name, parts in layer.parts().items() if name.endswith("_bias")}
    names = {"q_bias": "query", "k_bias": "key", "v_bias": "value", "o_bias": "output"}
    count = sum(part.numel() for parts in biases.values() for part in parts)
    has = f"biases on {', '.join(names[name] for name in biases)} ({count:,} numbers)" if biases else "no biases"
    return f"{origin.capitalize()} weights with {has}. With random weights you can remove biases and try dropout."
