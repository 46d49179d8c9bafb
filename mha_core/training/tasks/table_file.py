"""Rows of a table file: CSV with any usual separator and encoding, a JSON array, or JSON lines."""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from ...errors import HeadlightError

# Maximum sizes of a table.
LIMITS = {"bytes": 5 * 2**20, "rows": 50_000, "columns": 50, "characters": 20_000, "classes": 50, "label": 200}

_SEPARATORS = "\t|;,"  # from the rarest in a text on
_SAMPLE = 1000  # lines that the separator is chosen by
_MAX_LINES = 10 * LIMITS["rows"]  # of a CSV, or objects of a JSON
_MAX_SPAN = 1000  # lines of a row
_MAX_LITERAL = 100  # lines with literal quotation marks, behind which no row has several lines
_SURROGATE = re.compile("[\ud800-\udfff]")

_Record = tuple[int, list[str], bool]  # first line of a row, from 1; its cells; whether its quotation marks are text


def read(data: bytes, names: Sequence[str] = ()) -> tuple[list[list[str]], list[str]]:
    """Read the rows of a file and notes on how; `names` are column names that it may have.

    Raises:
        HeadlightError: it is too large, not text, or JSON of another form.
    """
    if len(data) > LIMITS["bytes"]:
        raise HeadlightError(
            f"the file has {len(data):,} bytes; at most {LIMITS['bytes']:,} ({LIMITS['bytes'] // 2**20} MB) are read"
        )
    content, notes = _decode(data)
    entries = _json_entries(content)
    rows = _csv_rows(content, names, notes) if entries is None else _object_rows(entries)
    return rows, notes


def _decode(data: bytes) -> tuple[str, list[str]]:
    """Return the text of UTF-8, UTF-16 with its mark, or Windows-1252, which a note tells."""
    encoding = "UTF-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "UTF-8"
    try:
        content = data.decode(encoding).removeprefix("\ufeff")
        if 4 * content.count("\0") > len(content):
            raise HeadlightError("the file looks like UTF-16 without its byte order mark; save the table as UTF-8")
        return content, []
    except UnicodeDecodeError as error:
        problem = f"file is not {encoding} (byte {error.start:,})"
    try:
        if encoding == "UTF-16" or b"\0" in data:
            raise UnicodeError
        content = data.decode("cp1252")
    except UnicodeError:
        raise HeadlightError(f"the {problem}; save the table as CSV with UTF-8") from None
    return content, [f"The {problem}: it was read as Windows-1252 (Latin-1). If letters look wrong, save it as UTF-8."]


def _json_entries(content: str) -> list[Any] | None:
    """Return the entries of a JSON array, or of JSON lines; None if the file is not JSON."""
    if content.lstrip()[:1] not in ("{", "["):
        return None
    if content.count("{") + content.count("[") > _MAX_LINES:
        raise HeadlightError(f"the file has more than {_MAX_LINES:,} objects; shorten it")
    try:
        document = json.loads(content)
        return document if isinstance(document, list) else [document]
    except (ValueError, RecursionError):
        entries = []
    for number, line in enumerate(io.StringIO(content, newline=""), 1):
        try:
            entries += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError):
            if entries or re.match(r"\s*[\[{]\s*([\"\[{]|$)", line):
                raise HeadlightError(f"line {number:,} is not JSON; write one object a line, or an array") from None
            return None
    return entries


def _object_rows(entries: list[Any]) -> list[list[str]]:
    """Return a header of all keys, and the values of each object."""
    if len(entries) > LIMITS["rows"]:
        raise HeadlightError(f"the table has more than {LIMITS['rows']:,} rows; shorten it")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise HeadlightError(f'entry {number:,} of this JSON is not an object, such as {{"text": …, "label": …}}')
    keys = list(dict.fromkeys(key for entry in entries for key in entry))
    if len(keys) > LIMITS["columns"]:
        raise HeadlightError(f"the JSON has {len(keys):,} keys; at most {LIMITS['columns']} are read")
    return [list(map(_cell, keys)), *([_cell(entry.get(key)) for key in keys] for entry in entries)]


