"""Answers on their way: sent in pieces, so many bytes of all together, and given up where nobody reads them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.types import Receive, Send

from headlight.queue.policy import Busy
from headlight.server.sockets import hang_up

PIECE: Final = 2**17  # bytes that are sent at once
MOST_UNREAD: Final = 64 * 2**20  # bytes of all answers that wait here to be read; a shorter one than a piece always may
UNREAD_SECONDS = 30.0  # who has not taken a piece of his answer for so long is hung up on
UNREAD_SECONDS_OF_MANY = 2.0  # the same, where another answer has no room


@dataclass(eq=False)
class _Answer:
    """One that is being sent.

    Attributes:
        size: in bytes.
        taken: when a piece of it was taken last, on the event loop's clock.
        time_left: until it is given up.
    """

    size: int
    taken: float
    time_left: asyncio.Timeout


class Outbox:
    """The answers of an event loop that are being sent."""

    def __init__(self) -> None:
        self._answers: set[_Answer] = set()

    def make_room(self, size: int) -> None:
        """Looks whether there is room for an answer of so many bytes; if not, those that nobody takes are given up.

        Raises:
            Busy: there is none yet.
        """
        if size <= PIECE or not self._answers or sum(one.size for one in self._answers) + size <= MOST_UNREAD:
            return
        now = asyncio.get_running_loop().time()
        for answer in [one for one in self._answers if now - one.taken > UNREAD_SECONDS_OF_MANY]:
            self._answers.remove(answer)
            if not answer.time_left.expired():
                answer.time_left.reschedule(now)
        raise Busy("too many answers wait to be read")

    async def send(self, body: bytes, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
        """Sends an answer; hangs up on who does not read it."""
        listed = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        listed.append((b"content-length", str(len(body)).encode()))
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(UNREAD_SECONDS) as time_left:
                answer = _Answer(len(body), clock(), time_left)
                self._answers.add(answer)
                try:
                    await send({"type": "http.response.start", "status": 200, "headers": listed})
                    for at in range(0, len(body), PIECE):
                        answer.taken = clock()
                        time_left.reschedule(answer.taken + UNREAD_SECONDS)
                        last = at + PIECE >= len(body)
                        await send({"type": "http.response.body", "body": body[at : at + PIECE], "more_body": not last})
                finally:
                    self._answers.discard(answer)
        except OSError:  # a TimeoutError too
            hang_up(receive)
