"""irtt's JSON output (`irtt client -o FILE`), which the probe irtt also reads."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pydantic import AwareDatetime, Field

from airtoll.errors import AirtollError, UsageError
from airtoll.probes import irtt
from airtoll.probes.base import Measurement
from airtoll.probes.clocks import ClockDifference
from airtoll.probes.window import NS_PER_S, Window
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Asked, FileModel, Format, Reading, checked


class _Params(FileModel):
    duration: int = Field(gt=0, le=10**15)  # ns
    interval: int = Field(gt=0, le=10**15)  # ns
    length: int = Field(ge=0, le=2**31)  # octets


class _Config(FileModel):
    remote_address: str
    params: _Params


class _Clocks(FileModel):
    wall: int = Field(ge=0, lt=2**63)  # ns since 1970


class _Stats(FileModel):
    start_time: AwareDatetime | _Clocks  # irtt 0.9.1 and later: a reading of both clocks

    @property
    def started(self) -> datetime:
        """UTC."""
        if isinstance(self.start_time, datetime):
            return self.start_time.astimezone(UTC)
        return datetime.fromtimestamp(self.start_time.wall / NS_PER_S, UTC)


class _System(FileModel):
    os: str | None = None
    hostname: str | None = None
    cpus: int | None = None


class _Rest(FileModel):
    """The parts of the report that the probe does not parse."""

    config: _Config
    stats: _Stats
    system_info: _System = _System()


def _is_irtt(document: Document) -> bool:
    json = document.json
    return isinstance(json, dict) and "round_trips" in json and "stats" in json


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    rest = checked(_Rest, document, "not an irtt report")
    try:
        report = irtt.parse(document.text.encode(), b"", document.name)
    except AirtollError as error:
        raise UsageError(str(error)) from None
    if not report.round_trips:
        raise UsageError(f"{document.name}: no datagram was sent")
    params = rest.config.params
    window = Window(0.0, params.duration / NS_PER_S)
    ahead = ClockDifference(0.0, 0.0) if asked.shared_clocks else None
    trips = irtt.read(report, window, ahead=lambda _: ahead)
    facts = {
        "tool": "irtt",
        "version": f"irtt {report.version.irtt}",
        "clocks": "shared" if asked.shared_clocks else "not known to be shared",
        "interval_ms": params.interval / 1e6,
        "packet_bytes": params.length,
    }
    reading = Reading(
        tool="irtt",
        started=rest.stats.started,
        duration_s=window.duration_s,
        levels={
            "transport": "udp",
            "ip": "ipv6" if rest.config.remote_address.startswith("[") else "ipv4",
            "packet_size": params.length,
        },
        measurements={"irtt": Measurement(trips.samples, {}, facts, trips.faults)},
        probes=("irtt",),
        hosts={"sta": rest.system_info.model_dump(exclude_none=True)},
        settings={"interval_ms": params.interval / 1e6},
    )
    return (reading,)


FORMAT: Final = Format(
    tool="irtt",
    files="`irtt client -o FILE`",
    imported="round-trip times, IPDV, loss by direction; with `--shared-clocks` one-way delays",
    recognises=_is_irtt,
    read=_read,
)
