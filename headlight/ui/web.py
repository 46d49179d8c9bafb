"""Where the browser's files (js, css) lie and under which address they are served; it changes with their content."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from headlight import ROOT
from headlight.server.base_path import BASE

FOLDER = ROOT / "assets" / "web"
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"  # runs wherever `mha_core` can be imported
_SERVED = {file.relative_to(FOLDER).as_posix(): file for file in sorted(FOLDER.glob("*/*")) if file.suffix != ".ts"}
FILES = {name: file.read_bytes() for name, file in (_SERVED | {TUTORIAL.name: TUTORIAL}).items()}  # path -> content


SCRIPT = "app.js"
_CORE = cast(ModuleSpec, find_spec("mha_core"))  # where it lies; importing it takes torch's time
_BUNDLER = Path(str(_CORE.origin)).parent / "show" / "modules.py"


def version(files: Mapping[str, bytes]) -> str:
    """What these files are called together, and the script that is made of them."""
    digest = hashlib.blake2b(_BUNDLER.read_bytes(), digest_size=6)
    for name, content in files.items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


VERSIONS = f"{BASE}/headlight"  # below it lie the addresses of every version
PREFIX = f"{VERSIONS}/{version(FILES)}"
API = f"{PREFIX}/api"  # of the data routes: an older page's files would not read what a newer server answers


@cache
def script() -> bytes:
    """The script of every page: all modules but those of a page without the app. It draws what stands first."""
    from mha_core.show.modules import scripts

    texts = {name: content.decode() for name, content in FILES.items()}
    apart = ("standalone/", "frame/boot.js")
    modules = [name for name in FILES if name.endswith(".js") and not name.startswith(apart)]
    return f'{scripts(modules, texts)}open("frame/first.js").begin(open);\n'.encode()


def one_line(file: str, name: str = "view") -> str:
    """The js of a component: it takes it out of the module `file`, as inline code would travel in every message."""
    url = f"new URL('{PREFIX}/{SCRIPT}', location.origin)"
    return f"const {{ open }} = await import({url});\nexport default open('{file}').{name};\n"
