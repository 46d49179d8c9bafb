"""What the panels of the page are computed from: the picture, the boxes, and the tensors at the box in focus."""

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
from mha_core.measure.box_states import BoxState, BoxStates
from mha_core.models.architecture import Architecture, Box, stack_architecture

STATES_BYTES = 16 * 2**20


def model_architecture(model: Model, settings: Settings, layer: int) -> Architecture:
    """Return the boxes of a model."""
    return _own_architecture(model)


@single_flight(LRUCache(32), lambda model: (model.name, str(model.device), model.sizes.implementation))
def _own_architecture(model: Model) -> Architecture:
    return stack_architecture(model.stack)


@single_flight(
    LRUCache(STATES_BYTES, lambda states: sum(s.entering.nbytes + s.leaving.nbytes for s in states.boxes.values())),
    lambda picture, plan, layer: (picture.settings, layer),
)
def _box_states(picture: Picture, plan: Architecture, layer: int) -> BoxStates:
    model, settings = picture.model, picture.settings
    with pass_slot(pictures.pass_length(model, settings.text), models.count_heads(model)):
        return box_states.record(model, plan, settings.text, layer, **settings.switches(model))


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
        """Whether the box belongs to the kind of attention whose run this is."""
        return len(self.model.groups) == 1 or self.box.column == (self.model.group != "encoder")

    @cached_property
    def lengths(self) -> tuple[int, int]:
        """The number of tokens of each column; 0 = unknown."""
        run, model = self.picture.run, self.model
        if len(model.groups) == 1:
            return len(run.tokens), 0
        source = len(model.tokenize(self.picture.settings.text)[0])
        return source, 0 if model.group == "encoder" else len(run.tokens)

    @property
    def state(self) -> BoxState | None:
        """The tensors at the box in focus, None if it did not run."""
        return self.states.boxes.get(self.box.name) if self.runs_here else None

    @property
    def states(self) -> BoxStates:
        """The tensors of this layer and outside of the layers."""
        states: BoxStates = _box_states(self.picture, self.plan, self.layer)
        return states

    def at_row(self, x: Tensor) -> Tensor:
        """Return the vector of the token in focus, of the last token where only that is computed."""
        return x if x.dim() == 1 else x[self.row if len(x) > self.row else -1]

    def source_kind(self) -> str:
        """Return the noun for the part whose result an addition adds."""
        sources = [self.plan.box(name) for name in self.plan.sources(self.box.name)]
        kinds = [box.kind for box in sources if box is not None and box.lane]
        return {"mlp": "the MLP", "cross-attention": "cross-attention"}.get(kinds[0] if kinds else "", "attention")
