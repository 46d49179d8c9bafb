"""Rules for the whole suite: nothing is skipped, and tests marked ``gpu`` run only when asked for.

A test that is skipped, or expected to fail, tests nothing while the run stays green; here either is a failure. Tests
that need a CUDA device are left out of the selection, and so out of the counts, unless ``-m`` names ``gpu``.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "gpu" in config.getoption("markexpr"):
        return
    for_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if for_gpu:
        config.hook.pytest_deselected(items=for_gpu)
        items[:] = [item for item in items if item not in for_gpu]
