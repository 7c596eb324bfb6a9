"""flent's data files (.flent, .flent.gz, .flent.bz2), of file format 4.

Flent runs netperf, ping, irtt and iperf on one host, the client, and writes their output as series of points:
`raw_values` as measured, `results` at common times. Throughput is computed from netperf's totals over the whole test,
`BYTES_RECVD` over `ELAPSED_TIME`: they come from the receiver, whereas the points of an upload come from the sender.
Round trips before the load begins are those of an idle link (`rtt`), later ones are not (`rtt_loaded`). Round trips
after the load still include its queues and are not imported.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import OTHER_WAY, Asked, FileModel, Format, Reading, checked
from airtoll.store.records import Facts

_VERSION: Final = 4

_TOOLS: Final = {
    "NetperfDemoRunner": "netperf",
    "IperfCsvRunner": "iperf",
    "PingRunner": "ping",
    "IrttRunner": "irtt",
}
"""Tools by flent's runner. Other runners compute series from these, or measure values that airtoll does not read."""

_LOADS: Final = ("netperf", "iperf")
# Bounded so that values in ns fit into 64 bits.
_Time = Annotated[float, Field(ge=0, le=9e9)]  # s since 1970
_Value = Annotated[float, Field(ge=-1e12, le=1e12)]  # ms, Mbit/s


class _Point(FileModel):
    t: _Time
    val: _Value | None = None
    dur: Annotated[float, Field(ge=0, le=1e6)] | None = None  # s


class _Series(FileModel):
    RUNNER: str = ""
    UNITS: str | None = None
    BYTES_RECVD: Annotated[float, Field(ge=0, le=1e18)] | None = None
    ELAPSED_TIME: Annotated[float, Field(ge=1e-3, le=1e6)] | None = None  # s
    SEND_SIZE: int | None = None  # octets
    CONG_CONTROL: str | None = None

    @property
    def tool(self) -> str:
        return _TOOLS.get(self.RUNNER, "")

    @property
    def received_bit_per_s(self) -> float | None:
        """Received rate over the whole test; None if netperf did not report it."""
        if self.BYTES_RECVD is None or self.ELAPSED_TIME is None:
            return None
        return 8 * self.BYTES_RECVD / self.ELAPSED_TIME


class _Metadata(FileModel):
    NAME: str
    TIME: AwareDatetime
    LENGTH: Annotated[float, Field(gt=0, le=1e6)]  # s
    SERIES_META: dict[str, _Series]
    IP_VERSION: Literal[4, 6, None] = None
    FLENT_VERSION: str = "unknown"
    LOCAL_HOST: str | None = None
    KERNEL_NAME: str | None = None
    KERNEL_RELEASE: str | None = None
    FAILED_RUNNERS: int = 0


class _File(FileModel):
    metadata: _Metadata
    raw_values: dict[str, list[_Point]]


def _is_flent(document: Document) -> bool:
    json = document.json
    return isinstance(json, dict) and "raw_values" in json and "metadata" in json


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    """The test in a data file, which flent recorded on the client."""
    version = document.json.get("version")
    if version != _VERSION:
        raise UsageError(f"{document.name}: flent file format {version!s:.20}; airtoll reads only {_VERSION}")
    file = checked(_File, document, "not a flent data file")
    head = file.metadata
    began = min((point.t for points in file.raw_values.values() for point in points), default=None)
    if began is None:
        raise UsageError(f"{document.name}: contains no points")
    series = {
        name: each for name, each in head.SERIES_META.items() if each.tool and file.raw_values.get(name)
    }
    loads = {name: each for name, each in series.items() if each.tool in _LOADS}
    by_way = _by_way(loads, asked.forth)
    points = [point for name in loads for point in file.raw_values[name]]
    opens_s = min((point.t - (point.dur or 0.0) for point in points), default=None)
    closes_s = max((point.t for point in points), default=0.0)

    samples = [
        *_round_trips(file, series, began, opens_s, closes_s),
        *_throughput(by_way, loads, 0.0 if opens_s is None else max(0.0, opens_s - began)),
    ]
    facts = {"tool": "flent", "version": f"flent {head.FLENT_VERSION}", "test": head.NAME}
    settings = {"test": head.NAME, "length_s": head.LENGTH, "flows": sorted(loads)}
    kinds = {sample.metric for sample in samples}
    reading = Reading(
        tool="flent",
        started=head.TIME.astimezone(UTC),
        duration_s=head.LENGTH,
        levels=_levels(head, loads, by_way),
        measurements={
            "flent": Measurement(samples, {}, facts | settings, tuple(_faults(head, by_way, loads)))
        },
        probes=(
            *(("throughput",) if loads else ()),
            *(("rtt",) if kinds & {"rtt", "rtt_loaded"} else ()),
        )
        or ("throughput",),
        hosts={asked.client: _host(head)},
        settings=settings,
    )
    return (reading,)


