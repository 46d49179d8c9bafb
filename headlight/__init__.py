"""The server and its command: all layers between the pages and `mha_core`."""

import tomllib
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).parent / "site"
# folder of app.py, pages and assets: inside this package in a wheel, its parent in a checkout
ROOT = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1]


def read_toml(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of assets."""
    return tomllib.loads((ROOT / "assets" / f"{name}.toml").read_text("utf-8"))
