"""The method, the environment and the verdicts of the runs."""

from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from airtoll.report.material import facts
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Drawn, Lines, Part, Section
from airtoll.report.parts import sentences


def _method(data: ReportData) -> Iterator[Section]:
    yield Section("method", "", (Lines(tuple(sentences.method(data))),))
    if metrics := data.recorded_metrics:
        named = Markup("<b>{0.title}</b>, {0.display_unit}: {0.definition}.")
        lines = Lines(tuple(named.format(metric) for metric in metrics))
        yield Section("method", "How the samples of a run become one value", (lines,))


def _method_as_list(data: ReportData) -> Iterator[Section]:
    definitions = (f"{metric.title}: {metric.definition}." for metric in data.recorded_metrics)
    yield Section("method", "Method", (Lines((*sentences.method(data), *definitions)),))


def _environment(data: ReportData) -> Iterator[Section]:
    found = facts.environment(data)
    note = (
        "Facts that all finished runs share. Facts that differ between runs are listed with each run below."
    )
    if not found.shared:
        yield Section("environment", "", ("No run is finished, so no environment is recorded.",))
    else:
        yield Section("environment", "", (note, Drawn("facts", {"found": found})))


def _environment_as_tables(data: ReportData) -> Iterator[Section]:
    shared = facts.environment(data).shared
    grids = (Grid("", title, "", ("Fact", "Value"), tuple(of.items())) for title, of in shared.items() if of)
    yield Section("environment", "Environment", tuple(grids))


def _verdicts(data: ReportData) -> Iterator[Section]:
    invalid = [run for run in data.runs if run.is_invalid]
    finished = bool(facts.environment(data).shared)
    drawn = Drawn("verdicts", {"invalid": invalid, "finished": finished})
    yield Section("verdicts", "", (sentences.run_counts(data), drawn))


def _verdicts_as_list(data: ReportData) -> Iterator[Section]:
    yield Section("verdicts", "Verdicts", (Lines(tuple(sentences.verdicts(data))),))


SECTIONS: Final = (
    Part(80, _method, ("html",)),
    Part(80, _method_as_list, ("markdown",)),
    Part(82, _environment, ("html",)),
    Part(82, _environment_as_tables, ("markdown",)),
    Part(84, _verdicts, ("html",)),
    Part(84, _verdicts_as_list, ("markdown",)),
)
