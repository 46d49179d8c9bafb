"""The one place where the core imports transformers and the hub's package: offline, and without the package that
fetches code.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

_lock = threading.RLock()


def hub() -> ModuleType:
    """The package `huggingface_hub`, imported so that it looks in its cache alone."""
    with _lock, _offline():
        import huggingface_hub

        return huggingface_hub


def transformers() -> ModuleType:
    """The package, imported so that nothing of it asks the hub, with its eager attention led through `seam`."""
    with _lock:
        return _imported()


@contextmanager
def _offline() -> Iterator[None]:
    """HF_HUB_OFFLINE is read once, by the hub's package when it is imported; set for longer it would bind the children
    of this process that have a button of their own.
    """
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before


@cache
def _imported() -> ModuleType:
    with _offline():
        # it would bring compiled code from the hub: its import fails from here on
        sys.modules.setdefault("kernels", None)  # type: ignore[arg-type]
        import transformers
        from transformers.utils import logging
    from . import seam

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a server's log is no place for it
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    seam.register()
    return transformers
