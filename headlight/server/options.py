"""Access to the server's options by Streamlit's names.

app.py sets `read` before it imports a module that reads an option.
"""

from collections.abc import Callable
from typing import Any

read: Callable[[str], Any] = dict[str, Any]().get
# how to start the server in the same way for other computers; the command sets its own line
start_for_class = "make run ARGS=--server.address=0.0.0.0"
