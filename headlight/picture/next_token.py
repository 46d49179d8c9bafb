"""Predictions of the next token: the likeliest tokens, the stages of sampling, and the probability of a word."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypedDict

import torch
from torch import Tensor

from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers
from mha_core.errors import HeadlightError
from mha_core.measure import surprise
from mha_core.models import sampling
from mha_core.pretrained.byte_level import ByteLevel, in_text
from mha_core.token_text import isolate, quote

from . import pictures
from .pictures import Picture
from .query import Query

LIKELIEST = 6  # number of tokens shown
STAGE_ROWS = 6  # number of tokens shown after each stage, beside the first that it cuts and the drawn one
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}  # invisible characters that are tokens


class NextToken(TypedDict):
    """A candidate for the next token."""

    label: str  # readable form
    text: str  # text that it adds to the sentence, "" if it is not a whole character
    chance: float
    baseline: float | None  # probability in the baseline, None without one


class StageToken(TypedDict):
    """A candidate for the next token in the stages of sampling."""

    label: str  # as of a `NextToken`
    text: str
    rank: int  # 1 for the likeliest
    chances: list[float]  # the model's probability, and that after each stage
    cut: str  # the stage that cuts it, "" if it can be drawn


class Stages(TypedDict):
    """Candidates that temperature, top-k and top-p leave in turn, and the sampled token."""

    tokens: list[StageToken]  # the likeliest ones, the first that top-k and top-p cut, and the sampled one, by rank
    sample: int  # index of the sampled token
    counts: list[int]  # number of tokens in the model's vocabulary, and after each stage
    others: list[float]  # the probability of the tokens that are not listed, likewise
    sentence: str


def likeliest_tokens(baseline: Picture | None, picture: Picture, count: int = LIKELIEST) -> list[NextToken]:
    """Return the likeliest next tokens, the likeliest first; none for a model that does not predict one.

    The likeliest token of the baseline, a picture of the same model, is always included.
    """
    chances, earlier = next_probabilities(picture), None if baseline is None else next_probabilities(baseline)
    if chances is None:
        return []
    ids = torch.topk(chances, min(count, len(chances))).indices.tolist()
    if earlier is not None and (first := int(earlier.argmax())) not in ids:
        ids[-1] = first
    return [_next_token(picture, number, chances, earlier) for number in ids]


def stage_logits(picture: Picture, query: Query) -> dict[str, Tensor]:
    """Return what each stage of a link's sampling leaves, as `sampling.stages`.

    Raises:
        HeadlightError: the model does not predict the next token.
    """
    if picture.run.logits is None or not continues_text(picture):
        raise HeadlightError("this model does not predict the next word")
    options = query["temp"], query["topk"], query["topp"]
    return sampling.stages(picture.run.logits[-1], *options, picture.model.suppressed_ids)


def stages(picture: Picture, query: Query) -> Stages | None:
    """Return the stages of a link's sampling; None for a model that does not predict the next token."""
    if not continues_text(picture):
        return None
    logits = stage_logits(picture, query)
    chances = [stage.softmax(-1) for stage in logits.values()]
    order = chances[0].argsort(descending=True, stable=True)
    sample = int((order == sampling.sample(logits["top-p"], query["dice"], len(picture.run.ids))).nonzero())
    cuts = {name: (last - stage)[order] == math.inf for (_, last), (name, stage) in pairwise(logits.items())}
    ranks = {*range(min(STAGE_ROWS, len(order))), sample}
    ranks |= {int(cuts[name].byte().argmax()) for name in ("top-k", "top-p") if cuts[name].any()}
    tokens = list[StageToken]()
    for rank in sorted(ranks):
        label, text = _label_and_text(picture, int(order[rank]))
        cut = next((name for name, is_cut in cuts.items() if is_cut[rank]), "")
        values = [float(stage[order[rank]]) for stage in chances]
        tokens.append({"label": label, "text": text, "rank": rank + 1, "chances": values, "cut": cut})
    counts = [int(stage.isfinite().sum()) for stage in logits.values()]
    shares = [float(p[stage.isfinite()].sum()) for p, stage in zip(chances, list(logits.values())[1:], strict=False)]
    index = sorted(ranks).index(sample)
    return {
        "tokens": tokens,
        "sample": index,
        "counts": counts,
        "others": [max(0.0, 1 - sum(column)) for column in zip(*(token["chances"] for token in tokens), strict=True)],
        "sentence": _describe_stages(query, counts, shares, tokens[index]),
    }


