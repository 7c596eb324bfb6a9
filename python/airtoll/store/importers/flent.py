"""flent's data files (.flent, .flent.gz, .flent.bz2), of file formats 1 to 4, if they have the measured points.

Flent runs netperf, ping, irtt and iperf on one host, the client, and writes their output as series of points:
`raw_values` as measured, `results` at common times. `SERIES_META` says which program measured a series and by which
command. Most public files have no `SERIES_META`, or an empty one: then the names of the series say it.

Throughput is computed from netperf's totals over the whole test, `BYTES_RECVD` over `ELAPSED_TIME`: they come from the
receiver, whereas the points of an upload come from the sender. Files without totals have only the points. Round trips
before the load begins are those of an idle link (`rtt`), later ones are not (`rtt_loaded`). Round trips after the load
still include its queues and are not imported.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import FailFast, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from airtoll.documents import first_fault
from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import OTHER_WAY, Asked, FileModel, Format, Reading, checked
from airtoll.store.records import Facts

_VERSION: Final = 4
"""The newest file format. Format 4 changed the unit of the points of netperf's UDP_RR from 1/s to ms."""

_TOOLS: Final = {
    "NetperfDemoRunner": "netperf",
    "IperfCsvRunner": "iperf",
    "PingRunner": "ping",
    "IrttRunner": "irtt",
}
"""Tools by flent's runner. Other runners compute series from these, or measure values that airtoll does not read."""

_MEASURED: Final = re.compile(
    r"^(?:(TCP|UDP)\b|(Ping \(ms\)))(?!.*(?: avg| sum| totals| fairness|::(?!\d+$)))"
)
"""Names of series that a program measured: a load, or round trips. flent computes the others."""

_BIT_PER_S: Final[Mapping[str | None, float]] = {None: 1e6, "Mbits/s": 1e6, "Kbps": 1e3, "bits/s": 1.0}
"""The units of points. flent writes Mbits/s unless the definition of a test says otherwise."""

_DIRECTION: Final = re.compile(r"\b(?:(up|upload)|(?:down|download))(?=\d*\b)", re.IGNORECASE)
_NETPERF_TEST: Final = re.compile(r"\s-t\s+(\w+)")

# Bounded so that values in ns fit into 64 bits.
_Time = Annotated[float, Field(ge=0, le=9e9)]  # s since 1970
_Value = Annotated[float, Field(ge=-1e12, le=1e12)]  # ms, Mbit/s


@dataclass(slots=True, config=FileModel.model_config)  # a model takes ten times the memory
class _Point:
    t: _Time
    val: _Value | None = None
    dur: Annotated[float, Field(ge=0, le=1e6)] | None = None  # s


_POINTS: Final = TypeAdapter(Annotated[list[_Point], FailFast()])


class _Meta(FileModel):
    """The part of `SERIES_META` about one series."""

    RUNNER: str | None = None
    UNITS: str | None = None
    COMMAND: str | None = None
    BYTES_RECVD: Annotated[float, Field(ge=-1, le=1e18)] | None = None  # -1: netperf does not know
    ELAPSED_TIME: Annotated[float, Field(ge=0, le=1e6)] | None = None  # s
    SEND_SIZE: int | None = None  # octets


class _Metadata(FileModel):
    NAME: str
    TIME: str | None = None
    LENGTH: Annotated[float, Field(gt=0, le=1e6)]  # s
    SERIES_META: Mapping[str, _Meta] = {}
    IP_VERSION: int | None = None
    FLENT_VERSION: str | None = None
    LOCAL_HOST: str | None = None
    KERNEL_NAME: str | None = None
    KERNEL_RELEASE: str | None = None
    FAILED_RUNNERS: int | None = None
    FAKE_RAW_VALUES: bool = False  # flent converted a file without points


class _File(FileModel):
    metadata: _Metadata
    raw_values: Mapping[str, Any] = {}


