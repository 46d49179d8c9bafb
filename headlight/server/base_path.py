"""URL prefix of every route, such as `/app` with `--server.baseUrlPath=app`; empty by default."""

from typing import Final

from . import options

_NAME: Final = str(options.read("server.baseUrlPath") or "").strip("/")
BASE: Final = f"/{_NAME}" if _NAME else ""
