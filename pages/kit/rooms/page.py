"""The page of a room: what a phone opens by code or QR, and what is kept of whom, in two languages.

assets/web/rooms/phone.js fills it. The code stands behind the #, which no browser sends.
"""

import html
import json

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pages.kit.draw import pages
from pages.kit.draw.web import FILES, PREFIX, SCRIPT
from pages.kit.server.addresses import for_class
from pages.kit.server.base_path import BASE

ADDRESS = f"{BASE}/room"
PRIVACY = f"{ADDRESS}/privacy"
_HEAD = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Room · Headlight</title>
<link rel="stylesheet" class="lesson" href="{PREFIX}/lessons/lesson.css">
<link rel="stylesheet" href="{PREFIX}/rooms/room.css">
<link rel="icon" href="{PREFIX}/frame/icon.svg">
"""
_TOLD = f"""{_HEAD}</head>
<body>{FILES["rooms/privacy.html"].decode()}</body>
</html>
"""


async def page(request: Request) -> Response:
    """The same page for every room; what stands behind the # says which."""
    from pages.kit.wire.first import PAGES  # what computes is read in when it is needed

    views = html.escape(json.dumps({path.lstrip("/"): file for path, (_, file) in PAGES.items()}))
    address = html.escape(for_class(str(request.url)))
    told = f'''{_HEAD}<script type="application/json" id="headlight-pages">{pages.as_json()}</script>
<script type="module" src="{PREFIX}/{SCRIPT}"></script>
</head>
<body><main id="headlight-phone" data-views="{views}" data-address="{address}"></main></body>
</html>
'''
    return HTMLResponse(told, headers={"Cache-Control": "no-store"})


async def privacy(_: Request) -> Response:
    return HTMLResponse(_TOLD)
