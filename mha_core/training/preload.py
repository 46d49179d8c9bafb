"""Imports of the fork server, so that the trainings that it forks start at once."""

import signal

from .limits import lower_priority

lower_priority()  # before the import of torch, which takes seconds while a browser draws the page's first charts

import torch  # noqa: E402

from . import worker  # noqa: E402, F401

torch.optim.AdamW([torch.zeros(1)])  # the first optimizer makes torch import most of itself, for a second or more
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the whole process group may receive it; the parent decides when to end
