"""Where the browser's files (js, css) lie and under which address they are served; it changes with their content."""

import hashlib
from pathlib import Path

from pages.kit.server.base_path import BASE

FOLDER = Path(__file__).parents[3] / "assets" / "web"
TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.ipynb"  # runs wherever `mha_core` can be imported
_SERVED = {file.relative_to(FOLDER).as_posix(): file for file in sorted(FOLDER.glob("*/*")) if file.suffix != ".ts"}
FILES = {name: file.read_bytes() for name, file in (_SERVED | {TUTORIAL.name: TUTORIAL}).items()}  # path -> content


def _version() -> str:
    digest = hashlib.blake2b(digest_size=6)
    for name, content in FILES.items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


PREFIX = f"{BASE}/headlight/{_version()}"
API = f"{PREFIX}/api"  # of the data routes: an older page's files would not read what a newer server answers


def one_line(file: str, name: str = "default") -> str:
    """The js of a component: it imports the module `file`, because inline code would travel in every message."""
    return f"const m = await import(new URL('{PREFIX}/{file}', location.origin));\nexport default m.{name};\n"
