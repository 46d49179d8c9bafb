"""The pictures and sounds for models that read no text, by their names in links.

A few are bundled; those that users upload have unguessable names.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from headlight import ROOT
from headlight.server import store
from mha_core.errors import HeadlightError
from mha_core.pretrained import picture_file, sound_file

FOLDER = ROOT / "assets" / "album"
_RATE = 16_000  # samples per second


class Album(Mapping[str, bytes]):
    """The pictures, or the sounds, by their names.

    Args:
        kind: "picture" or "sound"; names of uploads begin with it.
        max_bytes: maximum size of a file.
        ours: name -> bundled file in `FOLDER`.
        read: reads a file; raises a HeadlightError if it is not valid.
    """

    def __init__(self, kind: str, max_bytes: int, ours: Mapping[str, str], read: Callable[[bytes], object]) -> None:
        self.kind, self.read = kind, read
        self.megabytes = max_bytes // 2**20
        self._ours = ours
        self._name = re.compile(rf"{kind}:([\w-]{{22}})", re.ASCII)

    def __getitem__(self, name: str) -> bytes:
        """Return a file's bytes; raise a HeadlightError for an unknown name."""
        if name in self._ours:
            return (FOLDER / self._ours[name]).read_bytes()
        match = self._name.fullmatch(name)
        if match is None:
            raise HeadlightError(
                f"this model reads {self.kind}s, no sentences: choose a bundled one, or open a file on Maps"
            )
        content = store.read("data", match[1])
        if content is None:
            raise HeadlightError(f"this {self.kind} was deleted: open its file again, or choose a bundled one")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._ours)

    def __len__(self) -> int:
        return len(self._ours)

    def has(self, name: str) -> bool:
        """Return whether a bundled or an uploaded file has this name."""
        match = self._name.fullmatch(name)
        return name in self._ours or (match is not None and store.has("data", match[1]))

    def data_name(self, data: str | None) -> str:
        """Return the name of a user's upload in the store; "" without one."""
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


def has_media(name: str) -> bool:
    """Return whether a picture or a sound has this name."""
    return any(album.has(name) for album in ALBUMS.values())
