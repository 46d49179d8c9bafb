"""What an Accept-Encoding says of gzip, as RFC 9110 has it."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from pages.kit.server.network import accepts_gzip

YES = [
    "gzip", "GZIP", "x-gzip", "deflate, gzip", "gzip;q=0.001", "br;q=1.0, gzip ; q = 0.5", "gzip;q=1.", "gzip;Q=1.000",
    "*", "*;q=0.1", "*;q=0, gzip", "identity;q=0, gzip", "gzip, *;q=0",
]  # fmt: skip
NO = [
    "", "identity", "br, deflate", "gzip;q=0", "gzip;q=0.000", "gzip; q=0", "gzip;q=0, *", "*;q=0", "notgzip",
    "gzipped", "gzip;q=abc", "gzip;q=-1", "gzip;q", "gzip;", "gzip;q=1e3", "gzip;q=0;q=1", ";q=1", "*;q=0, br",
]  # fmt: skip


@pytest.mark.parametrize(("said", "wanted"), [*((said, True) for said in YES), *((said, False) for said in NO)])
def test_what_a_browser_unpacks(said: str, wanted: bool) -> None:
    assert accepts_gzip(Headers({"Accept-Encoding": said})) is wanted


def test_without_a_header_or_with_two() -> None:
    assert not accepts_gzip(Headers({}))
    assert accepts_gzip(Headers(raw=[(b"accept-encoding", b"br"), (b"accept-encoding", b"gzip")]))
