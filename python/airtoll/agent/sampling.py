"""Readings that an agent takes of its host at a fixed rate, without a process per reading."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields
from types import TracebackType
from typing import Any, Self

from airtoll.agent.connection import Connection, LostError
from airtoll.errors import AirtollError
from airtoll.host import ChannelTimes, HostReading, PeerStatistics, RadioRate


class AgentSampling:
    """A context in which the agent samples. `readings` are complete after it."""

    def __init__(
        self, connection: Connection, rate_hz: float, interfaces: Sequence[str], *, machine: bool
    ) -> None:
        self._connection = connection
        self._asked: dict[str, Any] = {"rate_hz": rate_hz, "interfaces": list(interfaces), "machine": machine}
        self._rows: list[Mapping[str, Any]] = []
        self._lost: str | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._number = self._connection.listen("sampler", self._take)
        try:
            self._connection.ask("sample", sampler=self._number, **self._asked)
        except BaseException:
            self._connection.forget("sampler", self._number)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            # After an error, the agent may have gone.
            with nullcontext() if kind is None else suppress(AirtollError):
                self._connection.ask("stop_sampling", sampler=self._number)
        finally:
            self._connection.forget("sampler", self._number)

    @property
    def readings(self) -> list[HostReading]:
        """The readings so far, in order. Raises LostError if the host is lost."""
        with self._lock:
            if self._lost is not None:
                raise LostError(f"host {self._connection.name}: {self._lost}")
            return [_reading(row) for row in self._rows]

    def _take(self, head: Mapping[str, Any], _body: bytes) -> None:
        with self._lock:
            if "lost" in head:
                self._lost = head["lost"]
            else:
                self._rows += head["rows"]


def _reading(row: Mapping[str, Any]) -> HostReading:
    radios = row.get("radios", {})
    return HostReading(
        at_ns=row["t_ns"],
        idle_s=tuple(row.get("idle_s", ())),
        steal_s=tuple(row.get("steal_s", ())),
        energy_j=tuple(energy_uj / 1e6 for energy_uj in row.get("energy_uj", ()) if energy_uj is not None),
        available_b=row.get("available_bytes"),
        carriers=row.get("carrier", {}),
        peers={
            name: {mac: _peer(values) for mac, values in radio["peers"].items()}
            for name, radio in radios.items()
            if "peers" in radio
        },
        channels={
            name: ChannelTimes(**_chosen(radio["channel"], ChannelTimes))
            for name, radio in radios.items()
            if "channel" in radio
        },
        events=tuple(row.get("events", ())),
    )


def _peer(values: Mapping[str, Any]) -> PeerStatistics:
    rates = {
        way: RadioRate(**_chosen(values[way], RadioRate)) for way in ("tx_rate", "rx_rate") if way in values
    }
    links = {number: _peer(link) for number, link in values.get("links", {}).items()}
    return PeerStatistics(**{**_chosen(values, PeerStatistics), **rates, "links": links})


def _chosen(values: Mapping[str, Any], of: type[PeerStatistics | ChannelTimes | RadioRate]) -> dict[str, Any]:
    """The values that are fields of the class: the agent may report more."""
    known = {field.name for field in fields(of)}
    return {name: value for name, value in values.items() if name in known}
