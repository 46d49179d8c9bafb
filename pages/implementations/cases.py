"""Buttons with the sizes of published examples, and what the publications report."""

from typing import Any

import streamlit as st
import torch
from torch.nn import functional as F

from headlight.ui import events, sheet
from headlight.ui.numbers import scientific
from headlight.ui.sheet import Block
from mha_core import attention
from mha_core.measure import measures

from .parity import Equality, InputSizes

NOTEBOOK, BARE, POST, MINILM = "einsum notebook", "(2, 3, 6)", "size in the blog post", "MiniLM’s layer"
CASES = {  # name -> sizes, and the timed task
    NOTEBOOK: (InputSizes(8, 80, 12, 2, "none"), "forward with maps"),
    BARE: (InputSizes(2, 3, 6, 1), "forward with maps"),
    POST: (InputSizes(32, 512, 64, 8), "training step without maps"),
    MINILM: (InputSizes(1, 128, 384, 12), "forward with maps"),
}
REPORTED = 1.98e-7  # relative difference in the einsum notebook's single run


def buttons(sizes: InputSizes) -> Block:
    """Return the cases as buttons; the one with the current sizes is pressed."""
    return sheet.buttons("Example", [(name, {"case": name}, case == sizes) for name, (case, _) in CASES.items()])


def choose(event: dict[str, Any]) -> None:
    """Set the controls to the sizes, biases and task of the pressed case."""
    case = CASES.get(events.text(event, "case") or "")
    if case is None:
        return
    sizes, task = case
    keys = {"b": sizes.b, "n": sizes.n, "d": sizes.d_model, "h": sizes.n_heads, "biases": sizes.biases}
    st.session_state.update(keys, what=task)


def reported(sizes: InputSizes, equality: Equality | None) -> list[str]:
    """Return what the publication with these sizes reports, with our own result; empty for other sizes."""
    name = next((name for name, (case, _) in CASES.items() if case == sizes), "")
    if name == NOTEBOOK and equality is not None:
        difference = scientific(equality.agreements["float32"]["einsum"].torch_out.relative)
        return [
            f"8 clouds of 80 points in 12 dimensions, 2 heads, no bias: einsum’s output differs by {difference} from "
            f"nn.MultiheadAttention’s (relative, float32). The notebook reports {scientific(REPORTED, 2)} for its own "
            "random numbers."
        ]
    if name == BARE:
        x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
        ours, theirs = attention(x)[0], F.scaled_dot_product_attention(x, x, x)
        return [
            "The bare function, softmax(x xᵀ / √6) x on (2, 3, 6), without any projection: largest difference from "
            f"F.scaled_dot_product_attention {scientific(measures.largest_difference(ours, theirs))}."
        ]
    if name == POST:
        return [
            "A batch of the article’s classifier: 32 texts of 512 tokens, width 64, 8 heads. It is timed in a few long "
            "rounds. The article reports 15 s an epoch for torch, 21 for naive and 18.5 for efficient; an epoch is 29 "
            "training steps of the whole model."
        ]
    return []
