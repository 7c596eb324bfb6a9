"""Statistics shown beside each change: corrected p, effect, equivalence, stability, runs that were not required."""

import csv
from pathlib import Path

import pytest
from report_fakes import Make, exactly, make_plan

from airtoll.report import write_report
from airtoll.report.material import rows
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import build
from airtoll.report.parts import sentences, stability
from airtoll.stats import holm
from airtoll.store import Result
from airtoll.study.cell import Run
from airtoll.study.link import Stack


def cells(result: Result, directory: Path) -> list[dict[str, str]]:
    with write_report(result, directory).csv.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_p_is_corrected_over_all_changes_of_a_metric(quickstart: Result, tmp_path: Path) -> None:
    found = [row for row in cells(quickstart, tmp_path) if row["metric"] == "throughput" and row["p"]]
    assert len(found) >= 7  # an invalid run leaves one flow with a single pair
    alone = [float(row["p"]) for row in found]
    assert [float(row["p_holm"]) for row in found] == pytest.approx(holm(alone))
    data = ReportData.of(quickstart)
    shown = {row.flow: row for row in build(data).rows if row.metric.name == "throughput"}
    for row in shown.values():
        assert row.pair is not None
        if row.pair.p_holm is None:  # one pair
            assert not row.holds
            continue
        assert row.holds == (row.pair.p_holm < 0.05)
        assert float(row.p_holm.removeprefix("< ")) == pytest.approx(row.pair.p_holm, rel=0.06, abs=0.0001)


