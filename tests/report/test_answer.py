"""The top of a report: at most three sentences in the study's primary metric, and what a lab cannot tell apart."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from report_fakes import Make, exactly, make_plan

from airtoll.cli import app
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.parts import answer, figures, sentences
from airtoll.stats import METRICS, matched_ratio
from airtoll.store import Result
from airtoll.study.cell import Run

LEVELS = ("open", "wep104", "ccmp", "gcmp")


def costing(**costs: float) -> Callable[[Run], float]:
    """Throughput with these costs of levels; levels without a cost differ from open by noise alone."""

    def throughput(run: Run) -> float:
        level = run.cell.security
        noise = 0.0 if level == "open" or level in costs else 0.01 * (-1) ** run.replicate
        return 1e7 * (1 - costs.get(level, 0.0) + noise) * (1 + 0.001 * run.replicate)

    return throughput


def found_in(
    make: Make, throughput: Callable[[Run], float], levels: Sequence[str] = LEVELS, **options: Any
) -> answer.Findings:
    plan = make_plan(levels=levels, transports=("udp",), repeats=6)
    stored = make(plan, samples=exactly(throughput=throughput), invalid=lambda _: (), **options)
    return answer.find(ReportData.of(stored))


def test_the_largest_resolved_change_is_first_and_an_absent_one_is_last(make: Make) -> None:
    found = found_in(make, costing(ccmp=0.1, gcmp=0.3))
    assert found.headline.startswith("GCMP costs 30.00 %")
    assert found.others[0].startswith("CCMP costs 10.00 %")
    assert re.fullmatch(
        r"WEP-104 has no measurable effect on throughput; an effect above [\d.]+ % would have been seen\.",
        found.others[1],
    )


def test_levels_with_the_same_change_share_a_sentence(make: Make) -> None:
    found = found_in(make, costing(ccmp=0.3, gcmp=0.3))
    assert found.headline.startswith("CCMP and GCMP each cost 30.00 %")
    assert len(found.others) == 1


def test_a_mean_over_two_modes_is_no_finding(make: Make) -> None:
    def throughput(run: Run) -> float:
        value = costing(ccmp=0.1, gcmp=0.3)(run)
        return value * (0.5 if run.cell.security == "gcmp" and run.replicate % 2 else 1.0)

    found = found_in(make, throughput, ("open", "ccmp", "gcmp"))
    assert found.headline.startswith("CCMP costs 10.00 %")
    (modes,) = found.others
    assert re.fullmatch(
        r"Throughput of .* with GCMP and 3 other cells has two modes, so its mean is no finding: see .*",
        modes,
    )


def test_there_are_three_sentences_at_most(make: Make) -> None:
    levels = ("open", "wep40", "wep104", "tkip", "ccmp", "gcmp")
    found = found_in(make, costing(wep40=0.1, tkip=0.2, ccmp=0.3, gcmp=0.4), levels)
    assert found.headline.startswith("GCMP costs")
    assert [sentence.split()[0] for sentence in found.others] == ["CCMP", "WEP-104"]


def test_an_effect_above_the_named_limit_is_excluded_by_the_interval(make: Make) -> None:
    sentence = found_in(make, costing(), ("open", "ccmp")).headline
    (limit,) = map(float, re.findall(r"above ([\d.]+) %", sentence))
    # Six pairs of rounds in each of four flows, with a noise of 1 % in each.
    assert 0.2 < limit < 1.2


def test_the_mean_is_that_of_all_flows_and_the_largest_flow_is_named(quickstart: Result) -> None:
    data = ReportData.of(quickstart)
    values = data.by_round["throughput"]
    sets = []
    for cell, runs in values.items():
        if cell.transport == "udp" and cell.security == "ccmp":
            of_open = values[cell.model_copy(update={"security": "open"})]
            sets.append(([of_open.get(one) for one in runs], list(runs.values())))
    ratio = matched_ratio(sets)
    assert ratio.percent is not None
    assert ratio.percent_ci95_t is not None
    low, high = -ratio.percent_ci95_t.high, -ratio.percent_ci95_t.low
    largest = min(
        (row.ratio.percent or 0.0, row.cell)
        for row in data.comparison.pairs
        if row.metric == "throughput" and row.cell.transport == "udp"
    )
    expected = (
        f"CCMP costs {-ratio.percent:.2f} % [{low:.2f}, {high:.2f}] of UDP throughput on average over 4 flows"
    )
    told = [answer.find(data).headline, *answer.find(data).others]
    (sentence,) = [one for one in told if one.startswith(expected)]
    ip = text.factor("ip", largest[1].ip)
    assert f"at most {-largest[0]:.2f} %" in sentence
    assert sentence.endswith(f"({ip} {largest[1].packet_size} B).")


def test_the_study_declares_the_primary_metric(make: Make) -> None:
    def jitter(run: Run) -> float:
        return (3.0 if run.cell.security == "ccmp" else 1.0) * (1 + 0.01 * run.replicate)

    plan = make_plan(transports=("udp",), sizes=(1408,), ips=("ipv4",))
    samples = exactly(throughput=costing(ccmp=0.3), jitter=jitter)
    stored = make(plan, samples=samples, invalid=lambda _: (), study_text='primary = "jitter"\ntitle = "J"\n')
    data = ReportData.of(stored)
    assert data.primary == METRICS["jitter"]
    assert answer.find(data).headline == "CCMP multiplies jitter by 3.00 [3.00, 3.00]."
    assert answer.ranges(data).columns == ("Security", "Jitter", "Throughput")
    assert next(iter(figures.measured(data))).title == "Jitter, ms"


HOSTILE = ["a." * 100_000 + "a = 1", "a = " + "[" * 5000, "a = " + "9" * 5000]


@pytest.mark.parametrize("study_text", ["", 'primary = "delays"\n', "primary = 3\n", "primary =", *HOSTILE])
def test_a_result_without_a_known_primary_metric_begins_with_throughput(make: Make, study_text: str) -> None:
    data = ReportData.of(make(make_plan(repeats=1), study_text=study_text))
    assert data.primary == METRICS["throughput"]


def test_without_a_sender_that_loads_the_link_the_report_begins_with_a_delay(make: Make) -> None:
    plan = make_plan(transports=("udp",), repeats=2, factors={"offered": (4.0,)})
    assert ReportData.of(make(plan)).primary == METRICS["rtt"]


def test_ranges_say_in_words_how_many_flows_are_resolved(make: Make) -> None:
    def throughput(run: Run) -> float:
        cost = 0.3 if run.cell.packet_size == 1408 else 0.0
        return costing(ccmp=cost)(run) * (1 + 0.003 * (run.order % 5) * (run.cell.packet_size == 128))

    plan = make_plan(transports=("udp",), ips=("ipv4",), repeats=5)
    data = ReportData.of(make(plan, samples=exactly(throughput=throughput), invalid=lambda _: ()))
    (row,) = answer.ranges(data).rows
    assert row[0] == "CCMP"
    assert re.fullmatch(r"-30\.\d to [-+]0\.\d %, 1 of 2 resolved", row[1].replace(text.MINUS, "-"))


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (("open", "ccmp"), "open and CCMP"),
        (("ccmp", "enhanced1", "enhanced2", "enhanced8"), "CCMP and Enhanced CCMP (1, 2 and 8 lanes)"),
        (("open", "enhanced1", "ccmp"), "open, Enhanced CCMP (1 lane) and CCMP"),
    ],
)
def test_a_list_of_levels_reads_without_counting_commas(levels: Sequence[str], words: str) -> None:
    assert text.levels(levels) == words


STUDY = """
title = "Lanes"
lab = "sim"
[factors]
security = ["open", "wep40", "wep104", "ccmp", "enhanced1", "enhanced4"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = [1400]
phy = ["erp"]
rate = [54]
crypto_at = ["by-suite"]
[method]
repeats = 2
duration = "0.1 s"
warmup = "0.1 s"
[link]
processor_clock = "300 MHz"
"""


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A reported result of lab sim with two key lengths of WEP, and two numbers of lanes on hosts without a CPU."""
    folder = tmp_path_factory.mktemp("lanes")
    (folder / "lanes.toml").write_text(STUDY)
    app(["run", str(folder / "lanes.toml"), "--out", str(folder / "result")], standalone_mode=False)
    return Result.open(folder / "result")


def test_levels_with_equal_scenarios_are_shown_once_with_the_reason(lanes: Result) -> None:
    data = ReportData.of(lanes)
    assert data.comparison.levels == ("open", "wep40", "ccmp", "enhanced1")
    assert data.same_as("wep40") == ("wep40", "wep104")
    assert {cell.cell.security for cell in data.comparison.cells} == set(data.comparison.levels)
    of_wep, of_lanes = sentences.told_once(data)
    assert of_wep == (
        "Lab sim cannot tell WEP-40 and WEP-104 apart, because their frames are equally long and take equally long to "
        "seal: they are one experiment, shown as WEP-40."
    )
    assert of_lanes == (
        "Lab sim cannot tell Enhanced CCMP (1 and 4 lanes) apart, because it has no host CPU: they are one experiment, "
        "shown as Enhanced CCMP, 1 lane."
    )
    assert [row[0] for row in answer.ranges(data).rows] == [
        "WEP-40 and WEP-104",
        "CCMP",
        "Enhanced CCMP (1 and 4 lanes)",
    ]


def test_files_keep_every_level_that_lab_sim_simulated(lanes: Result) -> None:
    assert ",enhanced4," in (lanes.directory / "cells.csv").read_text()
    assert "enhanced4" in (lanes.directory / "report.html").read_text()


def test_values_of_lab_sim_are_never_called_measured(lanes: Result) -> None:
    words = re.findall(r"(?i)\b(?:is |not )?measured\b", (lanes.directory / "report.md").read_text())
    assert set(words) <= {"not measured"}
    assert "Simulated with airtoll" in (lanes.directory / "report.html").read_text()


def test_other_labs_distinguish_all_levels(make: Make) -> None:
    data = ReportData.of(make(make_plan(levels=("open", "wep40", "wep104"), repeats=1)))
    assert not data.duplicates
    assert data.comparison is data.compared


def test_a_change_of_some_flows_alone_is_told_as_such(make: Make) -> None:
    def throughput(run: Run) -> float:
        large = run.cell.packet_size == 1408
        noise = 0.0 if large else 0.1 * run.replicate * (-1) ** run.replicate
        cost = (0.02 if large else 0.0) + noise
        return 1e7 * (1 - cost * (run.cell.security == "ccmp")) * (1 + 0.0001 * (run.order % 7))

    plan = make_plan(transports=("udp",), ips=("ipv4",), repeats=6)
    data = ReportData.of(make(plan, samples=exactly(throughput=throughput), invalid=lambda _: ()))
    found = answer.find(data)
    assert re.fullmatch(
        r"CCMP costs [12]\.\d\d % \[.*\] of throughput \(1408 B\), but not on average over 2 flows\.",
        found.headline,
    )
    assert "no measurable effect" not in " ".join(found.others)
