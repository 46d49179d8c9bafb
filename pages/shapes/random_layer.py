"""A layer with random weights in place of the model's own, with a choice of biases and dropout."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from headlight.picture import pictures, traces
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace, RandomLayer, fixed_seed
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import IMPLEMENTATIONS, Step
from mha_core.attention import AttentionLayer, as_implementation
from mha_core.measure import agreement
from mha_core.models.stack import Stack, layer_ablation
from mha_core.positions import LayerPart
from mha_core.trace import Trace, steps_to_cpu

CACHE_BYTES = 24 * 2**20


def parse(values: Mapping[str, Any] | Any) -> RandomLayer | None:
    """Return the random layer of a link; None for the model's own weights."""
    if values["lw"] != "random":
        return None
    return RandomLayer(values["biases"], values["drop"], values["dice"])


def traced(settings: Settings, layer: int, implementation: str, random: RandomLayer | None) -> LayerTrace:
    """Return the trace of a model's layer, or of a random layer on the same input. Raises what `Model.run` raises."""
    if random is None:
        return traces.trace_layer(settings, layer, implementation)
    return _traced(settings, layer, implementation, random)


@single_flight(LRUCache(CACHE_BYTES, getsizeof=lambda trace: trace.nbytes))
def _traced(settings: Settings, layer: int, implementation: str, random: RandomLayer) -> LayerTrace:
    trained = traces.trace_layer(settings, layer, "efficient")  # it has the same input
    model = pictures.model_for(settings)
    switches = model.switches(len(trained.tokens), None, **settings.switches(model))

    def run(stack: Stack) -> tuple[Step, ...]:
        trace = Trace()
        x = trained.steps[0].value.to(stack.device)
        options = switches(stack)
        ablations = layer_ablation(options["ablate"], layer).attention
        module = build(random, implementation, stack.block(layer).attention).to(stack.device)
        with fixed_seed(random.seed, x):
            module(x, trace=trace, **options | {"ablate": ablations, "position": LayerPart(options["position"])})
        return steps_to_cpu(trace.steps)

    with pass_slot(len(trained.tokens), models.count_heads(model)):
        steps, notices = model.run_on_stack(run)
    notices = tuple(dict.fromkeys(trained.notices + notices))
    return replace(trained, implementation=implementation, steps=steps, notices=notices, random_layer=random)


def build(random: RandomLayer, implementation: str, like: AttentionLayer) -> AttentionLayer:
    """Build a random layer with the sizes of a model's layer, in training mode if it has dropout."""
    weights = agreement.random_weights(like.d_model, seed=random.seed, biases=random.biases)
    layer = agreement.load_layer(implementation, weights, like.n_heads, dropout=random.dropout)
    return layer.train(random.dropout > 0).requires_grad_(False)


def attention(layer: LayerTrace, implementation: str) -> AttentionLayer:
    """Return the traced layer in eval mode and in any implementation, on the CPU like its steps."""
    model = pictures.model_for(layer.settings)
    if layer.random_layer is None:
        return model.run_on_stack(
            lambda stack: as_implementation(stack.block(layer.layer).attention, implementation, "cpu")
        )[0]
    return build(layer.random_layer, implementation, model.stack.block(layer.layer).attention).eval()


def notices(implementation: str, random: RandomLayer | None) -> list[str]:
    """Return notices on an implementation with random weights."""
    if random is None:
        return []
    sentences, kind = [], IMPLEMENTATIONS[implementation]
    if random.biases == "value and output" and kind.one_matrix:
        sentences.append(f"{implementation} has one bias for q, k and v together: its parts for q and k are 0 here.")
    if random.dropout and implementation == "sdpa":
        sentences.append(
            "sdpa drops weights inside torch’s kernel and has no step for it; its mixed values include the dropout."
        )
    if random.dropout and implementation == "torch":
        sentences.append("nn.MultiheadAttention drops weights internally; only its output includes the dropout.")
    return sentences


def parameters(like: AttentionLayer, biases: str) -> str:
    """Describe the number of parameters with these biases, with all and with none."""
    c = like.d_model
    maximum, matrices, total = 4 * c * c + 4 * c, 4 * c * c, 4 * c * c + len(agreement.BIASES[biases]) * c
    return f"{total:,} parameters; with all biases {maximum:,}, with none {matrices:,}."


def own_biases(layer: AttentionLayer, origin: str) -> str:
    """Describe the biases of the model's own layer."""
    biases = {name: parts for name, parts in layer.parts().items() if name.endswith("_bias")}
    names = {"q_bias": "query", "k_bias": "key", "v_bias": "value", "o_bias": "output"}
    count = sum(part.numel() for parts in biases.values() for part in parts)
    description = (
        f"biases on {', '.join(names[name] for name in biases)} ({count:,} numbers)" if biases else "no biases"
    )
    weights = f"{origin.capitalize()} weights with {description}"
    return f"{weights}. With random weights you can remove biases and try dropout."
