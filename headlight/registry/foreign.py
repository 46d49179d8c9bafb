"""Models of other makers on this machine: those in the cache of the Hugging Face hub, and folders.

Their names in links are `hf:ORG/NAME@REVISION` and `folder:HASH`, never a path, and for one half of a dual encoder
"#text", "#vision" or "#audio" behind it. Only local users may open them; for others the server offers only the model
that its command names.
"""

import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from headlight.link.limits import MAX_TOKENS
from headlight.link.presets import PRESETS
from headlight.queue.single_flight import single_flight
from headlight.server import public
from mha_core import Model, load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.pretrained import adapters, audio_processor, families, folders, hub, image_processor, memory
from mha_core.pretrained.hf_model import HfModel
from mha_core.training import saved

from .album import ALBUMS
from .source import About, ModelSource

HUB, FOLDER = "hf:", "folder:"
HALVES = {"text": "text", "vision": "pictures", "audio": "sounds"}  # "#half" behind a name -> what it reads
SHORT = 12  # digits of a revision in a name
READ = re.compile(rf"\.safetensors$|^{hub.FILE_PATTERN.pattern}$", re.DOTALL)  # names of files
_HUB_NAME = re.compile(r"hf:([^@]{1,193})@([0-9a-f]{7,40})", re.ASCII)
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
NOT_HERE = "models of this machine can be opened only by its local users; choose another one"
NO_FOLDER = "this server does not know this folder any more: choose it again under “Another model”"
CHANGED = "the files of {} have changed since it was opened: choose its folder again under “Another model”"
NO_MODEL = "is neither a folder nor an id of the Hugging Face hub, such as org/name"
NOT_CACHED = "is not in this machine’s cache of the Hugging Face hub: get it under “Another model”"

