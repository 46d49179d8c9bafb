"""Headers on every answer, and visitors who do not meet."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from pages.kit.draw import web
from pages.kit.jobs.training import MOST_BYTES
from pages.kit.server.gates import UPLOADS

from .conftest import NewTab
from .expected import WIDE, largest
from .explore_page import Explore
from .server import HEALTH, Server
from .tab import WAIT_MS
from .train_page import Train

SECRET = "kestrel umbrella quotient"


def headers_of(url: str) -> dict[str, str]:
    with urllib.request.urlopen(url, timeout=WAIT_MS / 1000) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}


@pytest.mark.parametrize("path", ["/", f"{web.PREFIX}/explore/explore.js", HEALTH, "/explore"])
def test_security_headers(server: Server, path: str) -> None:
    headers = headers_of(server.url + path)
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["connect-src"] == "'self'"
    assert policy["object-src"] == policy["frame-src"] == policy["frame-ancestors"] == "'none'"
    assert "'unsafe-inline'" not in policy["script-src"]
    assert "'unsafe-eval'" not in policy["script-src"]
    assert not [part for value in policy.values() for part in value.split() if part in ("*", "http:", "https:")]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


def asked(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=WAIT_MS / 1000) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:  # 304 counts as one
        with error:
            return error.code, {}, b""


def test_a_picture_over_a_network_is_packed_and_one_that_is_here_is_not_sent_again(server: Server) -> None:
    url = f"{server.url}{web.API}/maps?s=how+are+you"
    _, headers, plain = asked(url, Accept_Encoding="gzip")
    assert headers["content-encoding"] == "identity", "on this machine bytes cost nothing"
    assert asked(url, If_None_Match=headers["etag"])[0] == 304
    _, headers, packed = asked(url, Accept_Encoding="gzip", X_Forwarded_For="203.0.113.9")
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert asked(url, Accept_Encoding="gzip", X_Forwarded_For="203.0.113.9", If_None_Match=headers["etag"])[0] == 304


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_a_stranger_can_leave_no_file(server: Server, method: str) -> None:
    request = urllib.request.Request(f"{server.url}{UPLOADS}/session/file", data=b"x", method=method)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=WAIT_MS / 1000)
    assert refused.value.code == 404
    refused.value.close()


def test_a_visitor_leaves_small_files_only(new_tab: NewTab) -> None:
    page = new_tab(Train).open(tab="Report").page
    with page.expect_request(lambda request: UPLOADS in request.url and request.method == "PUT") as sent:
        page.locator("input[type=file][accept*='.zip']").set_input_files(
            {"name": "a.zip", "mimeType": "application/zip", "buffer": b"no run"}
        )
    request = sent.value
    assert request.response()
    token = request.all_headers()["x-xsrftoken"]

    def leaves(size: int, headers: dict[str, str]) -> int:
        """The answer to a file of so many bytes."""
        url = request.url.rsplit("/", 1)[0] + "/other"
        content = b"x" * size
        return page.request.put(
            url,
            headers=headers,
            multipart={"file": {"name": "a.zip", "mimeType": "application/zip", "buffer": content}},
        ).status

    assert leaves(100, {"X-Xsrftoken": token}) == 204
    assert leaves(100, {}) == 403
    assert leaves(MOST_BYTES + 1, {"X-Xsrftoken": token}) == 413


def test_the_start_asks_no_host_outside_for_an_address(server: Server) -> None:
    assert "external" not in server.tail().lower()


@pytest.mark.parametrize("path", ["/../app.py", "/..%2f..%2fapp.py", "/%2e%2e/%2e%2e/pyproject.toml"])
def test_no_file_outside_the_web_folder_is_served(server: Server, path: str) -> None:
    try:
        with urllib.request.urlopen(f"{server.url}{web.PREFIX}{path}", timeout=WAIT_MS / 1000) as answer:
            body = answer.read()  # Streamlit answers unknown paths with its page
    except urllib.error.HTTPError as error:
        assert error.code in (400, 404)  # noqa: PT017
        body = error.read()
    assert b"lifespan" not in body
    assert b"build-system" not in body


def test_two_visits_of_one_browser_do_not_disturb_each_other(explore: Explore, new_tab: NewTab, server: Server) -> None:
    """Nor is a word of theirs in the log."""
    other = new_tab(Explore)
    explore.open(s=SECRET)
    other.open()
    explore.box.fill(f"{SECRET} it is mine")
    other.button(WIDE).click()
    other.lamp(3, 5).click()
    mine = explore.clicked(explore.tile(3, 2).locator(".square"), f"{SECRET} it is mine")
    theirs = other.shows(WIDE, heads_off=((3, 5),))
    assert explore.badges() == largest(mine, 3, 2, mine.tokens.index("it"))
    assert other.badges() == largest(theirs, 3, 1, theirs.tokens.index("it"))
    explore.button("compare now").click()
    value = explore.view.locator(".figure strong").nth(3)
    expect(value).not_to_be_empty(timeout=2 * WAIT_MS)  # transformers is loaded for it
    explore.settled()
    assert 0 <= float(value.inner_text()) <= 1e-5, "transformers says the same"
    assert other.figures()[3] == ""
    assert "kestrel" not in server.log.read_text("utf-8", "replace")


def test_many_askers_at_once_get_the_page(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: headers_of(server.url)["content-type"], range(24))) == {
            "text/html; charset=utf-8"
        }
