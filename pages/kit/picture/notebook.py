"""A picture as a Jupyter notebook that runs from top to bottom: the code of `snippet`, and what each piece does.

The format is plain JSON (nbformat 4.5), a dozen lines of it; the library of that name is for those who read notebooks
of others, and brings seven packages along.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .place import At
from .settings import Settings
from .snippet import CodeCell, cells

TITLE = """\
# An attention map, computed again

These lines compute the numbers of one picture of Headlight with its core, `mha_core`. Run the cells from top to bottom\
 where it can be imported: with the `.venv` of Headlight's folder, or as its README says under “In a notebook”."""


def notebook(sides: Mapping[str, Settings], at: At) -> bytes:
    """The file of a notebook that computes these pictures and looks at their map in focus.

    Args:
        sides, at: as in `snippet.cells`.

    Raises:
        HeadlightError: the model is gone.
    """
    first = next(iter(sides))
    return written(TITLE, [*cells(sides, at), *(_maps(name, first) for name in sides)])


def written(title: str, pieces: Sequence[CodeCell]) -> bytes:
    """A notebook of these pieces under a title in Markdown, each below the sentence that says what it does."""
    told = [_cell("markdown", title)]
    for piece in pieces:
        told += [_cell("markdown", piece.said), _cell("code", piece.code)]
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(told)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": numbered,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, ensure_ascii=True, indent=1).encode()


def _maps(name: str, first: str) -> CodeCell:
    """Every head of one side; of two sentences the second may lack the row in focus."""
    row = "query" if name == first else f"min(query, len({name}.tokens) - 1)"
    said = f"Every head of `{name}`, to point at and to choose from; `.save(path)` behind it makes a file."
    return CodeCell(said, f"{name}.show(layer=layer, head=head, row={row})")


def _cell(kind: str, text: str) -> dict[str, Any]:
    own: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **own}
