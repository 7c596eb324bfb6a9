"""Measure whether valid runs are true of the air: real time beside busy processes, compared with virtual time.

Each study runs once in virtual time and once in real time beside each number of busy processes (BUSY, by default
"0 1 2 4"). Two studies also run with `--clock auto`: kolahi-11ac takes ten minutes in virtual time on idle cores.
Results stay in results/validity, and the next time only what they lack is measured. Remove them to repeat all.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import tomli_w
from page import machine, publish
from runs import complete, perform, words_of

from airtoll.judge.figures import Figures
from airtoll.stats import PairedRow
from airtoll.store import Result, RunRecord
from airtoll.store.machine import LACKING_MOST, aggregates, lacking_share
from airtoll.study.cell import Cell

DIRECTORY: Final = Path("results/validity")
BUSY: Final = [int(number) for number in os.environ.get("BUSY", "0 1 2 4").split()]
BUSY_S: Final = 3600
"""A busy process ends after this time at the latest."""

METRICS: Final = ("throughput", "loss")
EARLIER: Final = {"kolahi-11ac": "38 of 72", "tepsic-11n": "63 of 140"}
"""Valid runs without other load before the machine's limits were measured, from the page of `make bench-studies`."""


def introduction() -> str:
    """The title, the machine and the meaning of the columns."""
    return (
        "# Validity of runs beside other load\n\n"
        "`make bench-validity WRITE=FILE` measures these tables.\n"
        f"{machine()}.\n\n"
        "Each study runs in real time beside processes that keep a core busy, and in virtual time, which other load\n"
        "cannot change. An invalid run is repeated; a run of the plan is valid if one of its attempts is.\n"
        "Cells are limited by the air if the air lacks data for at most "
        f"{100 * LACKING_MOST:g} % of the window in virtual time.\n"
        "A comparison with the baseline is resolved if its 95 % interval excludes no change. It agrees if the\n"
        "interval contains the change in virtual time. The largest error is that of resolved comparisons that do not\n"
        "agree, in percentage points. The quickstart and tepsic-11n have more repeats in virtual time, because\n"
        "their own leave changes of TCP's throughput unresolved. Before the machine's limits were measured, "
        + " and ".join(f"{valid} runs of {study}" for study, valid in EARLIER.items())
        + "\nwere valid without other load ([The papers' studies](studies.md))."
    )


def quickstart() -> str:
    """Compare the quickstart."""
    reference = _with_repeats("quickstart", "method", repeats=6)
    return _section("quickstart", reference=reference)


def kolahi_11ac() -> str:
    """Compare kolahi-11ac --quick."""
    return _section("kolahi-11ac", "--quick")


def tepsic_11n() -> str:
    """Compare tepsic-11n --quick."""
    reference = _with_repeats("tepsic-11n", "quick", repeats=10, least_repeats=10)
    return _section("tepsic-11n", "--quick", reference=reference)


def automatic() -> str:
    """The valid runs if airtoll selects the clock."""
    rows = ["| study | busy processes | clock | valid runs of the plan |", "|---|---:|---|---:|"]
    for study, *options in (("quickstart",), ("tepsic-11n", "--quick")):
        for number in BUSY:
            result = _beside(number, study, "auto", *options)
            rows.append(f"| {study} | {number} | {result.plan.clock} | {_valid(result.records())} |")
    return "## The clock that `--clock auto` selects\n\n" + "\n".join(rows)


def _with_repeats(study: str, table: str, **repeats: int) -> str:
    """A file of the study with more repeats, for virtual time: those of the study leave TCP's changes unresolved."""
    words = words_of(study)
    words[table] |= repeats
    path = DIRECTORY / f"{study}-reference.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tomli_w.dumps(words), encoding="utf-8")
    return str(path)


