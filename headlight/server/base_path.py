"""What stands in front of every address of this server, as `/app` of `--server.baseUrlPath=app`; mostly nothing."""

from typing import Final

import streamlit as st

_NAME: Final = str(st.get_option("server.baseUrlPath") or "").strip("/")
BASE: Final = f"/{_NAME}" if _NAME else ""
