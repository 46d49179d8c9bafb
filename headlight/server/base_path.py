"""What stands in front of every address of this server, as `/app` of `--server.baseUrlPath=app`; mostly nothing."""

from typing import Final

from . import options

_NAME: Final = str(options.read("server.baseUrlPath") or "").strip("/")
BASE: Final = f"/{_NAME}" if _NAME else ""
