"""From a token to x, which enters the first layer: its id, its row of the table, what is added, and the norm."""

from functools import partial

from cachetools import LRUCache
from torch import Tensor

from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.traces import Recorded
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import sheet
from headlight.ui.numbers import count, difference, number
from headlight.ui.sheet import Block
from mha_core.measure.embedding import Embedding, embedding_steps
from mha_core.measure.measures import largest_difference

SHOWN = 8  # channels of a vector that are written out
KEPT_BYTES = 16 * 2**20


@single_flight(LRUCache(KEPT_BYTES, lambda steps: 4 * steps.x.nbytes))
def steps_of(settings: Settings) -> Embedding:
    """The steps under these settings. Raises what `Model.run` raises."""
    model = pictures.model_of(settings)
    with pass_slot(len(model.tokenize(settings.text)[1]), models.heads(model)):
        return embedding_steps(model, settings.text, position=settings.position)


def chooser(found: Recorded, at: Cursor) -> Block:
    """Buttons for the token; their events are for `real_cell.moved`."""
    row = at.row or 0
    tokens = [
        (f"{place} {token}", {"part": "query", "value": place}, place == row)
        for place, token in enumerate(found.tokens)
    ]
    return sheet.panel("Which token", [sheet.buttons("Token", tokens)], "counted from 0")


def embedding_blocks(found: Recorded, settings: Settings, at: Cursor) -> list[Block]:
    """Every step of one token with numbers, and all tokens with their ids. The first block says it in one line."""
    steps, row = steps_of(settings), at.row or 0
    token, (rows, channels) = steps.tokens[row], steps.table
    heading = f"“{token}” is id {steps.ids[row]:,}: row {steps.ids[row]:,} of a table of {rows:,} rows"
    added = _added(steps)
    note = f"{' + '.join(added)}{', then its norm' if steps.norm else ''}: {channels} numbers, which enter layer 0"
    head = ["step", *map(str, range(min(SHOWN, channels))), "length", "how"]
    lines = _rows(steps, row)
    table = sheet.table(head, lines, marks={(len(lines) - 1, -1): "here"}, prose=True)
    shown = f"channels 0 to {min(SHOWN, channels) - 1} of {channels}; the length is of all of them"
    return [
        sheet.title(heading, note),
        sheet.panel(f"From “{token}” to x", [table, *map(sheet.text, _told(steps, row, found))], shown),
        sheet.panel(
            "Every token", [_every(steps, row)], "lengths of the vectors: root of the sum of all squared channels"
        ),
    ]


def _added(steps: Embedding) -> list[str]:
    """What x is a sum of, in words."""
    said = ["the row of its word"]
    if steps.segment is not None:
        said.append("the row of its segment")
    return said + ["the row of its position"] * bool(steps.position.any())


def _rows(steps: Embedding, row: int) -> list[list[str]]:
    lines = [_line("row of the word", steps.words[row], f"row {steps.ids[row]:,} of the table")]
    if steps.segment is not None:
        lines.append(
            _line("+ segment", steps.segment, "the same for every token here, as all belong to the first sentence")
        )
    acts = bool(steps.position.any())
    how = f"of position {row}, counted from 0" if acts else "0, as this encoding adds nothing to the embeddings"
    lines.append(_line("+ position", steps.position[row], how))
    lines.append(_line("= sum", steps.summed[row], "channel by channel"))
    if steps.norm is not None:
        mean, deviation = (float(part[row]) for part in (steps.norm.mean, steps.norm.deviation))
        centred = steps.summed[row] - steps.norm.mean[row]
        scaled = centred / steps.norm.deviation[row]
        lines.append(_line("− mean", centred, f"the mean of its channels is {number(mean, 6)}"))
        lines.append(_line("÷ deviation", scaled, f"their standard deviation is {number(deviation, 6)}"))
        lines.append(_line("· gain", scaled * steps.norm.gain, "learned, one number per channel"))
        lines.append(_line("+ shift", scaled * steps.norm.gain + steps.norm.shift, "also learned; this is x by hand"))
    lines.append(_line("x", steps.x[row], "as computed by the model; the input of layer 0"))
    return lines


def _line(name: str, vector: Tensor, how: str) -> list[str]:
    return [name, *map(partial(number, decimals=4), vector[:SHOWN].tolist()), number(float(vector.norm()), 3), how]


def _told(steps: Embedding, row: int, found: Recorded) -> list[str]:
    """What the lengths and the differences say."""
    by_hand = steps.summed
    if steps.norm is not None:
        by_hand = (by_hand - steps.norm.mean) / steps.norm.deviation * steps.norm.gain + steps.norm.shift
    equal = f"Largest difference between these steps by hand and x, all {count(len(steps.ids), 'token')}: "
    said = [f"{equal}{difference(largest_difference(by_hand, steps.x))}."]
    same = [place for place, one in enumerate(steps.ids) if one == steps.ids[row] and place != row]
    if same:
        apart = largest_difference(steps.x[row], steps.x[same[0]])
        differ = f"differs by up to {number(apart)}: only the position distinguishes them" if apart else "is the same"
        said.append(
            f"“{found.tokens[row]}” is also at position {same[0]}. It has the same row of the table, and its x "
            f"{differ}."
        )
    return said


def _every(steps: Embedding, row: int) -> Block:
    lines = [
        [f"{place} {token}", str(one), *(number(float(part[place].norm()), 3) for part in parts)]
        for parts in [(steps.words, steps.position, steps.summed, steps.x)]
        for place, (token, one) in enumerate(zip(steps.tokens, steps.ids, strict=True))
    ]
    return sheet.table(["token", "id", "row of the word", "position", "sum", "x"], lines, marks={(row, -1): "here"})
