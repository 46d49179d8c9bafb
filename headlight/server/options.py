"""Access to the server's options by Streamlit's names.

app.py sets `read` before it imports a module that reads an option.
"""

from collections.abc import Callable
from typing import Any


def _unset(name: str) -> Any:
    return None


read: Callable[[str], Any] = _unset
