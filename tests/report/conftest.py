"""Stored results to report on."""

from pathlib import Path

import pytest
from report_fakes import Make, make_plan, many_runs, store

from airtoll.report.pages.page import html
from airtoll.report.parts import sections
from airtoll.store import Result


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Store a result of a plan, by default of the quickstart."""
    return lambda plan=None, **options: store(tmp_path / "result", plan or make_plan(), **options)


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The quickstart with all 48 runs finished, three of them invalid."""
    return store(tmp_path_factory.mktemp("quickstart") / "result", make_plan())


@pytest.fixture(scope="session")
def ten_thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 10,000 runs, made from runs in memory: storing them would take a minute."""
    data, page = many_runs(10_000), tmp_path_factory.mktemp("many") / "report.html"
    page.write_text(html(data, sections(data, "html")["html"], page.parent), encoding="utf-8")
    return page
