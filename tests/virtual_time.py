"""Runs tests marked `virtual_time` in a guest, where no other work on the machine delays a program.

The tests of a file share a guest. A worker of pytest performs them there and reports their outcomes as its own. On a
machine without a guest, they run in real time.
"""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from guest_script import run_script

from airtoll.guest import boot, recipe
from airtoll.guest.job import JOB

_CLOCK: Final = "AIRTOLL_TEST_CLOCK"
"""Variable of the tests in a guest."""

_REPORTS: Final = "reports.jsonl"
_OUTPUT: Final = "output"
MARK: Final = "virtual_time"
TESTS: Final = Path(__file__).parent


def clock() -> Any:
    """The clock of labs in this process: `virtual` in a guest, or `real`."""
    return os.environ.get(_CLOCK, "real")


class Guest:
    """A plugin that performs marked tests in guests."""

    def __init__(self, kernel: recipe.Kernel) -> None:
        self._kernel = kernel
        self._reports: dict[str, list[pytest.TestReport]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Report the outcome of a marked test. The first one performs all of its file."""
        if item.get_closest_marker(MARK) is None:
            return None
        if item.nodeid not in self._reports:
            marked = (other for other in item.session.items if other.get_closest_marker(MARK) is not None)
            self._perform(item.config, [other.nodeid for other in marked if other.path == item.path])
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports.pop(item.nodeid):
            hook.pytest_runtest_logreport(report=report)
        # The test before left open what this test shares with it. pytest has no public call to close it.
        item.session._setupstate.teardown_exact(nextitem)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _perform(self, config: pytest.Config, tests: Sequence[str]) -> None:
        """Run the tests in a guest and keep their reports. A test without a report failed with the guest."""
        with TemporaryDirectory(prefix="airtoll-tests-") as name:
            self._perform_in(Path(name), config, tests)

    def _perform_in(self, directory: Path, config: pytest.Config, tests: Sequence[str]) -> None:
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--quiet", *tests]
        script = f"cd {TESTS.parent}\nexec {shlex.join(argv)} > {JOB}/{_OUTPUT} 2>&1"
        trouble = "the guest ended early"
        try:
            run_script(self._kernel, script, directory, {**boot.environment(), _CLOCK: "virtual"})
        except Exception as error:
            trouble = str(error)
        for line in _lines(directory / "job" / _REPORTS):
            report = config.hook.pytest_report_from_serializable(config=config, data=json.loads(line))
            self._reports.setdefault(report.nodeid, []).append(report)
        for test in tests:
            if test not in self._reports:
                output = "\n".join(_lines(directory / "job" / _OUTPUT))
                self._reports[test] = [_failed(test, f"{trouble}\n{output}")]


class Inside:
    """A plugin that writes the reports of the tests in a guest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a report."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with (JOB / _REPORTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")


def register(config: pytest.Config) -> None:
    """Add the plugin for this process."""
    config.addinivalue_line("markers", f"{MARK}: runs in a guest, in virtual time")
    if clock() == "virtual":
        config.pluginmanager.register(Inside(config))
    elif (kernel := recipe.built()) is not None:
        config.pluginmanager.register(Guest(kernel))


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []


def _failed(test: str, why: str) -> pytest.TestReport:
    file = test.split("::", maxsplit=1)[0]
    return pytest.TestReport(test, (file, 0, test), {}, "failed", why, "call")
