"""Visitors without a browser who type: a connection for the script, and one on which they ask the wire for pictures."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from pages.kit.draw.web import API
from pages.kit.wire.routes import VISIT

from .visitors import Visitor

__all__ = ["Answer", "Typist", "unpacked"]

LONGEST_WAIT = 60.0  # seconds for an answer


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
    """A visitor of Explore; every key is a question to the wire, on a connection that stays open.

    Attributes:
        url: of the server.
        query, headers: of every question, the sentence aside.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.visitor = Visitor(url)
        control = self.visitor.controls["headlight_maps"]
        self.query = parse_qs(control["query"], keep_blank_values=True)
        self.headers = {VISIT: control["visit"]}
        self._wire = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LONGEST_WAIT)

    def ask(self, text: str, **headers: str) -> Answer:
        """The picture of a sentence, all else as the visitor's page has it."""
        query = urlencode({**self.query, "s": [text]}, doseq=True, quote_via=quote)
        begun = time.perf_counter()
        try:
            self._wire.request("GET", f"{API}/maps?{query}", headers={**self.headers, **headers})
            response = self._wire.getresponse()
            status, body = response.status, response.read()
        except (http.client.HTTPException, OSError):
            self._wire.close()  # the next question opens another one
            status, body = 0, b""
        return Answer(status, body, 1000 * (time.perf_counter() - begun))

    def tell(self, text: str) -> float:
        """What a pause in typing tells the script; milliseconds until its run has ended."""
        return self.visitor.type(text)

    def close(self) -> None:
        self._wire.close()
        self.visitor.close()


def unpacked(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and body of a message of `kit.draw.packing`."""
    end = 4 + int.from_bytes(message[:4], "little")
    return json.loads(message[4:end]), message[end:]
