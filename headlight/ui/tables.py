"""Exports of tables and runs as CSV and NPZ, in float32 as computed."""

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
    """Return the text of a cell so that spreadsheets do not read it as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@dataclass(frozen=True)
class Table:
    """A matrix with labels."""

    name: str  # title in its corner, and name of its array
    rows: Sequence[str]  # labels of the rows
    columns: Sequence[str]  # labels of the columns
    values: Tensor  # (rows, columns)


def map_table(name: str, run: Run, layer: int, head: int) -> Table:
    """Return the table of one map, a query a row and a key a column."""
    return Table(name, run.tokens, run.key_tokens or run.tokens, run.weights[layer, head])


def tables_from_blocks(blocks: Sequence[Block], heading: str = "") -> list[Table]:
    """Return all matrices of a sheet, named by their panel and title."""
    tables = []
    for block in blocks:
        if isinstance(block, Matrix):
            name = ", ".join(part for part in (heading, block["name"]) if part)
            tables.append(Table(name, block["rows"], block["cols"], torch.tensor(block.numbers, dtype=torch.float32)))
        else:
            tables += tables_from_blocks(block.get("blocks", ()), block.get("heading") or heading)
    return tables


def to_csv(tables: Sequence[Table]) -> bytes:
    """Return tables as CSV, separated by empty lines."""
    out = io.StringIO()
    writer = csv.writer(out)
    for index, table in enumerate(tables):
        if index:
            writer.writerow([])
        writer.writerow([quoted(table.name), *map(quoted, table.columns)])
        shortest = table.values.float().cpu().numpy().astype(str)
        for label, row in zip(table.rows, shortest.tolist(), strict=True):
            writer.writerow([quoted(label), *row])
    return out.getvalue().encode("utf-8-sig", "replace")


def to_npz(tables: Sequence[Table]) -> bytes:
    """Return tables as float32 arrays in an NPZ file, with labels as “…_rows” and “…_columns”."""
    arrays: dict[str, Any] = {}
    for index, table in enumerate(tables):
        name = table.name if table.name not in arrays else f"{table.name} {index}"
        arrays[name] = table.values.float().cpu().numpy()
        arrays[f"{name}_rows"] = np.array(list(table.rows))
        arrays[f"{name}_columns"] = np.array(list(table.columns))
    return npz_bytes(arrays)


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as a compressed NPZ file without pickled objects."""
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


# file extension -> writer of tables
WRITERS = {"csv": to_csv, "npz": to_npz}


def run_to_npz(run: Run) -> bytes:
    """Return all maps, hidden states and the sentence vector as an NPZ file."""
    return npz_bytes(
        {
            "tokens": np.array(run.tokens),
            **({} if run.key_tokens is None else {"columns": np.array(run.key_tokens)}),
            "ids": np.array(run.ids),
            "weights": run.weights.cpu().numpy(),
            "hidden": run.hidden.cpu().numpy(),
            "sentence": run.sentence.cpu().numpy(),
        }
    )
