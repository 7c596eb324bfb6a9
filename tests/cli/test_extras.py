"""Without an extra, a command names the command that installs it."""

import shutil
from pathlib import Path

import pytest

from airtoll import extras
from airtoll.cli.ciphers import benchmark
from airtoll.cli.results import report_results
from airtoll.errors import UsageError
from airtoll.sweep.cluster import on_cluster


@pytest.fixture(autouse=True)
def _without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airtoll.extras.find_spec", lambda _name: None)


def test_a_missing_extra_is_an_invalid_request() -> None:
    with pytest.raises(UsageError) as caught:
        extras.require("figures", "--paper")
    assert (
        str(caught.value) == "--paper requires the extra 'figures': pipx install --force 'airtoll[figures]'"
    )
    assert caught.value.exit_code == 2


def test_commands_refuse_before_they_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--paper requires the extra 'figures'"):
        report_results([tmp_path / "none"], None, paper=True, as_json=False)
    with pytest.raises(UsageError, match="--figure requires the extra 'figures'"):
        benchmark((), (), None, as_json=False, as_markdown=False, figure=tmp_path / "x.svg")
    with pytest.raises(UsageError, match="--scheduler requires the extra 'dask'"):
        next(on_cluster([], "local", lambda: False))


def test_a_missing_chart_script_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from airtoll.errors import AirtollError
    from airtoll.report.pages import page

    shutil.copytree(page._TEMPLATES, tmp_path / "templates")
    (tmp_path / "templates/vega.js").unlink()
    monkeypatch.setattr(page, "_TEMPLATES", tmp_path / "templates")
    page._bundle.cache_clear()
    with pytest.raises(
        AirtollError, match=r"vega\.js is missing: build airtoll to generate it \(make build\)"
    ):
        page._bundle()
    page._bundle.cache_clear()
