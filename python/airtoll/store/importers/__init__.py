"""Importers: measurements that other tools recorded, as runs of an ordinary result directory.

- `files`: reads a file and unpacks it within a size limit, as JSON or as lines of text.
- `reading`: the shape of all importers. A `Format` recognises a document and reads it into one `Reading` per test.
- `iperf3`, `iperf3_text`, `irtt`, `irtt_text`, `flent`, `iperf2`, `netperf`, `ping`, `wireshark`: the formats.
- `formats`: lists them, and recognises outputs of the same tools that are not read.
- `cells`: the cell of a test, from the file's own levels, the levels that its owner gives, and those of a study.
- here: turns all tests into a plan, and each test into a run with samples, verdict and the file itself in raw/.

Files are read twice, once to plan and once to store, so that at most one of them is in memory.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import tomli_w

from airtoll.errors import AirtollError, UsageError
from airtoll.store.importers.cells import (
    Given,
    Told,
    given_level,
    levels_in_name,
    read_table,
    single_levels,
    swapped,
)
from airtoll.store.importers.files import MOST_RUNS, File, read_file
from airtoll.store.importers.formats import FORMATS, format_of, tool_of
from airtoll.store.importers.plausible import contradictions, too_fast
from airtoll.store.importers.reading import Asked, Reading
from airtoll.store.records import RunRecord, Verdict, Versions, as_facts
from airtoll.store.result import FinishedRun, Result
from airtoll.store.verdict import verdict_of
from airtoll.study.cell import Cell, Method, Plan, ProbeName, Run
from airtoll.study.labs import IMPORTED
from airtoll.study.load import Study

_ALIKE: Final = 1.25
"""Ratio of the durations of two replicates above which they are two experiments. A tool may end late."""

_LONGEST_S: Final = 1e6
_LAST_YEAR: Final = 3000

_OTHER_END: Final = {"client": "server", "server": "client", None: None}

_STUDY_NOTE: Final = (
    "# Created by airtoll import: other tools made the measurements, so there is no study to run.\n"
)


@dataclass(frozen=True)
class Planned:
    """A test whose cell is known. Its measurements are read again when the run is stored."""

    given: Given
    at: int  # position of the test in its file, from 0
    tests: int  # in the file
    told: Told
    cell: Cell
    reading: Reading  # without its measurements
    modified: datetime  # of the file, UTC
    sha256: str

    @property
    def name(self) -> str:
        """The file, and the test if there are several, for messages."""
        return f"{self.given.path}" + (f", test {self.at + 1}" if self.tests > 1 else "")

    @property
    def started(self) -> datetime:
        """UTC; the modification of the file if the file does not contain a time."""
        return self.reading.started or self.modified

    @property
    def kind(self) -> tuple[Cell, str]:
        """Equal for replicates."""
        return self.cell, self.reading.tool


def import_files(
    files: Sequence[Given],
    directory: Path,
    title: str,
    *,
    study: Study | None = None,
    discard_first: int = 0,
    shared_clocks: bool = False,
) -> list[RunRecord]:
    """Create a result directory with one run per test, in the order in which the tests were recorded.

    If a file does not contain its time, the order is that of the files. The first `discard_first` tests of each cell
    are stored and excluded from all statistics. The result of a published `study` has its publication, claims, link and
    stacks; a factor with one level in the study has that level unless file or owner say otherwise. Set `shared_clocks`
    if both hosts read the same clock, so that irtt's one-way delays are valid.

    Raises UsageError, before anything is written, for an unsupported or incomplete file, for an unknown cell, and for
    tests of one cell that are not replicates of each other. Raises AirtollError if the result cannot be written.
    """
    if not files:
        raise UsageError("no files to import")
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty: give another --out")
    usual = {} if study is None else single_levels(study)
    planned = [test for given in files for test in _plan(given, usual, shared_clocks=shared_clocks)]
    if len(planned) > MOST_RUNS:
        raise UsageError(f"{len(planned)} tests are too many: a result has at most {MOST_RUNS}")
    if all(test.reading.started for test in planned):
        planned.sort(key=lambda test: test.started)
    _refuse_twins(planned)
    discarded = _discarded(planned, discard_first)
    head: dict[str, Any] = {"title": title, "lab": IMPORTED}
    plan = Plan(
        study=_name(directory), method=_method(planned, discarded), runs=tuple(_runs(planned, discarded))
    )
    if study is not None:
        plan = plan.model_copy(update={"link": study.link, "stacks": study.stack, "claims": study.claim})
        head["published"] = study.published
    records = []
    last: tuple[Given, File, Sequence[Reading]] | None = None
    text = _STUDY_NOTE + tomli_w.dumps(head)
    figures = None if study is None else study.figures
    with Result.create(directory, text, plan, IMPORTED, quick=False, figures=figures) as result:
        for run, test in zip(plan.runs, planned, strict=True):
            if last is None or last[0] is not test.given:
                last = (test.given, *_read(test.given, shared_clocks=shared_clocks))
            _, file, readings = last
            if hashlib.sha256(file.content).hexdigest() != test.sha256:
                raise AirtollError(f"{file.name}: has changed during the import")
            finished = _finished(run, test, file, readings[test.at], plan.method)
            result.write_all([finished])
            records.append(finished.record)
    return records


def _plan(given: Given, usual: Mapping[str, Any], *, shared_clocks: bool) -> Iterator[Planned]:
    file, readings = _read(given, shared_clocks=shared_clocks)
    digest = hashlib.sha256(file.content).hexdigest()
    for at, reading in enumerate(readings):
        name = file.name + (f", test {at + 1}" if len(readings) > 1 else "")
        told = Told(reading.levels, given.levels, usual, levels_in_name(given.path))
        brief = replace(reading, measurements={})
        yield Planned(given, at, len(readings), told, told.cell(name), brief, file.modified, digest)


def _read(given: Given, *, shared_clocks: bool) -> tuple[File, Sequence[Reading]]:
    """The tests in a file, at least one. The client is the station unless the owner's direction says otherwise."""
    file = read_file(given.path)
    formats = [format_of(document) for document in file.documents]
    other = None if file.rest is None else tool_of(file.rest)
    # `irtt client -o -` prints the same test as text, too.
    if other is not None and not (other == "irtt" and all(form.tool == other for form in formats)):
        raise UsageError(
            f"{file.name}: contains JSON and the text output of {other}: expected one output per file"
        )

    def read(client: Literal["sta", "ap"]) -> Sequence[Reading]:
        asked = Asked(client, shared_clocks)
        pairs = zip(formats, file.documents, strict=True)
        try:
            readings = [reading for form, document in pairs for reading in form.read(document, asked)]
        except OverflowError:
            raise _out_of_range(file.name) from None
        if not all(_is_in_range(reading) for reading in readings):
            raise _out_of_range(file.name)
        return readings

    readings = read("sta")
    if not readings:
        raise UsageError(f"{file.name}: contains no finished test")
    return file, read("ap") if swapped(readings[0].levels, given.levels) else readings


