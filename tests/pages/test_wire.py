"""The data routes: what they answer, what they refuse, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from headlight.api import routes
from headlight.api.routes import DataApi
from headlight.export import files
from headlight.lessons import course
from headlight.link.limits import MAX_QUERY_BYTES
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.queue import slots
from headlight.queue.executor import Queue
from headlight.queue.policy import Work
from headlight.ui.web import API
from mha_core import Model
from mha_core.errors import DeviceError, WeightsFileError
from pages.handlers import HANDLERS
from tests.closeness import identical

from .conftest import every_route, unpacked
from .test_lessons_files import EXAMPLE
from .waiting import bounded

KEYS = [
    "s", "s2", "mask", "w", "rule", "p", "pos", "t", "off", "dev", "model", "at", "pin", "impl", "vs", "step",
    "nothing",
]  # fmt: skip
SLOW = ("comparison", "ablations")  # routes that take seconds
HOSTILE = ["", "-1", "nan", "%00", "%ff", "%F0%9F%92%A5", "..%2F..%2Fetc%2Fpasswd", "<script>", "a" * 8192]


def served(wire: DataApi, address: str = "127.0.0.1") -> TestClient:
    """The routes at their place, asked by a browser at this address."""
    return TestClient(Starlette(routes=[Mount(API, wire)]), client=(address, 50000), base_url="http://127.0.0.1")


@pytest.fixture
def client() -> Iterator[TestClient]:
    with served(DataApi(lambda: HANDLERS, queue=Queue())) as found:
        yield found


def test_maps_are_the_cores(client: TestClient, model: Model) -> None:
    text = "the cat sat"
    answer = client.get(f"{API}/maps?s={text}&mask=causal&t=0.5&off=L1+H2&at=2.3")
    assert answer.status_code == 200
    run = pictures.picture(Settings(text, "causal", temperature=0.5, heads_off=((1, 2),))).run
    with slots.pass_slot(len(run.tokens)):  # on as many threads
        identical(run.weights, model.run(text, mask="causal", temperature=0.5, heads_off=((1, 2),)).weights)
    header, body = unpacked(answer.content)
    focus, maps = body[: header["parts"][0]], body[header["parts"][0] :]
    header, floats = unpacked(focus)
    assert np.array_equal(np.frombuffer(floats, "<f4")[:25].reshape(5, 5), run.weights[2, 3].cpu().numpy())
    sizes, values = unpacked(maps)
    assert sizes["tokens"] == run.tokens
    wanted = (run.weights * 255).round().byte().cpu().numpy()
    assert np.array_equal(np.frombuffer(values, np.uint8).reshape(wanted.shape), wanted)
    assert header["digest"] == sizes["digest"] == Settings(text, "causal", "trained", 0.5, ((1, 2),)).digest


def test_same_question_is_answered_from_the_browsers_memory(client: TestClient) -> None:
    answer = client.get(f"{API}/focus?s=hi&at=1.2")
    assert answer.headers["cache-control"] == "private, no-cache"
    tag = answer.headers["etag"]
    again = client.get(f"{API}/focus?at=1.2&s=hi&unknown=1", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{API}/focus?s=hi&at=1.3", headers={"If-None-Match": tag}).status_code == 200
    assert client.get(f"{API}/maps?s=hi&at=1.2", headers={"If-None-Match": tag}).status_code == 200
    for question, key, other in (  # what is no control's tells questions apart too
        ("qr?to=http://a&s=hi", "to=http://a", "to=http://b"),
        ("lesson.handout?lesson=it&from=http://a", "//a", "//b"),
    ):
        tag = client.get(f"{API}/{question}").headers["etag"]
        assert client.get(f"{API}/{question}", headers={"If-None-Match": tag}).status_code == 304
        answer = client.get(f"{API}/{question.replace(key, other)}", headers={"If-None-Match": tag})
        assert (answer.status_code, answer.headers["etag"] == tag) == (200, False)


def test_over_a_network_it_is_packed() -> None:
    text = " ".join(["word"] * 62)
    pictures.picture(Settings(text))
    for address, headers, packed in (
        ("127.0.0.1", {}, False),
        ("10.0.0.7", {}, True),
        ("10.0.0.7", {"Accept-Encoding": "identity"}, False),
    ):
        with served(DataApi(lambda: HANDLERS), address) as client:
            answer = client.get(f"{API}/maps?s={text}", headers={"Accept-Encoding": "gzip", **headers})
            assert (answer.headers.get("content-encoding") == "gzip") == packed
            assert answer.headers["vary"] == "Accept-Encoding"


def test_only_questions_of_its_own_pages(client: TestClient) -> None:
    for method in ("POST", "HEAD", "OPTIONS"):
        answer = client.request(method, f"{API}/maps?s=hi")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    for headers in (
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ):
        answer = client.get(f"{API}/maps?s=hi", headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1"}, {"Sec-Fetch-Site": "none"}):
        assert client.get(f"{API}/focus?s=hi", headers=headers).status_code == 200
    for path in ("", "nothing", "../maps", "maps%00", "__init__", "first"):
        assert client.get(f"{API}/{path}?s=hi").status_code == 404


QUICK = ("maps", "pair", "steps", "masks", "lesson", "explore.csv", "qr")  # one of each way to answer


@pytest.mark.parametrize(
    "names",
    [QUICK, pytest.param(set(HANDLERS) - {*QUICK}, marks=pytest.mark.thorough("All routes read a query in one way."))],
    ids=["a few", "the others"],
)
def test_hostile_queries_have_a_clear_status(names: Iterable[str], caplog: pytest.LogCaptureFixture) -> None:
    with served(DataApi(lambda: HANDLERS, queue=Queue())) as client:
        for route in names:
            # one route takes each value for each key, the others one for each
            every = product(KEYS, HOSTILE) if route == "maps" else zip(KEYS, cycle(HOSTILE), strict=False)
            for key, value in every if route not in SLOW else product(("s",), HOSTILE):
                answer = client.get(f"{API}/{route}?{key}={value}")
                assert answer.status_code in (200, 422), (route, key, value[:60], answer.text)
                assert answer.status_code == 200 or 0 < len(answer.text) < 400, route
            assert client.get(f"{API}/{route}?s={'a' * MAX_QUERY_BYTES}").status_code == 414
    assert not caplog.records


@pytest.mark.faults
def test_failure_is_answered_and_no_text_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails(route: str, raw: bytes) -> bytes:
        raise ValueError(raw.decode())

    def lacks(route: str, raw: bytes) -> bytes:
        raise ModuleNotFoundError("no", name="tokenizers")

    def lacks_ours(route: str, raw: bytes) -> bytes:
        from headlight.api import nothing_of_this_name  # type: ignore[attr-defined]

        return bytes(nothing_of_this_name)

    def damaged(route: str, raw: bytes) -> bytes:
        raise WeightsFileError("MiniLM's weights have sha256 0; reinstall it")

    def full(route: str, raw: bytes) -> bytes:
        raise DeviceError("the GPU is out of memory; choose the cpu")

    for answer, status, sentence in (
        (damaged, 422, "MiniLM's weights have sha256 0; reinstall it."),
        (full, 422, "The GPU is out of memory; choose the cpu."),
        (fails, 500, "This picture could not be computed."),
        (lacks, 422, "The package tokenizers is missing."),
        (lacks_ours, 500, "This picture could not be computed."),
    ):
        caplog.clear()
        with served(DataApi(every_route(answer))) as client:
            found = client.get(f"{API}/maps?s=my+secret+sentence")
            assert found.status_code == status
            assert found.text.startswith(sentence)
            assert "secret" not in found.text
        assert "secret" not in caplog.text
        kinds = [record.getMessage().split(" with ")[1].split()[0] for record in caplog.records]
        assert kinds == ([{fails: "ValueError", lacks_ours: "ImportError"}[answer]] if status == 500 else [])


def test_lesson_that_was_edited_is_another_answer(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "90-back.toml"
    file.write_text(EXAMPLE, "utf-8")
    monkeypatch.setenv(course.VARIABLE, str(tmp_path))
    urls = (f"{API}/course", f"{API}/lesson?s=how+are+you&learn=back.1")
    tags = [{"If-None-Match": client.get(url).headers["etag"]} for url in urls]
    assert [client.get(url, headers=tag).status_code for url, tag in zip(urls, tags, strict=True)] == [304, 304]
    file.write_text(EXAMPLE.replace("At the previous word", "Somewhere else than before"), "utf-8")
    for url, tag in zip(urls, tags, strict=True):
        answer = client.get(url, headers=tag)
        assert (answer.status_code, b"Somewhere else than before" in answer.content) == (200, True)
    file.unlink()
    gone = client.get(urls[1], headers=tags[1])
    assert (gone.status_code, gone.text) == (422, "There is no step “back.1” in this course.")


def test_no_verdict_and_nothing_long_takes_the_place_of_a_typed_key() -> None:
    for route, query, work in (
        ("lesson", b"learn=explanation.1", Work.LOW_PRIORITY),
        ("lesson", b"learn=explanation.1&s=" + b"word+" * 150, Work.HEAVY),
        ("lesson.handout", b"lesson=it", Work.HEAVY),
        ("course", b"", Work.PICTURE),
        ("maps", b"s=hi&learn=explanation.1", Work.PICTURE),
        ("maps", b"s=" + b"x" * (routes.LONG_QUERY_BYTES - 1), Work.LONG),
        ("explore.html", b"s=hi", Work.LONG),
    ):
        assert routes.classify(route, query) is work, (route, query[:40])
    of_files = {f"{page}.{kind}" for page, kinds in files.FILES.items() for kind in kinds} | {"lesson.handout"}
    assert all(routes.classify(name, b"") is not Work.PICTURE for name in of_files)
    of_pictures = set(HANDLERS) - of_files - set(routes.LOW_PRIORITY)
    assert all(routes.classify(name, b"s=how+are+you") is Work.PICTURE for name in of_pictures)


def test_full_queue_asks_for_a_retry() -> None:
    full = bounded(Work.PICTURE, max_concurrency=0, max_queued=0)
    with served(DataApi(every_route(lambda route, raw: b"1234"), queue=full)) as client:
        answer = client.get(f"{API}/maps")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
