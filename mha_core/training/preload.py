"""The import that a fork server does once, so that the trainings it forks begin at once."""

import signal

from .limits import step_back

step_back()  # before torch: seconds of a core, while a browser draws the first charts of the page that started it

import torch  # noqa: E402

from . import worker  # noqa: E402, F401

torch.optim.AdamW([torch.zeros(1)])  # torch reads in most of itself, for a second or more, with its first optimizer
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a whole group may get it: the parent says when to end
