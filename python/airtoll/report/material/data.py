"""The data of a report: the runs of a result, and the figures that `airtoll.stats` computes from them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter

from airtoll.course import unneeded
from airtoll.documents import read_json
from airtoll.errors import UsageError
from airtoll.prediction import Case, Predictions
from airtoll.published import Publication, names, parse_figures, published
from airtoll.report.material import alike, text
from airtoll.stats import (
    METRICS,
    ByUnit,
    CellSummary,
    Comparison,
    Metric,
    Outcome,
    PairedRatio,
    PairedRow,
    RunNumber,
    by_unit,
    compare,
    fixed_factors,
    paired_ratios,
    per_run,
)
from airtoll.store import Result, RunRecord
from airtoll.store.layout import read_file
from airtoll.store.records import spoiled_metrics
from airtoll.study import shipped_studies
from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.factors import LATER_FACTORS
from airtoll.study.labs import IMPORTED, lab_entry
from airtoll.study.load import Figures
from airtoll.study.schema import is_figures_file
from airtoll.study.security import Security
from airtoll.study.toml import parse_toml


class _MediumAnswer(BaseModel):
    facts: dict[str, Any] = {}


_ANSWER: Final = TypeAdapter(_MediumAnswer)

RunState = Literal["valid", "invalid", "discarded", "not finished", "not needed"]


@dataclass(frozen=True)
class ReportRun:
    """One planned run, or a repeat of it, and, if it is finished, its record."""

    run: Run
    record: RunRecord | None
    values: Mapping[str, float]  # by metric, in the metric's unit
    files: tuple[str, ...] = ()  # stored files, relative to the result's directory
    needed: bool = True  # False: the stopping rule ended its cell before this run

    @property
    def outcome(self) -> Outcome:
        """The run as an input of `airtoll.stats`."""
        return Outcome.of(self.run, self.record)

    @property
    def state(self) -> RunState:
        """Whether the run is counted, or why not."""
        if not self.needed:
            return "not needed"
        left_out = self.outcome.left_out
        return "valid" if left_out is None or left_out == "not measured" else left_out

    @property
    def is_invalid(self) -> bool:
        """Whether the run is stored but not valid, whether discarded or not."""
        return self.record is not None and not self.record.verdict.valid

    def facts_of_medium(self, directory: Path) -> dict[str, dict[str, Any]]:
        """The facts that the medium derived from the run's scenario, by probe; empty unless the run was simulated.

        `directory` is that of the result. Raises AirtollError if a stored answer is damaged.
        """
        found = {}
        for file in self.files:
            folder, _, name = file.rpartition("/")
            if name == "answer.json":
                answer = read_json(_ANSWER, read_file(directory / file), str(directory / file))
                found[folder.rpartition("/")[2]] = answer.facts
        return found


@dataclass(frozen=True)
class Expected:
    """The model's prediction of one metric of a cell, in the metric's unit, and the ratio measured / predicted."""

    value: float
    measured_to_expected: PairedRatio


@dataclass(frozen=True, eq=False)
class ReportData:
    """All data of a report."""

    study: str
    lab: str
    quick: bool
    created: datetime
    airtoll: str | None
    plan: Plan
    study_text: str
    directory: Path
    runs: tuple[ReportRun, ...]
    damage: str | None = None  # stored files that are missing or were changed, if the reader checked them
    figures: Figures | None = None  # the stored file with the figures of a user's study

    @classmethod
    def of(cls, result: Result) -> "ReportData":
        """Read the result. Raises AirtollError if a file of it cannot be read."""
        head, plan = result.plan_record, result.plan
        values: dict[str, dict[str, float]] = defaultdict(dict)
        recorded = result.recorded()
        spoiled = spoiled_metrics(record for _, record in recorded if record is not None)
        for run_id, metric, value in per_run(result.samples(), spoiled):
            values[run_id][metric] = value
        passed_over = unneeded(result)
        return cls(
            study=plan.study,
            lab=head.lab,
            quick=head.quick,
            created=head.created,
            airtoll=head.airtoll,
            plan=plan,
            study_text=result.study_text,
            figures=result.figures(_named(result.study_text)),
            directory=result.directory,
            runs=tuple(
                ReportRun(
                    run,
                    record,
                    values.get(run.id, {}),
                    _files(result, run.id),
                    needed=run.id not in passed_over,
                )
                for run, record in recorded
            ),
        )

    @property
    def method(self) -> Method:
        """How each cell was measured."""
        return self.plan.method

    @property
    def title(self) -> str:
        """The study's title, or its name if the study file has no readable title."""
        title = self._study_keys.get("title")
        return title if isinstance(title, str) else self.study

    @cached_property
    def publication(self) -> Publication | None:
        """The publication that the study repeats; None if it names none.

        Results recorded before the keys `published` and `primary` existed contain a shipped study without them. A
        study that shares only its name with a shipped study repeats no publication. Raises UsageError if the stored
        figures of a user's study are invalid.
        """
        named = self._study_keys.get("published")
        for path in shipped_studies() if named is None else ():
            shipped = _toml(path.read_text(encoding="utf-8"))
            if _without_later_keys(shipped) == _without_later_keys(self._study_keys):
                named = shipped.get("published")
        if isinstance(named, str) and is_figures_file(named):
            return None if self.figures is None else parse_figures(self.figures)
        return published(named) if named in names() else None

    @cached_property
    def primary(self) -> Metric:
        """The metric whose changes begin the report.

        A study without the key `primary` has throughput, or a delay if every sender offers less than the link carries:
        throughput is then only the load.
        """
        named = self._study_keys.get("primary")
        if isinstance(named, str) and named in METRICS:
            return METRICS[named]
        limited = all(run.run.cell.offered != "max" for run in self.runs)
        delays = [metric for metric in self.metrics if metric.main and metric.display_unit == "ms"]
        return delays[0] if limited and delays else METRICS["throughput"]

    @property
    def is_simulated(self) -> bool:
        """Whether the lab has traffic models in virtual time instead of hosts."""
        return not lab_entry(self.lab).has_hosts

    @property
    def is_imported(self) -> bool:
        """Whether other tools recorded the runs."""
        return self.lab == IMPORTED

    @property
    def obtained(self) -> str:
        """How the values were obtained: "measured", or "simulated" in lab sim."""
        return "simulated" if self.is_simulated else "measured"

    @cached_property
    def _study_keys(self) -> Mapping[str, Any]:
        return _toml(self.study_text)

    @cached_property
    def values(self) -> tuple[RunNumber, ...]:
        """The numbers of all runs."""
        return tuple(
            RunNumber(run.run.id, metric, value) for run in self.runs for metric, value in run.values.items()
        )

    @cached_property
    def duplicates(self) -> Mapping[Cell, Cell]:
        """The cells that lab sim cannot tell apart from an earlier cell, with that cell.

        A security level that only some flows cannot distinguish remains a level of its own.
        """
        found = self._first_alike
        distinct = {cell.cell.security for cell in self.compared.cells if cell.cell not in found}
        return {
            cell: first
            for cell, first in found.items()
            if cell.security == first.security or cell.security not in distinct
        }

    @cached_property
    def _first_alike(self) -> Mapping[Cell, Cell]:
        """The cells whose scenario lab sim had in an earlier cell, with that cell."""
        return alike.first_of_each(self._simulated()) if self.is_simulated else {}

    def identical(self, a: Cell, b: Cell) -> bool:
        """Whether lab sim had the same scenario in both cells, so that none of its runs can tell them apart.

        Stations of other labs join a network as each level demands.
        """
        return self._first_alike.get(a, a) == self._first_alike.get(b, b)

    def _simulated(self) -> Iterator[alike.Simulated]:
        """The scenarios that the medium had, in the order of cells; a cell without a recorded scenario is missing."""
        of_cell = {run.run.cell: run for run in reversed(self.counting)}
        for cell in dict.fromkeys(cell.cell for cell in self.compared.cells):
            run = of_cell.get(cell)
            scenario = run.record.link.get("scenario") if run is not None and run.record is not None else None
            if run is not None and isinstance(scenario, dict):
                yield alike.Simulated(cell, scenario, run.facts_of_medium(self.directory))

    @cached_property
    def comparison(self) -> Comparison:
        """The figures to show: those of `compared`, with each experiment once."""
        compared, hidden = self.compared, self.duplicates
        if not hidden:
            return compared
        shown = {cell.cell.security for cell in compared.cells if cell.cell not in hidden}
        return replace(
            compared,
            levels=tuple(level for level in compared.levels if level in shown),
            cells=tuple(cell for cell in compared.cells if cell.cell not in hidden),
            pairs=tuple(pair for pair in compared.pairs if pair.cell not in hidden),
        )

    def same_as(self, level: Security) -> tuple[Security, ...]:
        """The security level, followed by the levels that lab sim cannot tell apart from it."""
        others = (cell.security for cell, first in self.duplicates.items() if first.security == level)
        return tuple(dict.fromkeys((level, *others)))

    @cached_property
    def compared(self) -> Comparison:
        """The figures of all cells and pairs, without the runs that were not needed."""
        method = self.method
        return compare(
            self.values,
            [run.outcome for run in self.runs if run.needed],
            profiles=self.plan.profiles,
            precision_percent=method.within if method.stop == "precision" else None,
        )

    @cached_property
    def summaries(self) -> Mapping[tuple[Cell, str], CellSummary]:
        """The figures of each cell, by cell and metric."""
        return {(cell.cell, cell.metric): cell for cell in self.compared.cells}

    @cached_property
    def pairs(self) -> Mapping[tuple[Cell, str], PairedRow]:
        """The comparison of each cell with its cell at the baseline level, by cell and metric."""
        return {(pair.cell, pair.metric): pair for pair in self.compared.pairs}

    def means(self, metric: str) -> dict[Cell, float]:
        """The mean of each cell that has a mean, in the metric's unit."""
        return {
            cell.cell: cell.summary.mean
            for cell in self.comparison.cells
            if cell.metric == metric and cell.summary.mean is not None
        }

    @cached_property
    def by_round(self) -> ByUnit:
        """The values of the counted runs, by metric, cell and round, each in the metric's unit."""
        return by_unit(self.values, (run.run for run in self.counting), lambda run: run.round)

    @property
    def in_sessions(self) -> bool:
        """Whether the access point is switched by session. The unit of replication is then the session, not the run."""
        return self.method.switching == "session"

    @property
    def units(self) -> str:
        """The units of replication in words, over which means and intervals are computed."""
        return "sessions" if self.in_sessions else "runs"

    @cached_property
    def counts(self) -> Mapping[RunState, int]:
        """Runs by their state."""
        return Counter(run.state for run in self.runs)

    @cached_property
    def counting(self) -> tuple[ReportRun, ...]:
        """The runs that are counted: all figures are computed from them."""
        return tuple(run for run in self.runs if run.state == "valid")

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that at least one counted run has, in the order of reports."""
        return tuple(METRICS[name] for name in self.comparison.metrics)

    @cached_property
    def ranked_metrics(self) -> tuple[Metric, ...]:
        """The metrics with the primary metric first, for figures and overviews."""
        return tuple(sorted(self.metrics, key=lambda metric: metric != self.primary))

    @cached_property
    def recorded_metrics(self) -> tuple[Metric, ...]:
        """The metrics that any run has, counted or not."""
        return tuple(
            metric for name, metric in METRICS.items() if any(name in run.values for run in self.runs)
        )

    @cached_property
    def fixed(self) -> dict[str, str]:
        """The factors that are equal in all runs, as text; `LATER_FACTORS` only if not at their default."""
        levels = fixed_factors(run.run.cell for run in self.runs)
        usual = {name for name, default in LATER_FACTORS.items() if levels.get(name) == default}
        return {name: text.factor(name, value) for name, value in levels.items() if name not in usual}

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The factors that vary, except security and the factors that name a flow."""
        fixed = fixed_factors(run.run.cell for run in self.runs)
        named = {*text.IN_FLOW, "security", *fixed}
        return tuple(name for name in Cell.model_fields if name not in named) if self.runs else ()

    @cached_property
    def model(self) -> Predictions:
        """Predictions of the study's cells by the medium in virtual time."""
        return Predictions.of(self.plan)

    @cached_property
    def cases(self) -> Mapping[Cell, Case]:
        """The cells of the counted runs, as cases to predict; none if the lab is `sim`.

        Imported cells are predicted only with a publication, whose study declares the link.
        """
        if self.is_simulated or (self.is_imported and self.publication is None):
            return {}
        return {
            run.run.cell: self.model.case(run.run.cell, _load_mbps(run))
            for run in reversed(self.counting)
            if not run.run.cell.unknown
        }

    @cached_property
    def expected(self) -> Mapping[tuple[Cell, str], Expected]:
        """The model's predictions by cell and metric, for metrics that are both predicted and measured."""
        predicted = self.model.all(self.cases.values())
        pairs: dict[tuple[Cell, str], tuple[list[float], list[float]]] = {}
        for cell, case in self.cases.items():
            values = predicted[case].values
            for metric in METRICS:
                measured = list(self.by_round.get(metric, {}).get(cell, {}).values())
                if metric in values and measured:
                    pairs[cell, metric] = [values[metric]] * len(measured), measured
        return {
            key: Expected(expected[0], ratio)
            for (key, (expected, _)), ratio in zip(
                pairs.items(), paired_ratios(list(pairs.values())), strict=True
            )
        }

    def is_saturated(self, row: PairedRow) -> bool:
        """Whether the throughput is the capacity of the link; at a lower load it is only the load."""
        limited = row.cell.transport == "udp" and (
            row.cell.offered != "max" or self.method.udp_load != "overload"
        )
        return row.metric != "throughput" or not limited

    def flow(self, cell: Cell) -> str:
        """A cell without its security, as text."""
        return text.flow(cell, self.varying)

    def short_flow(self, cell: Cell) -> str:
        """A cell without its security, by the factors that vary, for chart labels."""
        naming = [name for name in text.IN_FLOW if name not in self.fixed]
        return text.flow(cell, self.varying, naming) or text.flow(cell)


def _toml(text: str) -> Mapping[str, Any]:
    """The keys of a study's text; none if it is invalid."""
    try:
        return parse_toml(text, "study.toml", "a study file")
    except UsageError:
        return {}


def _named(study_text: str) -> str:
    """The value of the key `published` of a study's text; empty without a valid one."""
    named = _toml(study_text).get("published")
    return named if isinstance(named, str) else ""


def _without_later_keys(study: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study that the first results with a publication already had."""
    return {key: value for key, value in study.items() if key not in ("published", "primary")}


def _load_mbps(run: ReportRun) -> float | None:
    """The UDP payload rate that each sender offered, if it is recorded and the cell does not fix it."""
    facts = run.record.probes.get("throughput", {}) if run.record else {}
    offered = facts.get("offered_bit_per_s")
    return offered / 1e6 if isinstance(offered, int | float) and run.run.cell.offered == "max" else None


def _files(result: Result, run_id: str) -> tuple[str, ...]:
    directory = result.run_directory(run_id)
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return tuple(path.relative_to(result.directory).as_posix() for path in files)
