"""Numbers to take away: float32, as computed."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mha_core import Run

from .sheet import Block, Matrix


def quoted(text: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@dataclass(frozen=True)
class Table:
    """A matrix with its labels.

    Attributes:
        name: what stands in its corner, and what its array is called.
        rows, columns: a label each.
        values: (rows, columns).
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Tensor


def map_of(name: str, run: Run, layer: int, head: int) -> Table:
    """One map: a row a query, a column a key, with the tokens as heads of both."""
    return Table(name, run.tokens, run.columns or run.tokens, run.weights[layer, head])


def of_blocks(blocks: Sequence[Block], heading: str = "") -> list[Table]:
    """Every matrix of a sheet, by the heading of its panel and its own name."""
    found = []
    for block in blocks:
        if isinstance(block, Matrix):
            name = ", ".join(part for part in (heading, block["name"]) if part)
            found.append(Table(name, block["rows"], block["cols"], torch.tensor(block.numbers, dtype=torch.float32)))
        else:
            found += of_blocks(block.get("blocks", ()), block.get("heading") or heading)
    return found


def csv_of_tables(tables: Sequence[Table]) -> bytes:
    """Tables as CSV, one below the other with an empty line between them."""
    out = io.StringIO()
    writer = csv.writer(out)
    for at, table in enumerate(tables):
        if at:
            writer.writerow([])
        writer.writerow([quoted(table.name), *map(quoted, table.columns)])
        shortest = table.values.float().cpu().numpy().astype(str)
        for label, row in zip(table.rows, shortest.tolist(), strict=True):
            writer.writerow([quoted(label), *row])
    return out.getvalue().encode("utf-8-sig", "replace")


def npz_of_tables(tables: Sequence[Table]) -> bytes:
    """Each table as a float32 array under its name, its labels as “…_rows” and “…_columns”; no pickle in it."""
    arrays: dict[str, Any] = {}
    for at, table in enumerate(tables):
        name = table.name if table.name not in arrays else f"{table.name} {at}"
        arrays[name] = table.values.float().cpu().numpy()
        arrays[f"{name}_rows"] = np.array(list(table.rows))
        arrays[f"{name}_columns"] = np.array(list(table.columns))
    return npz(arrays)


def npz(arrays: Mapping[str, Any]) -> bytes:
    """Arrays by name, compressed; no pickle in it."""
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


# kind of file -> how tables are written
WRITERS = {"csv": csv_of_tables, "npz": npz_of_tables}


def npz_of(run: Run) -> bytes:
    """Every map, hidden state and the sentence vector as arrays; no pickle in it."""
    return npz(
        {
            "tokens": np.array(run.tokens),
            **({} if run.columns is None else {"columns": np.array(run.columns)}),
            "ids": np.array(run.ids),
            "weights": run.weights.cpu().numpy(),
            "hidden": run.hidden.cpu().numpy(),
            "sentence": run.sentence.cpu().numpy(),
        }
    )
