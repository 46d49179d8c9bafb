"""The page that a phone opens to join a room, and the privacy notice.

assets/web/rooms/phone.js renders it. The room's code is in the fragment, which no browser sends to the server.
"""

import html
import json

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from headlight.api.handout import document
from headlight.server.addresses import public_url
from headlight.server.base_path import BASE
from headlight.ui import pages
from headlight.ui.web import FILES, PREFIX, SCRIPT

ADDRESS = f"{BASE}/room"
PRIVACY = f"{ADDRESS}/privacy"
_STYLES = f"""<link rel="stylesheet" class="lesson" href="{PREFIX}/lessons/lesson.css">
<link rel="stylesheet" href="{PREFIX}/rooms/room.css">"""


async def page(request: Request) -> Response:
    """Return the page, which is the same for every room."""
    from headlight.api.prerender import PAGES  # imported late: it needs torch

    views = html.escape(json.dumps({path.lstrip("/"): file for path, (_, file) in PAGES.items()}))
    address = html.escape(public_url(str(request.url)))
    head = f'''{_STYLES}
<script type="application/json" id="headlight-pages">{pages.as_json()}</script>
<script type="module" src="{PREFIX}/{SCRIPT}"></script>'''
    body = document("Room", head, f'<main id="headlight-phone" data-views="{views}" data-address="{address}"></main>')
    return HTMLResponse(body, headers={"Cache-Control": "no-store"})


async def privacy(_: Request) -> Response:
    """Return the privacy notice of rooms."""
    return HTMLResponse(document("Room", _STYLES, FILES["rooms/privacy.html"].decode()))
