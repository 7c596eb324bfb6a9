"""Stored results to report on."""

from pathlib import Path

import pytest
from report_fakes import Make, make_plan, store

from airtoll.store import Result


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Store a result of a plan, by default of the quickstart."""
    return lambda plan=None, **options: store(tmp_path / "result", plan or make_plan(), **options)


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The quickstart with all 48 runs finished, three of them invalid."""
    return store(tmp_path_factory.mktemp("quickstart") / "result", make_plan())
