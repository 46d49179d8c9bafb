"""The steps from a token to x, the input of the first layer: id, embedding, position and norm."""

from functools import partial

from cachetools import LRUCache
from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTensors
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import sheet
from headlight.ui.numbers import count, difference, number
from headlight.ui.sheet import Block
from mha_core.measure.embedding import Embedding, embedding_steps
from mha_core.measure.measures import largest_difference
from mha_core.token_text import quote

MAX_CHANNELS = 8  # channels of a vector in the table
CACHE_BYTES = 16 * 2**20


@single_flight(LRUCache(CACHE_BYTES, lambda steps: 4 * steps.x.nbytes))
def cached_steps(settings: Settings) -> Embedding:
    """Return the embedding steps. Raises what `Model.run` raises."""
    model = pictures.model_for(settings)
    with pass_slot(len(model.tokenize(settings.text)[1]), models.count_heads(model)):
        return embedding_steps(model, settings.text, position=settings.position)


def embedding_blocks(tensors: LayerTensors, settings: Settings, cursor: Cursor) -> list[Block]:
    """Return a title that sums up the steps, every step for one token, and all tokens with their ids."""
    steps, row = cached_steps(settings), cursor.row or 0
    token, (rows, channels) = steps.tokens[row], steps.table
    heading = f"{quote(token)} is id {steps.ids[row]:,}: row {steps.ids[row]:,} of a table of {rows:,} rows"
    terms = _terms(steps)
    note = f"{' + '.join(terms)}{', then its norm' if steps.norm else ''}: {channels} numbers, which enter layer 0"
    head = ["step", *map(str, range(min(MAX_CHANNELS, channels))), "length", "source"]
    lines = _rows(steps, row)
    table = sheet.table(head, lines, marks={(len(lines) - 1, -1): "focus"}, prose=True)
    extent = f"channels 0 to {min(MAX_CHANNELS, channels) - 1} of {channels}; the length is of all of them"
    return [
        sheet.title(heading, note),
        sheet.panel(f"From {quote(token)} to x", [table, *map(sheet.text, _remarks(steps, row, tensors))], extent),
        sheet.panel(
            "Every token", [_all_tokens(steps, row)], "lengths of the vectors: root of the sum of all squared channels"
        ),
    ]


def _terms(steps: Embedding) -> list[str]:
    """Return the terms of the sum x in words."""
    terms = ["token embedding"]
    if steps.segment is not None:
        terms.append("segment embedding")
    return terms + ["position embedding"] * bool(steps.position.any())


def _rows(steps: Embedding, row: int) -> list[list[str]]:
    lines = [_line("token embedding", steps.words[row], f"row {steps.ids[row]:,} of the table")]
    if steps.segment is not None:
        lines.append(
            _line(
                "+ segment embedding",
                steps.segment,
                "the same for every token here, as all belong to the first sentence",
            )
        )
    has_position = bool(steps.position.any())
    source = (
        f"of position {row}, counted from 0"
        if has_position
        else "0, because this encoding adds nothing to the embeddings"
    )
    lines.append(_line("+ position embedding", steps.position[row], source))
    lines.append(_line("= sum", steps.summed[row], "channel by channel"))
    if steps.norm is not None:
        mean, deviation = (float(part[row]) for part in (steps.norm.mean, steps.norm.deviation))
        centred = steps.summed[row] - steps.norm.mean[row]
        scaled = centred / steps.norm.deviation[row]
        lines.append(_line("− mean", centred, f"the mean of its channels is {number(mean, 6)}"))
        lines.append(_line("÷ deviation", scaled, f"their standard deviation is {number(deviation, 6)}"))
        lines.append(_line("· gain", scaled * steps.norm.gain, "learned, one number per channel"))
        lines.append(
            _line("+ shift", scaled * steps.norm.gain + steps.norm.shift, "also learned; this is x, recomputed")
        )
    lines.append(_line("x", steps.x[row], "as computed by the model; the input of layer 0"))
    return lines


def _line(name: str, vector: Tensor, source: str) -> list[str]:
    channels = map(partial(number, decimals=4), vector[:MAX_CHANNELS].tolist())
    return [name, *channels, number(float(vector.norm()), 3), source]


def _remarks(steps: Embedding, row: int, tensors: LayerTensors) -> list[str]:
    """Describe the difference between these steps and x, and compare equal tokens."""
    recomputed = steps.summed
    if steps.norm is not None:
        recomputed = (recomputed - steps.norm.mean) / steps.norm.deviation * steps.norm.gain + steps.norm.shift
    equal = f"Largest difference between these recomputed steps and x, all {count(len(steps.ids), 'token')}: "
    sentences = [f"{equal}{difference(largest_difference(recomputed, steps.x))}."]
    others = [place for place, token_id in enumerate(steps.ids) if token_id == steps.ids[row] and place != row]
    if others:
        change = largest_difference(steps.x[row], steps.x[others[0]])
        verdict = (
            f"differs by up to {number(change)}: only the position distinguishes them" if change else "is the same"
        )
        sentences.append(
            f"{quote(tensors.tokens[row])} is also at position {others[0]}. It has the same row of the table, and "
            f"its x {verdict}."
        )
    return sentences


def _all_tokens(steps: Embedding, row: int) -> Block:
    lines = [
        [f"{place} {token}", str(token_id), *(number(float(part[place].norm()), 3) for part in parts)]
        for parts in [(steps.words, steps.position, steps.summed, steps.x)]
        for place, (token, token_id) in enumerate(zip(steps.tokens, steps.ids, strict=True))
    ]
    return sheet.table(
        ["token", "id", "token embedding", "position embedding", "sum", "x"], lines, marks={(row, -1): "focus"}
    )
