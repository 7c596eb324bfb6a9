"""Importers: measurements that iperf3, irtt and flent recorded elsewhere, as runs of an ordinary result directory.

- `files`: reads a file, unpacks it within a size limit, parses it as JSON.
- `reading`: the result of an importer: `Reading`. `iperf3`, `irtt`, `flent`: the importers.
- `cells`: the cell of a file, from the file's own levels and the levels that its owner gives.
- here: turns all files into a plan, and each file into a run with samples, verdict and the file itself in raw/.

Files are read twice, once to plan and once to store, so that at most one of them is in memory.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import tomli_w

from airtoll.errors import AirtollError, UsageError
from airtoll.store.importers import flent, iperf3, irtt
from airtoll.store.importers.cells import LAB, Given, cell_of, given_level, read_table, swapped, unsaid
from airtoll.store.importers.files import Document, read_document
from airtoll.store.importers.reading import Reading
from airtoll.store.records import RunRecord, Versions, as_facts
from airtoll.store.result import FinishedRun, Result
from airtoll.store.verdict import verdict_of
from airtoll.study.cell import Cell, Method, Plan, ProbeName, Run

MOST_FILES: Final = 9999
"""A run's name has four digits for its position in the plan."""

_STUDY_NOTE: Final = (
    "# Created by airtoll import: other tools made the measurements, so there is no study to run.\n"
)


@dataclass(frozen=True)
class Planned:
    """A file whose cell is known. Its measurements are read again when the run is stored."""

    given: Given
    cell: Cell
    reading: Reading  # without its measurements
    sha256: str
    said: Mapping[str, Any]


def import_files(
    files: Sequence[Given], directory: Path, title: str, *, shared_clocks: bool = False
) -> list[RunRecord]:
    """Create a result directory with one run per file, in the order in which the files were recorded.

    Raises UsageError, before anything is written, for an unsupported or incomplete file, for an unknown cell, and for
    files of one cell that are not replicates of each other. Raises AirtollError if the result cannot be written. Set
    `shared_clocks` if both hosts read the same clock, so that irtt's one-way delays are valid.
    """
    if not files:
        raise UsageError("no files to import")
    if len(files) > MOST_FILES:
        raise UsageError(f"{len(files)} files are too many: a result has at most {MOST_FILES}")
    planned = sorted((_plan(each, shared_clocks) for each in files), key=lambda each: each.reading.started)
    _refuse_twins(planned)
    plan = Plan(study=_name(directory), method=_method(planned), runs=tuple(_runs(planned)))
    study = _STUDY_NOTE + tomli_w.dumps({"title": title, "lab": LAB})
    records = []
    with Result.create(directory, study, plan, LAB, quick=False) as result:
        for run, each in zip(plan.runs, planned, strict=True):
            finished = _finished(run, each, plan.method, shared_clocks)
            result.write_all([finished])
            records.append(finished.record)
    return records


def _plan(given: Given, shared_clocks: bool) -> Planned:
    document, reading = _read(given, shared_clocks)
    cell = cell_of(reading.levels, given.levels, document.name)
    digest = hashlib.sha256(document.content).hexdigest()
    return Planned(given, cell, replace(reading, measurements={}), digest, reading.levels)


def _read(given: Given, shared_clocks: bool) -> tuple[Document, Reading]:
    document = read_document(given.path)
    if irtt.is_irtt(document.json):
        return document, irtt.read(document, shared_clocks=shared_clocks)
    reader = next((each for test, each in _READERS if test(document.json)), None)
    if reader is None:
        raise UsageError(f"{document.name}: is not an iperf3 or irtt report or a flent data file")
    reading = reader(document, "sta")
    if swapped(reading.levels, given.levels):
        reading = reader(document, "ap")
    return document, reading


_READERS: Final = ((iperf3.is_iperf3, iperf3.read), (flent.is_flent, flent.read))


