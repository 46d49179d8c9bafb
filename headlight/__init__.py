"""The server and its command: all layers between the pages and `mha_core`."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "site"
# folder of app.py, pages and assets: inside this package in a wheel, its parent in a checkout
ROOT = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1]
