"""The page on which a lesson is printed: assets/web/standalone/handout.js asks for the lesson and draws it."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pages.kit.draw.web import PREFIX
from pages.kit.server.base_path import BASE

ADDRESS = f"{BASE}/handout"
_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Handout · Headlight</title>
<link rel="stylesheet" href="{PREFIX}/base/view.css">
<link rel="stylesheet" href="{PREFIX}/standalone/handout.css">
<link rel="icon" href="{PREFIX}/frame/icon.svg">
<script type="module" src="{PREFIX}/standalone/handout.js"></script>
</head>
<body><main id="handout" aria-busy="true"></main></body>
</html>
"""


async def handout(_: Request) -> Response:
    """The same page for every lesson; its address says which."""
    return HTMLResponse(_PAGE, headers={"Cache-Control": "no-store"})
