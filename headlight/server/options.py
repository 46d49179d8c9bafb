"""The server's options, by Streamlit's names. app.py connects their reader before all other imports."""

from collections.abc import Callable
from typing import Any


def _unset(name: str) -> Any:
    return None


read: Callable[[str], Any] = _unset
