"""The form of figures: points over a varying factor, bars by level, curves over rates; Vega-Lite accepts them."""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from report_fakes import Make, exactly, make_plan

from airtoll.report.charts.forms import axis
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.section import Chart, Figure
from airtoll.report.pages.figure_files import still
from airtoll.report.parts import changes, curves, figures, sections
from airtoll.store import Result
from airtoll.study.cell import Run
from airtoll.study.link import Stack

RATES = ("6 Mbit/s", "9 Mbit/s", "7 Mbit/s", "24 Mbit/s", "48 Mbit/s", "54 Mbit/s")


def mbit_s(run: Run) -> float:
    return float(run.cell.rate.split()[0])


def measured(data: ReportData) -> list[Figure]:
    return list(figures.measured(data))


def rows(chart: Chart, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.spec["datasets"][name]
    return found


def test_points_stand_against_packet_size_with_every_series(quickstart: Result) -> None:
    data = ReportData.of(quickstart)
    assert axis(data) == "packet_size"
    throughput = measured(data)[0]
    assert [chart.title for chart in throughput.charts] == ["TCP", "UDP"]
    series = {(row["x"], row["ip"], row["level"]) for row in rows(throughput.charts[1], "means")}
    assert series == {
        (x, ip, level) for x in ("128", "1408") for ip in ("IPv4", "IPv6") for level in ("open", "CCMP")
    }


def test_several_levels_with_few_loads_are_bars_by_level(make: Make) -> None:
    plan = make_plan(
        levels=("open", "wep40", "ccmp", "gcmp"),
        sizes=(1400,),
        transports=("udp",),
        ips=("ipv4",),
        repeats=2,
        factors={"offered": (4.0, 7.0)},
    )
    of_level = {"open": 5.0, "wep40": 5.5, "ccmp": 10.0, "gcmp": 6.0}
    delays = exactly(rtt=lambda run: of_level[run.cell.security] + 0.1 * run.replicate)
    data = ReportData.of(make(plan, samples=delays, invalid=lambda _: ()))
    assert axis(data) == "security"
    (figure,) = measured(data)
    assert [chart.title for chart in figure.charts] == ["UDP, 4 Mbit/s offered", "UDP, 7 Mbit/s offered"]
    assert [row["x"] for row in rows(figure.charts[0], "means")] == ["open", "WEP-40", "CCMP", "GCMP"]
    above, change = changes.differences(data)
    assert above.title == "Above open"
    found = {row["security"]: row["mean"] for row in rows(above.charts[0], "values")}
    assert found == pytest.approx({"WEP-40": 0.5, "CCMP": 5.0, "GCMP": 1.0})
    (percent,) = {row["mean"] for row in rows(change.charts[1], "values") if row["security"] == "CCMP"}
    assert 95 < percent < 100


def test_levels_beside_each_other_have_one_legend(make: Make) -> None:
    plan = make_plan(levels=("open", "wep104", "ccmp"), sizes=(128, 512, 1024, 1408), repeats=2)
    changed = changes.differences(ReportData.of(make(plan, invalid=lambda _: ())))
    chart = next(one for each in changed for one in each.charts if one.title == "Throughput")
    (legend,) = vl_convert.vegalite_to_vega(chart.spec)["legends"]
    assert "shape" in legend
    assert legend.keys() & {"fill", "stroke"}  # the colour is in the same legend


def test_hosts_stacks_have_a_figure_with_them_side_by_side(make: Make) -> None:
    stacks = {name: Stack(system=name) for name in ("ubuntu-13.04", "windows-8")}
    plan = make_plan(repeats=1, factors={"stack": tuple(stacks)}, stacks=stacks)
    data = ReportData.of(make(plan, invalid=lambda _: ()))
    by_title = {figure.title: figure for figure in measured(data)}
    assert [chart.title for chart in by_title["Throughput, Mbit/s"].charts] == [
        "TCP, ubuntu-13.04",
        "TCP, windows-8",
        "UDP, ubuntu-13.04",
        "UDP, windows-8",
    ]
    stacked = by_title["Throughput, Mbit/s, by TCP/IP stack of the hosts"]
    assert [chart.title for chart in stacked.charts] == ["TCP, CCMP", "TCP, open", "UDP, CCMP", "UDP, open"]
    assert {row["level"] for row in rows(stacked.charts[0], "means")} == set(stacks)


def test_two_phys_with_the_same_rates_are_two_charts(make: Make) -> None:
    plan = make_plan(rates=RATES, sizes=(1470,), ips=("ipv4",), repeats=1, factors={"phy": ("ofdm", "erp")})
    data = ReportData.of(make(plan, invalid=lambda _: ()))
    assert axis(data) == "rate"
    titles = [chart.title for chart in measured(data)[0].charts]
    assert titles == ["TCP, 802.11a", "TCP, 802.11g", "UDP, 802.11a", "UDP, 802.11g"]


def test_a_metric_that_is_0_in_every_run_has_no_chart(make: Make) -> None:
    numbers = exactly(throughput=lambda _: 30e6, jitter=lambda _: 0.0)
    data = ReportData.of(make(make_plan(transports=("udp",)), samples=numbers, invalid=lambda _: ()))
    _, without = measured(data)
    assert without.charts == ()
    assert without.caption == "All values are 0: jitter."
    (change,) = changes.differences(data)
    assert change.charts == ()
    assert change.caption == "No change at all in throughput; jitter."


def test_an_interval_of_few_runs_does_not_squash_the_figure(make: Make) -> None:
    plan = make_plan(repeats=2, sizes=(1408,), transports=("udp",))
    data = ReportData.of(
        make(plan, samples=exactly(throughput=lambda run: 10e6 * run.replicate), invalid=lambda _: ())
    )
    (chart,) = measured(data)[0].charts
    assert max(row["high"] for row in rows(chart, "means")) > 70  # t for one degree of freedom is 12.7
    largest = max(
        row["expected"] for row in rows(chart, "expected")
    )  # the model's value is above the measured values
    assert f'"domainMax": {1.3 * largest}' in json.dumps(chart.spec)


def quadratic(run: Run) -> float:
    x = mbit_s(run)
    return 1e6 * (0.5 + 0.7 * x - 0.004 * x**2)


def test_a_curve_through_points_of_a_polynomial_is_that_polynomial(make: Make) -> None:
    plan = make_plan(rates=RATES, sizes=(1470,), ips=("ipv4",), repeats=1)
    data = ReportData.of(make(plan, samples=exactly(throughput=quadratic), invalid=lambda _: ()))
    found = curves.curves(data)
    assert {(curve.panel, curve.level) for curve in found} == {("TCP", "open"), ("TCP", "CCMP")}
    for curve in found:
        assert curve.fit.degree == 2
        assert curve.fit.coefficients == pytest.approx((0.5, 0.7, -0.004))
        assert curve.equation == "y = 0.5 + 0.7 x \N{MINUS SIGN} 0.004 x²"
    assert {row[-2] for row in curves.grid(data).rows} == {"1.00000"}
    (figure,) = curves.figures(data)
    (chart,) = figure.charts
    line = [row for row in rows(chart, "lines") if row["series"] == "open"]
    assert line[0]["x"] == 6
    assert line[-1]["x"] == 54
    assert all(row["y"] == pytest.approx(0.5 + 0.7 * row["x"] - 0.004 * row["x"] ** 2) for row in line)


def test_levels_of_several_phys_have_a_chart_each_as_in_the_paper(make: Make) -> None:
    plan = make_plan(
        rates=RATES,
        sizes=(1470,),
        ips=("ipv4",),
        transports=("tcp",),
        repeats=1,
        factors={"phy": ("ofdm", "erp")},
    )
    numbers = exactly(throughput=quadratic, ftp_rate=lambda run: quadratic(run) / 8)
    data = ReportData.of(make(plan, samples=numbers, invalid=lambda _: ()))
    (figure,) = curves.figures(data)
    assert [chart.title for chart in figure.charts] == [
        "Throughput, open",
        "Throughput, CCMP",
        "FTP transfer rate, open",
        "FTP transfer rate, CCMP",
    ]
    assert {row["series"] for row in rows(figure.charts[0], "points")} == {
        "TCP, 802.11a, IPv4",
        "TCP, 802.11g, IPv4",
    }


@pytest.mark.parametrize("rates", [RATES[:2], ("mcs0", "mcs1", "mcs2", "mcs3")])
def test_too_few_rates_or_rates_without_numbers_have_no_curve(make: Make, rates: Sequence[str]) -> None:
    plan = make_plan(rates=rates, sizes=(1470,), ips=("ipv4",), transports=("tcp",), repeats=1)
    data = ReportData.of(make(plan, samples=exactly(throughput=lambda _: 1e6), invalid=lambda _: ()))
    assert curves.figures(data) == []
    assert curves.grid(data).rows == ()


def test_vega_lite_takes_every_chart(make: Make) -> None:
    plan = make_plan(rates=RATES[:3], sizes=(1470,), ips=("ipv4",), repeats=2, study="pacheco-11ag")
    data = ReportData.of(make(plan, invalid=lambda _: ()))
    shown = [figure for section in sections(data, "figures")["figures"] for figure in section.figures]
    charts = [chart for figure in shown for chart in figure.charts]
    names = {chart.id for chart in charts}
    assert {"chart-throughput-0", "chart-curve-throughput-0", "chart-change-throughput"} <= names
    assert len(names) == len(charts)
    assert any("waterfall" in name for name in names)
    for chart in charts:
        alt.Chart.from_dict(chart.spec)  # validates against the schema
        assert vl_convert.vegalite_to_vega(still(data, chart))["marks"]


@given(st.lists(st.integers(0, 9999), min_size=1))
def test_words_are_sorted_by_their_numbers(numbers: list[int]) -> None:
    words = sorted((f"UDP, {number} B" for number in numbers), key=text.natural)
    assert words == [f"UDP, {number} B" for number in sorted(numbers)]
