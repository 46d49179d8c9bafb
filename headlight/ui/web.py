"""The browser's static files and their URLs, which contain a hash of all contents."""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from headlight import ROOT
from headlight.server.base_path import BASE

FOLDER = ROOT / "assets" / "web"
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"  # runs wherever `mha_core` can be imported
_SERVED = {
    file.relative_to(FOLDER).as_posix(): file
    for file in sorted(FOLDER.glob("*/*"))
    if file.suffix not in (".ts", ".wat")
}
SCRIPT = "app.js"  # bundle of all modules of the app, built by `make scripts`
SITE_SCRIPT = "site.js"  # what a site of static files adds to it
_OTHERS = {TUTORIAL.name: TUTORIAL, **{name: ROOT / "assets" / name for name in (SCRIPT, SITE_SCRIPT)}}
FILES = {name: file.read_bytes() for name, file in (_SERVED | _OTHERS).items()}  # path -> content


def version(files: Mapping[str, bytes]) -> str:
    """Return the hash of these files."""
    digest = hashlib.blake2b(digest_size=6)
    for name, content in files.items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


VERSIONS = f"{BASE}/headlight"  # prefix of the files of all versions
PREFIX = f"{VERSIONS}/{version(FILES)}"
API = f"{PREFIX}/api"  # of the data routes; versioned, as older files cannot read newer messages


def fonts() -> list[Path]:
    """Return the files of the app's font, which Streamlit serves; none without Streamlit."""
    spec = find_spec("streamlit")  # finds the package without importing it
    folder = Path(spec.origin).parent if spec and spec.origin else ROOT
    return sorted(folder.glob("static/static/media/SourceSansVF-Upright*.woff2"))


def font_face(folder: str = f"{BASE}/static/media") -> str:
    """Return the CSS of the app's font, whose files are in a folder of the server."""
    return "".join(
        f'@font-face {{ font-family: "Source Sans"; font-weight: 200 900; src: url("{folder}/{font.name}"); }}'
        for font in fonts()
    )


def component_js(file: str, name: str = "view") -> str:
    """Return the inline script of a component, which only imports it.

    Inline code is sent in every message, so that it must be short.
    """
    url = f"new URL('{PREFIX}/{SCRIPT}', location.origin)"
    return f"const {{ open }} = await import({url});\nexport default open('{file}').{name};\n"
