"""The weights of a foreign model, put where its description wants them, without a second copy."""

from typing import Any

import torch

from ..errors import WeightsFileError
from . import offline
from .families import Family, text_config
from .folders import Tensors, read_tensors

SPARE_PARAMETERS = 16 * 2**20  # what a description may ask for beyond its file: buffers, tables that are computed
MOST_MISSING = 3  # names that a message lists


def load(family: Family, weights: Tensors, dtype: torch.dtype) -> Any:
    """The model, its weights mapped from the files where their number format is the one that was asked for.

    Raises:
        WeightsFileError: the files do not hold its tensors.
    """
    offline.transformers()
    config = family.config
    for part in (config, text_config(config)):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    try:
        with torch.device("meta"):
            whole = family.kind(config)
        wanted = sum(one.numel() for one in {*whole.parameters(), *whole.buffers()})
        del whole
        if wanted > 1.25 * weights.parameters + SPARE_PARAMETERS:
            raise WeightsFileError(
                f"config.json describes {wanted:,} numbers, the weights are {weights.parameters:,}; "
                "they do not belong together"
            )
        model, told = family.kind.from_pretrained(
            None, config=config, state_dict=read_tensors(weights), attn_implementation="eager", dtype=dtype,
            output_loading_info=True,
        )  # fmt: skip
    except WeightsFileError:
        raise
    except Exception as error:  # each family has its own
        raise WeightsFileError(
            f"the weights do not fit config.json: {type(error).__name__}: {str(error).strip():.300}"
        ) from error
    missing = sorted(name for name in told["missing_keys"] if "pooler" not in name)
    if missing:
        names = ", ".join(missing[:MOST_MISSING])
        raise WeightsFileError(f"the weights lack {len(missing):,} tensors of {family.kind.__name__}, as {names}")
    return model.eval().requires_grad_(False)