def _is_in_range(reading: Reading) -> bool:
    """Whether a result can store the times of a test."""
    samples = (sample for m in reading.measurements.values() for sample in m.samples)
    return (
        reading.duration_s <= _LONGEST_S
        and (reading.started is None or reading.started.year < _LAST_YEAR)
        and all(max(abs(sample.t_ns), abs(sample.dur_ns)) < 2**63 for sample in samples)
    )


def _out_of_range(name: str) -> UsageError:
    return UsageError(f"{name}: contains a time out of range: expected at most {_LONGEST_S:g} s per test")


def _refuse_twins(planned: Sequence[Planned]) -> None:
    """Refuse two reports of the same test, and tests of one cell whose settings differ."""
    tests: dict[tuple[str, str | None], Planned] = {}
    alike: dict[tuple[Cell, str], Planned] = {}
    for test in planned:
        reading = test.reading
        identities = [(f"{test.sha256} {test.at}", None), (reading.identity, reading.end)]
        for identity, end in identities:
            twin = None if identity is None else tests.get((identity, _OTHER_END[end]))
            if twin is not None:
                raise UsageError(f"{test.name} and {twin.name} report the same test: import only one of them")
            if identity is not None:
                tests[identity, end] = test
        first = alike.setdefault(test.kind, test)
        for name, value in reading.settings.items():
            if first.reading.settings.get(name, value) != value:
                raise _unlike(test, first, name, value, first.reading.settings.get(name))
        shorter, longer = sorted((reading.duration_s, first.reading.duration_s))
        if longer > _ALIKE * shorter:
            raise _unlike(
                test, first, "duration_s", f"{reading.duration_s:g}", f"{first.reading.duration_s:g}"
            )


def _unlike(test: Planned, first: Planned, name: str, value: object, other: object) -> UsageError:
    return UsageError(
        f"{test.name} and {first.name} have the same cell, but {name} is {value} and {other}: "
        "import them into two results"
    )


