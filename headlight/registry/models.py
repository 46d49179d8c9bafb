"""The models that a visitor may look at: MiniLM, SmolLM2, the trained ones of assets/trained, the visit's own, and
those of this machine (`foreign`).

Folders are found by name in this list alone, never by a path from a link. The name of an own run cannot be guessed, and
the control offers it to its own visitor only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import torch

from headlight import ROOT
from headlight.link.limits import POSITIONS
from headlight.link.place import DEFAULT_AT
from headlight.link.presets import CONTINUED, PRESETS
from headlight.server import store
from headlight.ui.numbers import share
from mha_core import IMPLEMENTATIONS, Model, Run
from mha_core.attention.switches import EVERYTHING
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.models.classifier import Classifier
from mha_core.models.stack import Stack
from mha_core.positions import Learned, is_altered
from mha_core.pretrained import smollm2
from mha_core.pretrained.byte_level import ByteLevel
from mha_core.pretrained.hf_model import HfModel
from mha_core.training import inference, saved, tasks
from mha_core.training.events import History

from . import foreign, recordings
from .album import ALBUMS

MINILM, SMOLLM2 = "minilm", "smollm2"
SHIPPED = ROOT / "assets" / "trained"
TITLE = "MiniLM · pretrained"
SMOLLM2_TITLE = "SmolLM2 · pretrained, says the next word"
SWITCH = "HEADLIGHT_SMOLLM2"  # "off" in the environment: this server offers SmolLM2 to nobody
FIRST_AT = "0.0"  # of a model about whose heads nothing is known
OWN_PRESETS = {MINILM: PRESETS, SMOLLM2: tuple(CONTINUED)}
KNOWN_PLACES = {MINILM: DEFAULT_AT, SMOLLM2: next(iter(CONTINUED.values()))}
GONE = "this trained model is gone: train it again, or choose another one"
MOST_ANSWERS = 3  # classes whose probabilities are told
MOST_UNKNOWN = 5  # tokens that are named
BOTH_WAYS, ONE_WAY, TRANSLATES = "reads both ways", "reads left to right", "reads both ways, writes left to right"
# what is known of them before they are loaded; a test holds it against them
KNOWN_SIZES = {MINILM: f"6 × 12 heads, English, {BOTH_WAYS}", SMOLLM2: f"30 × 9 heads, English, {ONE_WAY}"}
# how one looks at a model of one's own, which the app cannot open
OWN_CODE = """\
from mha_core import load_model
run = load_model("my-folder").run("The dog bit the man")
run.show(layer=0, head=0).save("my-model.html")
"""


class Choice(NamedTuple):
    """A model in the list: its title, the group that it stands in, and its size, language and direction."""

    title: str
    group: str
    says: str


@dataclass(frozen=True)
class Own:
    """A run of one visitor: its title in the control, sentences to try, what the list says of it, and whether it takes
    pictures instead of sentences."""

    title: str
    presets: tuple[str, ...]
    says: str = ""
    reads_pictures: bool = False

    @classmethod
    def of(cls, history: History) -> Own:
        """The words that tell a run from its neighbours."""
        start, recipe = history.start, history.recipe
        task = start.title if start else recipe.task
        title = f"{task}: {recipe.position}, {recipe.implementation}, seed {recipe.seed}"
        says = _says(asdict(start)) if start else ""
        return cls(title, _questions(history), says, bool(start and start.picture))


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, str]:
    """The trained models that Headlight brings along: name -> title. Only names are read, in the order of the tasks."""
    names = [folder.name for folder in SHIPPED.glob("*") if (folder / "model.safetensors").is_file()]
    order = list(tasks.NAMES)
    known = [name for name in names if name.split("-")[0] in order]
    return {name: _title(name) for name in sorted(known, key=lambda name: (order.index(name.split("-")[0]), name))}


def keep(name: str, folder: Path) -> None:
    """Has the store hold a saved run: every process that reads it can be asked for this name from now on.

    Raises:
        HeadlightError: it cannot be written.
    """
    if not store.has("model", name):
        store.keep("model", saved.pack(folder), name)


def _own(name: str) -> Own | None:
    """The run of that name; None when nobody has one, or it is gone or damaged, as whoever loads it is told."""
    with suppress(HeadlightError):
        return _read(name) if store.has("model", name) else None
    return None


@lru_cache(maxsize=64)
def _read(name: str) -> Own:
    with opened(name) as folder:
        return Own.of(saved.read(folder))


def offered(runs: Mapping[str, Own], recorded: Sequence[str] = ()) -> dict[str, Choice]:
    """The choices of a visitor with these runs and recordings, by their names; none that reads pictures."""
    return {
        **{name: Choice(title, "Pretrained", KNOWN_SIZES[name]) for name, title in pretrained().items()},
        **{
            name: Choice(title, "Trained here", _says(_shipped_start(name)))
            for name, title in shipped().items()
            if not reads_pictures(name)
        },
        **{name: Choice(run.title, "Yours", run.says) for name, run in runs.items() if not run.reads_pictures},
        **{
            name: Choice(title(name), "Recorded", recordings.says(name)) for name in (*recordings.OF_COMMAND, *recorded)
        },
        **{found.name: Choice(found.title, "Of this machine", found.says) for found in foreign.offered()},
    }


def pretrained() -> dict[str, str]:
    """The models whose weights come from packages: name -> title, which says so where the package is missing."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return {MINILM: TITLE}
    return {MINILM: TITLE, SMOLLM2: SMOLLM2_TITLE if has_smollm2() else f"{SMOLLM2_TITLE} (not installed)"}


