"""Interface of all kinds of models: what is known about a model by its name, and how it is loaded."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from headlight.link.presets import PRESETS
from headlight.queue.executor import QUEUE
from headlight.queue.policy import Work
from headlight.queue.single_flight import peek
from mha_core import Model
from mha_core.errors import HeadlightError

GROUPS = {"encoder": "its encoder", "decoder": "its decoder", "cross": "from decoder to encoder"}


class About(NamedTuple):
    """Facts on a model that are known without loading it.

    Attributes:
        title: its title.
        group: its group in the list.
        summary: size, language and direction.
        reads_pictures: whether it reads pictures instead of sentences, on the page Train only.
        presets: example sentences.
    """

    title: str
    group: str
    summary: str = ""
    reads_pictures: bool = False
    presets: tuple[str, ...] = PRESETS


@dataclass(frozen=True)
class ModelSource(ABC):
    """A model by its name in a link, whether or not it exists.

    Each kind of model is a subclass in `SOURCES`.

    Attributes:
        name: in a link, without the kind of attention.
        group: the kind of attention, "" for the model's first one.
        names: all names of this kind that are known in advance.
        prefixes: prefixes of the other names of this kind.
        has_numbers: whether its kinds of attention are numbers.
        is_large: whether loading takes seconds: it then waits for a slot, and cached pictures do not hold the weights.
        is_generative: whether it continues a text: the cursor then starts at the last token.
        known_heads: presets of known heads -> the head that each shows, as `at` of a link.
        first_preset: index of the default preset.
        first_at: default head, as `at` of a link.
    """

    name: str
    group: str = ""

    names: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    has_numbers: ClassVar[bool] = False
    is_large: ClassVar[bool] = False
    is_generative: ClassVar[bool] = False
    known_heads: ClassVar[Mapping[str, str]] = {}
    first_preset: ClassVar[int] = 0
    first_at: ClassVar[str] = "0.0"

    @classmethod
    def matches(cls, name: str) -> bool:
        """Return whether a name is of this kind, whether or not there is such a model."""
        return name in cls.listed() or name.startswith(cls.prefixes)

    @classmethod
    def listed(cls) -> Collection[str]:
        """Return the names that all users may choose."""
        return cls.names

    def check(self) -> None:  # noqa: B027
        """Raise a HeadlightError if there is no such model, or the user may not open it."""

    @property
    @abstractmethod
    def about(self) -> About:
        """Facts for the list; of a deleted model as much as is known."""

    @staticmethod
    @abstractmethod
    def load_shared(device: str, name: str) -> Model:
        """Load the whole model, in a `single_flight` function. Raises what `load_model` raises."""

    @property
    def exists(self) -> bool:
        """Return whether the model exists and may be opened here."""
        try:
            self.check()
        except HeadlightError:
            return False
        return True

    @property
    def title(self) -> str:
        """Title with the kind of attention."""
        group = GROUPS.get(self.group)
        return f"{self.about.title}, {group}" if group else self.about.title

    @property
    def presets(self) -> tuple[str, ...]:
        """Example sentences."""
        return self.about.presets

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults of controls that differ for this model, by key."""
        return {"s": self.presets[self.first_preset], "at": self.first_at}

    @property
    def in_code(self) -> tuple[str, str]:
        """Argument of `load_model` for code outside of the app, and a sentence on it."""
        return self.name, "The model. Its weights come with an installed package; nothing is downloaded."

    @property
    def is_loaded(self) -> bool:
        """Return whether the model is in memory, or small enough to be loaded at once."""
        return not self.is_large or any(
            peek(self.load_shared, device, self.name) is not None for device in ("cpu", "auto")
        )

    def load(self, device: str) -> Model:
        """Return the whole model, from the cache if possible. Raises what `check` and `load_shared` raise."""
        self.check()  # first: a deleted model may still be in the cache
        model = peek(self.load_shared, device, self.name)
        if model is None:
            with QUEUE.slot(Work.LONG) if self.is_large else nullcontext():
                model = self.load_shared(device, self.name)
        return model
