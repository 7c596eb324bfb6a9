"""Comparisons of the levels of every factor other than security."""

from report_fakes import Make, exactly, make_plan

from airtoll.report.material.data import ReportData
from airtoll.report.parts.factors import grids
from airtoll.study.cell import Run


def throughput(run: Run) -> float:
    """IPv6 carries 10 % less than IPv4, and packets of 1408 B twice as much as those of 128 B."""
    cell = run.cell
    share = (0.9 if cell.ip == "ipv6" else 1.0) * (2.0 if cell.packet_size == 1408 else 1.0)
    return 1e7 * share * (1 + 0.001 * run.replicate + 0.0003 * (run.order % 5))


def test_every_factor_with_several_levels_has_a_table(make: Make) -> None:
    plan = make_plan(sizes=(128, 512, 1408), repeats=4)
    data = ReportData.of(make(plan, samples=exactly(throughput=throughput), invalid=lambda _: ()))
    transport, ip, size = grids(data)
    assert transport.title == "Transport protocols, against TCP"
    assert "0 of 2 changes are significant" in transport.note
    assert ip.title == "Internet Protocol versions, against IPv4"
    assert [row[2] for row in ip.rows] == ["TCP, open", "TCP, CCMP", "UDP, open", "UDP, CCMP"]
    assert all(row[3].startswith("\N{MINUS SIGN}10.0 % [") for row in ip.rows)
    assert ip.note.startswith("IPv6 against IPv4, over all cells: throughput \N{MINUS SIGN}10.0 % [")
    assert "4 of 4 changes are significant" in ip.note
    assert [row[1] for row in size.rows] == ["512 B", "1408 B"] * 4
    assert {row[3].split(" %")[0] for row in size.rows if row[1] == "512 B"} <= {"0.0", "+0.0", "+0.1"}
    assert {row[3][:4] for row in size.rows if row[1] == "1408 B"} == {"+100"}


def test_a_result_of_one_flow_has_no_such_table(make: Make) -> None:
    plan = make_plan(sizes=(1408,), transports=("udp",), ips=("ipv4",))
    assert list(grids(ReportData.of(make(plan, invalid=lambda _: ())))) == []


def test_one_round_gives_changes_without_intervals(make: Make) -> None:
    plan = make_plan(sizes=(1408,), transports=("udp",), repeats=1)
    (ip,) = grids(ReportData.of(make(plan, samples=exactly(throughput=throughput), invalid=lambda _: ())))
    assert "0 of 2 changes are significant" in ip.note
    assert not any("[" in row[3] for row in ip.rows)
