"""What stands in front of every address of this server, as `/app` of `--server.baseUrlPath=app`."""

from typing import Final

import streamlit as st


def of(option: object) -> str:
    """The path as addresses begin with it; empty where pages lie at the root."""
    path = str(option or "").strip("/")
    return f"/{path}" if path else ""


BASE: Final = of(st.get_option("server.baseUrlPath"))
