"""Streamlit's main script: configures the pages and runs the current one."""

from importlib import import_module

import streamlit as st

from pages.frame import missing

st.set_page_config(layout="wide", initial_sidebar_state="collapsed")
with missing.package_error():
    from headlight.queue.executor import QUEUE
    from headlight.queue.policy import Work
    from headlight.ui.pages import PAGES, path
    from pages.frame import sessions

    pages = {
        name: st.Page(
            f"../{name}/page.py",
            title=f"{info.title} · Headlight",
            url_path=path(name) or name,
            default=not path(name),
        )
        for name, info in PAGES.items()
    }
    current = st.navigation(list(pages.values()), position="hidden")
    # not current.run(), whose controls lose their values and their keys in the address when the page changes
    name = next(name for name, page in pages.items() if page == current)
    with QUEUE.slot(Work.SCRIPT, client=sessions.client()):
        import_module(f"pages.{name}.page").show()
