"""The priority of what trains: visitors who look at pages come first."""

import os

NICENESS = 10


def step_back() -> None:
    """Gives this process, and those that it forks, a low priority; a second call changes nothing."""
    if hasattr(os, "nice"):
        os.nice(max(0, NICENESS - os.nice(0)))
