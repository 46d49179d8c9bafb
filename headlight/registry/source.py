"""What all kinds of models have in common: what is known of one by its name, and how it is loaded."""

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
    """What is known of a model by its name: its title, group in the list, size, language and direction, whether it
    takes pictures instead of sentences, on the page Train alone, and the sentences that are one click away."""

    title: str
    group: str
    says: str = ""
    reads_pictures: bool = False
    presets: tuple[str, ...] = PRESETS


@dataclass(frozen=True)
class ModelSource(ABC):
    """A model by its name in a link, which need not exist. Each kind of model is a subclass, listed in `SOURCES`.

    Attributes:
        name: in a link, without the kind of attention behind it.
        group: that kind of attention, "" for the model's first one.
        names, prefixes: those of this kind, and what others of this kind begin with.
        has_numbers: its kinds of attention are numbers.
        is_large: loading takes seconds, so it waits for a place in the queue; no picture keeps its weights in memory.
        goes_on: its texts are beginnings, whose last word is the one to look at.
        places: where its heads are known: the sentences of `presets`, and the head that shows what each is for.
        first_preset, first_at: the preset, and the head as `at` of a link, to look at first.
    """

    name: str
    group: str = ""

    names: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    has_numbers: ClassVar[bool] = False
    is_large: ClassVar[bool] = False
    is_generative: ClassVar[bool] = False
    places: ClassVar[Mapping[str, str]] = {}
    first_preset: ClassVar[int] = 0
    first_at: ClassVar[str] = "0.0"

    @classmethod
    def matches(cls, name: str) -> bool:
        """Tell whether a name is of this kind, whether or not there is such a model."""
        return name in cls.listed() or name.startswith(cls.prefixes)

    @classmethod
    def listed(cls) -> Collection[str]:
        """Return the names that every visitor may choose."""
        return cls.names

    def check(self) -> None:  # noqa: B027
        """Raise a HeadlightError if there is no such model, or it may not be opened here."""

    @property
    @abstractmethod
    def about(self) -> About:
        """What the list says of it, or of one that is gone as much as is known."""

    @staticmethod
    @abstractmethod
    def load_shared(device: str, name: str) -> Model:
        """Load the whole model, in a `single_flight` function. Raises what `load_model` raises."""

    @property
    def exists(self) -> bool:
        """Whether the model may be opened here, by whoever knows its name."""
        try:
            self.check()
        except HeadlightError:
            return False
        return True

    @property
    def title(self) -> str:
        """The title on the screen, with the kind of attention."""
        group = GROUPS.get(self.group)
        return f"{self.about.title}, {group}" if group else self.about.title

    @property
    def presets(self) -> tuple[str, ...]:
        """The sentences that are one click away."""
        return self.about.presets

    @property
    def defaults(self) -> dict[str, Any]:
        """The controls whose default is another one for this model."""
        return {"s": self.presets[self.first_preset], "at": self.first_at}

    @property
    def in_code(self) -> tuple[str, str]:
        """The name or folder by which code outside of the app loads it, and a sentence on that."""
        return self.name, "The model. Its weights come with an installed package; nothing is downloaded."

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory, or so small that it comes at once."""
        return not self.is_large or any(
            peek(self.load_shared, device, self.name) is not None for device in ("cpu", "auto")
        )

    def load(self, device: str) -> Model:
        """The whole model, kept for whoever asks next. Raises as `check` and `load_shared`."""
        self.check()  # before the cache: what was deleted is gone
        found = peek(self.load_shared, device, self.name)
        if found is None:
            with QUEUE.slot(Work.LONG) if self.is_large else nullcontext():
                found = self.load_shared(device, self.name)
        return found