class _Series:
    """A measured series."""

    def __init__(self, name: str, meta: _Meta, points: Sequence[_Point]) -> None:
        self.name = name
        self.meta = meta
        self.points = points
        load, pings = found.groups() if (found := _MEASURED.match(name)) else (None, None)
        tool = _TOOLS.get(meta.RUNNER or "")
        # Points of netperf are intervals, those of irtt are single round trips.
        of_udp = "netperf" if any(point.dur is not None for point in points) else "irtt"
        of_name = of_udp if "UDP" in name else "ping"
        self.tool = tool or (("netperf" if load == "TCP" else "iperf") if load else of_name)
        self.is_load = self.tool in ("netperf", "iperf") and meta.UNITS != "ms" and not pings

    @property
    def test(self) -> str:
        """The test of netperf's command; empty if the file does not have the command."""
        found = _NETPERF_TEST.search(self.meta.COMMAND or "")
        return found[1] if found else ""

    @property
    def is_download(self) -> bool | None:
        """Whether the data flows to the host on which flent runs; None if neither command nor name says it."""
        if self.test in ("TCP_MAERTS", "TCP_STREAM", "UDP_STREAM"):
            return self.test == "TCP_MAERTS"
        found = _DIRECTION.search(self.name)
        return None if found is None else found[1] is None

    @property
    def received_bit_per_s(self) -> float | None:
        """Received rate over the whole test; None if the file does not have it.

        For TCP without netperf's totals, the mean of the points, which differs by at most one socket buffer.
        """
        if self.meta.BYTES_RECVD is not None and self.meta.BYTES_RECVD >= 0 and self.meta.ELAPSED_TIME:
            return 8 * self.meta.BYTES_RECVD / self.meta.ELAPSED_TIME
        known = [
            (point.val, point.dur or 1.0) for point in self.points if point.val is not None and point.dur != 0
        ]
        unit = _BIT_PER_S.get(self.meta.UNITS)
        if self.tool != "netperf" or self.test.startswith("UDP") or unit is None or not known:
            return None
        return unit * sum(value * dur_s for value, dur_s in known) / sum(dur_s for _, dur_s in known)

    @property
    def covered_s(self) -> float:
        """Length of the window of the rate."""
        first, last = self.points[0], self.points[-1]
        return self.meta.ELAPSED_TIME or last.t - first.t + (first.dur or 0.0)


def _is_flent(document: Document) -> bool:
    json = document.json
    return isinstance(json, dict) and {"metadata", "results", "x_values"} <= json.keys()


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    """The test in a data file, which flent recorded on the client."""
    version = document.json.get("version", 1)
    if not isinstance(version, int) or not 1 <= version <= _VERSION:
        raise UsageError(f"{document.name}: flent file format {version!s:.20}: expected 1 to {_VERSION}")
    file = checked(_File, document, "not a flent data file")
    head = file.metadata
    if not file.raw_values or head.FAKE_RAW_VALUES:
        raise UsageError(f"{document.name}: contains no measured points, only values that flent interpolated")
    every = [_series(document, file, name, version) for name in file.raw_values]
    series = [each for each in every if each is not None]
    began = min((point.t for each in series for point in each.points), default=None)
    if began is None:
        raise UsageError(f"{document.name}: contains no series of netperf, iperf, ping or irtt")
    loads = [each for each in series if each.is_load]
    by_way = _by_way(document, loads, asked.forth)
    points = [point for each in loads for point in each.points]
    opens_s = min((point.t - (point.dur or 0.0) for point in points), default=None)
    closes_s = max((point.t for point in points), default=0.0)

    samples = [
        *_round_trips(series, began, opens_s, closes_s),
        *_throughput(by_way, 0.0 if opens_s is None else max(0.0, opens_s - began)),
    ]
    facts = {"tool": "flent", "version": f"flent {head.FLENT_VERSION or 'unknown'}", "test": head.NAME}
    settings = {"test": head.NAME, "length_s": head.LENGTH, "flows": sorted(each.name for each in loads)}
    kinds = {sample.metric for sample in samples}
    reading = Reading(
        tool="flent",
        started=_started(head.TIME, began),
        duration_s=head.LENGTH,
        levels=_levels(head, loads, by_way),
        measurements={"flent": Measurement(samples, {}, facts | settings, tuple(_faults(head, by_way)))},
        probes=(
            *(("throughput",) if loads else ()),
            *(("rtt",) if kinds & {"rtt", "rtt_loaded"} else ()),
        )
        or ("throughput",),
        hosts={asked.client: _host(head)},
        settings=settings,
    )
    return (reading,)


def _series(document: Document, file: _File, name: str, version: int) -> _Series | None:
    """A series that a program measured, with its points in the units of format 4; None for another series."""
    meta = file.metadata.SERIES_META.get(name, _Meta())
    if meta.RUNNER not in _TOOLS and (meta.RUNNER or not _MEASURED.match(name)):
        return None
    try:
        points = _POINTS.validate_python(file.raw_values[name])
    except ValidationError as error:
        raise UsageError(f"{document.name}: raw_values: {name}: {first_fault(error)}") from None
    if version < _VERSION and "UDP" in name:
        points = [
            replace(point, val=1e3 / point.val if point.val else None) if point.dur is not None else point
            for point in points
        ]
    return _Series(name, meta, points) if points else None


