"""The kind of each head: where its weight goes on this sentence, as one word that its tile says; and the row that is
looked at first: the word of the sentence that looks hardest at another one.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.limits import DOMINANT_WEIGHT, STRONG
from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import single_flight
from headlight.registry import source_of
from mha_core.heads.kinds import cells, score

HALF = 0.5  # of a row's weight, on average over the rows: what makes a head one of a kind
NEAR = 2  # words on either side
SPREAD = "spread out"
PRONOUNS = {"it", "he", "she", "they", "him", "her", "them", "his", "its", "their"}

Kind = tuple[str, float]  # its name, and the number that made it so


@single_flight(LRUCache(256), lambda picture, layer: (picture.settings, layer))
def of_layer(picture: Picture, layer: int) -> list[Kind]:
    """The kind of every head of a layer of a picture."""
    weights = pictures.among_tokens(picture.run)
    if picture.model.reads != "text":  # they are named by words of a sentence
        return []
    return [] if weights is None else kinds(weights[layer : layer + 1], picture.run.tokens, picture.run.ends)[0]


def kinds(weights: Tensor, tokens: Sequence[str], ends: tuple[int, int] = (0, 0)) -> list[list[Kind]]:
    """The kinds of heads.

    Args:
        weights: (layers, h, i, j).
        tokens: n of them.
        ends: how many in front and behind are the model's own, and no words, as in `Run`.

    Returns:
        for each layer and head the first of these that holds, with its number: at least half of the weight of the rows
        whose token stood before, on average, goes to what followed it there ("induction head", Olsson et al. 2022); at
        least half of a row's weight, on average, goes to the word before, the word after, the word itself; one weight
        of at least a half between two words that are no neighbours; half goes to the first or the last token (asked
        before the pair where these are words); 0.6 to both together, or to the words at most two steps away; otherwise
        it is spread, and the number is the largest weight.
    """
    n = len(tokens)
    first, last = tokens[0] if ends[0] else "first word", tokens[-1] if ends[1] else "last word"
    pair = ("word pair", _largest_among(weights, apart(n, ends)), STRONG)
    both = [(first, weights[..., 0].mean(-1), HALF), (last, weights[..., n - 1].mean(-1), HALF)]
    repeated = None if ends[0] else _after_the_same(tokens, weights)
    near = torch.stack([_sum_on_diagonal(weights, step) for step in range(-NEAR, NEAR + 1)]).sum(0)
    shares = [
        *([("induction", repeated, HALF)] if repeated is not None else []),
        ("previous", _on_diagonal(weights, -1), HALF),
        ("next", _on_diagonal(weights, 1), HALF),
        ("itself", _on_diagonal(weights, 0), HALF),
        # where the ends are words, a column of theirs is no pair; where they are not, a pair is the rarer thing
        *([pair, *both] if ends[0] else [*both, pair]),
        (f"{first} and {last}", (weights[..., 0] + weights[..., n - 1]).mean(-1), DOMINANT_WEIGHT),
        ("neighbours", near / n, DOMINANT_WEIGHT),
        (SPREAD, weights.amax((-1, -2)), 0.0),
    ]
    if n == 1:
        shares = shares[-1:]
    values = torch.stack([share for _, share, _ in shares])
    least = torch.tensor([bound for _, _, bound in shares]).view(-1, 1, 1)
    chosen = (values >= least).int().argmax(0)  # the first that holds
    numbers = values.gather(0, chosen[None])[0].tolist()
    return [
        [(shares[at][0], round(number, 4)) for at, number in zip(row, own, strict=True)]
        for row, own in zip(chosen.tolist(), numbers, strict=True)
    ]


def words_of(n: int, ends: tuple[int, int]) -> Tensor:
    """bool (n,): which tokens are the text's, one that the model does not know among them; not the model's own."""
    words = torch.zeros(n, dtype=torch.bool)
    words[ends[0] : n - ends[1]] = True
    return words


def _sum_on_diagonal(weights: Tensor, step: int) -> Tensor:
    """What all rows give to the token so many steps away: (layers, h)."""
    return weights.diagonal(step, -2, -1).sum(-1)


def _on_diagonal(weights: Tensor, step: int) -> Tensor:
    """The same on average over the rows that have such a token: (layers, h)."""
    return _sum_on_diagonal(weights, step) / max(1, weights.shape[-1] - abs(step))


def _after_the_same(tokens: Sequence[str], weights: Tensor) -> Tensor | None:
    """The scores of induction heads, (layers, h), in a model that reads to the right alone; None without a repeat."""
    if weights[0].triu(1).any():  # it looks ahead; of one layer, as all have the same mask
        return None
    scores = score(weights, cells("induction", [tokens.index(token) for token in tokens]))
    return None if scores.isnan().any() else scores


def _largest_among(weights: Tensor, chosen: Tensor) -> Tensor:
    """The largest weight among the chosen cells (i, j), 0 where there is none: (layers, h)."""
    counted = chosen.to(weights.dtype)
    # layer by layer: nothing of the size of all maps is written
    return torch.stack([(layer * counted).amax((-1, -2)) for layer in weights])


def apart(n: int, ends: tuple[int, int]) -> Tensor:
    """The pairs (i, j) of words that are no neighbours."""
    word, place = words_of(n, ends), torch.arange(n)
    return word[:, None] & word & ((place[:, None] - place).abs() > 1)


def first_row(place: Cursor, asked: Cursor, untouched: Picture) -> Cursor:
    """A place, its row chosen where the link, `asked`, has none: the largest weight between two words that are no
    neighbours, pronouns first, in the head that the untouched model is looked at first. So no other head and no change
    moves it. A model that goes on with the text is asked of its last word, as `At.on` has it; of a picture it is the
    patch in the middle, of a sound the moment.
    """
    run = untouched.run
    if asked.row is None and run.extras.patches is not None:
        own, rows, columns = run.extras.patches.own, run.extras.patches.rows, run.extras.patches.columns
        return replace(place, row=own + rows // 2 * columns + columns // 2)
    if asked.row is None and run.extras.heard is not None and untouched.model.group == "encoder":
        return replace(place, row=len(run.tokens) // 2)
    if asked.row is not None or run.logits is not None or run.columns is not None:
        return place
    first = Cursor.of(source_of(untouched.settings.model).first_at)
    largest = (run.weights[first.layer, first.head] * apart(len(run.tokens), run.ends)).amax(-1).tolist()
    found = [row for row, weight in enumerate(largest) if weight > 0]
    pronouns = [row for row in found if run.tokens[row].lower() in PRONOUNS]
    return replace(place, row=max(pronouns or found, key=largest.__getitem__)) if found else place
