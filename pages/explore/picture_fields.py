"""The fields of Explore's picture, as its view is told them."""

from collections.abc import Mapping
from typing import TypedDict

from headlight.picture.link_query import PictureAnswer
from headlight.picture.words import Figure

from .effect import ChangeEffect
from .given import HeardSound, SeenPatches
from .goes_on import GoesOn
from .kinds import Kind
from .reading import ReadMap


class EffectHere(ChangeEffect):
    here: float  # the largest change in the map in focus


class MapBefore(TypedDict):
    forbidden: list[str]
    distances: list[float]


class PinnedMap(TypedDict):
    tokens: list[str]
    columns: list[str] | None  # what they look at, where that is others than themselves
    ends: tuple[int, int]
    at: str
    label: str
    forbidden: list[str]


class OfMaps(TypedDict):
    """What is told of the maps."""

    forbidden: list[str]  # cells as text, one for all heads or one a head
    mean: str | None  # what is said of the mean over the heads, where the map is that
    reading: ReadMap | None  # what stands in it, where that is not every token
    values: list[float] | None  # how long each value of the head is; None where it was not asked for
    columns: str  # what is said of the columns that are taken out
    figures: list[Figure]
    status: str
    kinds: list[list[Kind]]  # of each head of a layer its name, and the number that made it so; of layers in sight
    effect: EffectHere | None  # of the changes
    before: MapBefore | None  # the map before them
    pinTail: str  # what the link says of this picture behind the head
    pin: PinnedMap | None
    done: int  # layers that are there; of all but long texts all
    tile: int  # cells of a piece, each way, of a map that does not come whole; the row in focus follows; 0 of others


class ExplorePicture(PictureAnswer, GoesOn, OfMaps):
    compared: str  # what is known of the comparison with transformers
    look: str  # how the map in focus is read, as in the link
    label: str
    origin: str
    places: Mapping[str, str]  # preset -> the head that shows it, as `at` of a link
    typed: str  # the sentence of the picture
    pieces: list[str]  # what must be explained of the tokens
    patches: SeenPatches | None  # of a picture
    heard: HeardSound | None  # of a sound
    kv: int  # key and value heads of a layer; query heads that follow each other share one
