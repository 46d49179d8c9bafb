"""Headers on every answer, and files that nobody may read or leave."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.message import Message

from playwright.sync_api import FilePayload

from headlight.jobs.training import MAX_BYTES as MAX_BYTES
from headlight.ui import web
from pages.frame.upload_middleware import UPLOADS

from .conftest import NewTab
from .server import HEALTH, Server
from .tab import WAIT_MS
from .train_page import Train


def fetch(url: str, method: str = "GET", **headers: str) -> tuple[int, Message, bytes]:
    """Status, headers and body of an answer, whatever its status."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, headers=named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_MS / 1000) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:  # 304 counts as one
        with error:
            return error.code, error.headers, error.read()


def test_every_answer_has_security_headers_and_nothing_outside_the_web_folder_is_served(server: Server) -> None:
    for path in ("/", f"{web.PREFIX}/explore/explore.js", HEALTH, "/explore"):
        _, headers, _ = fetch(server.url + path)
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["connect-src"] == "'self'", path
        assert policy["object-src"] == policy["frame-src"] == policy["frame-ancestors"] == "'none'", path
        assert "'unsafe-inline'" not in policy["script-src"], path
        assert "'unsafe-eval'" not in policy["script-src"], path
        assert not {"*", "http:", "https:"} & set(headers["content-security-policy"].replace(";", " ").split()), path
        wanted = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
        assert {name: headers[name] for name in wanted} == wanted, path
    for path in ("/../app.py", "/..%2f..%2fapp.py", "/%2e%2e/%2e%2e/pyproject.toml"):
        status, _, body = fetch(f"{server.url}{web.PREFIX}{path}")
        assert status in (200, 400, 404), path  # Streamlit answers unknown paths with its page
        assert b"lifespan" not in body, path
        assert b"build-system" not in body, path
    for method in ("PUT", "DELETE", "POST"):
        assert fetch(f"{server.url}{UPLOADS}/session/file", method)[0] == 404, "a stranger can leave no file"
    assert "external" not in server.tail().lower(), "the start asks no host outside for an address"
    with ThreadPoolExecutor(8) as pool:
        types = set(pool.map(lambda _: fetch(server.url)[1]["content-type"], range(24)))
    assert types == {"text/html; charset=utf-8"}, "of many at once each gets the page"

    # a picture over a network is packed, and one that is here is not sent again
    url, far = f"{server.url}{web.API}/maps?s=how+are+you", {"X_Forwarded_For": "203.0.113.9"}
    _, headers, plain = fetch(url, Accept_Encoding="gzip")
    assert headers["content-encoding"] == "identity", "on this machine bytes cost nothing"
    assert fetch(url, If_None_Match=headers["etag"])[0] == 304
    _, headers, packed = fetch(url, Accept_Encoding="gzip", **far)
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert fetch(url, Accept_Encoding="gzip", **far, If_None_Match=headers["etag"])[0] == 304


def test_a_visitor_leaves_small_files_only(new_tab: NewTab) -> None:
    page = new_tab(Train).open(tab="Report").page
    with page.expect_request(lambda request: UPLOADS in request.url and request.method == "PUT") as sent:
        page.locator("input[type=file][accept*='.zip']").set_input_files(
            {"name": "a.zip", "mimeType": "application/zip", "buffer": b"no run"}
        )
    request = sent.value
    assert request.response()
    token = {"X-Xsrftoken": request.all_headers()["x-xsrftoken"]}
    url = request.url.rsplit("/", 1)[0] + "/other"
    for size, headers, status in ((100, token, 204), (100, {}, 403), (MAX_BYTES + 1, token, 413)):
        file: FilePayload = {"name": "a.zip", "mimeType": "application/zip", "buffer": b"x" * size}
        assert page.request.put(url, headers=headers, multipart={"file": file}).status == status, (size, headers)
