"""Coroutines in tests: each in a thread of its own, as the loop of a browser may run in that of the test."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, or raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()
