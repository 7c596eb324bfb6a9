"""Markdown and CSV, and the writing of all files of a report."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airtoll.report import facts, rows, sentences
from airtoll.report.data import ReportData
from airtoll.stats import METRICS, Interval
from airtoll.store import Result
from airtoll.store.durable import make_directory, publish, reporting
from airtoll.study.cell import Cell

_FACTORS = tuple(Cell.model_fields)
_UNITS = {"packet_size": "packet_size_byte", "bandwidth": "bandwidth_mhz"}
_LEFT_OUT = ("discarded", "not finished", "invalid", "not measured")


@dataclass(frozen=True)
class ReportPaths:
    """Where the parts of a report are."""

    html: Path
    markdown: Path
    csv: Path  # cells.csv: one row a cell and metric
    runs_csv: Path  # one row a run and metric


def write_report(result: Result, directory: Path) -> ReportPaths:
    """Write report.html, report.md, cells.csv and runs.csv into the directory, each as a whole or not at all.

    Raises AirtollError if the result cannot be read or a file cannot be written.
    """
    from airtoll.report.page import html

    data = ReportData.of(result)
    contents = {
        "report.html": html(data, directory),
        "report.md": markdown(data),
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


def runs_csv(data: ReportData) -> str:
    """One row per run and metric, in the metric's unit. What was not measured is empty."""
    heads = [_UNITS.get(name, name) for name in _FACTORS]
    lines: list[list[Any]] = [
        ["run", "order", "block", "replicate", "state", "reasons", *heads, "metric", "unit", "value"]
    ]
    for run in data.runs:
        reasons = "; ".join(run.outcome.reasons)
        who = [run.run.id, run.run.order, run.run.block, run.run.replicate, run.state, reasons]
        factors = [getattr(run.run.cell, name) for name in _FACTORS]
        lines += [
            [*who, *factors, metric.name, metric.unit, run.values.get(metric.name)]
            for metric in data.recorded_metrics
        ]
    return _csv(lines)


def cells_csv(data: ReportData) -> str:
    """One row per cell and metric: its summary, and its paired comparison with the baseline level."""
    comparison = data.comparison
    pairs = {(p.cell, p.metric): p for p in comparison.pairs}
    heads = [_UNITS.get(name, name) for name in _FACTORS]
    lines: list[list[Any]] = [
        [*heads, "metric", "unit", "n", "mean", "sd"]
        + _ends("ci95_t")
        + _ends("ci95_bca")
        + [name.replace(" ", "_") for name in _LEFT_OUT]
        + ["baseline", "pairs", "unpaired", "difference"]
        + _ends("difference_ci95_t")
        + _ends("difference_ci95_bca")
        + ["effect_size_dz", "ratio"]
        + _ends("ratio_ci95_t")
        + _ends("ratio_ci95_bca")
        + ["no_ratio_because", "expected", "measured_to_expected"]
        + _ends("measured_to_expected_ci95_t")
    ]
    for c in comparison.cells:
        s, pair = c.summary, pairs.get((c.cell, c.metric))
        line = [getattr(c.cell, name) for name in _FACTORS]
        line += [c.metric, METRICS[c.metric].unit, s.n, s.mean, s.sd, *_both(s.ci95_t), *_both(s.ci95_bca)]
        line += [c.left_out.get(reason, 0) for reason in _LEFT_OUT]  # type: ignore[call-overload]
        if pair is None:
            line += [None] * 15
        else:
            d, r = pair.difference, pair.ratio
            line += [pair.baseline.security, d.n, pair.unpaired, d.mean, *_both(d.ci95_t), *_both(d.ci95_bca)]
            line += [d.effect_size, r.ratio, *_both(r.ci95_t), *_both(r.ci95_bca), r.reason]
        found = data.expected.get((c.cell, c.metric))
        if found:
            measured = found.measured_to_expected
            line += [found.value, measured.ratio, *_both(measured.ci95_t)]
        else:
            line += [None] * 4
        lines.append(line)
    return _csv(lines)


def markdown(data: ReportData) -> str:
    """The same as the page, for a text editor or a wiki: without charts and the facts of every run."""
    found = sentences.find(data)
    table = rows.build(data)
    method = data.method
    parts = [f"# {_md(data.title)}", "", f"**{_md(found.headline)}**", ""]
    parts += [f"- {_md(sentence)}" for sentence in found.others]
    parts += [f"- {_md(f'{r.what}: {r.change} {r.flows}')}" for r in found.reaches]
    parts += ["", _md(f"{sentences.subject(data)} {sentences.run_counts(data)}"), ""]
    if table.rows:
        columns, cells = table.full()
        parts += ["## Comparison", "", *_md_table(columns, cells), ""]
        parts += [_md(sentences.table_note(data)), ""]
    parts += ["## Method", ""]
    parts += [f"- {_md(sentence)}" for sentence in sentences.method(data)]
    parts += [f"- {m.title}: {m.definition}." for m in data.recorded_metrics]
    parts += ["", "## Environment", ""]
    environment = facts.environment(data)
    for title, shared in environment.shared.items():
        parts += (
            [f"### {_md(title)}", "", *_md_table(("Fact", "Value"), shared.items()), ""] if shared else []
        )
    parts += ["## Verdicts", "", *(f"- {_md(line)}" for line in sentences.verdicts(data)), ""]
    parts += [
        "## Reproduce",
        "",
        f"Study file, plan and every run are in the result directory. `airtoll verify DIR` checks it; "
        f"seed {method.seed} gives the same plan again.",
    ]
    return "\n".join(parts) + "\n"


def _csv(lines: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def _ends(name: str) -> list[str]:
    return [f"{name}_low", f"{name}_high"]


def _both(ci: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if ci is None else (ci.low, ci.high)


def _md(words: str) -> str:
    """Words that come from files, so that no part of them is taken for Markdown or HTML."""
    plain = " ".join(words.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", plain)


def _md_table(columns: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *cells]
    heads, rule, *body = lines
    return [
        f"| {' | '.join(_md(head) for head in heads)} |",
        f"| {' | '.join(rule)} |",
        *(f"| {' | '.join(_md(cell) for cell in line)} |" for line in body),
    ]
