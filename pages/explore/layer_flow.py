"""Flow: of which input tokens the row in focus is made, layer by layer, by rollout or by attention × value norm."""

from itertools import pairwise
from typing import TypedDict

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.place import parse_view
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
from mha_core.measure.value_norms import handed_over, norm_shares
from mha_core.models.inputs import head_mask, value_mask
from mha_core.show.packing import pack_focus, pack_parts

NORM = "norm"  # the state of the view that asks for attention × value norm
MAX_LINES = 240
MIXING_BYTES = 48 * 2**20  # at 512 tokens MiniLM has 6 MiB of them, SmolLM2 30 MiB
NAMED = 4  # tokens that the sentence names
NOT_SQUARE = (
    "these maps attend from one text to another; a path through several layers needs the same tokens in rows and "
    "columns, so choose the model’s encoder or decoder"
)
HALF = "each layer’s output is half attention and half the token itself"
ASSUMES = {
    False: f"Rollout (Abnar & Zuidema 2020) assumes that all heads count equally and that {HALF}.",
    True: "Attention × value norm (Kobayashi et al. 2020) measures what the heads pass on, ‖Σ α f(x)‖, not their "
    f"weights; like rollout, it assumes that {HALF}.",
}
LEAVES_OUT = (
    "Both ignore norms and feed-forward networks and assume that mixed values can be separated. A share says where "
    "something could come from, not that the result depends on it. After many layers the shares even out or collect on "
    "the first token; docs/what-attention-does-not-tell.md has examples. Ablate a head to see its effect."
)
CROSS = "What this decoder takes from the other text between its layers is not shown."


class FlowAnswer(TypedDict):
    """What the browser is told; the masses (layers + 1, i) follow as float32, level 0 (the input) first."""

    norm: bool
    tokens: list[str]
    layers: int
    row: int
    lines: list[tuple[int, int, int, float]]  # level of the upper end, its token, the one it looks at, share
    path: list[int]  # a token for each level, from the input up
    said: list[str]  # of which tokens it is made, and the path
    left: str  # what is not drawn
    assumes: list[str]
    noNorm: str | None  # why the other measure cannot be had


def answer(raw: bytes) -> bytes:
    """Return the share of each token in the row of a query, layer by layer. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    norm = parse_view(query["view"])[1] == NORM
    maps, tokens = _mixing(settings, norm)
    at = query.place(tokens)
    row = at.row or 0
    found = flow(maps, row, at.key, MAX_LINES)
    header: FlowAnswer = {
        "norm": norm,
        "tokens": tokens,
        "layers": len(found.masses) - 1,
        "row": row,
        "lines": [(line.level, line.above, line.below, round(line.share, 6)) for line in found.lines],
        "path": found.path,
        "said": [_made_of(tokens, found, row), _path_in_words(tokens, found)],
        "left": _left_out(found, tokens[row]),
        "assumes": [ASSUMES[norm], LEAVES_OUT, *([CROSS] if _reads_another(query.model) else [])],
        "noNorm": no_norm(query.model),
    }
    return pack_parts(pack_focus(header, found.masses))


@single_flight(LRUCache(MIXING_BYTES, lambda found: found[0].nbytes))
def _mixing(settings: Settings, norm: bool) -> tuple[Tensor, list[str]]:
    """Of which tokens every token is made behind each layer, (layers, i, i) float32, and the tokens.

    It is kept, as the maps of a long text are not. Raises what `Model.run` raises, and Unsupported where it cannot be
    told.
    """
    picture = pictures.picture(settings)
    model, run = picture.model, picture.run
    maps = pictures.among_tokens(run)
    if maps is None:
        raise Unsupported(NOT_SQUARE)
    if norm and (why := no_norm(model)):
        raise Unsupported(why)
    layers, _, n, _ = maps.shape
    heads, values = head_mask(settings.heads_off, model.sizes), value_mask(settings.values_off, n)
    made = []
    with pass_slot(n, models.heads(model)), torch.no_grad():
        for layer in range(layers):
            own = maps[layer] if heads is None else maps[layer] * heads[layer, :, None, None]
            own = own if values is None else own * values[0]
            mixed = norm_shares(own, handed_over(model, run, layer)) if norm else own.mean(dim=0)
            made.append(with_residual(mixed).float())
    return torch.stack(made), run.tokens


def no_norm(model: Model) -> str | None:
    """Why nothing is known of the values of a model's layers, None where they are."""
    if "lengths" in model.reasons:
        return f"Only the maps of this model are available, not its values. {models.reason(model, 'lengths')}"
    if _reads_another(model):
        return "This decoder attends to the other text between its layers; choose rollout."
    return None


def _reads_another(model: Model) -> bool:
    """Whether a decoder looks at another text too."""
    return model.group == "decoder" and len(model.groups) > 1


def _made_of(tokens: list[str], found: Flow, row: int) -> str:
    """Of which tokens the output is made, the most first."""
    inputs = found.masses[0]
    places = [place for place in inputs.argsort(descending=True, stable=True).tolist() if inputs[place] > 0]
    named = places[:NAMED] if row in places[:NAMED] else [*places[: NAMED - 1], row]
    parts = [f"{'itself' if one == row else f'“{tokens[one]}”'} {numbers.percent(float(inputs[one]))}" for one in named]
    rest = f" and {numbers.count(len(places) - len(named), 'other')}" if len(places) > len(named) else ""
    layers = numbers.count(len(found.masses) - 1, "layer")
    return f"After {layers} “{tokens[row]}” consists of {', '.join(parts)}{rest}."


def _path_in_words(tokens: list[str], found: Flow) -> str:
    """Where the strongest path moves, and how much of its end's share comes along it."""
    path = found.path
    if not path:
        return "No path leads from the chosen key, so nothing of it arrives."
    moves = [
        f"from “{tokens[below]}” to “{tokens[above]}” in layer {layer}"
        for layer, (below, above) in enumerate(pairwise(path))
        if below != above
    ]
    end, of_all = f"“{tokens[path[0]]}”", numbers.percent(float(found.masses[0][path[0]]))
    if not moves:
        return f"The strongest path from {end} stays on it through all layers."
    along = f"and carries {numbers.percent(found.along)} of these {of_all}"
    return f"The strongest path from {end} jumps {', '.join(moves)} {along}."


def _left_out(found: Flow, token: str) -> str:
    drawn = len(found.lines)
    if drawn == found.in_all:
        return f"All {drawn:,} lines are drawn."
    share = numbers.percent(sum(line.share for line in found.lines) / (len(found.masses) - 1))
    return (
        f"The {drawn:,} strongest of {found.in_all:,} lines are drawn, {share} of the total. Each of the others "
        f"carries at most {numbers.percent(found.lines[-1].share)} of “{token}”."
    )
