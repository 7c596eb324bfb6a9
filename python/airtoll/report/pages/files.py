"""CSV, and writing of all files of a report."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airtoll.durable import make_directory, publish, reporting
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import csv_text
from airtoll.stats import METRICS, CellSummary, Interval, PairedRow
from airtoll.stats.comparison import LeftOut
from airtoll.store import Result
from airtoll.store.layout import check_target
from airtoll.study.cell import Cell
from airtoll.study.factors import FACTORS

_FACTORS = tuple(Cell.model_fields)
_HEADS = {name: FACTORS[name].column or name if name in FACTORS else name for name in _FACTORS}
_LEFT_OUT: Final[tuple[LeftOut, ...]] = ("discarded", "not finished", "invalid", "not measured")


@dataclass(frozen=True)
class ReportPaths:
    """The paths of a report's files."""

    html: Path
    markdown: Path
    csv: Path  # cells.csv: one row per cell and metric
    runs_csv: Path  # one row per run and metric


def write_report(result: Result, directory: Path) -> ReportPaths:
    """Write the report of a result; see `write_files`. Raises AirtollError also if the result cannot be read."""
    return write_files(ReportData.of(result), directory)


def write_files(data: ReportData, directory: Path) -> ReportPaths:
    """Write report.html, report.md, cells.csv and runs.csv into the directory, each atomically.

    Raises UsageError as `check_target` and `make_directory` do, AirtollError if a file cannot be written.
    """
    check_target(data.directory, directory)
    from airtoll.report.pages.markdown import markdown
    from airtoll.report.pages.page import html
    from airtoll.report.parts import sections

    found = sections(data, "html", "markdown")
    contents = {
        "report.html": html(data, found["html"], directory),
        "report.md": markdown(data, found["markdown"]),
        "cells.csv": cells_csv(data),
        "runs.csv": runs_csv(data),
    }
    with reporting(f"cannot write the report into {directory}"):
        make_directory(directory.absolute())
        publish(directory, {name: content.encode() for name, content in contents.items()})
    return ReportPaths(
        html=directory / "report.html",
        markdown=directory / "report.md",
        csv=directory / "cells.csv",
        runs_csv=directory / "runs.csv",
    )


def run_records(data: ReportData) -> list[dict[str, Any]]:
    """One row per run and metric, by column; `value` is in the metric's unit, None if it was not measured.

    `reasons` says why the run is invalid, or why this value of a valid run does not count.
    """
    rows = []
    for run in data.runs:
        place = {name: getattr(run.run, name) for name in ("order", "block", "session", "replicate")}
        factors = {_HEADS[name]: getattr(run.run.cell, name) for name in _FACTORS}
        spoiled = run.record.verdict.spoiled if run.record is not None else {}
        for metric in data.recorded_metrics:
            reasons = "; ".join(run.outcome.reasons) or spoiled.get(metric.name, "")
            of_run = {"run": run.run.id, **place, "state": run.state, "reasons": reasons, **factors}
            value = run.values.get(metric.name)
            rows.append({**of_run, "metric": metric.name, "unit": metric.unit, "value": value})
    return rows


def runs_csv(data: ReportData) -> str:
    """The rows of `run_records`. A missing measurement is an empty field."""
    heads = ["run", "order", "block", "session", "replicate", "state", "reasons", *_HEADS.values()]
    rows = run_records(data)
    return csv_text([[*heads, "metric", "unit", "value"], *(row.values() for row in rows)])


def cell_records(data: ReportData) -> list[dict[str, Any]]:
    """The rows of cells.csv by column. A missing value is None."""
    unneeded = Counter(run.run.cell for run in data.runs if not run.needed)
    return [dict(_columns(data, cell, unneeded[cell.cell])) for cell in data.compared.cells]


def cells_csv(data: ReportData) -> str:
    """One row per cell and metric: its summary, and its paired comparison with the baseline level."""
    lines = cell_records(data)
    heads = list(lines[0]) if lines else list(_HEADS.values())
    return csv_text([heads, *(list(line.values()) for line in lines)])


def _columns(data: ReportData, c: CellSummary, unneeded: int) -> Iterator[tuple[str, Any]]:
    """The columns of a cell's row and their values."""
    s, found = c.summary, data.expected.get((c.cell, c.metric))
    for name in _FACTORS:
        yield _HEADS[name], getattr(c.cell, name)
    yield from (("metric", c.metric), ("unit", METRICS[c.metric].unit))
    yield from (("n", s.n), ("mean", s.mean), ("sd", s.sd))
    yield from _interval("ci95_t", s.ci95_t)
    yield from _interval("ci95_bca", s.ci95_bca)
    yield "unstable", "; ".join(each.kind for each in c.instabilities)
    for reason in _LEFT_OUT:
        yield reason.replace(" ", "_"), c.left_out.get(reason, 0)
    yield "not_needed", unneeded
    yield from _paired(data.pairs.get((c.cell, c.metric)))
    yield "expected", found.value if found else None
    yield "measured_to_expected", found.measured_to_expected.ratio if found else None
    yield from _interval("measured_to_expected_ci95_t", found.measured_to_expected.ci95_t if found else None)


def _paired(pair: PairedRow | None) -> Iterator[tuple[str, Any]]:
    """The columns of a paired comparison and their values; without a comparison the values are None."""
    d, r = (pair.difference, pair.ratio) if pair else (None, None)
    effect, equal = (d.effect if d else None), (pair.equivalence if pair else None)
    yield from (
        ("baseline", pair.baseline.security if pair else None),
        ("pairs", d.n if d else None),
        ("unpaired", pair.unpaired if pair else None),
        ("difference", d.mean if d else None),
    )
    yield from _interval("difference_ci95_t", d.ci95_t if d else None)
    yield from _interval("difference_ci95_bca", d.ci95_bca if d else None)
    yield from (
        ("p", d.p if d else None),
        ("p_holm", pair.p_holm if pair else None),
        ("p_sign_flip", d.p_sign_flip if d else None),
        ("effect_size_dz", effect.dz if effect else None),
        ("effect_size_corrected", effect.corrected if effect else None),
    )
    yield from _interval("effect_size_ci95", effect.ci95 if effect else None)
    yield ("ratio", r.ratio if r else None)
    yield from _interval("ratio_ci95_t", r.ci95_t if r else None)
    yield from _interval("ratio_ci95_bca", r.ci95_bca if r else None)
    yield from (
        ("no_ratio_because", r.reason if r else None),
        ("equivalence_margin_percent", equal.margin_percent if equal else None),
        ("equivalence", equal.verdict if equal else None),
    )
    yield from _interval("ratio_ci90_t", equal.ci90 if equal else None)


def _interval(name: str, ci: Interval | None) -> Iterator[tuple[str, float | None]]:
    yield f"{name}_low", ci.low if ci else None
    yield f"{name}_high", ci.high if ci else None