def test_effects_and_verdicts_of_equivalence_stand_in_table_and_csv(
    quickstart: Result, tmp_path: Path
) -> None:
    data = ReportData.of(quickstart)
    table = rows.tests(data)
    by_change = {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    line = by_change["UDP IPv4 128 B", "Throughput, Mbit/s"]
    (row,) = [
        row
        for row in cells(quickstart, tmp_path)
        if (row["transport"], row["ip"], row["packet_size_byte"]) == ("udp", "ipv4", "128")
        and (row["metric"], row["security"]) == ("throughput", "ccmp")
    ]
    assert line["Within 1 %"] == row["equivalence"] != ""
    assert line["Effect [95 % CI]"].startswith(
        f"{float(row['effect_size_corrected']):+.2f}".replace("-", "\N{MINUS SIGN}")
    )
    assert abs(float(row["effect_size_corrected"])) < abs(float(row["effect_size_dz"]))
    low = 100 * (float(row["ratio_ci90_t_low"]) - 1)
    assert line["Change [90 % CI]"].startswith(f"[{low:+.2f}".replace("-", "\N{MINUS SIGN}"))


def test_a_level_without_a_cost_is_called_equivalent(make: Make) -> None:
    bit_per_s = exactly(throughput=lambda run: 30e6 + 1e5 * run.replicate)
    data = ReportData.of(make(samples=bit_per_s, invalid=lambda _: ()))
    assert {row.equivalence for row in build(data).rows} == {"equivalent"}
    assert {row.equivalence_ci for row in build(data).rows} == {"[0.00, 0.00]"}


def test_unstable_cells_are_named_and_marked(make: Make) -> None:
    def wild(run: Run) -> float:
        ccmp = (run.cell.security, run.cell.transport, run.cell.ip, run.cell.packet_size) == (
            "ccmp",
            "udp",
            "ipv4",
            128,
        )
        return 30e6 * (1 + (0.4 * (run.replicate - 2) if ccmp else 0.02 * (run.replicate - 2)))

    result = make(make_plan(), samples=exactly(throughput=wild), invalid=lambda _: ())
    grid = stability.grid(ReportData.of(result))
    assert grid.rows == (
        ("UDP IPv4 128 B", "CCMP", "Throughput", "The standard deviation is 40 % of the mean"),
    )
    assert grid.note.startswith("1 of ")
    assert "with at least two runs is unstable" in grid.note
    page = write_report(result, result.directory).html.read_text()
    assert page.count("unstable: the standard deviation is 40 % of the mean") == 1
    (row,) = [row for row in cells(result, result.directory) if row["unstable"]]
    assert (row["security"], row["unstable"]) == ("ccmp", "spread")


def test_a_spread_above_the_papers_bound_is_flagged(make: Make) -> None:
    spread = exactly(throughput=lambda run: 30e6 * (1 + 0.05 * (run.replicate - 2)))
    grid = stability.grid(ReportData.of(make(samples=spread, invalid=lambda _: ())))
    assert {row[-1] for row in grid.rows} == {
        "The standard deviation is 5.0 % of the mean, above the papers' 3 %"
    }


def test_too_few_runs_for_the_precision_are_named(make: Make) -> None:
    plan = make_plan(method={"stop": "precision", "within": 1.0, "least_repeats": 3})
    spread = exactly(throughput=lambda run: 30e6 * (1 + 0.02 * (run.replicate - 2)))
    grid = stability.grid(ReportData.of(make(plan, samples=spread, invalid=lambda _: ())))
    assert grid.rows
    assert all("1 % would require about" in row[-1] for row in grid.rows)


AGREEMENT = {"stop": "agreement", "within": 10.0, "least_repeats": 2}


def test_runs_that_a_stopping_rule_did_not_need_are_a_state_of_their_own(make: Make) -> None:
    result = make(make_plan(method=AGREEMENT), finished=lambda run: run.replicate < 3, invalid=lambda _: ())
    data = ReportData.of(result)
    assert {run.state for run in data.runs if run.run.replicate == 3} == {"not needed"}
    assert sentences.run_counts(data) == "48 runs planned, 32 counted; 16 not needed."
    found = cells(result, result.directory)
    assert {(row["not_needed"], row["not_finished"]) for row in found} == {("1", "0")}
    page = (result.directory / "report.html").read_text()
    assert page.replace(" ", "").count('"state":"notneeded"') == 16
    assert '"state":"notfinished"' not in page.replace(" ", "")


def test_runs_that_are_missing_and_needed_are_not_finished(make: Make) -> None:
    plan = make_plan(method=AGREEMENT)
    data = ReportData.of(make(plan, finished=lambda run: run.replicate < 2, invalid=lambda _: ()))
    assert data.counts == {"valid": 16, "not finished": 32}


def method(make: Make, **options: object) -> str:
    plan = make_plan(**options)  # type: ignore[arg-type]
    return "\n".join(sentences.method(ReportData.of(make(plan, finished=lambda _: False))))


def test_the_method_describes_the_stopping_rule(make: Make) -> None:
    said = method(make, method={**AGREEMENT, "repeats": 20, "least_repeats": 5, "discard_first": 2})
    assert (
        "until its last two replicates differ by at most 10 % of the larger, with 5 to 20 replicates" in said
    )
    assert "after 2 discarded replicates" in said


def test_the_method_describes_the_precision(make: Make) -> None:
    said = method(make, method={"stop": "precision", "within": 2.5, "confidence": 99.0})
    assert "until the 99 % interval of its mean extends at most 2.5 % of the mean to each side" in said


def test_the_method_describes_the_correction_for_multiple_comparisons(make: Make) -> None:
    said = method(make)
    assert "adjusted by Holm's method over all changes of a metric" in said
    assert "not adjusted for the number of comparisons" in said


def test_the_method_describes_loads_sizes_and_probes(make: Make) -> None:
    said = method(
        make, method={"udp_load": "tcp", "probes": ("throughput", "ftp")}, factors={"tcp_size": ("mss",)}
    )
    assert "UDP offers the mean TCP throughput of the same cell" in said
    assert "the payload of a segment (MSS)" in said
    assert "throughput (for UDP also jitter and loss) and FTP transfers" in said


def test_the_method_describes_offered_loads(make: Make) -> None:
    said = method(make, transports=("udp",), factors={"offered": (7.0, 4.0)})
    assert "Each sender offers 4 and 7 Mbit/s of UDP payload." in said
    assert "TCP" not in said
    assert "1.25 times" not in said


def test_the_method_of_imported_runs_claims_no_order_load_or_seed(make: Make) -> None:
    words = " ".join(sentences.method(ReportData.of(make(lab="imported", invalid=lambda _: ()))))
    assert "tests recorded by other tools, one per run" in words
    for claim in ("random order", "Seed", "offers", "Probes, in this order"):
        assert claim not in words


def test_the_method_says_that_stacks_are_stand_ins(make: Make) -> None:
    stacks = {"windows-8": Stack(system="Windows 8: NewReno", congestion_control="reno")}
    said = method(make, stacks=stacks, factors={"stack": ("windows-8",)})
    assert "other differences between the systems are not imitated" in said
    assert "windows-8: Windows 8: NewReno" in said


def test_standard_deviations_can_be_shown_on_the_page(quickstart: Result, tmp_path: Path) -> None:
    page = write_report(quickstart, tmp_path).html.read_text()
    data = ReportData.of(quickstart)
    row = build(data).rows[0]
    assert row.sd(row.baseline).startswith("sd ")
    assert f'<small class="of-sd">{row.sd(row.baseline)}</small>' in page
    assert 'id="show-sd"' in page


def test_huge_intervals_of_few_pairs_have_no_digits_without_meaning(make: Make) -> None:
    def unlike(run: Run) -> float:
        return 30e6 * (1 + run.replicate) ** (4 if run.cell.security == "ccmp" else -4)

    data = ReportData.of(make(make_plan(repeats=2), samples=exactly(throughput=unlike), invalid=lambda _: ()))
    assert all(row.change_ci.endswith("> 9999]") for row in build(data).rows)