log = logging.getLogger(__name__)
UNKNOWN = ("[UNK]", "<unk>")
MAX_WORDS = 8  # of a sentence that is made of the vocabulary
_own_sentences: dict[str, tuple[str, ...]] = {}  # name -> the preset of a loaded model that knows few of our words
_folders: dict[str, Path] = {}  # name -> folder that a local user has opened
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
        description: kind, layers, heads, and the weight files with their size.
        why_not: reason why it cannot be opened, as a sentence; "" if it can.
        halves: of a dual encoder, those that can be opened.
    """

    name: str
    title: str
    description: str
    why_not: str = ""
    halves: tuple["LocalModel", ...] = ()


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
        offered = {_split_half(name)[0] for name in offered_names}
        if public.is_public() or not (public.is_local() or _split_half(self.name)[0] in offered):
            raise HeadlightError(NOT_HERE)
        folder = find_folder(self.name)
        if folder is None:
            raise HeadlightError(f"the model {self.title} {NOT_CACHED}" if self.name.startswith(HUB) else NO_FOLDER)
        return folder

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        folder, title = find_folder(self.name), self._base_title
        description = _describe(self.name, title, folder).description if folder else ""
        return About(_half_title(self.name, title), "On this computer", description)

    @property
    def _base_title(self) -> str:
        folder, parts = find_folder(self.name), _parts(self.name)
        return parts[1] if parts else printable(folder.name) if folder else "of this link"

    @property
    def presets(self) -> tuple[str, ...]:
        """See `ModelSource`."""
        kind = input_kind(find_folder(self.name), _split_half(self.name)[1])
        return _own_sentences.get(self.name) or tuple(ALBUMS.get(kind, PRESETS))

    @property
    def in_code(self) -> tuple[str, str]:
        """See `ModelSource`."""
        hint = ", from this machine’s cache" if self.name.startswith(HUB) else ": adapt the path of its folder"
        half = _split_half(self.name)[1]
        return self._base_title + (half and f"#{half}"), f"The model{hint}."

    def load(self, device: str) -> Model:
        """See `ModelSource`."""
        self.require_unchanged()  # its weights may be mapped from the files
        return super().load(device)

    def require_unchanged(self) -> None:
        """Raise a HeadlightError if files of its folder have changed since it was opened."""
        if self.name.startswith(FOLDER) and folder_name(self.folder) != _split_half(self.name)[0]:
            raise HeadlightError(CHANGED.format(self.about.title))

    @staticmethod
    @single_flight(model_cache)
    def load_shared(device: str, name: str) -> Model:
        """See `ModelSource`."""
        folder, title, half = Foreign(name).folder, Foreign(name).title, _split_half(name)[1]
        try:
            model = load_model(str(folder / f"#{half}" if half else folder), device, dtype=None)
        except Exception as error:
            raise WeightsFileError(f"the model {title} cannot be opened: {_reason(error, folder, title)}") from error
        Foreign(name).require_unchanged()
        if model.reads == "picture" and (count := model.sizes.max_len) > MAX_TOKENS:
            raise WeightsFileError(f"{title} splits a picture into {count} tokens; at most {MAX_TOKENS} can be drawn")
        if isinstance(model, HfModel) and model.reads in ALBUMS:
            model.open_album(ALBUMS[model.reads])
        model.name, model.origin = title, "loaded"
        _own_sentences[name] = _own_sentence(model)
        revision = {"revision": folder.name} if name.startswith(HUB) else {}
        first = {"model": title, "files": Foreign(name).about.summary} | revision
        notes = {key: model.facts[key] for key in ("left aside",) if key in model.facts}
        model.facts = first | notes | model.facts | first
        return model


def _own_sentence(model: Model) -> tuple[str, ...]:
    """Return words of the vocabulary as a sentence, where the model knows less than half of our first sentence."""
    if model.reads != "text":
        return ()

    def unknown(text: str) -> int:
        return sum(token in UNKNOWN for token in model.encode(text)[0])

    if 2 * unknown(PRESETS[0]) <= len(model.encode(PRESETS[0])[0]):
        return ()
    vocabulary = map(model.tokenizer.id_to_token, range(model.tokenizer.get_vocab_size()))
    words = (word for word in vocabulary if word and word.isalpha() and not unknown(word))
    return tuple(filter(None, [" ".join(islice(words, MAX_WORDS))]))


def find_folder(name: str) -> Path | None:
    """Return the folder of a model by its name, None if there is none."""
    name, _ = _split_half(name)
    if folder := _folders.get(name):
        return folder if os.path.isdir(folder) else None  # noqa: PTH112  # unlike Path's, it raises nothing
    if parts := _parts(name):
        matches = [snapshot for snapshot in _snapshots(parts[1]) if snapshot.name.startswith(parts[2])]
        return matches[0] if len(matches) == 1 else None
    return None


def _split_half(name: str) -> tuple[str, str]:
    """Split the half of a dual encoder from a name in a link; "" = no half."""
    base, _, half = name.partition("#")
    return (base, half) if half in HALVES else (name, "")


def _half_title(name: str, title: str) -> str:
    """Return the title of a model with what its half reads."""
    half = _split_half(name)[1]
    return f"{title}, {HALVES[half]}" if half else title


def input_kind(folder: Path | None, half: str = "") -> str:
    """Return what the model of a folder, or half of it, reads: "text", "picture" or "sound"."""
    if half:
        return HALVES[half].removesuffix("s")
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
    kind = "not a folder of this machine"
    try:
        place, half = folders.split_part(os.path.expanduser(path))  # noqa: PTH111
        folder = Path(place).resolve()
        next(folder.iterdir(), None)
    except NotADirectoryError:
        kind = "a GGUF file, which is not read" if folder.suffix.lower() == ".gguf" else "a file"
    except PermissionError:
        raise HeadlightError(f"“{printable(path)}” may not be read by this user; change its permissions") from None
    except (OSError, RuntimeError, ValueError):  # a loop of links, no home directory, a zero byte
        pass
    else:
        name, title = folder_name(folder), printable(folder.name)
        model = _describe(f"{name}#{half}" if half else name, title, folder)
        if model.why_not:
            raise HeadlightError(f"the folder “{title}” cannot be opened: {model.why_not}")
        _folders[name] = folder
        return model
    raise HeadlightError(f"“{printable(path)}” is {kind}; choose the folder that contains config.json")


def folder_name(folder: Path) -> str:
    """Return the name of a folder in links, which changes with the files that are read."""
    stamps = list[tuple[str, int, int, int]]()
    is_model = os.path.lexists(folder / folders.CONFIG)  # otherwise a folder in it may be the model
    for place in (folder, *(() if is_model else folder.glob("*/"))):
        with suppress(OSError):  # a folder without rights
            names = filter(READ.search, os.listdir(place))  # noqa: PTH208  # of Path takes ten times as long
            for name in sorted(names):
                with suppress(OSError):  # a link to nowhere
                    status = os.stat(place / name)  # noqa: PTH116
                    # a copy in the place of a mapped file may have its size and time
                    stamps.append((str(place / name), status.st_size, status.st_mtime_ns, status.st_ino))
    content = repr((os.fsencode(folder), sorted(stamps))).encode("ascii", "backslashreplace")
    return f"{FOLDER}{hashlib.blake2b(content, digest_size=12).hexdigest()}"


def printable(text: str) -> str:
    """Return the first 100 characters of a file's name, with "·" for those that cannot be shown."""
    return "".join(sign if sign.isprintable() else "·" for sign in text[:100])


