"""Numbers to take away: float32, as computed."""

from __future__ import annotations

import csv
import io

import numpy as np

from mha_core import Run


def quoted(text: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def csv_of(run: Run, layer: int, head: int) -> bytes:
    """One map as CSV: a row a query, a column a key, with the tokens as heads of both."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([f"layer {layer} head {head}: query / key", *map(quoted, run.tokens)])
    for token, row in zip(run.tokens, run.weights[layer, head].float().cpu().tolist(), strict=True):
        writer.writerow([quoted(token), *row])
    return out.getvalue().encode("utf-8-sig", "replace")


def npz_of(run: Run) -> bytes:
    """Every map, hidden state and the sentence vector as arrays; no pickle in it."""
    out = io.BytesIO()
    np.savez_compressed(
        out,
        allow_pickle=False,
        tokens=np.array(run.tokens),
        ids=np.array(run.ids),
        weights=run.weights.cpu().numpy(),
        hidden=run.hidden.cpu().numpy(),
        sentence=run.sentence.cpu().numpy(),
    )
    return out.getvalue()
