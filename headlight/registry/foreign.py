"""Models of other makers on this machine: those in the cache of the Hugging Face hub, and folders.

In a link they are `hf:ORG/NAME@REVISION` and `folder:HASH`, never a path. They are for whoever sits at this machine: a
server that others reach has only the one that its command named.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from headlight.link.limits import MAX_TOKENS
from headlight.link.presets import PRESETS
from headlight.queue.single_flight import single_flight
from headlight.server import public
from mha_core import Model, load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.pretrained import audio_processor, families, folders, hub, image_processor, memory
from mha_core.pretrained.hf_model import HfModel
from mha_core.training import saved

from .album import ALBUMS
from .source import About, ModelSource

HUB, FOLDER = "hf:", "folder:"
SHORT = 12  # digits of a revision in a name
_HUB_NAME = re.compile(r"hf:([^@]{1,193})@([0-9a-f]{7,40})", re.ASCII)
_HASH = re.compile(r"folder:([0-9a-f]{24})", re.ASCII)
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
NOT_HERE = "models on the server’s computer can only be opened from that computer; choose another one"
NO_FOLDER = "this server no longer knows this folder; choose it again under “Another model”"
NOT_CACHED = "is not in this computer’s Hugging Face cache; download it under “Another model”"

_folders: dict[str, Path] = {}  # hash -> the folder, of those that somebody at this machine has opened
CACHE_BYTES = max(2**31, (memory.available() or 0) // 2)  # of models, those used last
for_everybody: set[str] = set()  # the names of those that the command named, which are for everybody


class _Loaded(LRUCache[object, Model]):
    """Models by bytes; with one that goes, its pictures go, which would hold it."""

    def popitem(self) -> tuple[object, Model]:
        key, gone = super().popitem()
        for cache in holders:
            for other in [own for own, one in cache.items() if one.model.name == gone.name]:
                del cache[other]
        return key, gone


loaded = _Loaded(CACHE_BYTES, lambda model: model.nbytes)
holders: list[MutableMapping[Any, Any]] = []  # caches of pictures


@dataclass(frozen=True)
class Found:
    """A model on this machine: its name in a link, its id or the name of its folder, kind, layers, heads and size as
    its description has them, and why it cannot be opened, in a sentence; "" where nothing speaks against it."""

    name: str
    title: str
    says: str
    why_not: str = ""


class Foreign(ModelSource):
    """A model of another maker by its name."""

    prefixes = (HUB, FOLDER)
    is_large = True

    @classmethod
    def listed(cls) -> Collection[str]:
        return sorted(for_everybody)

    def check(self) -> None:
        _ = self.folder

    @property
    def folder(self) -> Path:
        """The folder of its files. Raises as `check`."""
        if public.is_public() or not (public.is_local() or self.name in for_everybody):
            raise HeadlightError(NOT_HERE)
        folder = place(self.name)
        if folder is None:
            raise HeadlightError(f"the model {self.title} {NOT_CACHED}" if self.name.startswith(HUB) else NO_FOLDER)
        return folder

    @property
    def about(self) -> About:
        folder, parts = place(self.name), _parts(self.name)
        title = parts[1] if parts else folder.name if folder else "of this link"
        return About(title, "On this computer", _found(self.name, title, folder).says if folder else "")

    @property
    def presets(self) -> tuple[str, ...]:
        return tuple(ALBUMS.get(reads(place(self.name)), PRESETS))

    @property
    def in_code(self) -> tuple[str, str]:
        where = ", from this computer’s cache" if self.name.startswith(HUB) else ": enter the path of its folder"
        return self.about.title, f"The model{where}."

    @staticmethod
    @single_flight(loaded)
    def load_shared(device: str, name: str) -> Model:
        folder, title = Foreign(name).folder, Foreign(name).title
        try:
            model = load_model(str(folder), device)
        except HeadlightError as error:
            said = str(error).replace(str(folder), title)  # whose path nobody asked for
            raise WeightsFileError(said if title in said else f"the model {title} cannot be opened: {said}") from error
        except Exception as error:  # what a library says of files that it cannot read is for its own users
            raise WeightsFileError(f"{title} cannot be read ({type(error).__name__})") from error
        if model.reads == "picture" and (count := model.sizes.max_len) > MAX_TOKENS:
            raise WeightsFileError(f"{title} splits a picture into {count} tokens; at most {MAX_TOKENS} can be drawn")
        if isinstance(model, HfModel) and model.reads in ALBUMS:
            model.open_album(ALBUMS[model.reads])
        model.name = title
        model.facts |= {"model": title, **({"revision": folder.name} if name.startswith(HUB) else {})}
        return model


def place(name: str) -> Path | None:
    """The folder of a model by its name, None where there is none."""
    if hashed := _HASH.fullmatch(name):
        folder = _folders.get(hashed[1])
        return folder if folder is not None and folder.is_dir() else None
    if parts := _parts(name):
        found = [one for one in _snapshots(parts[1]) if one.name.startswith(parts[2])]
        return found[0] if len(found) == 1 else None
    return None


@lru_cache(maxsize=64)
def reads(folder: Path | None) -> str:
    """What the model of a folder reads, "text", "picture" or "sound", from its description alone."""
    kind = ""
    with suppress(HeadlightError):
        kind = str(folders.read_json(folder, folders.CONFIG).get("model_type", "")) if folder else ""
    return "picture" if kind in image_processor.KINDS else "sound" if kind in audio_processor.KINDS else "text"


def opened(path: str) -> Found:
    """A folder of this machine, which has a name from now on. Raises a HeadlightError where it holds no model."""
    if not public.is_local():
        raise HeadlightError(NOT_HERE)
    return _register(path)


def _register(path: str) -> Found:
    try:
        folder = Path(path).expanduser().resolve()
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError):  # a loop of links, no home, a zero byte
        is_folder = False
    if not is_folder:
        raise HeadlightError(f"“{path:.100}” is not a folder on this computer; enter the one that contains config.json")
    hashed = hashlib.blake2b(str(folder).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    found = _found(f"{FOLDER}{hashed}", folder.name, folder)
    if found.why_not:
        raise HeadlightError(f"the folder “{folder.name:.60}” cannot be opened: {found.why_not}")
    _folders[hashed] = folder
    return found


def named(text: str) -> Found:
    """The model that the command names: a folder, or an id whose files are in the cache, "org/name" or "org/name@rev".

    It is offered to everybody. Raises a HeadlightError where it is not there, or cannot be opened.
    """
    if public.is_public():
        raise HeadlightError("a public server does not open models from its own computer")
    repo, _, revision = text.partition("@")
    if Path(text).expanduser().is_dir():
        found = _register(text)
    elif not hub.is_id(repo):
        raise HeadlightError(f"“{text:.100}” is neither a folder nor a Hugging Face id such as org/name")
    else:
        found = cached_one(repo, revision)
    for_everybody.add(found.name)
    return found


def cached_one(repo: str, revision: str = "") -> Found:
    """A model of the cache by its id. Raises a HeadlightError where it is not there, or cannot be opened."""
    chosen = next((one for one in _snapshots(repo) if one.name.startswith(revision)), None) if hub.is_id(repo) else None
    if chosen is None:
        raise HeadlightError(f"the model {repo:.100} {NOT_CACHED}")
    found = _of_snapshot(repo, chosen)
    if found.why_not:
        raise HeadlightError(f"{repo} cannot be opened: {found.why_not}")
    return found


def cached() -> list[Found]:
    """What the cache of this machine holds, by its ids: of each the revision that its branch main names, or the newest.

    Raises a HeadlightError where nobody sits at this machine.
    """
    if not public.is_local():
        raise HeadlightError(NOT_HERE)
    with suppress(OSError):
        names = sorted(folder.name.removeprefix("models--") for folder in cache().glob("models--*"))
        repos = [repo for name in names if hub.is_id(repo := name.replace("--", "/"))]
        return [_of_snapshot(repo, first) for repo in repos if (first := next(_snapshots(repo), None))]
    return []


def cache() -> Path:
    """Where the hub's own package keeps what it fetches, by the variables that it reads."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _parts(name: str) -> re.Match[str] | None:
    """The id and the revision of a model of the hub."""
    parts = _HUB_NAME.fullmatch(name)
    return parts if parts and hub.is_id(parts[1]) else None


