"""Where the browser's files (js, css) lie and under which address they are served; it changes with their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "assets" / "web"


def _version() -> str:
    digest = hashlib.blake2b(digest_size=6)
    for file in sorted(FOLDER.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


PREFIX = f"/headlight/{_version()}"


def one_line(file: str, name: str = "default") -> str:
    """The js of a component: it imports the module `file`, because inline code would travel in every message."""
    return f"const m = await import(new URL('{PREFIX}/{file}', location.origin));\nexport default m.{name};\n"
