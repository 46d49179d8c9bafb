"""The page on which a lesson is printed: assets/web/standalone/handout.js asks for the lesson and draws it."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from headlight.server.base_path import BASE
from headlight.ui.web import PREFIX

ADDRESS = f"{BASE}/handout"


async def handout(_: Request) -> Response:
    """The same page for every lesson; its address says which."""
    head = f"""<link rel="stylesheet" href="{PREFIX}/base/view.css">
<link rel="stylesheet" href="{PREFIX}/standalone/handout.css">
<script type="module" src="{PREFIX}/standalone/handout.js"></script>"""
    page = document("Handout", head, '<main id="handout" aria-busy="true"></main>')
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


def document(title: str, head: str, body: str) -> str:
    """A page in which Streamlit has no part."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Headlight</title>
<link rel="icon" href="{PREFIX}/frame/icon.svg">
{head}
</head>
<body>{body}</body>
</html>
"""
