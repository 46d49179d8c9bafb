"""Threads that visitors take in turn: whoever asks much waits for himself, not the others for him."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pages.kit.picture.sharing import wanted

Question = tuple[asyncio.Future[bytes], Callable[[], bytes]]


class Turns:
    """A few threads of an event loop; after each answer the next visitor's oldest question is computed.

    What has begun and is cancelled then ends where it asks `sharing.check_wanted`.

    Args:
        threads: as many are computed at once.
        name: of the threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._waiting: OrderedDict[str, deque[Question]] = OrderedDict()  # the visitor whose turn it is first

    def submit(self, visitor: str, compute: Callable[[], bytes]) -> asyncio.Future[bytes]:
        """What `compute` gives, in this visitor's turn; cancelled before, it is not computed."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(visitor, deque()).append((answer, compute))
        self._go_on()
        return answer

    def _go_on(self) -> None:
        while self._free and self._waiting:
            visitor, questions = self._waiting.popitem(last=False)
            while questions and questions[0][0].done():  # nobody waits for it any more
                questions.popleft()
            if not questions:
                continue
            answer, compute = questions.popleft()
            if questions:
                self._waiting[visitor] = questions  # behind all others
            self._free -= 1
            computed = asyncio.wrap_future(self._pool.submit(_computed, answer, compute))
            computed.add_done_callback(partial(self._tell, answer))

    def _tell(self, answer: asyncio.Future[bytes], computed: asyncio.Future[bytes]) -> None:
        self._free += 1
        error = computed.exception()
        if not answer.done():
            if error is None:
                answer.set_result(computed.result())
            else:
                answer.set_exception(error)
        self._go_on()


def _computed(answer: asyncio.Future[bytes], compute: Callable[[], bytes]) -> bytes:
    with wanted(lambda: not answer.done()):
        return compute()
