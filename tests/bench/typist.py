"""Visitors without a browser who type: a connection that keeps the visit, and one on which they ask for pictures."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from pages.kit.draw.web import API
from pages.kit.wire.routes import VISIT

from .visitors import Visitor

__all__ = ["PICTURES", "Answer", "Typist", "unpacked"]

LONGEST_WAIT = 60.0  # seconds for an answer
# Page that a view owns -> the route of its picture.
PICTURES = {"": "maps", "compare": "pair", "masks": "masked", "shapes": "steps"}


@dataclass(frozen=True)
class Answer:
    """What came of a question.

    Attributes:
        status, body: of the response; 0 when the connection was lost.
        took: milliseconds since it was asked.
    """

    status: int
    body: bytes
    took: float


class Typist:
    """A visitor of a page that a view owns; every key is a question to the wire, on a connection that stays open.

    Args:
        page: the path of one of `PICTURES`.
        cookie: what the browser was given before.

    Attributes:
        url: of the server.
        query: what is chosen beside the sentence, as in a link: a view leaves defaults out.
        headers: of every question.
    """

    def __init__(self, url: str, page: str = "", cookie: str = "") -> None:
        self.url = url
        self.query: dict[str, list[str]] = {}
        self.visitor = Visitor(url, page, cookie=cookie)
        self.headers = {
            VISIT: self.visitor.controls["headlight_house"]["visit"],
            **({"Cookie": cookie} if cookie else {}),
        }
        self._route = PICTURES[page]
        self._wire = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LONGEST_WAIT)

    def question(self, text: str, route: str = "") -> str:
        """What is asked for the picture of a sentence, or for another answer to the same query."""
        query = urlencode({**self.query, "s": [text]}, doseq=True, quote_via=quote)
        return f"{API}/{route or self._route}?{query}"

    def ask(self, text: str, route: str = "", **headers: str) -> Answer:
        """The answer to that."""
        begun = time.perf_counter()
        try:
            status, body = self._asked(self.question(text, route), {**self.headers, **headers})
        except (http.client.HTTPException, OSError):
            self._wire.close()  # the next question opens another one
            status, body = 0, b""
        return Answer(status, body, 1000 * (time.perf_counter() - begun))

    def _asked(self, question: str, headers: dict[str, str]) -> tuple[int, bytes]:
        """Status and body. As a browser does, asks again where the server has just closed a line that was idle."""
        try:
            self._wire.request("GET", question, headers=headers)
            response = self._wire.getresponse()
        except ConnectionError:
            self._wire.close()
            self._wire.request("GET", question, headers=headers)
            response = self._wire.getresponse()
        return response.status, response.read()

    def close(self) -> None:
        self._wire.close()
        self.visitor.close()


def unpacked(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and body of a message of `kit.draw.packing`."""
    end = 4 + int.from_bytes(message[:4], "little")
    return json.loads(message[4:end]), message[end:]
