"""A result as OpenMetrics text, for Prometheus' textfile collector.

Every metric has four gauges: the mean, the two limits of its 95 % interval and the number of runs, with one label per
factor. Units are the base units of OpenMetrics 1.0: seconds, bits, bytes, ratios. The output has no time stamps and no
types that the older text format of Prometheus lacks, because the textfile collector accepts neither.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from airtoll.report.material.data import ReportData
from airtoll.stats import CellSummary, Metric
from airtoll.study.cell import Cell

_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "bit/s": ("bits_per_second", 1.0),
    "byte/s": ("bytes_per_second", 1.0),
    "ms": ("seconds", 1e-3),
    "%": ("ratio", 1e-2),
    "1": ("ratio", 1.0),
    "dB": ("decibels", 1.0),
    "dBm": ("decibel_milliwatts", 1.0),
}
"""Per unit of a metric: the base unit, and the factor that converts to it."""

_ROUND: Final = 12
"""Significant digits; more digits would only show rounding errors of the unit conversion."""

Labels = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Family:
    """One metric with its samples, in a base unit of OpenMetrics."""

    name: str  # ends with the unit, if there is one
    unit: str
    help: str
    samples: Sequence[tuple[Labels, float]]


def openmetrics(data: ReportData) -> str:
    """The complete text."""
    return "".join(line for family in families(data) for line in _lines(family)) + "# EOF\n"


def families(data: ReportData) -> Iterator[Family]:
    """All families, in the order of reports."""
    yield from _about(data)
    for metric in data.metrics:
        yield from _of_metric(data, metric)


def _about(data: ReportData) -> Iterator[Family]:
    of_result: Labels = (("study", data.study), ("lab", data.lab))
    about = (*of_result, ("airtoll", data.airtoll or ""), ("quick", "true" if data.quick else "false"))
    yield Family("airtoll_result_info", "", "The result of the other metrics.", [(about, 1.0)])
    created = data.created.timestamp()
    yield Family(
        "airtoll_result_created_seconds",
        "seconds",
        "Creation time of the result, since 1970.",
        [(of_result, created)],
    )
    states = ("valid", "invalid", "discarded", "not finished")
    counts = [
        ((*of_result, ("state", state)), float(sum(run.state == state for run in data.runs)))
        for state in states
    ]
    yield Family("airtoll_runs", "", "Planned runs and repeats of invalid runs, by state.", counts)
    reasons = [
        ((*of_result, ("reason", reason)), float(count))
        for reason, count in sorted(data.compared.reasons.items())
    ]
    if reasons:
        yield Family("airtoll_invalid_runs", "", "Invalid runs by reason; a run may have several.", reasons)


def _of_metric(data: ReportData, metric: Metric) -> Iterator[Family]:
    unit, scale = _UNITS[metric.unit]
    cells = [each for each in data.compared.cells if each.metric == metric.name and each.summary.n]
    name = f"airtoll_{metric.name}"

    def of(kind: str, what: str, value: Sequence[float | None]) -> Family:
        samples = [
            (_labels(data, each.cell), _rounded(one * scale))
            for each, one in zip(cells, value, strict=True)
            if one is not None
        ]
        return Family(f"{name}{kind}_{unit}", unit, f"{metric.title}: {what}.", samples)

    yield of("", f"{metric.definition}; mean of the runs", [each.summary.mean for each in cells])
    for kind, what, at in (("_ci95_low", "lower", "low"), ("_ci95_high", "upper", "high")):
        ends = [_end(each, at) for each in cells]
        if any(end is not None for end in ends):
            yield of(kind, f"{what} limit of the 95 % interval of the mean", ends)
    runs = [(_labels(data, each.cell), float(each.summary.n)) for each in cells]
    yield Family(f"{name}_runs", "", f"{metric.title}: number of counted runs.", runs)


def _end(cell: CellSummary, at: str) -> float | None:
    ci = cell.summary.ci95_t
    return None if ci is None else (ci.low if at == "low" else ci.high)


def _labels(data: ReportData, cell: Cell) -> Labels:
    """The study and all factors of a cell: packet_size in bytes, bandwidth in MHz, snr in dB."""
    return (("study", data.study), *((name, f"{getattr(cell, name)}") for name in Cell.model_fields))


def _rounded(value: float) -> float:
    return float(f"{value:.{_ROUND}g}")


def _lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} gauge\n"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}\n"
    yield f"# HELP {family.name} {_escaped(family.help)}\n"
    for labels, value in family.samples:
        pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels)
        yield f"{family.name}{{{pairs}}} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
