"""Quantities of Find the bug: what `check` measures on a broken layer with a sentence, and which head shows it."""

import linecache
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import torch
from cachetools import LRUCache
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.lessons.bugs import BUGS, STYLES, Bug
from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import fixed_seed
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from mha_core.check import Finding, check
from mha_core.check.behaviour import ROW
from mha_core.check.finding import CAUSES
from mha_core.check.identify import identify
from mha_core.check.target import Target

D_MODEL, N_HEADS, SEED = 24, 4, 0
TOKENS = 7  # that `check` measures with: the first of a text, and random ones after its last


@dataclass(frozen=True)
class Diagnosis:
    """A broken layer on a sentence: the verdict on its property, the tokens that ran, and maps, see `value_flow`."""

    finding: Finding
    tokens: list[str]  # "random" after the last of the sentence
    length: int  # of the sentence in tokens
    broken: Tensor  # (h, i, j)
    right: Tensor  # of the right layer with the same weights: its attention weights

    @property
    def differences(self) -> Tensor:
        """Return the largest difference of each head's maps, (h); infinite where one of them is NaN."""
        return (self.broken - self.right).abs().nan_to_num(math.inf).amax((1, 2))


def bug_cause(query: Query, settings: Settings, cause: str) -> Value:
    """Return `bug_cause("heads by view")`: whether `check` names this cause for the broken layer of the link."""
    if cause not in CAUSES:
        raise RuleError(f"check names no cause “{cause:.40}”")
    return Value.number(_linked(query, settings).finding.cause == cause)


def bug_measure(query: Query, settings: Settings, name: Literal["figure", "bound"]) -> Value:
    """Return `bug_measure("figure")`, what `check` measures, or its "bound"."""
    value: float | None = getattr(_linked(query, settings).finding, name)
    if value is None:
        raise RuleError(f"this property has no {name}")
    return Value.number(value)


def bug_heads(query: Query, settings: Settings) -> Value:
    """Return `bug_heads`, (h): the largest difference of each head's map to the right layer's."""
    return Value.from_tensor(_linked(query, settings).differences, "h")


def _linked(query: Query, settings: Settings) -> Diagnosis:
    if query["lesson"] not in BUGS:
        raise RuleError(f"the link names no broken layer: its lesson is “{query['lesson']:.40}”")
    return diagnose(settings, query.cursor.layer, query["lesson"])


def diagnose(settings: Settings, layer: int, name: str) -> Diagnosis:
    """Run a broken layer, by its name in links, on a sentence, and check the property that it breaks."""
    tokens, vectors = sentence_vectors(settings, layer)
    return _diagnose(name, tokens, tuple(map(tuple, vectors.tolist())))


@single_flight(LRUCache(256))
def _diagnose(name: str, tokens: tuple[str, ...], rows: tuple[tuple[float, ...], ...]) -> Diagnosis:
    bug, vectors = BUGS[name], torch.tensor(rows, dtype=torch.float64)
    style = STYLES[bug.style]
    with pass_slot(len(vectors), N_HEADS), fixed_seed(SEED, vectors), torch.enable_grad():
        layer = build(bug.code, bug.style)
        report = check(layer, D_MODEL, N_HEADS, **style.options, properties={bug.number}, vectors=vectors)
        broken, right = (value_flow(bug, code, vectors).detach() for code in (bug.code, style.code))
    filled = [*tokens[:TOKENS], *["random"] * (TOKENS - len(tokens))]
    return Diagnosis(report[bug.number], filled, len(tokens), broken, right)


