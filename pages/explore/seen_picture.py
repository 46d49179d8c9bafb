"""The picture that a model of vision sees, and how it is cut into patches."""

import io
from typing import TypedDict

from mha_core import Run
from mha_core.errors import HeadlightError
from mha_core.pretrained.foreign_vision import ForeignVision
from pages.kit.picture.link_query import LinkQuery


class SeenPatches(TypedDict):
    own: int  # tokens of no patch, which come first
    rows: int
    columns: int


def patches(run: Run) -> SeenPatches | None:
    """How the picture of a run is cut; None of a text."""
    found = run.patches
    return None if found is None else {"own": found.own, "rows": found.rows, "columns": found.columns}


def png(query: LinkQuery) -> bytes:
    """The picture as large as the model reads it. Raises a HeadlightError."""
    from PIL import Image

    settings, _ = query.within()
    if not isinstance(query.model, ForeignVision):
        raise HeadlightError("this model reads no pictures")
    written = io.BytesIO()
    seen = query.model.shown(settings.text)[1].pixels
    Image.fromarray(seen.numpy()).save(written, "PNG", compress_level=1)
    return written.getvalue()
