"""The tools of the round-trip times, and the cross-check of one tool by another."""

from pathlib import Path

from report_fakes import make_plan, make_record

from airtoll.probes.base import Sample
from airtoll.report.material.data import ReportData
from airtoll.report.parts.round_trips import cross_check, tool_sentences
from airtoll.store import Result
from airtoll.study.cell import Run


def samples(run: Run) -> list[Sample]:
    """Round trips, by sockperf also over IPv4, 1 % longer."""
    trip_ms = 0.3 + 0.001 * run.replicate
    found = [Sample("pingpong", "rtt", "ms", "sta", "both", 0, 0, trip_ms)]
    if run.cell.ip == "ipv4":
        found.append(Sample("sockperf", "rtt_sockperf", "ms", "sta", "both", 0, 0, 1.01 * trip_ms))
    return found


def made(directory: Path, tools: dict[str, str]) -> ReportData:
    """A result whose round trips the named tools measured, by IP version."""
    plan = make_plan(sizes=(1408,), repeats=2)
    with Result.create(directory, "", plan, "air", quick=False) as result:
        for run in plan.runs:
            record = make_record(run, probes={"rtt": {"tool": tools[run.cell.ip]}})
            result.write(record, samples(run), {})
    return ReportData.of(Result.open(directory))


def test_one_tool_is_named(tmp_path: Path) -> None:
    data = made(tmp_path / "result", {"ipv4": "pingpong", "ipv6": "pingpong"})
    assert list(tool_sentences(data)) == [
        "All round-trip times are by pingpong, the same tool for every cell."
    ]


def test_a_result_of_two_tools_says_which_measured_what(tmp_path: Path) -> None:
    (sentence,) = tool_sentences(made(tmp_path / "result", {"ipv4": "sockperf", "ipv6": "pingpong"}))
    assert sentence.startswith(
        "Round-trip times are by two tools: pingpong for IPv6 and sockperf for IPv4. A difference"
    )


def test_the_cross_check_compares_the_tools_within_runs(tmp_path: Path) -> None:
    data = made(tmp_path / "result", {"ipv4": "pingpong", "ipv6": "pingpong"})
    grid = cross_check(data)
    assert len(grid.rows) == 4  # two transports, open and CCMP
    assert {row[-1] for row in grid.rows} == {"+1.0 % [+1.00, +1.00]"}
    assert "differ by +1.0 % [+1.00, +1.00]" in grid.note


def test_a_result_without_sockperf_has_no_cross_check(quickstart: Result) -> None:
    data = ReportData.of(quickstart)
    assert cross_check(data).rows == ()
    assert list(tool_sentences(data)) == []  # its records do not name the tool of `rtt`