def _by_way(loads: Mapping[str, _Series], up: Way) -> dict[Way, list[str]]:
    """The series of the load, by direction. flent's uploads are from the host on which flent runs."""
    ways: dict[Way, list[str]] = {}
    for name in loads:
        way = OTHER_WAY[up] if "download" in name else up
        ways.setdefault(way, []).append(name)
    return ways


def _levels(
    head: _Metadata, loads: Mapping[str, _Series], by_way: Mapping[Way, Sequence[str]]
) -> dict[str, object]:
    levels: dict[str, object] = {}
    if head.IP_VERSION is not None:
        levels["ip"] = f"ipv{head.IP_VERSION}"
    transports = {name.partition(" ")[0].lower() for name in loads} & {"tcp", "udp"}
    if len(transports) == 1:
        levels["transport"] = transports.pop()
    sizes = {each.SEND_SIZE for each in loads.values()}
    if len(sizes) == 1 and (size := sizes.pop()) is not None and size > 0:
        levels["packet_size"] = size
    if by_way:
        levels["direction"] = next(iter(by_way)) if len(by_way) == 1 else "both"
    return levels


def _round_trips(
    file: _File, series: Mapping[str, _Series], began: float, opens_s: float | None, closes_s: float
) -> Iterator[Sample]:
    # irtt before ping: if both exist, the run's value is that of irtt, which uses UDP like the traffic.
    for tool in ("irtt", "ping"):
        for name, each in series.items():
            if each.tool != tool or each.UNITS != "ms":
                continue
            for point in file.raw_values[name]:
                if point.val is None or point.val < 0 or (opens_s is not None and point.t > closes_s):
                    continue
                metric = "rtt" if opens_s is None or point.t < opens_s else "rtt_loaded"
                t_ns = round((point.t - began) * NS_PER_S)
                yield Sample(tool, metric, "ms", "sta", "both", t_ns, round(point.val * 1e6), point.val)


def _throughput(
    by_way: Mapping[Way, Sequence[str]], loads: Mapping[str, _Series], opens_s: float
) -> Iterator[Sample]:
    """Received rate of all flows of a direction together; nothing if the rate of one flow is unknown."""
    for way, names in by_way.items():
        rates = [loads[name].received_bit_per_s for name in names]
        total = sum(rate for rate in rates if rate is not None)
        if None in rates:
            continue
        dur_ns = round(max(loads[name].ELAPSED_TIME or 0.0 for name in names) * NS_PER_S)
        t_ns = round(opens_s * NS_PER_S)
        yield Sample("netperf", "throughput", "bit/s", ENDS[way][1], way, t_ns, dur_ns, total)


def _faults(
    head: _Metadata, by_way: Mapping[Way, Sequence[str]], loads: Mapping[str, _Series]
) -> Iterator[str]:
    if head.FAILED_RUNNERS:
        yield f"flent: {head.FAILED_RUNNERS} of its runners failed"
    for way, names in by_way.items():
        unknown = [name for name in names if loads[name].received_bit_per_s is None]
        if unknown:
            yield f"flent: the file does not contain the received data {way} of {', '.join(unknown)}"


def _host(head: _Metadata) -> Facts:
    facts = {"hostname": head.LOCAL_HOST, "kernel": head.KERNEL_RELEASE, "system": head.KERNEL_NAME}
    return {name: value for name, value in facts.items() if value is not None}


FORMAT: Final = Format(
    tool="flent",
    files="`.flent`, `.flent.gz`, `.flent.bz2`, file format 4",
    imported="TCP throughput, round-trip times",
    recognises=_is_flent,
    read=_read,
)
