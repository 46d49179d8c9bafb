"""The mean over heads: of a layer, which `nn.MultiheadAttention` returns by default, of all, or of those in sight."""

from mha_core.measure import measures
from pages.kit.draw import numbers
from pages.kit.picture.means import Heads, mean_of
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import head_name


def in_words(picture: Picture, heads: Heads) -> str:
    """How far the nearest head is from the mean."""
    weights, whose = picture.run.weights, mean_of(picture.run.weights, heads)
    if len(heads) == 1:
        layer, _ = heads[0]
        of_one = f"Layer {layer} has one head, so the mean is its map."
        return of_one if weights.shape[1] == 1 else f"The map of {head_name(*heads[0])}."
    far = [float(measures.row_distances(weights[pair], whose).mean()) for pair in heads]
    nearest = min(range(len(far)), key=far.__getitem__)
    of_layer = len({layer for layer, _ in heads}) == 1
    name = f"head {heads[nearest][1]}" if of_layer else head_name(*heads[nearest])
    if far[nearest] == 0:
        return f"The mean of {len(far)} heads. {numbers.capital(name)} looks exactly like it."
    return (
        f"The mean of {len(far)} heads; no head looks like this. Nearest is {name}: of a row’s weight it puts "
        f"{numbers.weight(far[nearest])} elsewhere on average (total variation)."
    )
