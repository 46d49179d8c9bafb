"""A pass on the CPU in place of one for which a GPU has no memory."""

import threading
from collections.abc import Callable
from typing import TypeVar

import torch

from ..device import or_on_the_cpu
from .stack import Stack

T = TypeVar("T")


class FallBack:
    """A stack, and its copy on the CPU from the first time that it is needed.

    Args:
        stack: in eval mode.
        allowed: False raises when the device is full, because the caller chose it by name.
    """

    def __init__(self, stack: Stack, allowed: bool) -> None:
        self.stack = stack
        self.allowed = allowed
        self._on_cpu: Stack | None = None
        self._lock = threading.Lock()

    def compute(self, call: Callable[[Stack], T], device: torch.device) -> tuple[T, tuple[str, ...]]:
        """The result of `call` on the stack, which is on `device`, without gradients; and what must be said of it.

        Raises:
            DeviceError: the device is out of memory, and the CPU may not take over.
        """
        with torch.no_grad():
            return or_on_the_cpu(
                lambda where: call(self.stack if where == device else self._copy()), device, allowed=self.allowed
            )

    def _copy(self) -> Stack:
        with self._lock:
            if self._on_cpu is None:
                state = {name: tensor.cpu() for name, tensor in self.stack.state_dict().items()}
                self._on_cpu = self.stack.of_state(self.stack.sizes, state)
            return self._on_cpu
