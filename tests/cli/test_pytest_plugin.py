"""The pytest plugin for test suites of users."""

import pytest
from cli_command import SMALL_STUDY

pytest_plugins = "pytester"

SUITE = """
pytest_plugins = ["airtoll.pytest"]

def test_throughput(airtoll):
    measured = airtoll("small.toml", lab="sim")
    measured.gate("cost(throughput) of ccmp <= 90 %")

def test_too_strict(airtoll):
    airtoll("small.toml", lab="sim").gate("throughput of ccmp >= 1000 Mbit/s")

def test_a_study_that_does_not_exist(airtoll):
    airtoll("missing.toml")
"""


def test_a_suite_measures_and_judges(pytester: pytest.Pytester) -> None:
    (pytester.path / "small.toml").write_text(SMALL_STUDY)
    pytester.makepyfile(test_suite=SUITE)
    done = pytester.runpytest_subprocess("-q")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["*throughput of ccmp >= 1000 Mbit/s*", "*missing.toml: cannot be read*"])
