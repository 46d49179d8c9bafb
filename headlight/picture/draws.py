"""Random draws that are the same on every rerun, although torch's dropout knows one generator for the whole process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from mha_core.device import seed_draws

_drawing = threading.Lock()  # the one generator must not be somebody else's meanwhile


@contextmanager
def drawn(seed: int, x: Tensor) -> Iterator[None]:
    """In here torch draws by this seed on the device of `x`, without gradients; afterwards it goes on as before."""
    devices = [x.device] if x.is_cuda else []
    with _drawing, torch.random.fork_rng(devices), torch.no_grad():
        seed_draws(x.device, seed)
        yield
