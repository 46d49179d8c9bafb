"""Maps and measures of a run as pandas frames; pandas is imported here alone, when a frame is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..errors import SizeError
from ..trace import Step
from .measures import head_measures

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame
    from torch import Tensor


def of_map(
    weights: Tensor, tokens: list[str], columns: list[str] | None, layer: int, head: int, steps: tuple[Step, ...] = ()
) -> DataFrame:
    """As `Run.frame`, of its fields."""
    import pandas as pd

    layers, heads, i, j = weights.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise SizeError(f"layer {layer} head {head} is not there; there are {layers} layers of {heads} heads")
    looked_at = columns if columns is not None else tokens
    own = weights[layer, head]
    data: dict[str, Any] = {
        "query": torch.arange(i).repeat_interleave(j).numpy(),
        "query_token": [token for token in tokens for _ in range(j)],
        "key": torch.arange(j).repeat(i).numpy(),
        "key_token": [*looked_at] * i,
        "weight": _numbers(own),
    }
    recorded = {step.name: step.value for step in steps if step.axes == "b h i j"}
    if "weights" in recorded and torch.equal(recorded["weights"][0].cpu(), weights[layer].cpu()):  # it is this layer
        data["score"] = _numbers(recorded["scores"][0, head])
    return pd.DataFrame(data)


def of_heads(weights: Tensor, ids: list[int] | None, lengths: Tensor | None = None) -> DataFrame:
    """As `Run.measures`, of its fields."""
    import pandas as pd

    found = head_measures(weights, ids, lengths)
    layers, heads = weights.shape[:2]
    table = pd.DataFrame({name: values.flatten().numpy() for name, values in found.values.items()})
    table.index = pd.MultiIndex.from_product([range(layers), range(heads)], names=["layer", "head"])
    table.attrs = {"rows": found.rows, "missing": found.missing}
    return table


def _numbers(values: Tensor) -> NDArray[Any]:
    """Of one axis; numpy has no bfloat16."""
    flat = values.detach().cpu().flatten()
    return (flat.float() if flat.dtype == torch.bfloat16 else flat).numpy()
