"""Generation token by token with a KV cache: rows, keys and values, bytes, and keys reused at another position."""

import statistics
from typing import TypedDict

import torch

from headlight.link.cursor import parse_view
from headlight.picture import decoding, pictures
from headlight.picture.decoding import STEPS, Decoding
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui import numbers
from mha_core.attention.key_value import KVCache
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure.kv_cache import row_difference
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

from .pair_channels import position_places

SHIFT = 8  # positions
MAX_KEYS = 5  # in the table of changed weights
NO_QUERIES = (
    "There is no Q cache: a query is needed once, for its own token’s row, while every later row needs that token’s "
    "key and value again."
)
WHY = {
    "rotate": "Rotary positions turn each key by its position: a cached key keeps its old angle, so a later "
    "query takes it for one farther away.",
    "add": "The positions were added before the keys were computed, so cached keys keep their old positions.",
    "bias": "These positions act on the scores and not on the keys, so a cached key fits at any position.",
    "": "Without positions a key is the same everywhere, so it can be reused anywhere.",
}


class CacheAnswer(TypedDict):
    """The header of the answer; weights (n, n), then keys and values (n, d) follow as float32."""

    reason: str  # why this model has no cache; nothing else but the sizes is set then
    tokens: list[str]  # of the prompt, then the generated ones
    prompt: int  # number of tokens of the prompt
    steps: list[str]  # a sentence on the prompt, and one on each generated token
    notes: list[str]
    sizes: tuple[int, int, int, int, int]  # see `decoding.cache_sizes`
    maxLength: int  # tokens that the model has positions for
    shift: int  # positions by which the cached keys are reused
    reuse: list[str]  # sentences on what that changes
    changes: list[tuple[str, str, str]]  # key, its right weight in the head that changes most, with reused keys


def answer(raw: bytes) -> bytes:
    """Return the generation that follows the query's text, as the head in focus sees it."""
    query = LinkQuery(raw)
    settings, notes = query.fitted_settings()
    sizes, cursor = decoding.cache_sizes(settings), query.cursor
    header: CacheAnswer = {
        "reason": "", "tokens": pictures.tokens(settings), "prompt": 0, "steps": [], "notes": [*notes, NO_QUERIES],
        "sizes": sizes, "maxLength": query.model.sizes.max_len, "shift": 0, "reuse": [], "changes": [],
    }  # fmt: skip
    try:
        record = decoding.decoding(settings)
    except Unsupported as error:
        header["reason"] = f"{error}. The sizes below can be changed for any model."
        return pack_parts(pack_focus(header))
    generation, new, *_ = record
    n = header["prompt"] = len(generation.ids) - len(new)
    header |= {"tokens": generation.tokens, "steps": _steps(generation.tokens, n)}
    header["notes"] += _notes(record, query.model.sizes.max_len)
    weights = torch.zeros(n + len(new), n + len(new))
    weights[:n, :n] = pictures.picture(settings.without_painting).run.weights[cursor.layer, cursor.head, :, :n]
    for row, token in enumerate(new, n):
        weights[row, : row + 1] = token.weights[cursor.layer, cursor.head]
    _add_reuse(header, settings, parse_view(query["view"])[1])
    group, cache = (
        cursor.head * sizes[2] // sizes[1],
        generation.caches[cursor.layer] if generation.caches else KVCache(),
    )
    strips = [part[0, group] for part in (cache.k, cache.v) if part is not None]
    same_width = len({strip.shape for strip in strips}) == 1
    return pack_parts(pack_focus(header, weights, *(strips if same_width else ())))


def _steps(tokens: list[str], n: int) -> list[str]:
    prefill = f"The prompt runs at once (prefill): {n} × {n} scores in each head, and {n} keys and values to keep."
    return [prefill] + [
        f"Decode step {row - n + 1}: {quote(tokens[row])} is one query, so one row of {row + 1} weights. Its key and "
        f"value are new; {row:,} of each are read from the cache."
        for row in range(n, len(tokens))
    ]


def _notes(record: Decoding, max_len: int) -> list[str]:
    notes = []
    if record.seconds:
        weight, chance = map(numbers.small, record.difference)
        cached, uncached = (f"{1000 * statistics.median(side):.3g} ms" for side in zip(*record.seconds, strict=True))
        notes.append(
            f"With and without the cache the numbers are the same up to rounding: over all layers and heads a weight "
            f"differs by at most {weight}, a probability of the next token by at most {chance}. The time of a token is "
            f"{cached} with the cache and {uncached} without (medians of {len(record.seconds)} in turn)."
        )
    if len(record.new) < STEPS:
        notes.append(
            f"A cache cannot be longer than the model’s {max_len:,} positions, or than 512 tokens here, so only "
            f"{numbers.count(len(record.new), 'token')} can follow."
        )
    if not record.generation.caches:
        notes.append("This model’s library keeps another kind of cache, so here each token ran with the whole text.")
    return notes


def _add_reuse(header: CacheAnswer, settings: Settings, state: str) -> None:
    """Add what keys reused at another position do to the last row of the prompt."""
    wanted_shift = (*state.split("."), "")[1]
    try:
        shift, *rows = decoding.reuse(settings, int(wanted_shift) if wanted_shift.isdecimal() else SHIFT)
    except HeadlightError as error:
        header["reuse"] = [f"{numbers.capital(str(error))}."]
        return
    tokens, model = pictures.tokens(settings), pictures.model_for(settings)
    right, reused = (row.logits.double().softmax(dim=-1) for row in rows)
    best, places = int(right.argmax()), position_places(settings, model)
    name = quote(str(model.tokenizer.id_to_token(best)))
    maps = [row.weights.cpu() for row in rows]
    changes = (maps[0] - maps[1]).abs()
    layer, head = divmod(int(changes.amax(-1).argmax()), changes.shape[1])
    header["shift"] = shift
    header["reuse"] = [
        f"{quote(tokens[-1])} and the text before it are {numbers.count(shift, 'position')} further on, but the keys "
        f"and values come from positions 0 to {len(tokens) - 2}. Over all layers and heads a weight is wrong by up to "
        f"{numbers.small(row_difference(*rows).weight)}, in layer {layer}, head {head}; the probability that {name} "
        f"comes next goes from {numbers.share(float(right[best]), 3)} to {numbers.share(float(reused[best]), 3)}.",
        WHY[next((place for place in WHY if place in places), "")],
    ]
    for key in changes[layer, head].argsort(descending=True, stable=True)[:MAX_KEYS].tolist():
        header["changes"].append((tokens[key], *(numbers.weight(float(side[layer, head, key])) for side in maps)))
