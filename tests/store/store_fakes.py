"""Fakes for the tests of the store: a lab and probes in memory, a small plan, and faults."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from made_cell import make_cell

from airtoll.host import HostEvent, HostReading, OperatingSystem
from airtoll.labs.base import Link
from airtoll.probes.base import Measurement, Sample
from airtoll.store import Event, RunRecord, Verdict, Versions
from airtoll.study.cell import Cell, Method, Plan, Run

STUDY = '# a study\nname = "fake"\n'
METHOD = Method(repeats=2, discard_first=0, duration=3.0, warmup=1.0, seed=7)
CELL = make_cell(lab="fake", packet_size=128)


def make_plan(runs: int = 3) -> Plan:
    """A plan whose runs alternate between open and ccmp."""
    return Plan(
        study="fake",
        method=METHOD,
        runs=tuple(
            Run(
                order=order,
                block=(order + 1) // 2,
                replicate=(order + 1) // 2,
                discard=False,
                seed=100 + order,
                cell=CELL.model_copy(update={"security": "open" if order % 2 else "ccmp"}),
            )
            for order in range(1, runs + 1)
        ),
    )


def sample(t_s: float = 0.0, value: float | None = 1e6, **others: Any) -> Sample:
    """A sample, by default of one second of throughput."""
    fields = {
        "probe": "iperf3",
        "metric": "throughput",
        "unit": "bit/s",
        "endpoint": "ap",
        "direction": "up",
        "t_ns": int(t_s * 1e9),
        "dur_ns": 1_000_000_000,
        "value": value,
    }
    return Sample(**{**fields, **others})


def throughput_samples(seconds: int = 3) -> list[Sample]:
    return [sample(-1.0, phase="warmup"), *(sample(float(second)) for second in range(seconds))]


def make_record(run: Run) -> RunRecord:
    now = datetime(2025, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    return RunRecord(
        run=run,
        started=now,
        finished=now,
        versions=Versions.current({"iperf3": "3.12"}),
        hosts={"ap": {"kernel": "6.1"}, "sta": {"kernel": None}},
        link={"cipher": run.cell.security},
        counters={"slips": 0, "lateness_us": {"p99": 12.5}},
        probes={"iperf3": {"version": "3.12", "commands": [["iperf3", "-s"]]}},
        verdict=Verdict(valid=True, reasons=()),
    )


RAW: dict[str, bytes] = {"iperf3/server.json": b"{}\n", "iperf3/client.json": b'{"a": 1}\n'}


@dataclass
class FakeHost:
    """A host that describes itself and runs nothing. `events` happen on its interface as soon as they are sampled."""

    name: str
    os: OperatingSystem = field(default="linux", init=False)
    events: Sequence[HostEvent] = ()

    def popen(self, argv: Sequence[str], *, root: bool = True) -> Any:
        raise NotImplementedError

    def run(self, argv: Sequence[str], timeout_s: float, *, root: bool = True) -> Any:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        return {"kernel": "6.1", "role": self.name}

    def texts(self, *paths: str) -> list[str | None]:
        return [None for _ in paths]

    def sampling(
        self, rate_hz: float, interfaces: Sequence[str], *, machine: bool
    ) -> AbstractContextManager[Any]:
        assert rate_hz > 0
        assert interfaces == ["wlan0"]
        assert not machine
        readings = HostReading(at_ns=0), HostReading(at_ns=10**9, events=tuple(self.events))
        return nullcontext(SimpleNamespace(readings=readings))


@dataclass
class FakeLab:
    """A lab that counts open links and records all opened links."""

    name: str = "fake"
    virtual: bool = False
    survives_loss: bool = False
    agentless: Sequence[str] = ()
    cannot: str | None = None
    absent: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    writes_pcap: bool = True
    opened: list[tuple[Cell, int]] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    open_fails: Exception | None = None
    close_fails: Exception | None = None
    events: Mapping[int, Sequence[HostEvent]] = field(default_factory=dict)  # by number of the link
    counters_step: Mapping[str, Any] = field(default_factory=lambda: {"delivered": 10, "elapsed_s": 5.0})

    def check(self, cell: Cell) -> str | None:
        return self.cannot if cell.security == "ccmp" else None

    def begin(self, session: int | None) -> None:
        pass

    def close(self) -> None:
        pass

    def lacks(self, packages: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return None

    def missing(self) -> str | None:
        return self.absent

    def capture_obstacle(self) -> str | None:
        return None

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        if self.open_fails is not None:
            raise self.open_fails
        self.opened.append((cell, seed))
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        reads = 0

        def counters() -> dict[str, Any]:
            nonlocal reads
            reads += 1
            totals = {key: value * reads for key, value in self.counters_step.items()}
            return {**totals, "lateness_us": {"p50": 1.0, "p99": 30.0 * reads, "p999": 40.0, "max": 50.0}}

        try:
            yield Link(
                hosts={"ap": FakeHost("ap"), "sta": FakeHost("sta", self.events.get(len(self.opened), ()))},
                addresses={("ap", "ipv4"): "192.0.2.1", ("sta", "ipv4"): "192.0.2.2"},
                facts={"cipher": cell.security, **self.facts},
                counters=counters,
                interfaces={"sta": "wlan0"} if self.events else {},
            )
            if pcap is not None and self.writes_pcap:
                pcap.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(20))
        finally:
            self.open_now -= 1
        if self.close_fails is not None:
            raise self.close_fails


@dataclass
class FakeProbe:
    """A probe with three seconds of throughput; every measurement first calls `before` with its number."""

    name: str = "iperf3"
    absent: str | None = None
    before: Callable[[int], None] = lambda _number: None
    faults: Sequence[str] = ()
    samples: Sequence[Sample] = field(default_factory=throughput_samples)
    measured: list[Cell] = field(default_factory=list)

    def missing(self, lacks: Any = None) -> str | None:  # noqa: ARG002
        return self.absent

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        assert link.addresses
        assert method == METHOD
        self.before(len(self.measured) + 1)
        self.measured.append(cell)
        return Measurement(
            samples=self.samples,
            raw={"out.json": f"{self.name} on {cell.security}\n".encode()},
            facts={"version": "3.12", "offered_bit_per_s": 1e7, "commands": (("iperf3", "-s"),)},
            faults=self.faults,
        )


def ignore(_event: Event) -> None:
    """Ignore the progress of a recording."""


def content_of(directory: Path) -> dict[str, bytes]:
    """The content of every file below the directory, by relative name."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
