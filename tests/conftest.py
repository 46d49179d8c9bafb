"""Rules for the whole suite: nothing is skipped, and tests marked ``gpu`` run only when asked for.

A test that is skipped, or expected to fail, tests nothing while the run stays green; here either is a failure. Tests
that need a CUDA device are left out of the selection, and so out of the counts, unless ``-m`` names ``gpu``. What
hypothesis makes up is little in each run, and much where HEADLIGHT_LONG is set (``make test-long``).
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest

EXAMPLES, LONG = 25, 500  # of hypothesis, for a test

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes share the machine: a thread each, for the servers that they start too. Said before torch comes.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn the report of a skipped or xfailed test (or module) into that of a failed one."""
    expected_to_fail = hasattr(report, "wasxfail")
    if not (report.skipped or expected_to_fail):
        return
    if expected_to_fail:
        reason = f"marked xfail ({report.wasxfail or 'no reason given'})"
        del report.wasxfail
    else:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid}: {reason}\nNo test of this suite may be skipped or xfailed: mend it or remove it."
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    forbid_skip(report)
    return report


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        examples = LONG if os.environ.get("HEADLIGHT_LONG") else EXAMPLES
        settings.register_profile("headlight", max_examples=examples, deadline=None)  # no test is timed
        settings.load_profile("headlight")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Of several processes the first compiles what all import, and the others read it."""
    if not hasattr(session.config, "workerinput"):
        return (yield)
    from filelock import FileLock

    compiled = Path(session.config.option.basetemp).parent / "compiled"
    with FileLock(compiled.with_suffix(".lock")) as first:
        if not compiled.exists():
            found = yield
            compiled.touch()
            return found
        first.release()
        return (yield)


def pytest_collection_finish() -> None:
    """What is there now stays: it is left out wherever garbage is looked for."""
    gc.collect()
    gc.freeze()


def hands(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in an order of which each worker gets a hand: browser tests, which wait most, and then its quick ones.

    Who has played his hand takes from the end of the fullest one, so the run ends with quick tests, all at one time.
    """
    quick = [item for item in items if not item.get_closest_marker("browser")]
    browser = [item for item in items if item.get_closest_marker("browser")]

    def share(of: list[pytest.Item], at: int) -> list[pytest.Item]:
        return of[len(of) * at // workers : len(of) * (at + 1) // workers]

    return [item for at in range(workers) for item in (*share(browser, at), *share(quick, at))]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "gpu" not in config.getoption("markexpr"):
        for_gpu = [item for item in items if item.get_closest_marker("gpu")]
        if for_gpu:
            config.hook.pytest_deselected(items=for_gpu)
            items[:] = [item for item in items if item not in for_gpu]
    items[:] = hands(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
