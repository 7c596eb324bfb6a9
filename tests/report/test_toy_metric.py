"""A new metric requires one row of `METRICS` and its name at a probe; then tables, files, rules and pages show it."""

import csv
import importlib
from pathlib import Path

import pytest
from report_fakes import FEW_FLOWS, Make, make_plan, make_samples

from airtoll.judge import Figures, difference
from airtoll.judge.rule import Rule, parse_rule
from airtoll.probes.base import Sample
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import build
from airtoll.stats import METRICS, Metric
from airtoll.study.cell import Run
from airtoll.study.probes import PROBES_OF

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Metric:
    metric = Metric(
        *("answers", "Answers per run", "Answers", "1", "k", 1e-3, 1, "higher"),
        (
            (
                lambda measured, name: (
                    float(measured.known[name].value.sum()) if name in measured.known else None
                )
            ),
        ),
        "answers of all intervals",
        extreme=True,
    )
    monkeypatch.setitem(METRICS, metric.name, metric)
    monkeypatch.setitem(PROBES_OF, metric.name, ("throughput",))  # derived from the rows of PROBES
    return metric


def samples(run: Run) -> list[Sample]:
    answers = (1000.0 * run.order, 2000.0)
    return [*make_samples(run), *(Sample("toy", "answers", "1", "ap", "up", 0, 1, each) for each in answers)]


def test_reports_comparisons_rules_and_the_reference_page_show_it(
    toy: Metric, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(**FEW_FLOWS)
    result = make(plan, samples=samples, invalid=lambda _: ())
    paths = write_report(result, tmp_path / "report")
    with paths.runs_csv.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "answers"]
    assert [float(row["value"]) for row in rows] == [1000.0 * run.order + 2000.0 for run in plan.runs]
    assert {row["unit"] for row in rows} == {"1"}
    with paths.csv.open(newline="", encoding="utf-8") as file:
        assert "answers" in {row["metric"] for row in csv.DictReader(file)}
    assert "Answers per run" in paths.html.read_text(encoding="utf-8")
    assert any(row.metric is toy for row in build(ReportData.of(result)).rows)

    compared = difference(Figures.of(result), Figures.of(result))
    assert compared.counts("answers")["equal"] == len({run.cell for run in plan.runs})

    rule = parse_rule("cost(answers) of ccmp <= 2 k")
    assert isinstance(rule, Rule)
    assert (rule.metric, rule.bound) == (toy, pytest.approx(2000.0))

    monkeypatch.syspath_prepend(TOOLS)
    page = importlib.import_module("reference_pages").metrics()
    assert (
        "| **`answers`** | k | 1 | higher | `throughput` | Answers per run: answers of all intervals. |"
        in page
    )