def offer(text: str) -> LocalModel:
    """Offer the model that the command names to all users.

    Args:
        text: a path, or the id of a model in the cache, "org/name" or "org/name@revision"; "#vision" or another half
            of a dual encoder may be behind it, otherwise it is the first one.

    Raises:
        HeadlightError: there is no such model, or it cannot be opened.
    """
    if public.is_public():
        raise HeadlightError("a public server does not open models of its machine")
    place, half = folders.split_part(os.path.expanduser(text))  # noqa: PTH111
    repo, _, revision = place.partition("@")
    if text and os.path.exists(place):  # noqa: PTH110  # raises nothing
        model = _register(text)
    elif not hub.is_id(repo):
        raise HeadlightError(f"“{printable(text)}” {NO_MODEL}")
    else:
        model = find_cached(repo, revision, half)
    models = model.halves or (model,)
    offered_names.update(model.name for model in models)
    return models[0]


def find_cached(repo: str, revision: str = "", half: str = "") -> LocalModel:
    """Return a model of the cache, or half of it, by its id and a revision.

    Raises:
        HeadlightError: it is not in the cache, or cannot be opened.
    """
    snapshots = list(_snapshots(repo, revision or "main")) if hub.is_id(repo) else []
    matches = [snapshot for snapshot in snapshots if snapshot.name.startswith(revision)]
    matches = matches or [snapshot for snapshot in snapshots if snapshot.name == _commit(repo, revision)]
    if not matches:
        raise HeadlightError(f"the model {repo:.100} {f'at revision {revision:.60} ' * bool(revision)}{NOT_CACHED}")
    if revision and len(matches) > 1:
        raise HeadlightError(f"{len(matches)} revisions of {repo} begin with “{revision}”; give more of its digits")
    model = _describe_snapshot(repo, matches[0], half)
    if model.why_not:
        raise HeadlightError(f"{repo} cannot be opened: {model.why_not}")
    return model


def list_cached() -> list[LocalModel]:
    """Return the models in the cache, each in the revision of its branch main, otherwise the newest one.

    Both halves of a dual encoder are models.

    Raises:
        HeadlightError: the user is not local.
    """
    if not public.is_local():
        raise HeadlightError(NOT_HERE)
    with suppress(OSError):
        names = sorted(folder.name.removeprefix("models--") for folder in cache_folder().glob("models--*"))
        repos = [repo for name in names if hub.is_id(repo := name.replace("--", "/"))]
        firsts = [(repo, first) for repo in repos if (first := next(_snapshots(repo), None))]
        models = [_describe_snapshot(repo, first) for repo, first in firsts if any(first.glob("*config.json"))]
        return [half for model in models for half in model.halves or (model,)]
    return []


