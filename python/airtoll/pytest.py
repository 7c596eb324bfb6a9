"""A pytest plugin: measurements and rules in a test suite of your own.

Enable it with `pytest_plugins = ["airtoll.pytest"]`. The fixture `airtoll` performs a study, and rules of
`airtoll gate` judge the result:

    def test_wpa2_is_cheap(airtoll):
        airtoll("router.toml", lab="hosts", inventory="lab.toml").gate("cost(throughput) of ccmp <= 5 %")
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

_COMMAND = [sys.executable, "-c", "from airtoll.start import main; main()"]


@dataclass(frozen=True)
class MeasuredStudy:
    """A result directory."""

    directory: Path

    def gate(self, *rules: str) -> None:
        """Fail the test with the outcome of each rule if one is not met (docs/reference/comparing.md)."""
        options = [word for rule in rules for word in ("--rule", rule)]
        done = _called("gate", str(self.directory), *options)
        if done.returncode != 0:
            pytest.fail(f"{done.stdout}{done.stderr}".strip(), pytrace=False)


@pytest.fixture
def airtoll(tmp_path: Path) -> Callable[..., MeasuredStudy]:
    """A function that performs a study, with the options of `airtoll run` as keywords; True is an option without value.

    The test fails if the study cannot be performed. Its result stays in the test's temporary folder.
    """
    performed: list[Path] = []

    def perform(study: str | Path, **options: str | Path | bool) -> MeasuredStudy:
        out = tmp_path / f"result-{len(performed) + 1}"
        performed.append(out)
        words = [str(study), "--out", str(out)]
        for name, value in options.items():
            option = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif value is not False:
                words += [option, str(value)]
        done = _called("run", *words)
        if done.returncode == 2 or not out.exists():
            pytest.fail(done.stderr.strip(), pytrace=False)
        return MeasuredStudy(out)

    return perform


def _called(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
