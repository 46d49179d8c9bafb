"""Equal copies behind one proxy: what it sends and keeps of them, and that nobody misses one that is killed."""

from __future__ import annotations

import http.client
import json
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Event, Thread
from urllib.parse import urlsplit

import pytest

from tests.bench.visitors import Answer, Typist, sentence, shown_in

from .copies import CONFIG, NGINX, behind_nginx
from .server import OwnServer

VISITORS, QUESTIONS, KILLED_AT = 4, 9, 3
WAIT = 60  # seconds, which only a test that fails waits for


# ---- by two servers that say what they hear


class Copy(ThreadingHTTPServer):
    """Knows the addresses of some versions, says of a question what came of it, and of an answer by its tag."""

    daemon_threads = True

    def __init__(self, versions: set[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.versions = versions
        self.asked: list[dict[str, str]] = []  # the headers of each question
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Copy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        heard = {key.lower(): value for key, value in self.headers.items()} | {"path": self.path}
        self.server.asked.append(heard)
        found = re.match("/headlight/([0-9a-f]+)/", self.path)
        if self.path.startswith("/explore?"):
            self._say(302, b"", Location=self.path)
        elif found and found[1] not in self.server.versions:
            self._say(404, b"")
        elif heard.get("if-none-match") == '"tag"':
            self._say(304, b"")
        else:
            self._say(200, json.dumps({**heard, "copy": str(self.server.server_port)}).encode())

    def _say(self, status: int, body: bytes, **more: str) -> None:
        self.send_response(status)
        headers = {"ETag": '"tag"', "Cache-Control": "private, no-cache", "Content-Length": str(len(body))} | more
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def copies() -> Iterator[list[Copy]]:
    both = [Copy({"a0"}), Copy({"a0", "b1"})]
    yield both
    for copy in both:
        copy.shutdown()
        copy.server_close()


def ask(url: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, what was heard there, and the cookie that was given."""
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT)
    line.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = line.getresponse()
    body = answer.read()
    line.close()
    heard = json.loads(body) if body.startswith(b"{") else {}
    return answer.status, heard, (answer.getheader("Set-Cookie") or "").partition(";")[0]


def test_the_proxy_is_configured_as_the_copies_need_it() -> None:
    """On a machine without nginx this is all that is known of its configuration."""
    code = re.sub(r"#.*", "", CONFIG.read_text("utf-8"))
    for said in (
        "proxy_set_header X-Forwarded-For $remote_addr;", "proxy_set_header Host $http_host;",
        "hash $visitor consistent;", 'proxy_set_header Forwarded "";', "server_name ${HEADLIGHT_NAME};", "return 421;",
        'iframe "SameSite=None; Secure; Partitioned";',
        "proxy_cache_revalidate on;", "error_log /dev/stderr alert;", "large_client_header_buffers 4 64k;", "${COPIES}",
    ):  # fmt: skip
        assert said in code, said
    assert not [word for word in ("proxy_add_x_forwarded_for", "$request ", "$args") if word in code]
    after = [line for line in code.splitlines() if "proxy_next_upstream " in line]
    assert len(after) == 4
    assert all("error timeout" in line and "http_503" in line for line in after)
    (twice,) = [line for line in after if "non_idempotent" in line]
    assert code.index("/api/room/ {") < code.index(twice) < code.index("/api/ {"), "the rooms alone"


@pytest.mark.thorough("waits until nginx asks a second time for what it keeps")
def test_forged_proxy_headers_are_ignored_and_clients_keep_their_server(copies: list[Copy], tmp_path: Path) -> None:
    if NGINX is None:  # then the test above stands for it
        return
    with behind_nginx(tmp_path, [copy.server_port for copy in copies]) as url:
        lies = {"X_Forwarded_For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "X_Real_IP": "203.0.113.9"}
        _, heard, cookie = ask(url, "/?s=kestrel", **lies)
        assert heard["x-forwarded-for"] == "127.0.0.1"
        assert "203.0.113.9" not in str(heard)
        assert heard["host"] == urlsplit(url).netloc
        assert ask(url, "/", Host="evil.example")[0] == 421

        assert re.fullmatch("headlight_copy=[0-9a-f]{32}", cookie)
        again = [ask(url, f"/headlight/a0/api/maps?{turn}", Cookie=cookie) for turn in range(8)]
        assert {one["copy"] for _, one, _ in again} == {heard["copy"]}
        assert not any(given for _, _, given in again)
        assert ask(url, "/", Cookie="headlight_copy=mine")[2] not in ("", "headlight_copy=mine")
        assert {ask(url, "/")[1]["copy"] for _ in range(40)} == {str(copy.server_port) for copy in copies}

        for _ in range(8):  # whoever is asked first, the copy of that version answers
            assert ask(url, "/headlight/b1/app.js")[1]["copy"] == str(copies[1].server_port)
        assert ask(url, "/headlight/c2/app.js")[0] == 404
        assert ask(url, f"/headlight/a0/api/maps?s={'%41' * 18_000}")[0] == 200, "a long link"
        assert ask(url, f"/explore?s={'%41' * 19_900}")[0] == 302, "and one that is repeated"

        def asked() -> list[dict[str, str]]:
            return [one for copy in copies for one in copy.asked if one["path"].endswith("?s=same")]

        for encoding in ("gzip, br", "gzip", "gzip;q=0"):
            status, heard, _ = ask(url, "/headlight/a0/api/maps?s=same", Accept_Encoding=encoding)
            assert (status, heard["accept-encoding"]) == (200, "identity" if "q=0" in encoding else "gzip")
        assert len(asked()) == 2, "one for each encoding"
        end = time.monotonic() + WAIT
        while not any("if-none-match" in one for one in asked()):
            assert ask(url, "/headlight/a0/api/maps?s=same", Accept_Encoding="gzip")[0] == 200
            assert time.monotonic() < end
            Event().wait(0.1)  # nginx refuses more questions than so many a second
    for log in ("log", "log_of_image"):
        assert "?" not in (tmp_path / log).read_text("utf-8")
    assert "/explore 302" in (tmp_path / "log").read_text("utf-8")


# ---- by two real ones


class Asker:
    """Ask at the proxy; where there is none, at one copy and, when that does not answer, at the other one."""

    def __init__(self, urls: list[str], number: int) -> None:
        self.typists = [Typist(url) for url in urls[number % len(urls) :] + urls[: number % len(urls)]]
        self.sentences = [sentence(16, f"{number} {turn}") for turn in range(QUESTIONS)]
        self.answers: list[Answer] = []

    def ask(self, killed: Barrier) -> None:
        for turn, text in enumerate(self.sentences):
            if turn == KILLED_AT:
                killed.wait(WAIT)
            answers = (typist.ask(text) for typist in self.typists)
            self.answers.append(next((one for one in answers if one.status), Answer(0, b"", 0)))

    def close(self) -> None:
        for typist in self.typists:
            typist.close()


def shown(answer: Answer) -> tuple[str, bytes]:
    """The sentence of a picture and its numbers, without how long they took."""
    state, maps = shown_in(answer.body)
    return str(state["sentence"]), maps


@pytest.mark.thorough("starts two servers behind nginx and kills one")
def test_a_copy_is_killed_and_no_answer_is_lost_or_wrong(tmp_path: Path) -> None:
    """What rooms and copies of another version do then: tests/pages/test_shared_rooms.py, and the proxy above."""
    command = [sys.executable, "-m", "headlight", "--public", "--no-open"]
    with ExitStack() as open_, ThreadPoolExecutor(VISITORS) as pool:
        copies = list(pool.map(lambda number: OwnServer(tmp_path / f"copy{number}", command=command), range(2)))
        for copy in copies:
            open_.callback(copy.stop)
        dies, stays = copies
        ports = [copy.port for copy in copies]
        urls = [open_.enter_context(behind_nginx(tmp_path, ports))] if NGINX else [dies.url, stays.url]
        askers = [Asker(urls, number) for number in range(VISITORS)]
        begun = Barrier(VISITORS, dies.process.kill)  # while everybody has yet to ask most of what he asks
        list(pool.map(lambda asker: asker.ask(begun), askers))
        witness = Typist(stays.url)
        for asker in askers:
            assert [answer.status for answer in asker.answers] == [200] * QUESTIONS
            for text, answer in zip(asker.sentences, asker.answers, strict=True):
                assert shown(answer) == shown(witness.ask(text))
                assert shown(answer)[0] == text
            asker.close()
        witness.close()
        assert dies.process.wait(WAIT) < 0
