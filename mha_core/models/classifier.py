"""A text classifier: a stack, pooling to one vector per text, and two linear layers."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from .. import masks
from ..errors import HeadlightError
from .block import BlockSizes
from .stack import Stack

HIDDEN_WIDTH = 128  # width of the layer before the last
PADDING = 0  # the id of [PAD]


@dataclass(frozen=True)
class ClassifierSizes(BlockSizes):
    """Sizes of a classifier.

    Attributes:
        classes: the number of classes.
        pooling: "[CLS]" classifies the row of that token, "mean" the mean over the tokens.
        all_rows: also compute the last layer's rows that "[CLS]" pooling does not need: slower, for the same logits.
    """

    classes: int = 2
    pooling: str = "[CLS]"
    all_rows: bool = False


class Classifier(Stack):
    """Stack with a classification head. See `Stack` for the passes that return maps."""

    sizes: ClassifierSizes
    padding = PADDING

    def __init__(self, sizes: ClassifierSizes) -> None:
        super().__init__(sizes)
        if sizes.pooling not in ("[CLS]", "mean"):
            raise HeadlightError(f"pooling={sizes.pooling!r}: choose [CLS] or mean")
        self.connected = nn.Linear(sizes.d_model, HIDDEN_WIDTH)
        self.out = nn.Linear(HIDDEN_WIDTH, sizes.classes)

    def logits(self, ids: Tensor, keep: Tensor, *, mask_padding: bool = True) -> Tensor:
        """Compute the class logits, (b, classes).

        Args:
            ids: int64 (b, i).
            keep: bool (b, i), True = a real token.
            mask_padding: False lets every token attend to the padding too, to demonstrate that bug.
        """
        length = ids.shape[1]
        # all rows of the mask are equal, so one row is expanded instead of copied
        allow = masks.allow(masks.full, 1, length, keep).expand(-1, -1, length, -1) if mask_padding else None
        rows = 1 if self.sizes.pooling == "[CLS]" and not self.sizes.all_rows else None
        return self.to_logits(self.without_maps(ids, allow, rows), keep)

    def to_logits(self, x: Tensor, keep: Tensor) -> Tensor:
        """Map the last hidden state (b, i, c) to logits (b, classes); "[CLS]" pooling reads only row 0."""
        if self.sizes.pooling == "mean":
            counted = keep[..., None].to(x.dtype)
            pooled = (x * counted).sum(dim=1) / counted.sum(dim=1)
        else:
            pooled = x[:, 0]
        logits: Tensor = self.out(F.relu(self.connected(pooled)))
        return logits
