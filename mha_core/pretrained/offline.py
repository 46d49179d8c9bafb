"""Offline import of transformers and huggingface_hub, without the package that fetches code."""

import os
import sys
import threading
from functools import cache
from types import ModuleType

_lock = threading.RLock()


def hub() -> ModuleType:
    """Import `huggingface_hub` in offline mode.

    HF_HUB_OFFLINE is read once, on import; set for longer it would be inherited by the download processes.
    """
    with _lock:
        previous = os.environ.get("HF_HUB_OFFLINE")
        os.environ["HF_HUB_OFFLINE"] = "1"
        import huggingface_hub

        os.environ.pop("HF_HUB_OFFLINE")
        if previous is not None:
            os.environ["HF_HUB_OFFLINE"] = previous
        return huggingface_hub


def transformers() -> ModuleType:
    """Import transformers in offline mode, with its eager attention registered with `attention_hook`."""
    with _lock:
        return _imported()


@cache
def _imported() -> ModuleType:
    hub()
    # this package fetches compiled code from the hub, so its import is made to fail
    sys.modules.setdefault("kernels", None)  # type: ignore[arg-type]
    import transformers
    from transformers.utils import logging

    from . import attention_hook

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it would fill the server's log
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    attention_hook.register()
    return transformers
