"""The kinds of models. Only here does a name decide of which kind a model is: a link holds such names, never a path."""

from collections.abc import Iterable

from .foreign import Foreign
from .pretrained import MINILM, SMOLLM2, MiniLM, SmolLM2
from .recordings import Recorded
from .source import GROUPS, ModelSource
from .trained import Shipped, Trained

__all__ = ["MINILM", "SMOLLM2", "SOURCES", "available", "source_of"]

# in the order of the list; a name belongs to the first one that it matches
SOURCES: tuple[type[ModelSource], ...] = (MiniLM, SmolLM2, Shipped, Trained, Recorded, Foreign)


def source_of(name: str) -> ModelSource:
    """A model by its name in a link, which may end with a kind of attention: "hf:org/t5@0123abc~cross"."""
    base, _, group = name.rpartition("~")
    kind = _kind_of(base)
    has_group = base and (group in GROUPS or (kind.has_numbers and group.isdecimal()))
    return kind(base, group) if has_group else _kind_of(name)(name)


def _kind_of(name: str) -> type[ModelSource]:
    return next((kind for kind in SOURCES if kind.matches(name)), Trained)


def available(own: Iterable[ModelSource] = ()) -> dict[str, tuple[str, str, str]]:
    """The models that a visitor who has these may choose: name -> title, group of the list, and what is said of it."""
    sources = [*(source_of(name) for kind in SOURCES for name in kind.listed()), *own]
    sources.sort(key=lambda source: SOURCES.index(type(source)))
    found = {source.name: source.about for source in sources if source.exists}
    return {name: (about.title, about.group, about.says) for name, about in found.items() if not about.reads_pictures}