def _discarded(planned: Sequence[Planned], discard_first: int) -> frozenset[int]:
    """The positions of the excluded tests: the first tests of each cell, and the tests that the table names."""
    seen: Counter[tuple[Cell, str]] = Counter()
    found = set()
    for position, test in enumerate(planned):
        seen[test.kind] += 1
        if test.given.discard or seen[test.kind] <= discard_first:
            found.add(position)
    return frozenset(found)


def _method(planned: Sequence[Planned], discarded: frozenset[int]) -> Method:
    counted: Counter[tuple[Cell, str]] = Counter()
    excluded: Counter[tuple[Cell, str]] = Counter()
    probes: dict[ProbeName, None] = {}
    for position, test in enumerate(planned):
        (excluded if position in discarded else counted)[test.kind] += 1
        probes |= dict.fromkeys(test.reading.probes)
    return Method(
        repeats=max(counted.values(), default=0),
        discard_first=max(excluded.values(), default=0),
        duration=min(test.reading.duration_s for test in planned),
        warmup=0.0,
        seed=0,
        probes=tuple(probes),
    )


def _runs(planned: Sequence[Planned], discarded: frozenset[int]) -> Iterator[Run]:
    """The runs: the first test of each security level of an otherwise equal cell is in the first block, and so on."""
    replicates: Counter[tuple[Cell, str]] = Counter()
    blocks: dict[tuple[Cell, str, int], int] = {}
    levels: dict[int, set[str]] = defaultdict(set)
    for order, test in enumerate(planned, start=1):
        replicates[test.kind] += 1
        replicate = replicates[test.kind]
        own = test.given.block
        flow = test.cell.model_copy(update={"security": "open"})
        key = (flow, test.reading.tool, replicate if own is None else own)
        block = blocks.setdefault(key, len(blocks) + 1)
        if test.cell.security in levels[block]:
            raise UsageError(f"{test.name}: block {own} has another test with security {test.cell.security}")
        levels[block].add(test.cell.security)
        yield Run(
            order=order,
            block=block,
            replicate=replicate,
            discard=order - 1 in discarded,
            seed=0,
            cell=test.cell,
        )


def _finished(
    run: Run,
    test: Planned,
    file: File,
    reading: Reading,
    method: Method,
) -> FinishedRun:
    link = {
        "imported": True,
        "file": test.given.path.name,
        "sha256": test.sha256,
        **({"test": test.at + 1} if test.tests > 1 else {}),
        **({"time": "modification of the file"} if reading.started is None else {}),
        **test.told.sources(),
    }
    of_run = method.model_copy(update={"duration": reading.duration_s})
    facts = {name: as_facts(m.facts, f"{file.name}: {name}") for name, m in reading.measurements.items()}
    tools = {name: version for name, of in facts.items() if isinstance(version := of.get("version"), str)}
    record = RunRecord(
        run=run,
        started=test.started,
        finished=test.started + timedelta(seconds=reading.duration_s),
        versions=Versions.current(tools),
        hosts={role: as_facts(host, file.name) for role, host in reading.hosts.items()},
        link=as_facts(link, file.name),
        counters={},
        probes=facts,
        verdict=_verdict(run, of_run, reading, test.told.levels),
    )
    samples = [sample for m in reading.measurements.values() for sample in m.samples]
    return FinishedRun(record, samples, {_raw_name(test.given.path): file.content})


def _verdict(run: Run, method: Method, reading: Reading, levels: Mapping[str, Any]) -> Verdict:
    """The verdict on a test, whose known levels are `levels`. A figure that contradicts another one does not count."""
    faults, absent = contradictions(reading.measurements.values(), reading.duration_s)
    if not faults and (why := too_fast(levels, reading.measurements.values())) is not None:
        faults.append(why)
    measurements = dict(reading.measurements)
    probe, measurement = next(iter(measurements.items()))
    measurements[probe] = replace(measurement, faults=(*measurement.faults, *faults))
    verdict = verdict_of(run, method, measurements, {}, {})
    absent = {**absent, **reading.absent}
    return verdict.model_copy(update={"spoiled": absent}) if verdict.valid else verdict


def _raw_name(path: Path) -> str:
    """The file's name with only the characters that names in raw/ may have."""
    return re.sub(r"[^A-Za-z0-9_.,=+-]+", "_", path.name).lstrip(".,=+-")[-200:].lstrip(".,=+-") or "file"


def _name(directory: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", directory.absolute().name).strip(".-") or IMPORTED


__all__ = ["FORMATS", "Given", "given_level", "import_files", "levels_in_name", "read_table"]