def _section(study: str, *options: str, reference: str | None = None) -> str:
    virtual = DIRECTORY / "virtual" / study
    _complete(reference or study, virtual, *options, "--clock", "virtual")
    expected = Figures.of(Result.open(virtual))
    air_limited = {record.run.cell for record in expected.records if _is_air_limited(record)}
    rows = [
        "| busy processes | valid runs of the plan | of cells limited by the air | valid attempts "
        "| resolved comparisons | agree | largest error |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for number in BUSY:
        rows.append(f"| {number} | {_row(_beside(number, study, 'real', *options), expected, air_limited)} |")
    return f"## {study}\n\n" + "\n".join(rows)


def _beside(number: int, study: str, clock: str, *options: str) -> Result:
    """The study by this clock beside this number of busy processes."""
    directory = DIRECTORY / f"{clock}-beside-{number}" / study
    with _busy(number):
        _complete(study, directory, *options, "--clock", clock)
    return Result.open(directory)


def _complete(study: str, directory: Path, *options: str) -> None:
    """Perform the runs that the directory lacks."""
    if (directory / "plan.json").exists():
        complete(str(directory), "--resume")
    else:
        perform(study, directory, *options)


def _row(result: Result, expected: Figures, air_limited: set[Cell]) -> str:
    records = result.records()
    attempts = f"{sum(record.verdict.valid for record in records)} of {len(records)}"
    counts = [
        _valid(records),
        _valid([record for record in records if record.run.cell in air_limited]),
        attempts,
    ]
    if not any(record.verdict.valid for record in records):
        return " | ".join([*counts, "0", "", ""])
    true_changes = {(row.cell, row.metric): _change(row) for row in expected.comparison.pairs}
    errors = list(_errors(Figures.of(result).comparison.pairs, true_changes))
    wrong = [error for error, agrees in errors if not agrees]
    agree = f"{len(errors) - len(wrong)} of {len(errors)}"
    return " | ".join([*counts, str(len(errors)), agree, f"{max(wrong):.1f}" if wrong else ""])


def _valid(records: Sequence[RunRecord]) -> str:
    """The number of the plan's runs with a valid attempt, of all."""
    planned = {record.run.order for record in records}
    return f"{len({record.run.order for record in records if record.verdict.valid})} of {len(planned)}"


def _errors(
    rows: tuple[PairedRow, ...], true_changes: Mapping[tuple[Cell, str], float | None]
) -> Iterator[tuple[float, bool]]:
    """The error of each resolved comparison in percentage points, and whether its interval contains the true change."""
    for row in rows:
        expected, found, interval = true_changes.get((row.cell, row.metric)), _change(row), _interval(row)
        if row.metric not in METRICS or None in (expected, found, interval):
            continue
        assert expected is not None
        assert found is not None
        assert interval is not None
        low, high = interval
        if not low <= 0 <= high:
            yield abs(found - expected), low <= expected <= high


def _change(row: PairedRow) -> float | None:
    """The change of a throughput in percent, or of a loss in percentage points."""
    if row.metric == "loss":
        return None if row.difference.mean is None else 100 * row.difference.mean
    return None if row.ratio.ratio is None else 100 * (row.ratio.ratio - 1)


def _interval(row: PairedRow) -> tuple[float, float] | None:
    interval = row.difference.ci95_t if row.metric == "loss" else row.ratio.ci95_t
    if interval is None:
        return None
    zero = 0.0 if row.metric == "loss" else 1.0
    return 100 * (interval.low - zero), 100 * (interval.high - zero)


def _is_air_limited(record: RunRecord) -> bool:
    limits = record.probes.get("throughput", {}).get("limits")
    if not isinstance(limits, dict):
        return False
    lacking = lacking_share(limits, aggregating=aggregates(record.link))
    return bool(limits["saturated"]) and lacking is not None and lacking <= LACKING_MOST


@contextmanager
def _busy(number: int) -> Iterator[None]:
    """Keep this number of cores busy."""
    loop = f"import time\nend = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < end: pass"
    with ExitStack() as running:
        for _ in range(number):
            process = running.enter_context(subprocess.Popen([sys.executable, "-c", loop]))
            running.callback(process.kill)
        yield


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [quickstart, kolahi_11ac, tepsic_11n, automatic])
