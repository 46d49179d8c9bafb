"""A short sentence beside a longer one in the same batch, with and without the padding mask. No streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mha_core import Run
from mha_core.measure import compare
from pages.kit.draw import sheet
from pages.kit.draw.sheet import Block, number
from pages.kit.picture import pictures
from pages.kit.picture.pictures import Settings

__all__ = ["Beside", "Change", "beside", "blocks"]


@dataclass(frozen=True)
class Change:
    """What a batch mate did to a sentence, against running it alone.

    Attributes:
        maps: the largest change of a weight, over all layers, heads and rows.
        cosine: of its sentence vector to the one alone.
        lost: the most that a row gives to padding, of its 1.
    """

    maps: float
    cosine: float
    lost: float


@dataclass(frozen=True)
class Beside:
    """The shorter of two sentences in a batch: its text, both lengths in tokens, and what happened both ways."""

    short: str
    tokens: int
    longest: int
    masked: Change
    unmasked: Change


@lru_cache(maxsize=64)
def beside(settings: Settings, second: str) -> Beside | None:
    """Both sentences in one padded batch; None when they have the same length, so that there is no padding.

    The settings hold for both; painted cells are for one length only and are left out. Raises what `Model.run` raises.
    """
    model = pictures.model_of(settings)
    texts = [settings.text, second]
    lengths = [len(model.tokenize(text)[0]) for text in texts]
    if lengths[0] == lengths[1]:
        return None
    short = lengths.index(min(lengths))
    options = {
        "mask": settings.mask,
        "position": settings.position,
        "heads_off": settings.heads_off,
        "temperature": settings.temperature,
    }
    with pictures.turn(max(lengths)):
        alone = model.run(texts[short], **options)  # type: ignore[arg-type]
        masked, unmasked = (
            _change(alone, model.run_batch(texts, mask_padding=padding, **options)[short])  # type: ignore[arg-type]
            for padding in (True, False)
        )
    return Beside(texts[short], min(lengths), max(lengths), masked, unmasked)


def blocks(settings: Settings, second: str) -> list[Block]:
    """The batch as a table, and why the answer must not depend on who else is in it."""
    found = beside(settings.unpainted, second)
    if found is None:
        same = "Both sentences have the same number of tokens: nothing is padded. Make one of them longer."
        return [sheet.panel(HEADING, [sheet.text(same)])]
    rows = [
        [name, number(change.maps), f"{change.cosine:.6f}", f"{change.lost:.4f}"]
        for name, change in (("with the padding mask", found.masked), ("without it", found.unmasked))
    ]
    head = [
        "in the batch",
        "largest change of a weight",
        "cosine of its vector to alone",
        "most weight of a row on padding",
    ]
    short = found.short if len(found.short) <= 60 else found.short[:59] + "…"
    padding = found.longest - found.tokens
    caption = f"“{short}”: {found.tokens} tokens and {padding} of padding, against the same sentence alone"
    said = [_told(found, settings.mask)]
    if settings.painted:
        said.append("Painted cells are left out here: they belong to one length.")
    return [sheet.panel(HEADING, [sheet.table(head, rows, caption), *map(sheet.text, said)])]


HEADING = "Padding: a short sentence beside a longer one"
ROUNDING = 1e-5


def _told(found: Beside, mask: str) -> str:
    """Whether the answer depends on the batch mate, and why it must not."""
    masked, unmasked = found.masked, found.unmasked
    why = "An answer must not depend on batch mates: they are chosen by chance, and nobody could repeat it."
    if unmasked.maps <= ROUNDING:
        return (
            f"The mask “{mask}” alone already keeps these tokens from looking at padding, so both are the same. {why}"
        )
    rest = "which is rounding" if masked.maps <= ROUNDING else "which is more than rounding"
    return (
        f"Without the padding mask up to {100 * unmasked.lost:.0f} % of a row's weight goes to tokens that nobody "
        f"wrote, and the cosine of the sentence vector to the one alone falls to {unmasked.cosine:.4f}: the same "
        "sentence gets another answer because of who else is in the batch. With it the largest change of a weight is "
        f"{number(masked.maps) if masked.maps else '0'}, {rest}. {why}"
    )


def _change(alone: Run, batched: Run) -> Change:
    return Change(
        compare.largest_difference(batched.weights, alone.weights),
        compare.cosine(batched.sentence, alone.sentence),
        max(0.0, float((alone.weights.sum(dim=-1) - batched.weights.sum(dim=-1)).max())),
    )
