"""The models that this visitor may choose: those of the list, and what was trained in the visit."""

from mha_core.errors import HeadlightError
from pages.kit.jobs import visitor
from pages.kit.picture import models
from pages.kit.picture.models import Choice, Own


def offered() -> dict[str, Choice]:
    """The list by names. What was trained here can be asked from now on."""
    own = {run.id: Own.of(run.label, run.folder, run.history) for run in visitor.own_runs().values()}
    try:
        models.keep(own)
    except HeadlightError:  # the disk is full: Train says so when it saves something
        own = {}
    return models.offered(own)
