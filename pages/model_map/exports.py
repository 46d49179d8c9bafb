"""The files that the page of the model exports: its boxes, and the vectors at the box in focus."""

from headlight.export.share import sides_from_link
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.ui.tables import Table

from .message import find_box
from .scene import Scene, model_architecture


def tables(raw: bytes) -> list[Table]:
    """Return the vectors (i, c) that enter and leave the box in focus. Raises a HeadlightError."""
    query = LinkQuery(raw)
    sides, cursor = sides_from_link(raw)
    picture = pictures.picture(sides["run"])
    plan = model_architecture(picture.model, picture.settings, cursor.layer)
    box = find_box(query, plan)
    state = Scene(picture, plan, box, cursor.resolve(picture.run.tokens)).state
    vectors = {} if state is None else {"before": state.entering, "after": state.leaving}
    named = {f"{box.name}, {when}": x for when, x in vectors.items() if x.dim() == 2 and x.is_floating_point()}
    named = named or {"hidden states": picture.run.hidden[cursor.layer]}
    tokens = picture.run.tokens
    return [
        Table(name, tokens if len(x) == len(tokens) else tokens[-len(x) :], [str(c) for c in range(x.shape[-1])], x)
        for name, x in named.items()
    ]