def title(name: str) -> str:
    name, group = foreign.split(name)
    if recordings.is_recording(name):
        return recordings.title(name)
    if group:
        return f"{title(name)}, {foreign.GROUPS[group]}"
    if foreign.is_foreign(name):
        return foreign.title(name)
    run = _own(name)
    return run.title if run else {**pretrained(), **shipped()}.get(name, name)


def check(name: str) -> None:
    """Raises a HeadlightError when no model of the list has this name any more."""
    if foreign.is_foreign(name):
        foreign.check(name)
        return
    if recordings.is_recording(name):
        recordings.check(name)
        return
    if name == SMOLLM2:
        raise HeadlightError("SmolLM2, the model that writes, is switched off on this server; choose another model")
    if not is_there(name):
        raise HeadlightError(GONE)


@contextmanager
def opened(name: str) -> Iterator[Path]:
    """The folder with the weights of a trained model, while it is read.

    Raises:
        HeadlightError: as of `check`, or the disk is full.
        WeightsFileError: it is damaged, or this version cannot read it.
    """
    check(name)
    if name in shipped():
        yield SHIPPED / name
        return
    try:
        temporary = TemporaryDirectory(prefix="headlight-opened-")
    except OSError:
        raise HeadlightError("the server's disk is full or cannot be written; try again later") from None
    with temporary as place:
        folder = Path(place) / "run"
        try:
            saved.unpack(packed(name), folder)
        except WeightsFileError as error:
            raise WeightsFileError(f"this trained model cannot be opened: {error}") from error
        yield folder


def packed(name: str) -> bytes:
    """A trained model as one zip file. Raises as `check` does."""
    check(name)
    if name in shipped():
        return saved.pack(SHIPPED / name)
    content = store.read("model", name)
    if content is None:
        raise HeadlightError(GONE)
    return content


def is_there(name: str) -> bool:
    """Tells whether a model of the list, or of somebody who knows its name, is called that."""
    name, _ = foreign.split(name)
    if foreign.is_there(name) or recordings.is_there(name):
        return True
    return name in pretrained() or name in shipped() or store.has("model", name)


def presets(name: str) -> tuple[str, ...]:
    """The sentences that are one click away: a trained model is asked what its task asks."""
    name, _ = foreign.split(name)
    if recordings.is_recording(name):
        return recordings.model(name).texts
    if name in OWN_PRESETS:
        return OWN_PRESETS[name]
    if given := ALBUMS.get(foreign.reads(name)):
        return tuple(given)
    run = _own(name)
    if run is None:
        return _built(name.split("-")[0], 0) if name in shipped() else PRESETS
    return run.presets


def goes_on(name: str) -> bool:
    """Whether its texts are beginnings, whose last word is the one to look at."""
    return name == SMOLLM2


def places(name: str) -> Mapping[str, str]:
    """Of a model whose heads are known: the sentences of `presets`, and the head that shows what each is for."""
    return CONTINUED if goes_on(name) else {}


def heads(model: Model) -> int:
    """All heads of all layers, as `sharing.turn` asks for them."""
    return model.sizes.n_layers * model.sizes.n_heads


def defaults(name: str) -> dict[str, Any]:
    """The controls whose default is another one for this model."""
    if name == MINILM:
        return {}
    last = recordings.is_recording(foreign.split(name)[0])  # as far as the training had come
    return {"s": presets(name)[-1 if last else 0], "at": first_at(name)}


def first_at(name: str) -> str:
    """The head to look at first, as `at` of a link."""
    return KNOWN_PLACES.get(name, FIRST_AT)


def able(model: Model) -> Model:
    """The same model, its attention in “fused” where it was trained in an implementation that cannot do everything.

    The weights stay the same; only so can heads be switched off in it, and positions and temperature be changed.
    """
    if model.encoder is None:
        return model
    return model if IMPLEMENTATIONS[model.sizes.implementation].can == EVERYTHING else model.as_implementation("fused")


def group_names(model: Model) -> Sequence[str]:
    """What its kinds of attention are called."""
    return model.group_names if isinstance(model, recordings.RecordedModel) else model.groups


