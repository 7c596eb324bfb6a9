"""The pytest plugin for test suites of users."""

import pytest
from cli_command import SMALL_STUDY

pytest_plugins = "pytester"

SUITE = """
import pytest

pytest_plugins = ["airtoll.pytest"]

def test_throughput(airtoll):
    measured = airtoll("small.toml", lab="sim")
    measured.gate("cost(throughput) of ccmp <= 90 %")
    with pytest.raises(pytest.fail.Exception, match="throughput of ccmp >= 1000 Mbit/s"):
        measured.gate("throughput of ccmp >= 1000 Mbit/s")

def test_a_study_that_does_not_exist(airtoll):
    airtoll("missing.toml")
"""


def test_a_suite_measures_and_judges(pytester: pytest.Pytester) -> None:
    (pytester.path / "small.toml").write_text(SMALL_STUDY)
    pytester.makepyfile(test_suite=SUITE)
    done = pytester.runpytest_subprocess("-q")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*missing.toml: cannot be read*"])
