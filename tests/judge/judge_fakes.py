"""Synthetic results with given numbers, written by the real store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from airtoll.judge import Figures
from airtoll.probes.base import Sample
from airtoll.store import FinishedRun, Result, RunRecord, Verdict, Versions
from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.claims import ClaimTable

UNITS = {
    "throughput": "bit/s",
    "rtt": "ms",
    "jitter": "ms",
    "loss": "1",
    "cpu_system": "%",
    "rtt_loaded": "ms",
}
ENDS = {"throughput": ("ap", "up")}

Values = Mapping[str, Sequence[float]]
"""Values of the replicates by metric."""


def noisy(mean: float, spread: float, n: int, seed: int = 1) -> list[float]:
    """Values with exactly this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return [float(mean + spread * value) for value in values]


def store(
    directory: Path,
    cells: Iterable[tuple[Cell, Values]],
    *,
    invalid: Callable[[Run], bool] = lambda _: False,
    finished: Callable[[Run], bool] = lambda _: True,
    hosts: Mapping[str, Any] | None = None,
    tools: Mapping[str, str] | None = None,
    claims: Iterable[Mapping[str, Any]] = (),
    **method: Any,
) -> Path:
    """A result with these values and tables of claims; the nth replicate of every cell is in block n."""
    cells = list(cells)
    settings = {"repeats": 9, "discard_first": 0, "duration": 1.0, "warmup": 0.0, "seed": 1, **method}
    runs: list[Run] = []
    samples: list[list[Sample]] = []
    blocks: dict[tuple[Cell, int], int] = {}
    for cell, values in cells:
        for replicate in range(max(len(each) for each in values.values())):
            flow = cell.model_copy(update={"security": "open"})
            block = blocks.setdefault((flow, replicate), len(blocks) + 1)
            runs.append(
                Run(
                    order=len(runs) + 1,
                    block=block,
                    replicate=replicate + 1,
                    discard=False,
                    seed=0,
                    cell=cell,
                )
            )
            samples.append(
                [
                    Sample(
                        "fake",
                        metric,
                        UNITS[metric],
                        *ENDS.get(metric, ("sta", "")),
                        0,
                        10**9,
                        each[replicate],
                    )
                    for metric, each in values.items()
                    if replicate < len(each)
                ]
            )
    tables = tuple(ClaimTable.model_validate(each) for each in claims)
    plan = Plan(study="fake", method=Method(**settings), runs=tuple(runs), claims=tables)
    lab = cells[0][0].lab
    with Result.create(directory, 'title = "Fake"\n', plan, lab, quick=False) as result:
        result.write_all(
            [
                FinishedRun(_record(run, invalid(run), hosts or {}, tools or {}), of_run, {})
                for run, of_run in zip(runs, samples, strict=True)
                if finished(run)
            ]
        )
    return directory


def figures(directory: Path) -> Figures:
    return Figures.of(Result.open(directory))


def _record(run: Run, invalid: bool, hosts: Mapping[str, Any], tools: Mapping[str, str]) -> RunRecord:
    now = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    return RunRecord(
        run=run,
        started=now,
        finished=now,
        versions=Versions(airtoll="1.0", python="3.11.2", tools=dict(tools)),
        hosts={"sta": dict(hosts)} if hosts else {},
        link={},
        counters={},
        probes={},
        verdict=Verdict(valid=not invalid, reasons=("zero interval: none",) if invalid else ()),
    )