def encodings(model: Model) -> list[str]:
    """The positions that a model can take, as `Model.run` does; only a table can be altered."""
    stack = model.encoder
    if stack is None:
        return ["trained", "none"] if "positions" in model.can else ["trained"]
    table = isinstance(stack.position, Learned)
    return [core for core in POSITIONS.values() if table or not is_altered(core)]


def answer(model: Model, run: Run) -> list[str]:
    """The answer of a classifier, ["dog 0.98", "cat 0.01", …]: the most probable classes; nothing from other models."""
    if isinstance(model, HfModel) and model.reads == "picture":
        return [] if run.logits is None else _best(run.logits[0].softmax(dim=-1).tolist(), model.classes)
    if not isinstance(model.encoder, Classifier):
        return []
    last, everyone = run.hidden[-1:], torch.ones(1, len(run.tokens), dtype=torch.bool)

    def compute(stack: Stack) -> list[float]:
        logits = cast(Classifier, stack).answer(last.to(stack.device), everyone.to(stack.device))
        found: list[float] = logits.softmax(dim=-1)[0].tolist()
        return found

    return _best(model.compute(compute)[0], inference.classes(model))


def _best(chances: Sequence[float], classes: Sequence[str]) -> list[str]:
    """The most probable classes, with their probabilities."""
    best = sorted(zip(chances, classes, strict=False), key=lambda pair: -pair[0])[:MOST_ANSWERS]
    return [f"{name} {share(chance, 2)}" for chance, name in best]


def unknown(model: Model, text: str) -> list[str]:
    """A sentence on the words that a model lacks in its vocabulary, or the characters, if there are any."""
    if isinstance(model.tokenizer, ByteLevel):
        lost = model.tokenizer.unknown(text)
        return (
            [f"{len(lost)} of these characters have no token in this model: it reads on without them."] if lost else []
        )
    if model.history is None or (missing := model.tokenizer.token_to_id("[UNK]")) is None:
        return []
    coded = model.tokenizer.encode(text)
    pieces = zip(coded.ids, coded.offsets, strict=True)
    words = list(dict.fromkeys(text[first:last] for number, (first, last) in pieces if number == missing))
    if not words:
        return []
    named = ", ".join(f"“{word:.20}”" for word in words[:MOST_UNKNOWN]) + (", …" if len(words) > MOST_UNKNOWN else "")
    count = "One word is" if len(words) == 1 else f"{len(words)} words are"
    return [f"{count} not in this model’s vocabulary: {named}. The model reads [UNK] instead."]


def _title(name: str) -> str:
    """ "who-sinusoidal-1" -> "Who did what, sinusoidal"."""
    task, _, variant = name.partition("-")
    kind = re.sub(r"-\d+$", "", variant).replace("-", " ")
    kind = {"none": "no positions", "1layer": "one layer", "2layers": "two layers"}.get(kind, kind)
    return f"{tasks.NAMES[task]}, {kind}"


def reads_pictures(name: str) -> bool:
    """Tells whether a trained model takes no sentence: it is asked on the Train page alone."""
    run = _own(name)
    return run.reads_pictures if run else name in shipped() and bool(_shipped_start(name).get("picture"))


@lru_cache(maxsize=64)
def _shipped_start(name: str) -> dict[str, Any]:
    start: dict[str, Any] = json.loads((SHIPPED / name / "run.json").read_text("utf-8"))["start"]
    return start


def _says(start: Mapping[str, Any]) -> str:
    """A classifier reads both ways; a language model, which has no classes, does not; a translator does, and writes."""
    way = BOTH_WAYS if start["classes"] else TRANSLATES if start.get("target_length") else ONE_WAY
    recipe = start["recipe"]
    return f"{recipe['n_layers']} × {recipe['n_heads']} heads, knows {start['vocabulary']:,} tokens, {way}"


@lru_cache(maxsize=1)
def has_smollm2() -> bool:
    """Looks for the file alone: whether it is whole is found out when somebody asks for the model."""
    try:
        return smollm2.file().is_file()
    except HeadlightError:
        return False


@lru_cache(maxsize=16)
def _built(task: str, seed: int) -> tuple[str, ...]:
    return tasks.build(task, seed).questions


def _questions(history: History) -> tuple[str, ...]:
    """Sentences to ask a run: its task's questions; of a visitor's data the texts whose maps were kept."""
    recipe = history.recipe
    if recipe.task in tasks.NAMES:
        return _built(recipe.task, recipe.data_seed)
    probes = history.start.probes if history.start else []
    joined = "" if recipe.task == "text" else " "
    words = [joined.join(token for token in tokens if token not in ("[CLS]", "[SEP]")) for tokens in probes]
    return tuple(text.replace(" ##", "") for text in words) or PRESETS[2:4]
