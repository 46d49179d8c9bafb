"""Attention flow: the share of every input token in the row in focus, by rollout or by attention × value norm."""

from itertools import pairwise
from typing import TypedDict

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.cursor import parse_view
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers
from mha_core import Model
from mha_core.errors import Unsupported
from mha_core.measure.rollout import Flow, flow, with_residual
from mha_core.measure.value_norms import layer_transformed_values, norm_shares
from mha_core.models.inputs import head_mask, value_mask
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

NORM = "norm"  # the view state for attention × value norm
MAX_LINES = 240
MIXING_BYTES = 48 * 2**20  # at 512 tokens MiniLM has 6 MiB of them, SmolLM2 30 MiB
MAX_NAMED = 4  # tokens in the sentence
NOT_SQUARE = (
    "these maps attend from one text to another; a path through several layers needs the same tokens in rows and "
    "columns, so choose the model’s encoder or decoder"
)
HALF = "each layer’s output is half attention and half the token itself"
ASSUMPTIONS = {
    False: f"Rollout (Abnar & Zuidema 2020) assumes that all heads count equally and that {HALF}.",
    True: "Attention × value norm (Kobayashi et al. 2020) measures what the heads pass on, ‖Σ α f(x)‖, not their "
    f"weights; like rollout, it assumes that {HALF}.",
}
LIMITATIONS = (
    "Both ignore norms and feed-forward networks and assume that mixed values can be separated. A share says where "
    "something could come from, not that the result depends on it. After many layers the shares even out or collect on "
    "the first token; docs/what-attention-does-not-tell.md has examples. Ablate a head to see its effect."
)
CROSS = "What this decoder takes from the other text between its layers is not shown."


class FlowAnswer(TypedDict):
    """The header of the answer; the masses (layers + 1, i) follow as float32, level 0 (the input) first."""

    norm: bool
    tokens: list[str]
    layers: int
    row: int
    lines: list[tuple[int, int, int, float]]  # level of the upper end, its token, the lower end's token, share
    path: list[int]  # a token for each level, from the input up
    sentences: list[str]  # sentences on the shares and on the path
    left: str  # a sentence on the lines that are not drawn
    assumes: list[str]
    noNorm: str | None  # the reason why attention × value norm is not available


def answer(raw: bytes) -> bytes:
    """Return the share of each token in the row of a query, layer by layer."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    norm = parse_view(query["view"])[1] == NORM
    maps, tokens = _mixing(settings, norm)
    cursor = query.place(tokens)
    row = cursor.row or 0
    result = flow(maps, row, cursor.key, MAX_LINES)
    header: FlowAnswer = {
        "norm": norm,
        "tokens": tokens,
        "layers": len(result.masses) - 1,
        "row": row,
        "lines": [(line.level, line.query, line.key, round(line.share, 6)) for line in result.lines],
        "path": result.path,
        "sentences": [_shares_text(tokens, result, row), _path_text(tokens, result)],
        "left": _omission_text(result, tokens[row]),
        "assumes": [ASSUMPTIONS[norm], LIMITATIONS, *([CROSS] if _has_cross_attention(query.model) else [])],
        "noNorm": norm_problem(query.model),
    }
    return pack_parts(pack_focus(header, result.masses))


@single_flight(LRUCache(MIXING_BYTES, lambda entry: entry[0].nbytes))
def _mixing(settings: Settings, norm: bool) -> tuple[Tensor, list[str]]:
    """Return the mixing matrix of each layer as float32 (layers, i, i), and the tokens.

    The result is cached, because the maps of a long text are not. Raises what `Model.run` raises, and Unsupported if
    the model's maps do not allow it.
    """
    picture = pictures.picture(settings)
    model, run = picture.model, picture.run
    maps = pictures.among_tokens(run)
    if maps is None:
        raise Unsupported(NOT_SQUARE)
    if norm and (reason := norm_problem(model)):
        raise Unsupported(reason)
    layers, _, n, _ = maps.shape
    heads = head_mask(settings.silent_heads(model), model.sizes)
    values = value_mask(settings.values_off, n)
    matrices = []
    with pass_slot(n, models.count_heads(model)), torch.no_grad():
        for layer in range(layers):
            weights = maps[layer] if heads is None else maps[layer] * heads[layer, :, None, None]
            weights = weights if values is None else weights * values[0]
            mixed = norm_shares(weights, layer_transformed_values(model, run, layer)) if norm else weights.mean(dim=0)
            matrices.append(with_residual(mixed).float())
    return torch.stack(matrices), run.tokens


def norm_problem(model: Model) -> str | None:
    """Return the reason why the norms of a model's values are unknown; None if they are known."""
    if "lengths" in model.reasons:
        return f"Only the maps of this model are available, not its values. {models.reason(model, 'lengths')}"
    if _has_cross_attention(model):
        return "This decoder attends to the other text between its layers; choose rollout."
    return None


def _has_cross_attention(model: Model) -> bool:
    return model.group == "decoder" and len(model.groups) > 1


def _shares_text(tokens: list[str], result: Flow, row: int) -> str:
    """Describe the largest shares of input tokens in the output."""
    inputs = result.masses[0]
    places = [place for place in inputs.argsort(descending=True, stable=True).tolist() if inputs[place] > 0]
    selection = places[:MAX_NAMED] if row in places[:MAX_NAMED] else [*places[: MAX_NAMED - 1], row]
    parts = [
        f"{'itself' if place == row else quote(tokens[place])} {numbers.percent(float(inputs[place]))}"
        for place in selection
    ]
    rest = f" and {numbers.count(len(places) - len(selection), 'other')}" if len(places) > len(selection) else ""
    layers = numbers.count(len(result.masses) - 1, "layer")
    return f"After {layers} {quote(tokens[row])} consists of {', '.join(parts)}{rest}."


def _path_text(tokens: list[str], result: Flow) -> str:
    """Describe where the strongest path changes its token, and the share that flows along it."""
    path = result.path
    if not path:
        return "No path leads from the chosen key, so nothing of it arrives."
    moves = [
        f"from {quote(tokens[lower])} to {quote(tokens[upper])} in layer {layer}"
        for layer, (lower, upper) in enumerate(pairwise(path))
        if lower != upper
    ]
    end, total = quote(tokens[path[0]]), numbers.percent(float(result.masses[0][path[0]]))
    if not moves:
        return f"The strongest path from {end} stays on it through all layers."
    share = f"and carries {numbers.percent(result.path_share)} of these {total}"
    return f"The strongest path from {end} jumps {', '.join(moves)} {share}."


def _omission_text(result: Flow, token: str) -> str:
    """Describe the lines that are not drawn."""
    count = len(result.lines)
    if count == result.n_lines:
        return f"All {count:,} lines are drawn."
    share = numbers.percent(sum(line.share for line in result.lines) / (len(result.masses) - 1))
    return (
        f"The {count:,} strongest of {result.n_lines:,} lines are drawn, {share} of the total. Each of the others "
        f"carries at most {numbers.percent(result.lines[-1].share)} of {quote(token)}."
    )
