"""Options of the server, by Streamlit's names. app.py sets `read` before it imports anything that reads one."""

from collections.abc import Callable
from typing import Any


def _unset(name: str) -> Any:
    return None


read: Callable[[str], Any] = _unset
