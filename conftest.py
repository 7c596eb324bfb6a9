"""Skip policy of the Python and hardware tests.

`AIRTOLL_REQUIRE_ALL=1`, which continuous integration sets, turns a skip into a failure, so that a missing program
cannot hide a test. `ALLOWED_SKIPS` lists the exceptions: reasons that no installation can remove.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

ALLOWED_SKIPS = ("AIRTOLL_CAPTURES ", "this CPU ", "this kernel ", "this machine ", "this user ")
"""Prefixes of the reasons for which a test may always be skipped."""


def _require(report: Report) -> Report:
    if os.environ.get("AIRTOLL_REQUIRE_ALL") != "1" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    assert isinstance(report.longrepr, tuple)
    path, line, reason = report.longrepr
    if not reason.removeprefix("Skipped: ").startswith(ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"{path}:{line}: AIRTOLL_REQUIRE_ALL=1 forbids skips: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _require((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _require((yield))
