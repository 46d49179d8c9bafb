"""Channels: the score of one query and one key as the sum of what each channel of the head adds to it."""

from typing import TypedDict

from mha_core import Model
from mha_core.measure.channels import Channels, channels
from pages.kit.draw import numbers
from pages.kit.draw.packing import pack_focus
from pages.kit.picture import models, pictures, traces, words
from pages.kit.picture.link_query import LinkQuery

MOST_OF_IT = 0.8  # of the size of all products
ROTATED = (
    "q and k are as the product takes them, turned by their places (rotary positions): two channels each, half a head "
    "apart, turn together."
)


class ChannelsAnswer(TypedDict):
    """What the browser is told; q, k and their products follow, a float32 for each channel."""

    layer: int
    head: int
    row: int
    key: int
    query: str  # the two tokens
    looked: str
    strong: list[int]  # the fewest channels that make most of it
    said: list[str]  # how the score is summed, which channels make it, and what becomes of it
    notes: list[str]


def answer(query: LinkQuery) -> bytes:
    """The pair that a link looks at; without a key the one that its row looks at most. Raises a HeadlightError."""
    settings, _ = query.within()
    model = query.model
    at = query.place(pictures.tokens(settings))
    traced = traces.traced(settings, at.layer, "fused")
    weights = next(step.value for step in traced.steps if step.name == "weights")[0, at.head]
    row = min(at.row or 0, len(weights) - 1)
    key = int(weights[row].argmax()) if at.key is None else min(at.key, weights.shape[1] - 1)
    biased = "bias" in words.places(settings.position, model)
    own = channels(traced.steps, at.head, row, key, temperature=float(settings.temperature), biased=biased)
    keys = pictures.tokens(settings) if model.group == "cross" else traced.tokens
    notes = [ROTATED] if "rotate" in words.places(settings.position, model) else []
    header: ChannelsAnswer = {
        "layer": at.layer,
        "head": at.head,
        "row": row,
        "key": key,
        "query": traced.tokens[row],
        "looked": keys[key],
        "strong": own.strongest(MOST_OF_IT),
        "said": [
            _sum_in_words(own, f"“{traced.tokens[row]}” → “{keys[key]}”"),
            _strongest_in_words(own),
            _weight_in_words(float(weights[row, key])),
        ],
        "notes": [*notes, *_shared(model)],
    }
    return pack_focus(header, own.q, own.k, own.products)


def _sum_in_words(own: Channels, pair: str) -> str:
    """The sum, step by step, up to the score."""
    d = len(own.q)
    total, positive, negative = (numbers.number(value, 2) for value in (
        float(own.products.sum()), own.positive, own.negative))  # fmt: skip
    parts = [f"The {d} products of {pair} sum to {total}: +{positive.lstrip('−')} and {negative}."]
    parts.append(f"Divided by √{d} that is {numbers.number(own.scaled, 2)}")
    if own.bias:
        parts[-1] += f", the encoding of positions adds {numbers.number(own.bias, 2)}"
    if own.temperature != 1:
        parts[-1] += f", the temperature {own.temperature:g} divides it"
    return f"{' '.join(parts)}: the score is {numbers.number(own.score, 2)}."


def _strongest_in_words(own: Channels) -> str:
    chosen = own.strongest(MOST_OF_IT)
    if not chosen:
        return "Every product is 0."
    products = own.products[chosen]
    share = float(products.abs().sum() / own.products.abs().sum())
    sums = [f"+{numbers.number(float(products.clamp(min=0).sum()), 2)}"] if bool((products > 0).any()) else []
    sums += [numbers.number(float(products.clamp(max=0).sum()), 2)] if bool((products < 0).any()) else []
    names = ", ".join(map(str, chosen[:6])) + (" …" if len(chosen) > 6 else "")
    which = f"The strongest channel ({names}) makes" if len(chosen) == 1 else (
        f"The {len(chosen)} strongest of {len(own.q)} channels ({names}) make"
    )  # fmt: skip
    return f"{which} {share:.0%} of the products’ size: {' and '.join(sums)}.".replace("%", " %")


def _weight_in_words(weight: float) -> str:
    if weight == 0:
        return "Its weight is 0: the mask forbids the pair, or the softmax leaves nothing of so low a score."
    return f"Among the scores of its row the softmax makes a weight of {numbers.weight(weight)} of it."


def _shared(model: Model) -> list[str]:
    """That heads share their keys, where they do."""
    stack = models.stack_of(model)
    kv_heads = model.sizes.n_heads if stack is None else stack.block(0).attention.n_kv_heads
    many = model.sizes.n_heads // kv_heads
    return [f"{many} heads that follow each other share one k."] if many > 1 else []
