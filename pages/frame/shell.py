"""What surrounds every page: its configuration, the list of pages, and one sentence when a package is missing."""

from importlib import import_module

import streamlit as st

from pages.frame import missing

st.set_page_config(layout="wide", initial_sidebar_state="collapsed")
with missing.package_error():
    from headlight.queue.executor import QUEUE
    from headlight.queue.policy import Work
    from headlight.ui.pages import PAGES, path
    from pages.frame import visits

    pages = {
        name: st.Page(
            f"../{name}/page.py",
            title=f"{named.title} · Headlight",
            url_path=path(name) or name,
            default=not path(name),
        )
        for name, named in PAGES.items()
    }
    chosen = st.navigation(list(pages.values()), position="hidden")
    # not chosen.run(): what runs there loses its values, and its part of the address, when the page is left
    name = next(name for name, page in pages.items() if page == chosen)
    with QUEUE.slot(Work.SCRIPT, client=visits.visitor()):
        import_module(f"pages.{name}.page").show()
