"""The logit lens: the likeliest next token after each layer, for the last tokens of a text."""

from typing import TypedDict

import torch
from torch import Tensor

from headlight.picture import next_token, pictures, residual
from headlight.picture.link_query import LinkQuery
from headlight.ui import numbers
from mha_core.errors import Unsupported
from mha_core.measure.logit_lens import NO_HEAD, Lens
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

MAX_ROWS = 12  # tokens of the grid
GLOSS = (
    "A lens, not a thought: the model never reads these out. The final norm and the head, trained for the last state "
    "alone, are applied to the state of a token after each layer."
)


class LensAnswer(TypedDict):
    """The header of the answer; probabilities (layers + 1, rows, 5) follow as float32, of the embeddings first."""

    tokens: list[str]
    layers: int
    first: int  # the token of the grid's first column
    row: int
    labels: list[list[list[str]]]  # the likeliest next tokens of each layer and column, the likeliest first
    gloss: str
    sentences: list[str]
    left: str  # a sentence on the tokens that are not shown; "" if all are


def answer(raw: bytes) -> bytes:
    """Return the logit lens of the last tokens of the query's text, or of those up to the row in focus."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    picture = pictures.picture(settings)
    if not next_token.continues_text(picture):
        raise Unsupported(NO_HEAD)
    tokens = picture.run.tokens
    row = query.place(tokens).row or 0
    stop = len(tokens) if row >= len(tokens) - MAX_ROWS else row + 1
    first = max(0, stop - MAX_ROWS)
    lens = residual.lens(settings, first, stop)
    header: LensAnswer = {
        "tokens": tokens,
        "layers": len(lens.index) - 1,
        "first": first,
        "row": row,
        "labels": [[[next_token.token_label(picture, number) for number in top] for top in level] for level in lens.index.tolist()],
        "gloss": GLOSS,
        "sentences": [_answer_text(tokens[row], [next_token.token_label(picture, number) for number in lens.index[:, row - first, 0].tolist()], lens, row - first)],
        "left": f"The grid has {stop - first} of {len(tokens)} tokens; choose a row of the map to move it." if stop - first < len(tokens) else "",
    }
    return pack_parts(pack_focus(header, lens.probability))


def _answer_text(token: str, labels: list[str], lens: Lens, column: int) -> str:
    """Describe from which layer on the final answer is the likeliest."""
    ranks: Tensor = lens.final_rank[:, column]
    final, layers = quote(labels[-1]), len(labels) - 1
    start = f"After {quote(token)} the model’s own answer is {final} ({numbers.weight(float(lens.final_probability[-1, column]))})."
    since = layers + 1 - int((ranks.flip(0) == 1).long().cumprod(0).sum())
    if since == 0:
        return f"{start} It is the likeliest at every layer, from the embeddings on."
    earlier = f"before that {quote(labels[since - 1])} was, and {final} had rank {int(ranks[since - 1]):,}"
    where = "only after the last layer" if since == layers else f"from layer {since - 1} on"
    return f"{start} It is the likeliest {where}; {earlier}."
