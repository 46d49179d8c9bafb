"""Which tests reach which line, as coverage recorded it with a context for each test."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def bits(numbers: bytes) -> set[int]:
    """The numbers of coverage's bit map: bit b of byte a is number 8 a + b."""
    return {8 * at + bit for at, byte in enumerate(numbers) for bit in range(8) if byte >> bit & 1}


class Reach:
    """The data file of ``pytest --cov --cov-context=test``, read for any folder and not the measured one alone."""

    def __init__(self, data: Path) -> None:
        database = sqlite3.connect(data)
        self._contexts = dict(database.execute("SELECT id, context FROM context"))
        self._files = {path: number for number, path in database.execute("SELECT id, path FROM file")}
        self._database = database

    def _rows(self, file: str) -> list[tuple[str, set[int]]]:
        ids = [number for path, number in self._files.items() if path.endswith("/" + file)]
        rows = self._database.execute(
            f"SELECT context_id, numbits FROM line_bits WHERE file_id IN ({','.join(map(str, ids))})"
        )
        return [(self._contexts[context], bits(numbers)) for context, numbers in rows if self._contexts[context]]

    def lines(self, file: str) -> set[int]:
        """The lines of a file that some test reaches when it runs (and not when the file is imported)."""
        return set().union(*(lines for _, lines in self._rows(file)), set())

    def tests(self, file: str, line: int) -> list[str]:
        """The ids of the tests that reach a line."""
        return sorted({context.partition("|")[0] for context, lines in self._rows(file) if line in lines})
