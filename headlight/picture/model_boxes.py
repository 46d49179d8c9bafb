"""The boxes of a picture's model, cached for all clients."""

from cachetools import LRUCache

from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.measure import module_boxes
from mha_core.models.architecture import Architecture

from . import pictures
from .pictures import Picture


@single_flight(LRUCache(64), lambda picture, layer: (picture.settings.model, picture.settings.device, layer))
def boxes(picture: Picture, layer: int) -> Architecture:
    """Return the boxes of a picture's model, which are the same for every sentence."""
    model, settings = picture.model, picture.settings
    sample = module_boxes.SAMPLE if model.reads == "text" else settings.text
    with pass_slot(pictures.pass_length(model, settings.text), models.count_heads(model)):
        return module_boxes.architecture(model, sample, layer)
