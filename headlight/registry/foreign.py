"""Models of other makers on this machine: those in the cache of the Hugging Face hub, and folders.

Their names in links are `hf:ORG/NAME@REVISION` and `folder:HASH`, never a path. Only local users may open them;
for others the server offers only the model that its command names.
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
NOT_HERE = "models of this machine can be opened only by its local users; choose another one"
NO_FOLDER = "this server does not know this folder any more: choose it again under “Another model”"
NOT_CACHED = "is not in this machine’s cache of the Hugging Face hub: get it under “Another model”"

_folders: dict[str, Path] = {}  # hash -> folder that a local user has opened
CACHE_BYTES = max(2**31, (memory.available() or 0) // 2)  # of loaded models
offered_names: set[str] = set()  # of the models that the command offers to all users


class _ModelCache(LRUCache[object, Model]):
    """Loaded models, bounded by bytes; evicting one evicts its cached pictures, which refer to it."""

    def popitem(self) -> tuple[object, Model]:
        """Evict the least recently used model and its pictures."""
        key, model = super().popitem()
        for cache in picture_caches:
            for other in [k for k, picture in cache.items() if picture.model.name == model.name]:
                del cache[other]
        return key, model


model_cache = _ModelCache(CACHE_BYTES, lambda model: model.nbytes)
picture_caches: list[MutableMapping[Any, Any]] = []  # caches of pictures


@dataclass(frozen=True)
class LocalModel:
    """A model on this machine, as its configuration describes it.

    Attributes:
        name: its name in a link.
        title: its id, or the name of its folder.
        description: kind, layers, heads and size.
        why_not: reason why it cannot be opened, as a sentence; "" if it can.
    """

    name: str
    title: str
    description: str
    why_not: str = ""


class Foreign(ModelSource):
    """A model of another maker."""

    prefixes = (HUB, FOLDER)
    is_large = True

    @classmethod
    def listed(cls) -> Collection[str]:
        """See `ModelSource`."""
        return sorted(offered_names)

    def check(self) -> None:
        """See `ModelSource`."""
        _ = self.folder

    @property
    def folder(self) -> Path:
        """The folder of its files. Raises what `check` raises."""
        if public.is_public() or not (public.is_local() or self.name in offered_names):
            raise HeadlightError(NOT_HERE)
        folder = find_folder(self.name)
        if folder is None:
            raise HeadlightError(f"the model {self.title} {NOT_CACHED}" if self.name.startswith(HUB) else NO_FOLDER)
        return folder

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        folder, parts = find_folder(self.name), _parts(self.name)
        title = parts[1] if parts else folder.name if folder else "of this link"
        return About(title, "On this computer", _describe(self.name, title, folder).description if folder else "")

    @property
    def presets(self) -> tuple[str, ...]:
        """See `ModelSource`."""
        return tuple(ALBUMS.get(input_kind(find_folder(self.name)), PRESETS))

    @property
    def in_code(self) -> tuple[str, str]:
        """See `ModelSource`."""
        hint = ", from this machine’s cache" if self.name.startswith(HUB) else ": adapt the path of its folder"
        return self.about.title, f"The model{hint}."

    @staticmethod
    @single_flight(model_cache)
    def load_shared(device: str, name: str) -> Model:
        """See `ModelSource`."""
        folder, title = Foreign(name).folder, Foreign(name).title
        try:
            model = load_model(str(folder), device)
        except HeadlightError as error:
            text = str(error).replace(str(folder), title)  # paths of the server are private
            raise WeightsFileError(text if title in text else f"the model {title} cannot be opened: {text}") from error
        except Exception as error:  # the library's message is for developers
            raise WeightsFileError(f"{title} cannot be read ({type(error).__name__})") from error
        if model.reads == "picture" and (count := model.sizes.max_len) > MAX_TOKENS:
            raise WeightsFileError(f"{title} splits a picture into {count} tokens; at most {MAX_TOKENS} can be drawn")
        if isinstance(model, HfModel) and model.reads in ALBUMS:
            model.open_album(ALBUMS[model.reads])
        model.name = title
        model.facts |= {"model": title, **({"revision": folder.name} if name.startswith(HUB) else {})}
        return model


def find_folder(name: str) -> Path | None:
    """Return the folder of a model by its name, None if there is none."""
    if hashed := _HASH.fullmatch(name):
        folder = _folders.get(hashed[1])
        return folder if folder is not None and folder.is_dir() else None
    if parts := _parts(name):
        matches = [snapshot for snapshot in _snapshots(parts[1]) if snapshot.name.startswith(parts[2])]
        return matches[0] if len(matches) == 1 else None
    return None


@lru_cache(maxsize=64)
def input_kind(folder: Path | None) -> str:
    """Return what the model of a folder reads by its configuration: "text", "picture" or "sound"."""
    kind = ""
    with suppress(HeadlightError):
        kind = str(folders.read_json(folder, folders.CONFIG).get("model_type", "")) if folder else ""
    return "picture" if kind in image_processor.KINDS else "sound" if kind in audio_processor.KINDS else "text"


def open_folder(path: str) -> LocalModel:
    """Register a folder of this machine, so that its model has a name.

    Raises:
        HeadlightError: the user is not local, or the folder has no model that can be opened.
    """
    if not public.is_local():
        raise HeadlightError(NOT_HERE)
    return _register(path)


def _register(path: str) -> LocalModel:
    try:
        folder = Path(path).expanduser().resolve()
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError):  # a loop of links, no home directory, a zero byte
        is_folder = False
    if not is_folder:
        raise HeadlightError(f"“{path:.100}” is not a folder of this machine; choose the one that contains config.json")
    hashed = hashlib.blake2b(str(folder).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    model = _describe(f"{FOLDER}{hashed}", folder.name, folder)
    if model.why_not:
        raise HeadlightError(f"the folder “{folder.name:.60}” cannot be opened: {model.why_not}")
    _folders[hashed] = folder
    return model


def offer(text: str) -> LocalModel:
    """Offer the model that the command names to all users.

    Args:
        text: a folder, or the id of a model in the cache, "org/name" or "org/name@revision".

    Raises:
        HeadlightError: there is no such model, or it cannot be opened.
    """
    if public.is_public():
        raise HeadlightError("a public server does not open models of its machine")
    repo, _, revision = text.partition("@")
    if Path(text).expanduser().is_dir():
        model = _register(text)
    elif not hub.is_id(repo):
        raise HeadlightError(f"“{text:.100}” is neither a folder nor an id of the Hugging Face hub, such as org/name")
    else:
        model = find_cached(repo, revision)
    offered_names.add(model.name)
    return model


def find_cached(repo: str, revision: str = "") -> LocalModel:
    """Return a model of the cache by its id.

    Raises:
        HeadlightError: it is not in the cache, or cannot be opened.
    """
    match = next((p for p in _snapshots(repo) if p.name.startswith(revision)), None) if hub.is_id(repo) else None
    if match is None:
        raise HeadlightError(f"the model {repo:.100} {NOT_CACHED}")
    model = _describe_snapshot(repo, match)
    if model.why_not:
        raise HeadlightError(f"{repo} cannot be opened: {model.why_not}")
    return model


def list_cached() -> list[LocalModel]:
    """Return the models in the cache, each in the revision of its branch main, otherwise the newest one.

    Raises:
        HeadlightError: the user is not local.
    """
    if not public.is_local():
        raise HeadlightError(NOT_HERE)
    with suppress(OSError):
        names = sorted(folder.name.removeprefix("models--") for folder in cache_folder().glob("models--*"))
        repos = [repo for name in names if hub.is_id(repo := name.replace("--", "/"))]
        return [_describe_snapshot(repo, first) for repo in repos if (first := next(_snapshots(repo), None))]
    return []


def cache_folder() -> Path:
    """Return the cache folder of huggingface_hub, by the same environment variables."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _parts(name: str) -> re.Match[str] | None:
    """Split the name of a hub model into id and revision."""
    parts = _HUB_NAME.fullmatch(name)
    return parts if parts and hub.is_id(parts[1]) else None


