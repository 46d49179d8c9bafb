"""The picture, the boxes and the tensors at the box in focus, for the panels of the page."""

from dataclasses import dataclass
from functools import cached_property

from cachetools import LRUCache
from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Model
from mha_core.measure import box_states
from mha_core.measure.box_states import BoxState
from mha_core.models.architecture import Architecture, Box

STATES_BYTES = 16 * 2**20


@single_flight(
    LRUCache(STATES_BYTES, lambda states: sum(x.nbytes for state in states.values() for x in state)),
    lambda picture, plan, layer: (picture.settings, layer),
)
def _box_states(picture: Picture, plan: Architecture, layer: int) -> dict[str, BoxState]:
    model, settings = picture.model, picture.settings
    with pass_slot(pictures.pass_length(model, settings.text), models.count_heads(model)):
        return box_states.record(model, plan, settings.text, layer, **settings.switches(model))[1]


@dataclass(frozen=True)
class Scene:
    """The picture and the box in focus."""

    picture: Picture
    plan: Architecture
    box: Box
    cursor: Cursor

    @property
    def model(self) -> Model:
        """The model of the picture."""
        return self.picture.model

    @property
    def layer(self) -> int:
        """The layer in focus."""
        return self.cursor.layer

    @property
    def row(self) -> int:
        """The token in focus."""
        return self.cursor.row or 0

    @property
    def token(self) -> str:
        """The token in focus, as text."""
        return self.picture.run.tokens[self.row]

    @property
    def runs_here(self) -> bool:
        """Return whether the run is of the column that has the box."""
        return len(self.model.groups) == 1 or self.box.column == (self.model.group != "encoder")

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """The number of tokens of each column."""
        run, model, settings = self.picture.run, self.model, self.picture.settings
        if len(model.groups) == 1:
            return len(run.tokens), 0
        if model.group == "encoder":  # the decoder has a pass of its own
            decoder = Settings(settings.text, model=f"{settings.model}~decoder", device=settings.device)
            return len(run.tokens), len(pictures.picture(decoder).run.tokens)
        return len(model.tokenize(settings.text)[0]), len(run.tokens)

    @cached_property
    def state(self) -> BoxState | None:
        """The tensors at the box in focus, None if it did not run."""
        states = _box_states(self.picture, self.plan, self.layer) if self.runs_here else {}
        return states.get(self.box.name)

    def at_row(self, x: Tensor) -> Tensor | None:
        """Return the vector of the token in focus; of the last token where only that is computed; None without one."""
        if not x.is_floating_point() or x.dim() != 2:
            return None
        return x[self.row] if len(x) == len(self.picture.run.tokens) else x[-1] if len(x) == 1 else None