def cache_folder() -> Path:
    """Return the cache folder of huggingface_hub, by the same environment variables, with ~ and $NAME in them."""
    read, join = os.environ.get, os.path.join
    home = _expand(read("HF_HOME", join(read("XDG_CACHE_HOME", _expand("~/.cache")), "huggingface")))
    return Path(_expand(read("HF_HUB_CACHE", read("HUGGINGFACE_HUB_CACHE", join(home, "hub")))))


def _expand(path: str) -> str:
    return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111


def _parts(name: str) -> re.Match[str] | None:
    """Split the name of a hub model into id and revision."""
    parts = _HUB_NAME.fullmatch(name)
    return parts if parts and hub.is_id(parts[1]) else None


def _repo_folder(repo: str) -> Path:
    return cache_folder() / f"models--{repo.replace('/', '--')}"


def _commit(repo: str, ref: str) -> str:
    """Return the commit of a branch or tag, "" if it is not in the cache."""
    with suppress(OSError, ValueError):
        if hub.REVISION.fullmatch(ref) and ".." not in ref:
            return (_repo_folder(repo) / "refs" / ref).read_text("ascii").strip()
    return ""


def _snapshots(repo: str, ref: str = "main") -> Iterator[Path]:
    """Yield the folders of an id's revisions: that of a branch or tag, then the newest first."""
    with suppress(OSError):
        first, snapshots = _commit(repo, ref), filter(os.path.isdir, (_repo_folder(repo) / "snapshots").iterdir())
        yield from sorted(snapshots, key=lambda snapshot: (snapshot.name != first, -snapshot.stat().st_mtime))


def _describe_snapshot(repo: str, snapshot: Path, half: str = "") -> LocalModel:
    name = f"{HUB}{repo}@{snapshot.name[:SHORT]}"
    note = "" if snapshot.name == _commit(repo, "main") else ", not the revision main"
    return _describe(f"{name}#{half}" if half else name, repo, snapshot, note)


def _describe(name: str, title: str, folder: Path, note: str = "") -> LocalModel:
    """Describe a model, or the half of it that its name chooses, by its configuration, without reading weights."""
    half = _split_half(name)[1]
    base_title, title = title, _half_title(name, title)
    try:
        if not half and (folder / saved.RUN).is_file():
            return LocalModel(name, title, f"a run of Headlight{note}")
        folder, _ = adapters.locate(folder)
        config = folders.describe(folder)
        if not half and config.get("model_type") in families.DUAL_ENCODERS:
            models = [_describe(f"{name}#{part}", base_title, folder, note) for part in HALVES]
            if halves := tuple(model for model in models if not model.why_not):
                return replace(halves[0], name=name, title=title, halves=halves)
        families.family(config, half)
        weights = folders.read_weight_headers(folder)
        files = weights.files[0].name if len(weights.files) == 1 else f"{len(weights.files)} files"
        parts = (*_sizes(config), f"{files} of {in_bytes(weights.bytes)}")
    except Exception as error:  # of a library, or of a file that has gone since
        return LocalModel(name, title, note.lstrip(", "), _reason(error, folder, title))
    return LocalModel(name, title, ", ".join(part for part in parts if part) + note)


def _reason(error: Exception, folder: Path, title: str) -> str:
    """Return an error's message in one line, without paths of the server; errors of libraries are logged."""
    if isinstance(error, HeadlightError):
        return " ".join(str(error).replace(str(folder), title).split())
    log.error("A model cannot be read", exc_info=error)
    return f"it cannot be read ({type(error).__name__}); the log of the server has the details"


def _sizes(config: Mapping[str, Any]) -> Iterator[str]:
    kind = config.get("model_type")
    yield kind[:40] if isinstance(kind, str) else ""
    numbers = [[n for key in keys if type(n := config.get(key)) is int] for keys in (_LAYERS, _HEADS)]
    yield f"{numbers[0][0]} × {numbers[1][0]} heads" if all(numbers) else ""


def in_bytes(size: int) -> str:
    """Format a size in MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(0.1, size / 1e6):.1f} MB"
