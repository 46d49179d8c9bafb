"""Visitors without a browser: they speak Streamlit's own protocol over a websocket, and who types asks the wire."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from headlight.api.routes import SESSION_HEADER
from headlight.ui.web import API

__all__ = ["PICTURES", "SENTENCE", "Answer", "Typist", "Visitor", "open_socket", "sentence", "shown_in", "unpacked"]

NEWS = "headlight_news"
SENTENCE = "Sentence"  # the label of the sentence box
WORDS = ("it", "is", "so", "we", "he", "on", "in", "at", "by", "up", "my", "no", "go", "do", "me", "us", "or", "as")

MAX_WAIT_MS = 60.0  # seconds for an answer
# Page that a view owns -> the route of its picture.
PICTURES = {"": "maps", "model-map": "architecture", "compare": "pair", "masks": "masks", "shapes": "steps"}

Values = Mapping[str, str | float | bool | None]  # by the labels of the controls; None presses a button


def sentence(tokens: int, seed: int | str = 0) -> str:
    """A text of so many tokens, special ones included: each of `WORDS` is one token."""
    draw = random.Random(f"{tokens} {seed}")
    return " ".join(draw.choice(WORDS) for _ in range(tokens - 2))


def open_socket(url: str, origin: str | None = None, cookie: str = "", **more: Any) -> ClientConnection:
    """A connection as the browser opens it."""
    address = url.replace("http", "ws", 1) + "/_stcore/stream"
    own: Any = {"subprotocols": [Subprotocol("streamlit")], "max_size": None, "ping_interval": None, "close_timeout": 1}
    own |= {"additional_headers": {"Cookie": cookie}} if cookie else {}
    return connect(address, origin=origin, **own, **more)  # type: ignore[arg-type]


class Visitor:
    """One session on the server. What it does waits until the script has finished and every message is here.

    Attributes:
        ids: of the page's controls, by their labels; `controls`: what the script sends each view in JSON, by its name.
        polls: the fragments that ask to be run again: id -> seconds; `progress`: the last text of the progress bar.
    """

    def __init__(self, url: str, page: str = "", *, cookie: str = "", **link: Any) -> None:
        self._open = ExitStack()
        self.socket = self._open.enter_context(open_socket(url, cookie=cookie))
        self.page, self.query = page, urlencode(link)
        self.session = ""
        self.ids: dict[str, str] = {}
        self.controls: dict[str, dict[str, Any]] = {}
        self.polls: dict[str, float] = {}
        self.progress = ""
        self.errors = 0
        self._page_hash = ""
        self._news, self._asked = "", ""  # as assets/web/frame/bridge.js keeps them
        self.took = self.act()

    def type(self, text: str, label: str = SENTENCE) -> float:
        """Puts a text into a box; milliseconds until it has been answered."""
        return self.act({label: text})

    def act(self, values: Values | None = None, *, fragment: str = "") -> float:
        """Sends the values of controls, by their labels, and waits for the answer; None presses a button."""
        self.send(values, fragment=fragment)
        return self.wait()

    def send(self, values: Values | None = None, *, fragment: str = "") -> None:
        """Sends the values of controls and does not wait."""
        self._sent = time.perf_counter()
        self.socket.send(self.message(values, fragment=fragment))

    def message(self, values: Values | None = None, *, fragment: str = "") -> bytes:
        """What the browser would send."""
        message = BackMsg()
        request = message.rerun_script
        request.page_name, request.query_string = self.page, self.query
        request.page_script_hash = self._page_hash
        request.fragment_id, request.is_auto_rerun = fragment, bool(fragment)
        for label, value in (values or {}).items():
            state = request.widget_states.widgets.add()
            state.id = self.ids[label]
            if value is None:
                state.trigger_value = True
            elif isinstance(value, bool):
                state.bool_value = value
            elif isinstance(value, str):
                state.string_value = value
            else:
                state.double_value = value
        packed: bytes = message.SerializeToString()
        return packed

    def wait(self, seconds: float = 120.0) -> float:
        """Takes in messages until a run has finished; milliseconds since the last one was sent."""
        while not self.take(seconds):
            pass
        return (time.perf_counter() - self._sent) * 1000

    def take(self, seconds: float | None = None) -> bool:
        """Takes in one message; True when it says that the script has finished."""
        answer = ForwardMsg.FromString(self.socket.recv(seconds, decode=False))
        kind = answer.WhichOneof("type")
        if kind == "new_session":
            self.session = answer.new_session.initialize.session_id or self.session
            if not answer.metadata.run.fragment_ids:  # the whole page: its fragments will ask anew
                self.polls.clear()
        elif kind == "navigation":
            self._page_hash = answer.navigation.page_script_hash
        elif kind == "auto_rerun":
            self.polls[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            self.polls.pop(answer.stop_auto_rerun.fragment_id, None)
        elif kind == "delta":
            self._note(answer)
        early = answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return bool(kind == "script_finished" and not early)

    def _note(self, answer: ForwardMsg) -> None:
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind is None:
            return
        shown: Any = getattr(element, kind)
        if kind == "exception":
            self.errors += 1
        elif kind == "progress":
            self.progress = shown.text
        elif kind == "bidi_component":
            self.ids[shown.component_name] = shown.id
            if shown.json:
                told = json.loads(shown.json)
                self.controls[shown.component_name] = (
                    told[0] if isinstance(told, list) else told
                )  # as draw.view sends it
            if shown.component_name == NEWS:
                self._news = json.loads(shown.json or "{}").get("number", "")
        elif hasattr(shown, "id") and hasattr(shown, "label"):
            self.ids[shown.label] = shown.id

    def follow(self, seconds: float) -> None:
        """Stays on the page as a browser does: runs its fragments again as often as they ask for it."""
        end, due = time.perf_counter() + seconds, dict[str, float]()
        while (now := time.perf_counter()) < end:
            due = {fragment: due.get(fragment, now + every) for fragment, every in self.polls.items()}
            first = min(due, key=due.__getitem__, default=None)
            if first is not None and due[first] <= now:
                self.act(fragment=first)
                if self._news not in ("", self._asked):
                    self._ask_for_news(first)
                due[first] = time.perf_counter() + self.polls.get(first, 0.0)
                continue
            with suppress(TimeoutError):
                self.take(min(end, due[first] if first else end) - now)

    def _ask_for_news(self, fragment: str) -> None:
        """What the browser does with a new number: one event, whose callback draws another fragment."""
        self._asked = self._news
        message = BackMsg.FromString(self.message(fragment=fragment))
        message.rerun_script.is_auto_rerun = False
        state = message.rerun_script.widget_states.widgets.add()
        state.id = f"$$STREAMLIT_INTERNAL_KEY_{self.ids[NEWS]}__events"
        state.json_trigger_value = json.dumps([{"event": "request", "value": self._asked}])
        self._sent = time.perf_counter()
        self.socket.send(message.SerializeToString())
        self.wait()

    def close(self) -> None:
        with suppress(ConnectionClosed):
            self._open.close()


@dataclass(frozen=True)
class Answer:
    """What came of a question: status (0 when the connection was lost), body, and the milliseconds that it took."""

    status: int
    body: bytes
    took: float


class Typist:
    """A visitor of a page of `PICTURES`; every key is a question to the wire, on a connection that stays open.

    Attributes:
        query: what is chosen beside the sentence, as in a link, without defaults; `headers`: of each question.
    """

    def __init__(self, url: str, page: str = "", cookie: str = "") -> None:
        self.url = url
        self.query: dict[str, list[str]] = {}
        self.visitor = Visitor(url, page, cookie=cookie)
        self.headers = {SESSION_HEADER: self.visitor.controls["headlight_house"]["visit"]} | (
            {"Cookie": cookie} if cookie else {}
        )
        self._route = PICTURES[page]
        self._wire = http.client.HTTPConnection(urlsplit(url).netloc, timeout=MAX_WAIT_MS)

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
    """Header and body of a message of `headlight.ui.packing`."""
    end = 4 + int.from_bytes(message[:4], "little")
    return json.loads(message[4:end]), message[end:]


def shown_in(answer: bytes) -> tuple[dict[str, Any], bytes]:
    """What an answer says of its picture, and the maps behind it."""
    header, parts = unpacked(answer)
    first = header["parts"][0]
    return unpacked(parts[:first])[0], parts[first:]
