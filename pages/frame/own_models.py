"""The models that this visitor may choose: those of the list, and what was trained in the visit."""

from headlight.registry import models
from headlight.registry.models import Choice, Own
from pages.frame import visitor


def offered() -> dict[str, Choice]:
    """The list by names. What was trained here can be asked from now on."""
    own = {name: Own.of(run.history) for name, run in visitor.own_runs().items()}
    recording = visitor.recording()
    # where the disk is full some are not there: Train says so when it saves something
    there = {name: run for name, run in own.items() if models.is_there(name)}
    return models.offered(there, [recording] if models.is_there(recording) else [])
