"""The protocol of a room: a host asks, the phones of a class answer. What is sent to whom, and in which phase.

Everything lies under `PATH`, for this server's own pages alone. A POST carries one JSON object; the response is 200
with JSON, or one sentence as plain text: 404 there is no such room (any more), 403 the key or the token does not fit,
409 not in this phase or full, 422 the content does not fit, 413 it is too long, 429 too often, 503 the store cannot be
reached just now. With 429 and 503 comes `Retry-After`; **every request may be sent again as it is**: what was done
already is not done twice. A response that breaks off is none.

| POST | body | response | by whom |
| open | {} | {code, key, listen} | anybody; he is its host, whose link has the key behind # |
| join | {code, token?, key?} | {token, listen} | a phone, again with its token; a host with his key |
| act | {code, key, act, …} | {version} | the host, see below; the stream comes to that state |
| vote | {code, token, question, round, choice} | {version} | a phone; choice: an option's number |
| delete | {code, key} | {} | the host; all of it is gone at once |

GET events?code=…&listen=… is an event stream (`EventSource`): the present state at once, then newer ones, at most five
a second. `listen` names who listens, is made of the secret by the server, and allows no act, so it may stand in an
address. `key` and `token` are secrets and travel in bodies alone. A tab keeps its token (sessionStorage); without one,
or with an unknown one, `join` gives a new one, which is another voter.

Events: `room` with a RoomState; `wait` with {told}, a sentence, while the store cannot be reached: the stream stays,
and the next `room` is the newest; `gone` with {told}, the last one: close the EventSource, or it asks again. It
connects anew by itself, also to another copy of the server.

The acts of a host, by `act`, and the phase that they lead to. One that leads to where the room is already does nothing.
`ask` is allowed in any phase.

| ask | question: RoomAsked → open, round 0; its `id` is made by the host's tab: the same id again changes nothing |
| close | open → closed |
| discuss | closed in round 0 → discuss |
| again | closed or discuss in round 0 → open, round 1: the second vote |
| tallies | closed, discuss → tallies: everybody sees them side by side |
| answer | answer: RoomAnswer; closed, discuss, tallies → answer: everybody sees it and the tallies |
| idle | any → idle: no question |
| show | link: a path of this server with its query. The host's view; phones that follow show it |
| let_go | phones go on alone from `link` |
| gather | phones follow again |
| lock | on: true keeps new phones out; known ones come back |

Tallies are sent to the host from `closed` on, to phones in `tallies` and `answer`, and to nobody in `open`.
"""

from typing import Final, TypedDict

from headlight.ui.web import API

PATH: Final = f"{API}/room"
ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # of a code: without O and 0, I and 1
CODE_LETTERS: Final = 6


class RoomAsked(TypedDict):
    id: str  # made by the host's tab, 1 to 40 of [A-Za-z0-9_-]; another question has another one
    text: str
    options: list[str]
    learn: str  # "lesson.step" as in links; "" of the host's own question


class RoomAnswer(TypedDict):
    right: list[int]  # the numbers of the options that are right; may be none
    text: str  # the sentence that was computed


class RoomState(TypedDict):
    code: str
    version: int  # grows with each change; an older one is never sent after a newer one
    phase: str  # idle open closed discuss tallies answer
    round: int  # 0, from `again` on 1
    follows: bool
    link: str
    question: RoomAsked | None
    joined: int
    voted: int  # in this round
    tallies: list[list[int]]  # the votes for each option, a list for each round; none while they may not be seen
    answer: RoomAnswer | None
    locked: bool
    choice: int | None  # of this phone, in this round
