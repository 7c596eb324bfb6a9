"""The OpenMetrics text of a result, read with the parser of Prometheus."""

import math
from collections import Counter

import pytest
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from report_fakes import Make, make_plan

from airtoll.report.material.data import ReportData
from airtoll.report.pages.openmetrics import openmetrics
from airtoll.store import Result
from airtoll.study.cell import Cell


@pytest.fixture(scope="module")
def data(quickstart: Result) -> ReportData:
    return ReportData.of(quickstart)


def test_every_number_of_every_cell_is_there_in_base_units(data: ReportData) -> None:
    families = {family.name: family for family in text_string_to_metric_families(openmetrics(data))}
    scales = {"throughput": ("bits_per_second", 1.0), "rtt": ("seconds", 1e-3), "cpu_hosts": ("ratio", 1e-2)}
    for metric, (unit, scale) in scales.items():
        family = families[f"airtoll_{metric}_{unit}"]
        assert (family.type, family.unit) == ("gauge", unit)
        samples = {_cell(sample.labels): sample.value for sample in family.samples}
        expected = {each.cell: each.summary.mean for each in data.comparison.cells if each.metric == metric}
        assert samples.keys() == expected.keys()
        for cell, mean in expected.items():
            assert mean is not None
            assert math.isclose(samples[cell], mean * scale, rel_tol=1e-11)


def _cell(labels: dict[str, str]) -> Cell:
    levels: dict[str, object] = {name: text for name, text in labels.items() if name != "study"}
    for name in ("packet_size", "bandwidth", "streams", "stations"):
        levels[name] = int(labels[name])
    return Cell.model_validate(levels)


def test_the_interval_and_the_runs_stand_beside_the_mean(data: ReportData) -> None:
    families = {family.name: family for family in text_string_to_metric_families(openmetrics(data))}
    low, mean, high, runs = (
        [sample.value for sample in families[f"airtoll_throughput_{end}"].samples]
        for end in ("ci95_low_bits_per_second", "bits_per_second", "ci95_high_bits_per_second", "runs")
    )
    assert all(a < b < c for a, b, c in zip(low, mean, high, strict=True))
    assert set(runs) <= {2.0, 3.0}


def test_runs_are_counted_by_state(data: ReportData) -> None:
    families = {family.name: family for family in text_string_to_metric_families(openmetrics(data))}
    states = {sample.labels["state"]: sample.value for sample in families["airtoll_runs"].samples}
    expected = Counter(run.state for run in data.runs)
    assert {state: count for state, count in states.items() if count} == dict(expected)
    reasons = {sample.labels["reason"] for sample in families["airtoll_invalid_runs"].samples}
    assert reasons == {"emulation late", "zero interval", "short window", "open errors"}
    created = families["airtoll_result_created_seconds"].samples[0].value
    assert math.isclose(created, data.created.timestamp())


def test_the_textfile_collectors_older_format_reads_the_same(data: ReportData) -> None:
    content = openmetrics(data)
    older = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in prometheus.text_string_to_metric_families(content)
        for sample in family.samples
    }
    newer = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(content)
        for sample in family.samples
    }
    assert older == newer


def test_one_run_a_cell_has_no_interval_and_a_quoted_name_stays_whole(make: Make) -> None:
    result = make(make_plan(repeats=1, study='a "b" \\ c'), invalid=lambda _: ())
    content = openmetrics(ReportData.of(result))
    families = {family.name: family for family in text_string_to_metric_families(content)}
    assert "airtoll_throughput_ci95_low_bits_per_second" not in families
    assert families["airtoll_rtt_seconds"].samples[0].labels["study"] == 'a "b" \\ c'
