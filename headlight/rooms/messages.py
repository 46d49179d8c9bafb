"""The protocol of a room: its requests, events and phases. A host asks questions, the phones of a class vote.

All routes are under `PATH` and only for this server's own pages. A POST carries one JSON object; the response is 200
with JSON, or a sentence as plain text: 404 there is no such room (any more), 403 the key or token is not valid, 409 not
in this phase, or full, 422 the content is not valid, 413 it is too long, 429 too many requests, 503 the store cannot be
reached. 429 and 503 carry `Retry-After`; **every request is idempotent** and may be sent again unchanged, for instance
after a response that breaks off.

| POST | body | response | sent by |
| open | {} | {code, key, listen} | any user, who becomes the host; the host's link has the key in its fragment |
| join | {code, token?, key?} | {token, listen} | a phone, again with its token; the host with its key |
| act | {code, key, act, …} | {version} | the host, see below; the stream will deliver that version |
| vote | {code, token, question, round, choice} | {version} | a phone; choice: number of an option |
| delete | {code, key} | {} | the host; deletes everything at once |

GET events?code=…&listen=… is an event stream (`EventSource`): the present state at once, then newer ones, at most five
a second. `listen` identifies the member; the server derives it from the secret, and it permits no act, so it may be
part of a URL. `key` and `token` are secrets and travel only in bodies. A tab keeps its token (sessionStorage); without
one, or with an unknown one, `join` returns a new one, which is another voter.

Events: `room` with a RoomState; `wait` with {message}, a sentence, while the store cannot be reached: the stream stays
open, and the next `room` is the newest; or at the end of a stream that a newer one of its member has replaced; `gone`
with {message} is the last event: close the EventSource, or it reconnects. Otherwise it reconnects by itself, also to
another replica.

The acts of a host, by `act`, with the phases from which and to which they lead. An act that leads to the present phase
does nothing. `ask` is allowed in any phase.

| ask | question: RoomAsked → open, round 0; the host's tab makes its `id`: the same id again changes nothing |
| close | open → closed |
| discuss | closed in round 0 → discuss |
| again | closed or discuss in round 0 → open, round 1: the second vote |
| tallies | closed, discuss → tallies: all members see them side by side |
| answer | answer: RoomAnswer; closed, discuss, tallies → answer: all members see it and the tallies |
| idle | any → idle: no question |
| show | link: a path of this server with its query. The host's view; phones that follow it show the same |
| let_go | phones continue on their own from `link` |
| gather | phones follow the host again |
| lock | on: true keeps new phones out; those that have joined may return |

Tallies are sent to the host from `closed` on, and to phones in `tallies` and `answer`; never in `open`.
"""

from typing import Final, TypedDict

from headlight.ui.web import API

PATH: Final = f"{API}/room"
ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # of a code: without O, 0, I and 1, which are easily confused
CODE_LETTERS: Final = 6


class RoomAsked(TypedDict):
    """A question of a room."""

    id: str  # from the host's tab, 1 to 40 of [A-Za-z0-9_-]; unique for each question
    text: str
    options: list[str]
    learn: str  # "lesson.step" as in links; "" for the host's own question


class RoomAnswer(TypedDict):
    """The answer to a question."""

    right: list[int]  # numbers of the right options; may be empty
    text: str  # the computed sentence


class RoomState(TypedDict):
    """The state of a room as one member sees it."""

    code: str
    version: int  # grows with each change; an older one is never sent after a newer one
    phase: str  # idle open closed discuss tallies answer
    round: int  # 0, from `again` on 1
    follows: bool
    link: str
    question: RoomAsked | None
    joined: int
    voted: int  # in this round
    tallies: list[list[int]]  # votes for each option, a list for each round; empty while the member may not see them
    answer: RoomAnswer | None
    locked: bool
    choice: int | None  # of this phone, in this round