def _describe_stages(query: Query, counts: Sequence[int], shares: Sequence[float], token: StageToken) -> str:
    """Return sentences on what top-k and top-p keep and hold, and on the sampled token.

    `shares` are the probabilities that each stage keeps of those before it.
    """
    label, chance = quote(token["label"]), numbers.weight(token["chances"][-1], 3)
    if not query["temp"]:
        first = numbers.weight(token["chances"][0], 3)
        return f"Greedy: the likeliest token, {label} ({first}), always comes next; top-k and top-p never cut it."
    sentences = []
    for stage, key in ((2, "topk"), (3, "topp")):
        name, total, count = f"Top-{key[-1]} {query[key]:,g}", numbers.count(counts[stage - 1], "token"), counts[stage]
        if count < counts[stage - 1]:
            verb, share = "holds" if count == 1 else "hold", numbers.share(shares[stage - 1], 3)
            left = " that was left" if counts[stage - 1] < counts[0] else ""
            sentences.append(f"{name} keeps {count:,} of {total}, which {verb} {share} of the probability{left}.")
        elif query[key] != query.default(key):
            sentences.append(f"{name} cuts none of {total}.")
    sentences = sentences or [f"Each of the {numbers.count(counts[-1], 'token')} can be drawn."]
    return f"{' '.join(sentences)} Seed {query['dice']} draws {label}, which now has probability {chance}."


def next_probabilities(picture: Picture) -> Tensor | None:
    """Return the probabilities of the next token, (v,) in float64; None for a model that does not predict one.

    Some kernels add float32 one by one: over 49,152 tokens that changes the fifth digit.
    """
    logits = picture.run.logits
    return None if logits is None or not continues_text(picture) else logits[-1].double().softmax(-1)


def continues_text(picture: Picture) -> bool:
    """Return whether the model continues its input text, unlike an encoder-decoder."""
    run = picture.run
    return run.logits is not None and run.extras.image is None and len(picture.model.groups) == 1


def describe_word(word: str, by_label: dict[str, Picture]) -> str:
    """Return a sentence with the probability that a word comes next in each picture, "" without a word.

    The pictures, each with its label, are of one model.
    """
    if not word.strip():
        return ""
    try:
        probabilities = {name: word_probability(picture, word) for name, picture in by_label.items()}
    except HeadlightError as error:
        return f"{quote(word.strip())}: {error}."
    listing = ", ".join(f"{numbers.number(p, 4)} {name}".strip() for name, (p, _) in probabilities.items())
    pieces = next(iter(probabilities.values()))[1]
    note = f" It takes {len(pieces)} tokens, {' '.join(map(isolate, pieces))}, and their probabilities are multiplied."
    return f"{quote(word.strip())} comes next with probability {listing}.{note if len(pieces) > 1 else ''}"


def word_probability(picture: Picture, word: str) -> tuple[float, list[str]]:
    """Return the probability that a word comes next, and its tokens.

    Raises:
        HeadlightError: the model does not predict it, or it does not begin a token.
    """
    settings, run, model = picture.settings, picture.run, picture.model
    needs_no_space = settings.text[-1:].isspace() or not settings.text or not word.strip()[:1].isalnum()
    text = settings.text + ("" if needs_no_space else " ") + word.strip()
    tokens, ids = model.tokenize(text)
    n = len(run.ids)
    if list(ids[:n]) != list(run.ids) or len(ids) == n:
        raise HeadlightError(
            "it cannot be appended as it is, because together with the end of the sentence it splits into other tokens"
        )
    first = next_probabilities(picture)
    if first is None:
        raise HeadlightError("this model does not predict the next word")
    if len(ids) == n + 1:
        return float(first[ids[n]]), list(tokens[n:])
    if settings.painted:
        raise HeadlightError(f"it takes {len(ids) - n} tokens, and the painted mask is for {n} alone")
    extended = pictures.picture(replace(settings, text=text))
    with pass_slot(len(ids), models.count_heads(model)):
        losses = surprise.surprise(model, extended.run)
    return math.exp(-float(losses[n:].sum())), list(tokens[n:])


def token_label(picture: Picture, number: int) -> str:
    """Return the readable form of a token as the next one of a picture's text."""
    tokenizer = picture.model.tokenizer
    label = tokenizer.id_to_token(number) or str(number)
    if isinstance(tokenizer, ByteLevel):
        label = in_text(label, picture.settings.text)
    return _VISIBLE.get(label, label)


def _next_token(picture: Picture, number: int, current: Tensor, baseline: Tensor | None) -> NextToken:
    label, text = _label_and_text(picture, number)
    earlier = None if baseline is None else float(baseline[number])
    return {"label": label, "text": text, "chance": float(current[number]), "baseline": earlier}


def _label_and_text(picture: Picture, number: int) -> tuple[str, str]:
    """Return the readable form of a token, and the text that it adds to the sentence."""
    model = picture.model
    text = str(model.tokenizer.decode([number]))
    if model.history is not None:  # vocabularies of models trained here hold words, or characters
        label = model.tokenizer.id_to_token(number) or str(number)
        text = label if model.history.recipe.task == "text" else f" {label}"
    elif "�" in text:
        text = ""
    return token_label(picture, number), text
