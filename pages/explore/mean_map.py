"""The mean over the heads of a layer, which `nn.MultiheadAttention` returns by default: a map that no head has."""

from torch import Tensor

from mha_core.measure import measures
from mha_core.show.cells import write_cells
from pages.kit.draw import numbers
from pages.kit.picture import mask_codec, pictures
from pages.kit.picture.pictures import Picture


def mean(picture: Picture, layer: int) -> Tensor:
    """The mean map (i, j)."""
    return picture.run.weights[layer].mean(dim=0)


def in_words(picture: Picture, layer: int) -> str:
    """How far the nearest head is from the mean."""
    maps = picture.run.weights[layer]
    if len(maps) == 1:
        return f"Layer {layer} has one head, so the mean is its map."
    far = [float(measures.row_distances(own, mean(picture, layer)).mean()) for own in maps]
    nearest = min(range(len(far)), key=far.__getitem__)
    if far[nearest] == 0:
        return f"The mean of {len(maps)} heads. Head {nearest} looks exactly like it."
    return (
        f"The mean of {len(maps)} heads; no head looks like this. Nearest is head {nearest}: of a row’s weight it puts "
        f"{numbers.weight(far[nearest])} elsewhere on average (total variation)."
    )


def forbidden(picture: Picture) -> list[str]:
    """The cells that no head may look at."""
    settings, model, (n, keys) = picture.settings, pictures.model_of(picture.settings), picture.run.weights.shape[2:]
    allow = mask_codec.allowed(settings.mask, settings.painted, n, model.sizes.n_heads, model.own_mask, keys)
    return [write_cells(~(allow.any(dim=0) if allow.dim() == 3 else allow))]
