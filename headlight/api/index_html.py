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
_SCRIPT = re.compile(r'<script type="module"[^>]*></script>|<link rel="modulepreload"[^>]*>')


def inject_head(index: str, module: str | None, message: bytes | None, more: str = "") -> str:
    """Return Streamlit's page with our own tags, data and first picture in front of everything that it loads."""
    if INDEX not in index:
        return index
    page_data = f'<script type="application/json" id="headlight-pages">{pages.as_json()}</script>'
    block = first_block(module, message) if module and message is not None else ""
    head = "".join([f"<style>{font_face()}</style>", head_tags(PREFIX), page_data, more, block])
    # Streamlit's own scripts wait in a template, which boot.js empties when the picture is drawn
    if scripts := _SCRIPT.findall(index):
        template = f'<template id="headlight-later">{"".join(scripts)}</template>'
        index = _SCRIPT.sub("", index).replace("</head>", f"{template}</head>", 1)
    return index.replace("<title>", head + "<title>", 1)


def head_tags(folder: str, script: str = SCRIPT) -> str:
    """Return the tags of the files that the browser fetches first, and of the origins that may frame the page.

    Both scripts run when the page is parsed, boot.js before the bundle.
    """
    origins = framing.origins()
    allowed = (
        f'<script type="application/json" id="headlight-framing">{json.dumps(origins)}</script>' if origins else ""
    )
    return f"""{allowed}<script defer src="{folder}/frame/boot.js"></script>
<link rel="stylesheet" href="{folder}/frame/house.css">
<link rel="stylesheet" class="lesson" href="{folder}/lessons/lesson.css">
<script type="module" src="{folder}/{script}"></script>"""


def first_block(module: str, message: bytes) -> str:
    """Return the first message of a view as a block of the page."""
    data = base64.b64encode(message).decode("ascii")
    return f'<script type="text/plain" id="headlight-first" data-file="{module}">{data}</script>'


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
