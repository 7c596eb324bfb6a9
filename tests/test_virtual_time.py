"""The plugin that performs marked tests in a guest leaves pytest in order."""

from collections.abc import Sequence

import pytest
from virtual_time import MARK, Guest

pytest_plugins = "pytester"


class _Passing(Guest):
    """Reports that each test passed, without a guest."""

    def __init__(self) -> None:
        self._reports: dict[str, list[pytest.TestReport]] = {}

    def _perform(self, _config: pytest.Config, tests: Sequence[str]) -> None:
        for test in tests:
            location = (test.split("::", maxsplit=1)[0], 0, test)
            self._reports[test] = [pytest.TestReport(test, location, {}, "passed", None, when="call")]


def test_a_test_of_another_folder_runs_after_a_test_in_a_guest(pytester: pytest.Pytester) -> None:
    for path, mark in {
        "one/test_first.py": "",
        "one/test_guest.py": f"import pytest\npytestmark = pytest.mark.{MARK}\n",
        "two/test_last.py": "",
    }.items():
        file = pytester.path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{mark}def test() -> None:\n    pass\n")
    pytester.makeini(f"[pytest]\nmarkers = {MARK}")
    outcome = pytester.inline_run("--import-mode=importlib", plugins=[_Passing()])
    outcome.assertoutcome(passed=3)
