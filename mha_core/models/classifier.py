"""A text classifier: embedding, positions, attention, one row for the whole text, two linear layers."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from .. import masks
from ..errors import HeadlightError
from .block import BlockSizes
from .stack import Stack

FULLY_CONNECTED = 128  # width of the layer before the last
PADDING = 0  # the id of [PAD]


@dataclass(frozen=True)
class ClassifierSizes(BlockSizes):
    """Sizes of a classifier.

    Attributes:
        classes: how many.
        pooling: what is read as the whole text, the row of "[CLS]", or the "mean" over the tokens.
        all_rows: the last layer computes every row, though "[CLS]" is the only one read: slower, for the same answer.
    """

    classes: int = 2
    pooling: str = "[CLS]"
    all_rows: bool = False


class Classifier(Stack):
    """Token ids to one number a class. See `Stack` for the passes that show maps."""

    sizes: ClassifierSizes
    padding = PADDING

    def __init__(self, sizes: ClassifierSizes) -> None:
        super().__init__(sizes)
        if sizes.pooling not in ("[CLS]", "mean"):
            raise HeadlightError(f"pooling={sizes.pooling!r}: choose [CLS] or mean")
        self.connected = nn.Linear(sizes.d_model, FULLY_CONNECTED)
        self.out = nn.Linear(FULLY_CONNECTED, sizes.classes)

    def logits(self, ids: Tensor, keep: Tensor, *, mask_padding: bool = True) -> Tensor:
        """ids int64 (b, i), keep bool (b, i) with True = a real token -> (b, classes).

        mask_padding=False lets every token look at the padding too: the classic bug, for showing it.
        """
        length = ids.shape[1]
        # every row is the same one: shown as often as needed, it is written down once
        allow = masks.allow(masks.full, 1, length, keep).expand(-1, -1, length, -1) if mask_padding else None
        rows = 1 if self.sizes.pooling == "[CLS]" and not self.sizes.all_rows else None
        return self.answer(self.without_maps(ids, allow, rows), keep)

    def answer(self, x: Tensor, keep: Tensor) -> Tensor:
        """The last hidden state (b, i, c), of which "[CLS]" needs the first row alone -> one number a class."""
        if self.sizes.pooling == "mean":
            counted = keep[..., None].to(x.dtype)
            pooled = (x * counted).sum(dim=1) / counted.sum(dim=1)
        else:
            pooled = x[:, 0]
        logits: Tensor = self.out(F.relu(self.connected(pooled)))
        return logits
