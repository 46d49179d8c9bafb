"""The page of a room: what a phone opens by code or QR, and what is kept of whom.

assets/web/rooms/phone.js fills it. The code stands behind the #, which no browser sends.
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
    """The same page for every room; what stands behind the # says which."""
    from headlight.api.first import PAGES  # what computes is read in when it is needed

    views = html.escape(json.dumps({path.lstrip("/"): file for path, (_, file) in PAGES.items()}))
    address = html.escape(public_url(str(request.url)))
    head = f'''{_STYLES}
<script type="application/json" id="headlight-pages">{pages.as_json()}</script>
<script type="module" src="{PREFIX}/{SCRIPT}"></script>'''
    told = document("Room", head, f'<main id="headlight-phone" data-views="{views}" data-address="{address}"></main>')
    return HTMLResponse(told, headers={"Cache-Control": "no-store"})


async def privacy(_: Request) -> Response:
    return HTMLResponse(document("Room", _STYLES, FILES["rooms/privacy.html"].decode()))
