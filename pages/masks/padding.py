"""Effect of padding: a short sentence in a batch with a longer one, with and without the padding mask."""

from dataclasses import dataclass, replace

from cachetools import LRUCache

from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block
from mha_core import Run
from mha_core.measure import measures
from mha_core.token_text import quote

from .effects import ROUNDING

HEADING = "Padding: a short sentence beside a longer one"


@dataclass(frozen=True)
class PaddingEffect:
    """Change of a sentence's results in a batch, compared with running it alone."""

    maps: float  # largest change of a weight, over all layers, heads and rows
    cosine: float  # of the sentence vectors in the batch and alone
    lost: float  # largest weight that a row gives to padding


@dataclass(frozen=True)
class BatchComparison:
    """Shorter sentence of a batch: text, lengths in tokens, and its change with and without the padding mask."""

    short: str
    tokens: int
    batch_length: int
    masked: PaddingEffect
    unmasked: PaddingEffect


@single_flight(LRUCache(64))
def compare_batch(settings: Settings, second: str) -> BatchComparison | None:
    """Run both sentences in one padded batch; None if they have the same length, so without padding.

    The settings apply to both; painted cells fit one length only and are ignored. Raises what `Model.run` raises.
    """
    model, settings = pictures.model_for(settings), settings.without_painting
    texts = [settings.text, second]
    lengths = [len(model.tokenize(text)[0]) for text in texts]
    if lengths[0] == lengths[1]:
        return None
    short = lengths.index(min(lengths))
    with pass_slot(max(lengths), models.count_heads(model)):
        alone = settings.run(model, texts[short])
        masked, unmasked = (
            _change(alone, settings.run_batch(model, texts, mask_padding=mask_padding)[short])
            for mask_padding in (True, False)
        )
    return BatchComparison(texts[short], min(lengths), max(lengths), masked, unmasked)


def blocks(settings: Settings, second: str) -> list[Block]:
    """Return the comparison as a table, and why a result must not depend on its batch."""
    batch = compare_batch(settings.without_painting, second)
    if batch is None:
        message = "Both sentences have the same number of tokens, so nothing is padded. Make one of them longer."
        return [sheet.panel(HEADING, [sheet.text(message)])]
    notices = []
    if settings.painted:
        notices.append("Painted cells are ignored here, because they fit only one length.")
    if batch.unmasked.maps <= ROUNDING and settings.mask != "none":
        # under this mask padding has no effect, so its effect is shown without the mask
        unmasked = compare_batch(replace(settings.without_painting, mask="none"), second)
        notices.append(
            f"The mask “{settings.mask}” alone already blocks padding for these tokens, so both results are the same "
            "with it. The table shows them without that mask."
        )
        batch = unmasked or batch
    texts = [sheet.text(text) for text in (*notices, _why(batch))]
    return [sheet.panel(HEADING, [*texts[:-1], sheet.row([_table(batch), texts[-1]])])]


def _table(batch: BatchComparison) -> Block:
    rows = [
        [name, numbers.number(change.maps), f"{change.cosine:.6f}", f"{change.lost:.4f}"]
        for name, change in (("with the padding mask", batch.masked), ("without it", batch.unmasked))
    ]
    sizes = f"{batch.tokens} tokens and {batch.batch_length - batch.tokens} of padding"
    caption = (
        f"{quote(numbers.cut(batch.short))}: {sizes}, against the same sentence alone: the largest change of a weight, "
        "the cosine of the sentence vector, and the most weight of a row on padding."
    )
    return sheet.table(["in the batch", "largest change", "cosine", "on padding"], rows, caption)


def _why(batch: BatchComparison) -> str:
    """Describe whether the result depends on the batch, and why it must not."""
    masked, unmasked = batch.masked, batch.unmasked
    why = "A sentence’s result must not depend on its batch."
    if unmasked.maps <= ROUNDING:
        return f"None of these tokens attends to padding, so both results are the same. {why}"
    rest = "which is rounding" if masked.maps <= ROUNDING else "which is more than rounding"
    return (
        f"Without the padding mask up to {100 * unmasked.lost:.0f} % of a row’s weight goes to padding, which is not "
        f"part of the text, and the sentence vector changes (cosine {unmasked.cosine:.4f}). The same sentence then "
        "gets another result because of its neighbour in the batch. With the mask the largest change of a weight is "
        f"{numbers.difference(masked.maps)}, {rest}. {why}"
    )


def _change(alone: Run, batched: Run) -> PaddingEffect:
    return PaddingEffect(
        measures.largest_difference(batched.weights, alone.weights),
        measures.cosine(batched.sentence, alone.sentence),
        max(0.0, float((alone.weights.sum(dim=-1) - batched.weights.sum(dim=-1)).max())),
    )
