"""The pictures and sounds for models that read no text, by the names that a link has for them: a few of ours, and those
that visitors bring, whose names nobody can guess.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from headlight import ROOT
from headlight.server import store
from mha_core.errors import HeadlightError
from mha_core.pretrained import picture_file, sound_file

FOLDER = ROOT / "assets" / "album"
_RATE = 16_000  # samples a second


class Album(Mapping[str, bytes]):
    """The pictures, or the sounds, by their names.

    Args:
        kind: of data that a visit brings; a name of theirs begins with it.
        most: bytes of a file.
        ours: name -> its file in `FOLDER`.
        read: raises a HeadlightError for what is no such file.
    """

    def __init__(self, kind: str, most: int, ours: Mapping[str, str], read: Callable[[bytes], object]) -> None:
        self.kind, self.read = kind, read
        self.megabytes = most // 2**20
        self._ours = ours
        self._name = re.compile(rf"{kind}:([\w-]{{22}})", re.ASCII)

    def __getitem__(self, name: str) -> bytes:
        """Raises a HeadlightError for a name that none has."""
        if name in self._ours:
            return (FOLDER / self._ours[name]).read_bytes()
        found = self._name.fullmatch(name)
        if found is None:
            raise HeadlightError(
                f"this model reads {self.kind}s, not sentences; choose a sample, or open a file on Explore"
            )
        content = store.read("data", found[1])
        if content is None:
            raise HeadlightError(f"this {self.kind} is no longer stored; open its file again, or choose a sample")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._ours)

    def __len__(self) -> int:
        return len(self._ours)

    def has(self, name: str) -> bool:
        """Tells whether one has this name, ours or a visitor's."""
        found = self._name.fullmatch(name)
        return name in self._ours or (found is not None and store.has("data", found[1]))

    def name_of(self, data: str | None) -> str:
        """The name of what a visit brought; "" where it brought nothing."""
        return f"{self.kind}:{data}" if data else ""


PICTURES = Album(
    "picture",
    picture_file.MAX_BYTES,
    {"a ball and a box": "ball-and-box.png", "one odd dot": "odd-dot.png"},
    picture_file.read,
)
SOUNDS = Album(
    "sound",
    sound_file.MAX_BYTES,
    {"a tone twice": "tone-twice.wav", "low, high, low": "low-high-low.wav"},
    lambda content: sound_file.read(content, _RATE),
)
ALBUMS = {album.kind: album for album in (PICTURES, SOUNDS)}


def is_there(name: str) -> bool:
    """Tells whether a picture or a sound has this name."""
    return any(album.has(name) for album in ALBUMS.values())
