"""x Wᵀ by the fastest product that torch has on this machine."""

import torch
from torch import Tensor
from torch.nn import functional as F

# torch's own linear gives float32 on a CPU to MKL; oneDNN, which is in torch too, takes .5 to .75 of its time on AMD
_IS_THERE: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _IS_THERE else None


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """(…, c) times (o, c) -> (…, o), as `F.linear`; equal to it but for the order in which each sum is taken."""
    is_for_onednn = x.device.type == "cpu" and x.dtype == torch.float32 and x.numel() > 0
    if _ONEDNN is None or not is_for_onednn or (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)):
        return F.linear(x, weight)
    product: Tensor = _ONEDNN(x, weight, None, "none", [], "")
    return product