def _refuse_twins(planned: Sequence[Planned]) -> None:
    """Refuse two files of the same test, and files of one cell whose settings differ."""
    tests: dict[str, Planned] = {}
    alike: dict[tuple[Cell, str], Planned] = {}
    for each in planned:
        for identity in (each.sha256, each.reading.identity):
            if identity is not None and (twin := tests.setdefault(identity, each)) is not each:
                raise UsageError(
                    f"{each.given.path} and {twin.given.path} report the same test: import only one of them"
                )
        first = alike.setdefault((each.cell, each.reading.tool), each)
        for name, value in each.reading.settings.items():
            if first.reading.settings.get(name) != value:
                raise UsageError(
                    f"{each.given.path} and {first.given.path} have the same cell, but {name} is {value} and "
                    f"{first.reading.settings.get(name)}: import them into two results"
                )


def _method(planned: Sequence[Planned]) -> Method:
    replicates = Counter((each.cell, each.reading.tool) for each in planned)
    probes: dict[ProbeName, None] = {}
    for each in planned:
        probes |= dict.fromkeys(each.reading.probes)
    return Method(
        repeats=max(replicates.values()),
        discard_first=0,
        duration=min(each.reading.duration_s for each in planned),
        warmup=0.0,
        seed=0,
        probes=tuple(probes),
    )


def _runs(planned: Sequence[Planned]) -> Iterator[Run]:
    """The runs: the first file of each security level of an otherwise equal cell is in the first block, and so on."""
    replicates: Counter[tuple[Cell, str]] = Counter()
    blocks: dict[tuple[Cell, str, int], int] = {}
    levels: dict[int, set[str]] = defaultdict(set)
    for order, each in enumerate(planned, start=1):
        tool = each.reading.tool
        replicates[each.cell, tool] += 1
        replicate = replicates[each.cell, tool]
        own = each.given.block
        flow = each.cell.model_copy(update={"security": "open"})
        block = blocks.setdefault((flow, tool, replicate if own is None else own), len(blocks) + 1)
        if each.cell.security in levels[block]:
            raise UsageError(
                f"{each.given.path}: block {own} has another file with security {each.cell.security}"
            )
        levels[block].add(each.cell.security)
        yield Run(order=order, block=block, replicate=replicate, discard=False, seed=0, cell=each.cell)


def _finished(run: Run, each: Planned, method: Method, shared_clocks: bool) -> FinishedRun:
    document, reading = _read(each.given, shared_clocks)
    if hashlib.sha256(document.content).hexdigest() != each.sha256:
        raise AirtollError(f"{document.name}: has changed during the import")
    link = {
        "imported": True,
        "file": each.given.path.name,
        "sha256": each.sha256,
        "levels_by_file": sorted(each.said),
        "levels_by_owner": sorted(each.given.levels),
        "levels_unsaid": unsaid(each.said, each.given.levels),
    }
    of_run = method.model_copy(update={"duration": reading.duration_s})
    facts = {name: as_facts(m.facts, f"{document.name}: {name}") for name, m in reading.measurements.items()}
    tools = {name: version for name, of in facts.items() if isinstance(version := of.get("version"), str)}
    record = RunRecord(
        run=run,
        started=reading.started,
        finished=reading.started + timedelta(seconds=reading.duration_s),
        versions=Versions.current(tools),
        hosts={role: as_facts(host, document.name) for role, host in reading.hosts.items()},
        link=as_facts(link, document.name),
        counters={},
        probes=facts,
        verdict=verdict_of(run, of_run, reading.measurements, {}, {}),
    )
    samples = [sample for m in reading.measurements.values() for sample in m.samples]
    return FinishedRun(record, samples, {_raw_name(each.given.path): document.content})


def _raw_name(path: Path) -> str:
    """The file's name with only the characters that names in raw/ may have."""
    return re.sub(r"[^A-Za-z0-9_.,=+-]+", "_", path.name).lstrip(".,=+-")[-200:].lstrip(".,=+-") or "file"


def _name(directory: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", directory.absolute().name).strip(".-") or LAB


__all__ = ["LAB", "Given", "given_level", "import_files", "read_table"]
