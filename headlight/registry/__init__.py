"""The models by their names in links, which are never paths. The name alone decides the kind of a model."""

from collections.abc import Iterable

from .foreign import Foreign
from .pretrained import MINILM, SMOLLM2, MiniLM, SmolLM2
from .recordings import Recorded
from .source import GROUPS, ModelSource
from .trained import Shipped, Trained

__all__ = ["MINILM", "SMOLLM2", "SOURCES", "available", "get_source"]

# in the order of the list; a name belongs to the first kind that it matches
SOURCES: tuple[type[ModelSource], ...] = (MiniLM, SmolLM2, Shipped, Trained, Recorded, Foreign)


def get_source(name: str) -> ModelSource:
    """Return a model by its name in a link.

    The name may end with a kind of attention, as in "hf:org/t5@0123abc~cross".
    """
    base, _, group = name.rpartition("~")
    kind = _source_class(base)
    has_group = base and (group in GROUPS or (kind.has_numbers and group.isdecimal()))
    return kind(base, group) if has_group else _source_class(name)(name)


def _source_class(name: str) -> type[ModelSource]:
    return next((kind for kind in SOURCES if kind.matches(name)), Trained)


def available(user_sources: Iterable[ModelSource] = ()) -> dict[str, tuple[str, str, str]]:
    """Return the models that a user with these own ones may choose: name -> title, group in the list, summary."""
    sources = [*(get_source(name) for kind in SOURCES for name in kind.listed()), *user_sources]
    sources.sort(key=lambda source: SOURCES.index(type(source)))
    abouts = {source.name: source.about for source in sources if source.exists}
    return {name: (a.title, a.group, a.summary) for name, a in abouts.items() if not a.reads_pictures}