def _snapshots(repo: str) -> Iterator[Path]:
    """Yield the folders of an id's revisions that have a configuration: that of main, then the newest first."""
    folder = cache_folder() / f"models--{repo.replace('/', '--')}"
    with suppress(OSError):
        main = ""
        with suppress(OSError, UnicodeDecodeError):
            main = (folder / "refs" / "main").read_text("ascii").strip()
        snapshots = [snapshot for snapshot in (folder / "snapshots").iterdir() if (snapshot / "config.json").is_file()]
        yield from sorted(snapshots, key=lambda snapshot: (snapshot.name != main, -snapshot.stat().st_mtime))


def _describe_snapshot(repo: str, snapshot: Path) -> LocalModel:
    return _describe(f"{HUB}{repo}@{snapshot.name[:SHORT]}", repo, snapshot)


def _describe(name: str, title: str, folder: Path) -> LocalModel:
    """Describe a model by its configuration, without reading weights."""
    if (folder / saved.RUN).is_file():
        return LocalModel(name, title, "a run of Headlight")
    try:
        config = folders.read_json(folder, folders.CONFIG)
        folders.refuse_code(config, folders.CONFIG)
        families.family(config)
        size = folders.read_weight_headers(folder).bytes
    except HeadlightError as error:
        return LocalModel(name, title, "", str(error))
    return LocalModel(name, title, ", ".join(part for part in (*_sizes(config), in_bytes(size)) if part))


def _sizes(config: Mapping[str, Any]) -> Iterator[str]:
    kind = config.get("model_type")
    yield kind[:40] if isinstance(kind, str) else ""
    numbers = [[n for key in keys if type(n := config.get(key)) is int] for keys in (_LAYERS, _HEADS)]
    yield f"{numbers[0][0]} × {numbers[1][0]} heads" if all(numbers) else ""


def in_bytes(size: int) -> str:
    """Format a size in MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(0.1, size / 1e6):.1f} MB"
