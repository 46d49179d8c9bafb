"""The server and its command: everything between the pages and `mha_core`."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "site"
# The folder of app.py, pages and assets: in a wheel beside this file, in a checkout above it.
ROOT = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1]