def _snapshots(repo: str) -> Iterator[Path]:
    """The folders of an id's revisions that hold a configuration: that of main first, then the newest."""
    folder = cache() / f"models--{repo.replace('/', '--')}"
    with suppress(OSError):
        main = ""
        with suppress(OSError, UnicodeDecodeError):
            main = (folder / "refs" / "main").read_text("ascii").strip()
        found = [one for one in (folder / "snapshots").iterdir() if (one / "config.json").is_file()]
        yield from sorted(found, key=lambda one: (one.name != main, -one.stat().st_mtime))


def _of_snapshot(repo: str, snapshot: Path) -> Found:
    return _found(f"{HUB}{repo}@{snapshot.name[:SHORT]}", repo, snapshot)


def _found(name: str, title: str, folder: Path) -> Found:
    """What its description says of it, before any weight is read."""
    if (folder / saved.RUN).is_file():
        return Found(name, title, "a run of Headlight")
    try:
        config = folders.read_json(folder, folders.CONFIG)
        folders.refuse_code(config, folders.CONFIG)
        families.family(config)
        size = folders.weights_of(folder).bytes
    except HeadlightError as error:
        return Found(name, title, "", str(error))
    return Found(name, title, ", ".join(part for part in (*_sizes(config), in_bytes(size)) if part))


def _sizes(config: Mapping[str, Any]) -> Iterator[str]:
    kind = config.get("model_type")
    yield kind[:40] if isinstance(kind, str) else ""
    numbers = [[n for key in keys if type(n := config.get(key)) is int] for keys in (_LAYERS, _HEADS)]
    yield f"{numbers[0][0]} × {numbers[1][0]} heads" if all(numbers) else ""


def in_bytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(0.1, size / 1e6):.1f} MB"
