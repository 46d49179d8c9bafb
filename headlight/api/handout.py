"""The printable page of a lesson, which assets/web/standalone/handout.js fetches and renders."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from headlight.server.base_path import BASE
from headlight.ui.web import PREFIX, font_face

ADDRESS = f"{BASE}/handout"


async def handout(_: Request) -> Response:
    """Return the page, the same for every lesson; the script reads the lesson from its URL."""
    head = f"""<link rel="stylesheet" href="{PREFIX}/base/view.css">
<link rel="stylesheet" href="{PREFIX}/standalone/handout.css">
<script type="module" src="{PREFIX}/standalone/handout.js"></script>"""
    page = document("Handout", head, '<main id="handout" aria-busy="true"></main>')
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


def document(title: str, head: str, body: str, folder: str = PREFIX, face: str | None = None) -> str:
    """Return an HTML page that does not use Streamlit; `folder` has the browser's files, `face` is the font's CSS."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Headlight</title>
<link rel="icon" href="{folder}/frame/icon.svg">
<style>{font_face() if face is None else face}</style>
{head}
</head>
<body>{body}</body>
</html>
"""