def _cell(value: Any) -> str:
    """Return a JSON value as text, null as an empty one."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return _SURROGATE.sub("\ufffd", text)


def _csv_rows(content: str, names: Sequence[str], notes: list[str]) -> list[list[str]]:
    """Return the rows of a CSV; notes on what its quotation marks and comments were taken for are appended."""
    lines = list(islice(io.StringIO(content, newline=""), _MAX_LINES + 1))
    if len(lines) > _MAX_LINES:
        raise HeadlightError(f"the file has more than {_MAX_LINES:,} lines; shorten it")
    separators = _remove_preamble(lines, notes)
    sample = [line for line in lines[:_SAMPLE] if len(line) < csv.field_size_limit()]
    samples = {separator: list(_records(sample, separator)) for separator in separators}
    separator = max(separators, key=lambda separator: _plausibility(samples[separator], names))
    records = list(islice(_records(lines, separator, _row_test(samples[separator], separator)), LIMITS["rows"] + 2))
    for line, cells, _ in records:
        if len(cells) > LIMITS["columns"]:
            raise HeadlightError(f"line {line:,} has {len(cells):,} columns; at most {LIMITS['columns']} are read")
    if literal := [line for line, _, is_literal in records if is_literal]:
        notes.append(
            f"Lines with a quotation mark that does not close: {len(literal):,}, the first is line {literal[0]:,}; "
            "each was read as a row, with the mark in its text."
        )
    return [cells for _, cells, _ in records]


def _remove_preamble(lines: list[str], notes: list[str]) -> str:
    """Blank a line `sep=;` and comments at the top, which a note counts; return the possible separators."""
    separators, n_comments = _SEPARATORS, 0
    for place, line in enumerate(lines):
        if match := re.fullmatch(r'"?sep=([^\w\s"]|\t)"?\s*', line):
            separators = match[1]
        elif re.match(r"#[\s#!]", line):
            n_comments += 1
        elif line.strip():
            break
        lines[place] = "\n"
    if n_comments:
        notes.append(f"Lines at the top that begin with #: {n_comments:,}; they were left out as comments.")
    return separators


def _records(
    lines: Sequence[str], separator: str, is_row: Callable[[str], bool] = lambda line: False
) -> Iterator[_Record]:
    """Yield the rows that are not empty.

    A quotation mark that never closes, or behind which each line `is_row`, is part of its line's text.
    """
    place, n_literal = 0, 0
    while place < len(lines):
        span = lines[place : place + (_MAX_SPAN if '"' in lines[place] and n_literal < _MAX_LITERAL else 1)]
        reader = csv.reader(span, delimiter=separator, skipinitialspace=True, strict=True)
        try:
            cells = next(reader)
            is_literal = reader.line_num > 1 and all(is_row(line) for line in span[: reader.line_num] if line.strip())
        except csv.Error:
            is_literal = reader.line_num > 1 or span[0].count('"') % 2 == 1
            cells = [] if is_literal else _line_cells(span[0], separator, csv.QUOTE_MINIMAL, place + 1)
        size = 1 if is_literal else reader.line_num
        if is_literal:
            cells = _line_cells(span[0], separator, csv.QUOTE_NONE, place + 1)
            n_literal += 1
        if cells:
            yield place + 1, cells, is_literal
        place += size


def _line_cells(line: str, separator: str, quoting: Literal[0, 3], number: int = 0) -> list[str]:
    """Return the cells of a line by itself, whatever its quotation marks."""
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True, quoting=quoting))
    except csv.Error as error:
        raise HeadlightError(
            f"line {number:,} cannot be read as CSV ({error}); is a quotation mark left open?"
        ) from error


def _usual_cells(records: Sequence[_Record]) -> tuple[int, float, Counter[tuple[int, str]]]:
    """Return the most frequent width of rows, its share, and how often each cell is in its column."""
    width, count = max(Counter(len(cells) for _, cells, _ in records).most_common(1), default=(0, 0))
    usual = (cells for _, cells, _ in records if len(cells) == width > 1)
    cells = Counter((place, stripped) for row in usual for place, cell in enumerate(row) if (stripped := cell.strip()))
    return width, count / max(len(records), 1), cells


def _plausibility(records: Sequence[_Record], names: Sequence[str]) -> tuple[int, bool, bool, float, int]:
    """Rate a separator by names in its header, several columns, one that repeats its cells, and rows of one width."""
    width, share, cells = _usual_cells(records)
    header = {cell.strip().casefold() for _, row, _ in records[:1] for cell in row}
    n_names = sum(name.casefold() in header for name in names)
    n_distinct, n_cells = Counter(place for place, _ in cells), Counter[int]()
    for (place, _), count in cells.items():
        n_cells[place] += count
    repeats = any(2 <= n_distinct[place] <= n_cells[place] / 2 for place in n_cells)
    return n_names, width > 1, repeats, share, width


def _row_test(records: Sequence[_Record], separator: str) -> Callable[[str], bool]:
    """Return a test whether a line is a row: of the usual width, with a cell that its column repeats."""
    width, _, cells = _usual_cells(records)

    def is_row(line: str) -> bool:
        row = [cell.strip(' "') for cell in _line_cells(line, separator, csv.QUOTE_NONE)]
        return len(row) == width and any(cells[place, cell] > 1 for place, cell in enumerate(row))

    return is_row
