"""The logit lens: the likeliest next token after each layer, for the last tokens of a text."""

from typing import TypedDict

from headlight.picture import next_token, pictures, residual
from headlight.picture.link_query import LinkQuery
from headlight.ui import numbers
from mha_core.measure.logit_lens import Lens
from mha_core.show.packing import pack_focus, pack_parts
from mha_core.token_text import quote

MAX_ROWS = 12  # tokens of the grid


class LensAnswer(TypedDict):
    """The header of the answer; probabilities (layers + 1, rows, 5) follow as float32, of the embeddings first."""

    tokens: list[str]
    first: int  # the token of the grid's first column
    row: int
    labels: list[list[list[str]]]  # the likeliest next tokens of each layer and column, the likeliest first
    sentence: str
    left: str  # a sentence on the tokens that are not shown; "" if all are


def answer(raw: bytes) -> bytes:
    """Return the logit lens of the last tokens of the query's text, or of others with the row in focus."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    picture = pictures.picture(settings)
    tokens = picture.run.tokens
    row = query.place(tokens).row or 0
    last = max(0, len(tokens) - MAX_ROWS)  # the first column of the last tokens
    first = last if row >= last else max(0, row - MAX_ROWS + 1)
    stop = min(len(tokens), first + MAX_ROWS)
    lens = residual.lens(settings, first, stop)
    labels = [
        [[next_token.token_label(picture, number) for number in top] for top in level] for level in lens.ids.tolist()
    ]
    left = f"The grid has {stop - first} of {len(tokens)} tokens; choose a row of the map to move it."
    header: LensAnswer = {
        "tokens": tokens,
        "first": first,
        "row": row,
        "labels": labels,
        "sentence": _answer_text(tokens[row], [level[row - first][0] for level in labels], lens, row - first),
        "left": left if stop - first < len(tokens) else "",
    }
    return pack_parts(pack_focus(header, lens.probability))


def _answer_text(token: str, labels: list[str], lens: Lens, column: int) -> str:
    """Describe from which layer on the final answer is the likeliest."""
    ranks, chance = lens.followed_rank[:, column], float(lens.followed_probability[-1, column])
    final, layers = quote(labels[-1]), len(labels) - 1
    start = f"After {quote(token)} the model’s own answer is {final} ({numbers.weight(chance)})."
    since = layers + 1 - int((ranks.flip(0) == 1).long().cumprod(0).sum())
    if since == 0:
        return f"{start} It is the likeliest at every layer, from the embeddings on."
    earlier = f"before that {quote(labels[since - 1])} was, and {final} had rank {int(ranks[since - 1]):,}"
    since_text = "only after the last layer" if since == layers else f"from layer {since - 1} on"
    return f"{start} It is the likeliest {since_text}; {earlier}."
