"""Maps and measures of a run as pandas frames; pandas is only imported when a frame is requested."""

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


def map_frame(
    weights: Tensor, tokens: list[str], columns: list[str] | None, layer: int, head: int, steps: tuple[Step, ...] = ()
) -> DataFrame:
    """Build the frame of `Run.frame`."""
    import pandas as pd

    layers, heads, i, j = weights.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise SizeError(f"layer {layer} head {head} is not there; there are {layers} layers of {heads} heads")
    keys = columns if columns is not None else tokens
    head_map = weights[layer, head]
    data: dict[str, Any] = {
        "query": torch.arange(i).repeat_interleave(j).numpy(),
        "query_token": [token for token in tokens for _ in range(j)],
        "key": torch.arange(j).repeat(i).numpy(),
        "key_token": [*keys] * i,
        "weight": _numbers(head_map),
    }
    recorded = {step.name: step.value for step in steps if step.axes == "b h i j"}
    if "weights" in recorded and torch.equal(recorded["weights"][0].cpu(), weights[layer].cpu()):  # it is this layer
        data["score"] = _numbers(recorded["scores"][0, head])
    return pd.DataFrame(data)


def measures_frame(weights: Tensor, ids: list[int] | None, lengths: Tensor | None = None) -> DataFrame:
    """Build the frame of `Run.measures`."""
    import pandas as pd

    measures = head_measures(weights, ids, lengths)
    layers, heads = weights.shape[:2]
    table = pd.DataFrame({name: values.flatten().numpy() for name, values in measures.values.items()})
    table.index = pd.MultiIndex.from_product([range(layers), range(heads)], names=["layer", "head"])
    table.attrs = {"rows": measures.rows, "missing": measures.missing}
    return table


def _numbers(values: Tensor) -> NDArray[Any]:
    """Flatten a tensor to a numpy array; bfloat16 becomes float32, as numpy lacks it."""
    flat = values.detach().cpu().flatten()
    return (flat.float() if flat.dtype == torch.bfloat16 else flat).numpy()
