"""Who asks the routes of the rooms in tests, without a network: acts, and a stream that is read message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from headlight.rooms.messages import PATH

QUESTION = {"text": "Which one?", "options": ["it", "animal", "street"]}


class Client:
    """Somebody at an address. What he sends may be anything: his pages are not asked."""

    def __init__(self, app: ASGIApp, address: str = "198.51.100.7") -> None:
        self.app, self.address = app, address

    async def post(self, name: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        return await self._ask("POST", name, content, {"content-type": "application/json"} | headers)

    async def get(self, name: str) -> tuple[int, Any]:
        return await self._ask("GET", name, b"", {})

    async def done(self, name: str, body: Any = None) -> Any:
        status, content = await self.post(name, body)
        assert status == 200, content
        return content

    @asynccontextmanager
    async def events(self, code: str, listen: str) -> AsyncIterator[Events]:
        """The stream of a room, hung up on at the end."""
        messages: asyncio.Queue[Message] = asyncio.Queue()
        ended = asyncio.Event()

        async def receive() -> Message:
            await ended.wait()
            return {"type": "http.disconnect"}

        query = urlencode({"code": code, "listen": listen})
        scope = self._scope("GET", f"events?{query}", {})
        task = asyncio.ensure_future(self.app(scope, receive, messages.put))
        try:
            assert (await messages.get())["status"] == 200
            yield Events(messages)
        finally:
            ended.set()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _scope(self, method: str, name: str, headers: dict[str, str]) -> dict[str, Any]:
        path, _, query = name.partition("?")
        return {
            "type": "http", "method": method, "path": f"{PATH}/{path}", "query_string": query.encode(),
            "headers": [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()],
            "client": (self.address, 1),
        }  # fmt: skip

    async def _ask(self, method: str, name: str, content: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        sent = list[Message]()

        async def receive() -> Message:
            return {"type": "http.request", "body": content}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(self._scope(method, name, headers), receive, send)
        body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        is_json = (b"content-type", b"application/json") in sent[0]["headers"]
        return sent[0]["status"], json.loads(body) if is_json else body


class Events:
    def __init__(self, messages: asyncio.Queue[Message]) -> None:
        self._messages = messages

    def waiting(self) -> int:
        return self._messages.qsize()

    async def next(self) -> tuple[str, Any]:
        """The kind and the content of the next event; "" at the end."""
        while True:
            message = await self._messages.get()
            lines = dict(line.split(": ", 1) for line in message["body"].decode().split("\n") if line)
            lines.pop("", "")
            if "event" in lines:
                return lines["event"], json.loads(lines["data"])
            if not message.get("more_body"):
                return "", None

    async def until(self, **wanted: Any) -> Any:
        """The first state of the room that is so."""
        while True:
            kind, content = await self.next()
            assert kind in ("room", "wait"), content
            if kind == "room" and all(content[key] == value for key, value in wanted.items()):
                return content


class Host(Client):
    code = key = listen = ""
    asked = 0

    async def open(self) -> Host:
        opened = await self.done("open")
        self.code, self.key, self.listen = opened["code"], opened["key"], opened["listen"]
        return self

    async def act(self, act: str, **more: Any) -> int:
        content = await self.done("act", {"code": self.code, "key": self.key, "act": act, **more})
        return int(content["version"])

    async def ask(self, question: dict[str, Any] = QUESTION) -> str:
        """Asks, and opens the vote; the question's id."""
        self.asked += 1
        await self.act("ask", question=question | {"id": f"q{self.asked}"})
        return f"q{self.asked}"

    async def phone(self, address: str = "") -> Phone:
        phone = Phone(self.app, address or self.address)
        joined = await phone.done("join", {"code": self.code})
        phone.code, phone.token, phone.listen = self.code, joined["token"], joined["listen"]
        return phone


class Phone(Client):
    code = token = listen = ""

    async def vote(self, question: str, choice: Any, round: int = 0) -> tuple[int, Any]:  # noqa: A002
        body = {"code": self.code, "token": self.token, "question": question, "round": round, "choice": choice}
        return await self.post("vote", body)

    async def state(self) -> Any:
        """What it is told now."""
        async with self.events(self.code, self.listen) as events:
            return (await events.next())[1]
