"""Generation token by token with a KV cache: rows, keys and values, bytes, and keys reused at another position."""

from typing import TypedDict

import torch

from headlight.link.cursor import parse_view
from headlight.picture import decoding, pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui import numbers
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure.kv_cache import cache_bytes
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
    "rotate": "Rotary positions turn each key by its position: a cached key keeps its old angle, so to the later query "
    "it seems {} positions farther away than it is.",
    "add": "The positions were added before the keys were computed, so cached keys keep their old positions.",
    "bias": "These positions act on the scores and not on the keys, so a cached key fits at any position.",
    "": "Without positions a key is the same everywhere, so it can be reused anywhere.",
}


class CacheAnswer(TypedDict):
    """The header of the answer; weights (n, n), keys (n, d) and values (n, d), if it keeps them, follow as float32."""

    reason: str  # why this model has no cache; no numbers follow then
    tokens: list[str]  # of the prompt, then the generated ones
    prompt: int  # number of tokens of the prompt
    steps: list[str]  # a sentence on the prompt, and one on each generated token
    notes: list[str]
    sizes: tuple[int, int, int, int, int]  # `decoding.CacheSizes` of the model
    maxLength: int  # number of tokens that the model has positions for
    shift: int  # positions by which the cached keys are reused
    reuse: list[str]  # sentences on what that changes
    changes: list[tuple[str, str, str]]  # key, its right weight in the head in focus, and that with reused keys


def answer(raw: bytes) -> bytes:
    """Return the generation that follows the query's text, as the head in focus sees it."""
    query = LinkQuery(raw)
    settings, notes = query.fitted_settings()
    sizes, tokens, max_len = decoding.cache_sizes(settings), pictures.tokens(settings), query.model.sizes.max_len
    header: CacheAnswer = {
        "reason": "", "tokens": tokens, "prompt": len(tokens), "steps": [], "notes": [*notes, NO_QUERIES],
        "sizes": sizes, "maxLength": max_len, "shift": 0, "reuse": [], "changes": [],
    }  # fmt: skip
    try:
        record = decoding.decoding(settings)
    except Unsupported as error:
        header["reason"] = f"{numbers.capital(str(error))}."
        return pack_parts(pack_focus(header))
    layer, head, n = query.cursor.layer, query.cursor.head, len(record.tokens)
    weights = torch.zeros(n, n)
    prompt_map = pictures.picture(settings.without_painting).run.weights[layer, head]
    weights[: record.prompt, : record.prompt] = prompt_map
    for row, maps in enumerate(record.rows, record.prompt):
        weights[row, : row + 1] = maps[layer, head]
    header["tokens"] = record.tokens
    header["steps"] = _steps(record, sizes)
    header["notes"] += _notes(record, max_len)
    _add_reuse(header, settings, parse_view(query["view"])[1], (layer, head))
    strips = [part[head * sizes.kv_heads // sizes.heads] for part in record.caches[layer]] if record.caches else []
    return pack_parts(pack_focus(header, weights, *strips))


def speed(raw: bytes) -> bytes:
    """Return a sentence on the measured time of one token with and without a cache."""
    settings, _ = LinkQuery(raw).fitted_settings()
    times = decoding.cache_times(settings)
    cached, uncached = (f"{1000 * seconds:.3g} ms" for seconds in times[:2])
    return (
        f"The last token takes {cached} with the cache and {uncached} without, {times.uncached / times.cached:.1f} "
        f"times as long: medians of {numbers.count(times.rounds, 'alternating round')} on one thread."
    ).encode()


def _steps(record: decoding.Decoding, sizes: decoding.CacheSizes) -> list[str]:
    """Describe what is computed for the prompt and for each generated token, and the bytes that are kept then."""
    n, (layers, _, kv_heads, d, itemsize) = record.prompt, sizes
    texts = [
        f"The prompt runs at once (prefill): {n} × {n} scores in each head, and the keys and values of "
        f"{numbers.count(n, 'token')} are computed and kept."
    ]
    texts += [
        f"Decode step {length - n}: {quote(record.tokens[length - 1])} is one query, so one row of {length} weights. "
        f"Its key and value are new; {length - 1:,} keys and values are read from the cache."
        for length in range(n + 1, len(record.tokens) + 1)
    ]
    return [
        f"{text} The cache holds {cache_bytes(layers, kv_heads, d, length, itemsize):,} bytes: 2 (K and V) × {layers} "
        f"layers × {kv_heads} key/value heads × {d} channels × {length} tokens × {itemsize} bytes a number."
        for length, text in enumerate(texts, n)
    ]


def _notes(record: decoding.Decoding, max_len: int) -> list[str]:
    notes = []
    if record.difference:
        weight, chance = map(numbers.small, record.difference)
        notes.append(
            f"With and without the cache the numbers are the same up to rounding: over all layers and heads a weight "
            f"differs by at most {weight}, a probability of the next token by at most {chance}."
        )
    if len(record.rows) < decoding.STEPS:
        notes.append(
            f"This model has positions for {max_len:,} tokens, and a cache cannot be longer, so "
            f"{numbers.count(len(record.rows), 'token')} can follow here."
        )
    if not record.caches:
        notes.append("This model’s library keeps another kind of cache, so each token ran with the whole text here.")
    return notes


def _add_reuse(header: CacheAnswer, settings: Settings, state: str, place: tuple[int, int]) -> None:
    """Add what reused keys change: to the right row of the last token of the prompt, and to its prediction."""
    wanted_shift = state.split(".")[1:2]
    shift = int(wanted_shift[0]) if wanted_shift and wanted_shift[0].isdigit() else SHIFT
    try:
        reuse = decoding.reuse(settings, shift)
    except HeadlightError as error:
        header["reuse"] = [f"{numbers.capital(str(error))}."]
        return
    model, prompt = pictures.model_for(settings), header["tokens"][: header["prompt"]]
    right, reused = (row.logits.double().softmax(dim=-1) for row in (reuse.right, reuse.reused))
    best = int(right.argmax())
    chances = " to ".join(numbers.share(float(side[best]), 3) for side in (right, reused))
    name = quote(str(model.tokenizer.id_to_token(best)))
    places = position_places(settings, model)
    header["shift"] = reuse.shift
    header["reuse"] = [
        f"The last token, {quote(prompt[-1])}, stands {numbers.count(reuse.shift, 'position')} further on, and so does "
        f"the text before it; its keys and values were computed at positions 0 to {len(prompt) - 2}. A weight differs "
        f"by up to {numbers.small(reuse.difference.weight)} from the right one, over all layers and heads; the probability "
        f"that {name} comes next goes from {chances}.",
        WHY[next((name for name in ("rotate", "add", "bias") if name in places), "")].format(reuse.shift),
    ]
    rows = [row.weights[place].cpu() for row in (reuse.right, reuse.reused)]
    order = (rows[0] - rows[1]).abs().argsort(descending=True, stable=True)[:MAX_KEYS].tolist()
    header["changes"] = [(prompt[key], *(numbers.weight(float(row[key])) for row in rows)) for key in order]
