"""A vision transformer that classifies a picture by its patches (Dosovitskiy et al. 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import SizeError, Unsupported
from ..positions import Position
from .block import BlockSizes
from .inputs import Input
from .own_model import OwnModel
from .run import Run
from .stack import Stack, embedding

CLS, REGISTER = "[CLS]", "[REG]"
CONTRAST = 4.0  # scales centred pixels to about unit variance
NO_TEXT = "This model reads pictures, not sentences: look at it on the Train page"


@dataclass(frozen=True)
class VisionSizes(BlockSizes):
    """Sizes of a vision transformer; `vocabulary` and `max_len` are its number of tokens.

    Attributes:
        classes: the number of classes.
        side: of a picture, in pixels.
        patch: of a patch, in pixels; a divisor of `side`.
        registers: the number of register tokens beside [CLS] (Darcet et al. 2023).
    """

    classes: int = 2
    side: int = 28
    patch: int = 4
    registers: int = 0


def token_names(side: int, patch: int, registers: int) -> tuple[str, ...]:
    """Return the names of the tokens in order: [CLS], the registers, the patches as "row,column".

    Raises:
        SizeError: the side is no multiple of the patch size.
    """
    if patch < 1 or side < 1 or side % patch:
        raise SizeError(f"a side of {side} pixels cannot be cut into patches of {patch}; choose a divisor of {side}")
    return patch_token_names(side // patch, side // patch, (CLS,), registers)


def patch_token_names(rows: int, columns: int, special: tuple[str, ...], registers: int) -> tuple[str, ...]:
    """Return the token names of a grid of patches, special tokens and registers first."""
    names = [*special, *(f"[REG{number}]" for number in range(registers))]
    return (*names, *(f"{row},{column}" for row in range(rows) for column in range(columns)))


class VisionTransformer(Stack):
    """Stack over the patches of pictures with a classification head.

    Its passes take pixels where those of other stacks take ids; see `Stack`.
    """

    sizes: VisionSizes

    def __init__(self, sizes: VisionSizes) -> None:
        super().__init__(sizes)
        self.words = embedding(1 + sizes.registers, sizes.d_model)
        self.patches = nn.Linear(sizes.patch**2, sizes.d_model)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.classes)

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        """Return the first hidden state (b, i, c) of pixels (b, side, side), 0 to 1.

        The tokens are [CLS], the registers, and the patches row by row.
        """
        b, patch = len(ids), self.sizes.patch
        cut = ids.unfold(1, patch, patch).unfold(2, patch, patch).reshape(b, -1, patch**2)
        special = self.words.weight.expand(b, -1, -1)
        return position.add(torch.cat([special, self.patches(CONTRAST * (cut - 0.5))], dim=1))

    def logits(self, pixels: Tensor) -> Tensor:
        """Return the class logits (b, classes) of pixels (b, side, side)."""
        return self.to_logits(self.without_maps(pixels, None, rows=1))

    def next_token(self, x: Tensor) -> Tensor:
        """Return the class logits as (b, 1, classes): one row for the whole picture."""
        return self.to_logits(x)[:, None]

    def to_logits(self, x: Tensor) -> Tensor:
        """Map the last hidden state (b, i, c) to class logits (b, classes) by its [CLS] row."""
        logits: Tensor = self.out(self.norm(x[:, 0]))
        return logits


class PictureModel(OwnModel):
    """Model that reads pictures: `look(pixels)` replaces `run(text)`."""

    encoder: VisionTransformer
    can = OwnModel.can - {"batch", "steps"}
    reasons = dict.fromkeys(("batch", "steps"), NO_TEXT)

    def encode(self, text: Input) -> tuple[list[str], list[int]]:
        """Refuse a text, as this model reads pictures."""
        raise Unsupported(NO_TEXT)

    def look(self, pixels: Tensor, *, heads_off: Sequence[tuple[int, int]] = (), temperature: float = 1.0) -> Run:
        """Compute every map and hidden state of one picture; `run.logits` are (1, classes).

        Args:
            pixels: (side, side), 0 to 1.
            heads_off: as in `Model.run`.
            temperature: as in `Model.run`.

        Raises:
            SizeError: the picture has another size, or there is no such head.
        """
        sizes = self.encoder.sizes
        if pixels.shape != (sizes.side, sizes.side):
            raise SizeError(f"a picture of {tuple(pixels.shape)} pixels; this model reads {sizes.side} × {sizes.side}")
        names = token_names(sizes.side, sizes.patch, sizes.registers)
        switches = self.switches(len(names), None, heads_off=heads_off, temperature=temperature)
        tokens = list(names), list(range(len(names)))
        return self._pass([tokens], pixels[None].to(self.dtype), switches, (0, 0), all_logits=True)[0]
