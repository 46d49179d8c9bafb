"""Streamlit's index.html with Headlight's tags, the first picture, and deferred scripts."""

import base64
import html
import json
import re

from headlight.server import framing
from headlight.server.base_path import BASE
from headlight.ui import pages
from headlight.ui.web import PREFIX, SCRIPT, font_face

INDEX = '<div id="root">'  # part of Streamlit's index.html, its answer to every unknown path
# The browser fetches these files first; both scripts run when the page is parsed, boot.js before the bundle.
_HEAD_TAGS = f"""<script defer src="{PREFIX}/frame/boot.js"></script>
<link rel="stylesheet" href="{PREFIX}/frame/house.css">
<link rel="stylesheet" class="lesson" href="{PREFIX}/lessons/lesson.css">
<script type="module" src="{PREFIX}/{SCRIPT}"></script>"""
_SCRIPT = re.compile(r'<script type="module"[^>]*></script>|<link rel="modulepreload"[^>]*>')


def inject_head(index: str, module: str | None, message: bytes | None, more: str = "") -> str:
    """Return Streamlit's page with our own tags, data and first picture in front of everything that it loads."""
    if INDEX not in index:
        return index
    page_data = f'<script type="application/json" id="headlight-pages">{pages.as_json()}</script>'
    block = ""
    if module and message is not None:
        data = base64.b64encode(message).decode("ascii")
        block = f'<script type="text/plain" id="headlight-first" data-file="{module}">{data}</script>'
    if origins := framing.origins():
        more += f'<script type="application/json" id="headlight-framing">{json.dumps(origins)}</script>'
    head = "".join([f"<style>{font_face()}</style>", _HEAD_TAGS, page_data, more, block])
    # Streamlit's own scripts wait in a template, which boot.js empties when the picture is drawn
    if scripts := _SCRIPT.findall(index):
        template = f'<template id="headlight-later">{"".join(scripts)}</template>'
        index = _SCRIPT.sub("", index).replace("</head>", f"{template}</head>", 1)
    return index.replace("<title>", head + "<title>", 1)


def unknown_page(path: str, index: str) -> str:
    """Return the page for an address that no page has: under the navigation bar, without Streamlit."""
    links = "".join(
        f'<li><a href="{BASE}/{pages.path(name)}">{page.title}</a> {html.escape(page.question)}</li>'
        for name, page in pages.PAGES.items()
    )
    title = f"There is no page named “{html.escape(path.strip('/')[:60])}”."
    body = f"<h1>{title}</h1><p>Available pages:</p><ul>{links}</ul>"
    head = _SCRIPT.sub("", index).replace("<head>", f'<head><base href="{BASE}/">', 1)
    page = inject_head(head.replace("<title>Streamlit<", "<title>No such page · Headlight<", 1), None, None)
    return page.replace(INDEX, f'<main id="headlight-unknown">{body}</main>{INDEX}')
