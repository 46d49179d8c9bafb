"""Where the browser's files (js, css) lie and under which address they are served; it changes with their content."""

import hashlib
from collections.abc import Mapping

from headlight import ROOT
from headlight.server.base_path import BASE

FOLDER = ROOT / "assets" / "web"
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"  # runs wherever `mha_core` can be imported
_SERVED = {file.relative_to(FOLDER).as_posix(): file for file in sorted(FOLDER.glob("*/*")) if file.suffix != ".ts"}
SCRIPT = "app.js"  # of every page: all modules but those of a page without the app, built of them by `make scripts`
_OTHERS = {TUTORIAL.name: TUTORIAL, SCRIPT: ROOT / "assets" / SCRIPT}
FILES = {name: file.read_bytes() for name, file in (_SERVED | _OTHERS).items()}  # path -> content


def version(files: Mapping[str, bytes]) -> str:
    """What these files are called together."""
    digest = hashlib.blake2b(digest_size=6)
    for name, content in files.items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


VERSIONS = f"{BASE}/headlight"  # below it lie the addresses of every version
PREFIX = f"{VERSIONS}/{version(FILES)}"
API = f"{PREFIX}/api"  # of the data routes: an older page's files would not read what a newer server answers


def one_line(file: str, name: str = "view") -> str:
    """The js of a component: it takes it out of the module `file`, as inline code would travel in every message."""
    url = f"new URL('{PREFIX}/{SCRIPT}', location.origin)"
    return f"const {{ open }} = await import({url});\nexport default open('{file}').{name};\n"