def sentence_vectors(settings: Settings, layer: int) -> tuple[tuple[str, ...], Tensor]:
    """Return the tokens of a sentence, and `D_MODEL` numbers for each of its first `TOKENS`, (`TOKENS`, c).

    They are fixed random mixtures of the vector that enters a layer of the model, with mean 0 and variance 1. A
    shorter sentence is filled up with random vectors.
    """
    trace = traces.trace_layer(settings.baseline, layer, "efficient")
    x = trace.steps[0].value[0, :TOKENS].double().cpu()
    generator = torch.Generator().manual_seed(SEED)
    mixture = torch.randn(x.shape[-1], D_MODEL, generator=generator, dtype=x.dtype)
    filling = torch.randn(TOKENS - len(x), D_MODEL, generator=generator, dtype=x.dtype)
    return tuple(trace.tokens), F.layer_norm(torch.cat([x @ mixture, filling]), (D_MODEL,))


def build(code: str, name: str) -> nn.Module:
    """Return the layer of our own code with random weights, always the same."""
    file = f"<{name}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)  # for the line of a finding
    scope: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "math": math}
    exec(compile(code, file, "exec"), scope)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(SEED)
        layer: nn.Module = scope[name](D_MODEL, N_HEADS)
        for parameter_name, parameter in layer.named_parameters():
            if parameter_name.endswith("bias"):
                parameter.normal_(std=0.2)  # biases of 0 would hide what they do
    return layer


def value_flow(bug: Bug, code: str, vectors: Tensor) -> Tensor:
    """Return how strongly each head's part of an output takes the value of each token, (h, i, j).

    It is the norm of the derivative of the joined heads by the values of the vectors (n, c), and in a right layer the
    attention weights. The code is that of a bug or of its right layer.
    """
    layer, n, style = build(code, bug.style).double().eval(), len(vectors), STYLES[bug.style]
    values, heads = layer.get_submodule(style.values), layer.get_submodule(style.output)
    target, joined, changes = replace(_target(bug.style), function=layer), list[Tensor](), list[Tensor]()
    width = min(D_MODEL, len(values.get_parameter("weight")))

    def shift(module: nn.Module, inputs: Any, out: Tensor) -> Tensor:
        part = torch.stack([changes.pop(0) for _ in range(out[..., 0].numel())])
        return out + F.pad(part.view(*out.shape[:-1], width), (out.shape[-1] - width, 0))

    def join(step: Tensor) -> Tensor:
        """Return the joined heads of all tokens after a change of the values, (n, width)."""
        joined.clear()
        changes[:], state, x = step.unbind(), None, vectors[None]
        if bug.inputs == "cache":
            for token in range(n):
                state = target(x[:, token : token + 1], cache=state, start=token).cache
        else:
            target(x, **_masks(bug.inputs, n))
        return torch.cat([part.flatten() for part in joined])

    values.register_forward_hook(shift)
    heads.register_forward_pre_hook(lambda module, inputs: joined.append(inputs[0]))
    # The heads are affine in the values. A gradient would carry the NaN of one row, as 0 · NaN, into all rows.
    units = torch.eye(n * width, dtype=vectors.dtype).view(-1, n, width)
    unchanged, *changed = torch.vmap(join, randomness="same")(torch.cat([torch.zeros_like(units[:1]), units]))
    slopes = torch.stack(changed, dim=-1) - unchanged[:, None]
    norms: Tensor = slopes.view(n, N_HEADS, D_MODEL // N_HEADS, n, width).norm(dim=(2, 4))  # (i, h, j)
    return norms.transpose(0, 1) / math.sqrt(D_MODEL // N_HEADS)


def _masks(inputs: str, n: int) -> Mapping[str, Any]:
    """Return the mask that shows a bug, bool, True = may attend or a real token."""
    allow, places = torch.ones(1, n, n, dtype=torch.bool), torch.arange(n)
    return {
        "causal mask": {"allow": allow.tril()},
        "padding": {"padding": places[None] < n - 2},
        "empty row": {"allow": allow & (places[:, None] != ROW)},
    }.get(inputs, {})


@cache
def _target(style: str) -> Target:
    """Return how the right layer of a style is called."""
    layer, layout = build(STYLES[style].code, style), STYLES[style].options["layout"]
    return identify(layer, D_MODEL, N_HEADS, layout=layout).target
