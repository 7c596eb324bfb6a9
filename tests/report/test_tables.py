"""Tables: averages beside a paper's figures, times of the engine, the largest differences in both conventions."""

import pytest
from report_fakes import Make, exactly, make_plan

from airtoll.report.material.data import ReportData
from airtoll.report.parts import averages, engine, extremes
from airtoll.report.parts.publications import BesidePublication
from airtoll.stats import describe
from airtoll.study.cell import Run

RATES = ("6 Mbit/s", "12 Mbit/s", "54 Mbit/s")


def rate(run: Run) -> float:
    """Throughput whose mean over the rates is 24 Mbit/s in the first replicate, and 1 Mbit/s more in each next one."""
    return 1e6 * (float(run.cell.rate.split()[0]) + run.replicate - 1)


def pacheco(make: Make) -> ReportData:
    plan = make_plan(
        rates=RATES, sizes=(1470,), ips=("ipv4",), study="pacheco-11ag", factors={"phy": ("ofdm", "erp")}
    )
    return ReportData.of(make(plan, samples=exactly(throughput=rate), invalid=lambda _: ()))


def test_averages_over_rates_have_the_interval_over_replicates(make: Make) -> None:
    data = pacheco(make)
    found = averages.averages(data)
    expected = describe([24e6, 25e6, 26e6])
    for (cell, metric), summary in found.items():
        assert (metric, cell.rate) == ("throughput", "")
        assert summary.mean == pytest.approx(expected.mean)
        assert summary.ci95_t is not None
        assert expected.ci95_t is not None
        assert summary.ci95_t.half_width == pytest.approx(expected.ci95_t.half_width)
    assert len(found) == 8  # transports, PHYs and levels


def test_averages_are_listed_beside_those_of_the_paper(make: Make) -> None:
    data = pacheco(make)
    paper = BesidePublication.of(data)
    assert paper is not None
    (grid,) = averages.grids(data, paper.printed_averages)
    assert grid.columns == ("Metric", "Series", "open", "published", "CCMP", "published")
    lines = {row[1]: row[2:] for row in grid.rows}
    mean = "25.00 \N{PLUS-MINUS SIGN} 2.48"
    assert lines["TCP, 802.11a, IPv4"] == (
        mean,
        "15.7 \N{PLUS-MINUS SIGN} 0.5",
        mean,
        "15.9 \N{PLUS-MINUS SIGN} 0.5",
    )
    assert lines["TCP, 802.11g, IPv4"] == (
        mean,
        "14.5 \N{PLUS-MINUS SIGN} 0.4",
        mean,
        "13.4 \N{PLUS-MINUS SIGN} 0.4",
    )


def test_a_replicate_without_one_of_the_rates_gives_no_average(make: Make) -> None:
    plan = make_plan(rates=RATES, sizes=(1470,), ips=("ipv4",), transports=("tcp",))

    def lost(run: Run) -> list[str]:
        return ["short window: lost"] if (run.replicate, run.cell.rate) == (3, "54 Mbit/s") else []

    data = ReportData.of(make(plan, samples=exactly(throughput=rate), invalid=lost))
    assert {summary.n for summary in averages.averages(data).values()} == {2}


def test_two_packet_sizes_have_no_average(make: Make) -> None:
    assert averages.averages(ReportData.of(make())) == {}


def test_times_of_the_engine_are_a_table_with_speed_ups(make: Make) -> None:
    plan = make_plan(
        levels=("open", "wep40", "ccmp", "enhanced4"), sizes=(1400,), transports=("udp",), ips=("ipv4",)
    )
    result = make(plan, samples=exactly(throughput=lambda _: 1e6), invalid=lambda _: ())
    data = ReportData.of(result)
    times = {"wep40": 0.5, "ccmp": 2.0, "enhanced4": 0.8}
    for run in data.runs:
        if run.run.cell.security in times:
            run.values["mic_time"] = times[run.run.cell.security]  # type: ignore[index]
    (grid,) = engine.grids(data)
    assert [(row[1], row[3]) for row in grid.rows] == [
        ("WEP-40", "4.00 [4.00, 4.00]"),
        ("CCMP", "1"),
        ("Enhanced CCMP, 4 lanes", "2.50 [2.50, 2.50]"),
    ]


def test_lanes_as_printed_follow_in_the_table_and_are_marked_as_broken(make: Make) -> None:
    levels = ("open", "ccmp", "enhanced1", "enhanced4")
    plan = make_plan(levels=levels, sizes=(1400,), transports=("udp",), ips=("ipv4",))
    data = ReportData.of(make(plan, samples=exactly(throughput=lambda _: 1e6), invalid=lambda _: ()))
    for run in data.runs:
        times = {"ccmp": (2.0, None), "enhanced1": (2.0, 3.0), "enhanced4": (0.8, 1.0)}
        engine_us, printed_us = times.get(run.run.cell.security, (None, None))
        for name, us in (("mic_time", engine_us), ("printed_mic_time", printed_us)):
            if us is not None:
                run.values[name] = us  # type: ignore[index]
    (grid,) = engine.grids(data)
    assert [(row[1], row[3]) for row in grid.rows] == [
        ("CCMP", "1"),
        ("Enhanced CCMP, 1 lane", "1.00 [1.00, 1.00]"),
        ("Enhanced CCMP, 4 lanes", "2.50 [2.50, 2.50]"),
        ("1 lane as printed (broken)", "1"),
        ("4 lanes as printed (broken)", "3.00 [3.00, 3.00]"),
    ]
    assert "can forge their frames" in grid.note
    assert "Table I." in grid.note


def test_without_the_engine_s_times_there_is_no_table(make: Make) -> None:
    assert engine.grids(ReportData.of(make())) == []


def cost(run: Run) -> float:
    if run.cell.packet_size == 1408 and run.cell.security == "ccmp":
        return 80e6 if run.cell.ip == "ipv4" else 90e6
    return 100e6


def test_the_largest_difference_has_both_conventions_of_percent(make: Make) -> None:
    plan = make_plan(transports=("udp",))
    data = ReportData.of(make(plan, samples=exactly(throughput=cost), invalid=lambda _: ()))
    found = extremes.by_metric(data)["Throughput, Mbit/s"]
    assert found[:2] == [
        "UDP IPv4 1408 B: 100.00 with open, 80.00 with CCMP; difference 20.00 Mbit/s (20.00 % of the larger value, "
        "25.00 % of the smaller).",
        "UDP IPv6 1408 B: 100.00 with open, 90.00 with CCMP; difference 10.00 Mbit/s (10.00 % of the larger value, "
        "11.11 % of the smaller).",
    ]
    assert found[2].startswith(
        "UDP IPv4 1408 B, CCMP: 80.00 with IPv4, 90.00 with IPv6; difference 10.00 Mbit/s"
    )
    assert len(found) == 3  # open has the same throughput over both IP versions


def test_differences_of_percentages_are_in_points(make: Make) -> None:
    shares = exactly(cpu_hosts=lambda run: 31.0 if run.cell.security == "ccmp" else 30.0)
    plan = make_plan(transports=("udp",), sizes=(128, 1408))
    data = ReportData.of(make(plan, samples=shares, invalid=lambda _: ()))
    found = extremes.by_metric(data)["CPU load of the hosts, %"]
    assert all(line.endswith("; difference 1.00 points.") for line in found)