def _started(time: str | None, began: float) -> datetime:
    """The time in the file if it has its zone, otherwise that of the first point. UTC."""
    try:
        started = datetime.fromisoformat(time or "")
    except ValueError:
        started = datetime.min
    return datetime.fromtimestamp(began, UTC) if started.tzinfo is None else started.astimezone(UTC)


def _by_way(document: Document, loads: Sequence[_Series], up: Way) -> dict[Way, list[_Series]]:
    """The series of the load, by direction. flent's uploads are from the host on which flent runs."""
    ways: dict[Way, list[_Series]] = {}
    for each in loads:
        if (is_download := each.is_download) is None:
            raise UsageError(
                f"{document.name}: the direction of the series '{each.name}' is neither in its name nor in its command"
            )
        ways.setdefault(OTHER_WAY[up] if is_download else up, []).append(each)
    return ways


def _levels(
    head: _Metadata, loads: Sequence[_Series], by_way: Mapping[Way, Sequence[_Series]]
) -> dict[str, object]:
    levels: dict[str, object] = {}
    if head.IP_VERSION in (4, 6):
        levels["ip"] = f"ipv{head.IP_VERSION}"
    transports = {(each.test or each.name)[:3].lower() for each in loads} & {"tcp", "udp"}
    if len(transports) == 1:
        levels["transport"] = transports.pop()
    sizes = {each.meta.SEND_SIZE for each in loads}
    if len(sizes) == 1 and (size := sizes.pop()) is not None and size > 0:
        levels["packet_size"] = size
    if by_way:
        levels["direction"] = next(iter(by_way)) if len(by_way) == 1 else "both"
    return levels


def _round_trips(
    series: Sequence[_Series], began: float, opens_s: float | None, closes_s: float
) -> Iterator[Sample]:
    # irtt first: if several tools measured, the run's value is that of irtt, which uses UDP like the traffic. A point
    # of netperf is the mean of the round trips in an interval.
    for tool in ("irtt", "ping", "netperf"):
        for each in series:
            if each.is_load or each.tool != tool or each.meta.UNITS not in ("ms", None):
                continue
            for point in each.points:
                if point.val is None or point.val < 0 or (opens_s is not None and point.t > closes_s):
                    continue
                metric = "rtt" if opens_s is None or point.t < opens_s else "rtt_loaded"
                t_ns = round((point.t - began) * NS_PER_S)
                yield Sample(tool, metric, "ms", "sta", "both", t_ns, round(point.val * 1e6), point.val)


def _throughput(by_way: Mapping[Way, Sequence[_Series]], opens_s: float) -> Iterator[Sample]:
    """Received rate of all flows of a direction together; nothing if the rate of one flow is unknown."""
    for way, flows in by_way.items():
        rates = [each.received_bit_per_s for each in flows]
        total = sum(rate for rate in rates if rate is not None)
        if None in rates:
            continue
        dur_ns = round(max(each.covered_s for each in flows) * NS_PER_S)
        t_ns = round(opens_s * NS_PER_S)
        yield Sample("netperf", "throughput", "bit/s", ENDS[way][1], way, t_ns, dur_ns, total)


def _faults(head: _Metadata, by_way: Mapping[Way, Sequence[_Series]]) -> Iterator[str]:
    if head.FAILED_RUNNERS:
        yield f"flent: {head.FAILED_RUNNERS} of its runners failed"
    for way, flows in by_way.items():
        unknown = [each.name for each in flows if each.received_bit_per_s is None]
        if unknown:
            yield f"flent: the file does not contain the received data {way} of {', '.join(unknown)}"


def _host(head: _Metadata) -> Facts:
    facts = {"hostname": head.LOCAL_HOST, "kernel": head.KERNEL_RELEASE, "system": head.KERNEL_NAME}
    return {name: value for name, value in facts.items() if value is not None}


FORMAT: Final = Format(
    tool="flent",
    files="`.flent`, `.flent.gz`, `.flent.bz2`, file formats 1 to 4 with measured points",
    imported="TCP throughput, round-trip times",
    recognises=_is_flent,
    read=_read,
)
