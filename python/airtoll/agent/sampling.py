"""Readings that an agent takes of its host at a fixed rate, without a process per reading."""

import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, FailFast, FiniteFloat, TypeAdapter

from airtoll.agent.connection import Connection, Head, Lost, LostError
from airtoll.errors import AirtollError
from airtoll.host import ChannelTimes, HostEvent, HostReading, PeerStatistics, Unsigned


class _Radio(BaseModel):
    peers: dict[str, PeerStatistics] | None = None
    channel: ChannelTimes | None = None


class _Row(BaseModel):
    """A reading of the agent, which may contain more."""

    t_ns: Unsigned
    idle_s: Annotated[tuple[FiniteFloat, ...], FailFast()] = ()
    steal_s: Annotated[tuple[FiniteFloat, ...], FailFast()] = ()
    energy_uj: Annotated[tuple[Unsigned | None, ...], FailFast()] = ()
    available_bytes: Unsigned | None = None
    carrier: dict[str, bool | None] = {}
    radios: dict[str, _Radio] = {}
    events: Annotated[tuple[HostEvent, ...], FailFast()] = ()


_ROWS: Final = TypeAdapter(Annotated[list[_Row], FailFast()])


class AgentSampling:
    """A context in which the agent samples. `readings` are complete after it."""

    def __init__(
        self, connection: Connection, rate_hz: float, interfaces: Sequence[str], *, machine: bool
    ) -> None:
        self._connection = connection
        self._asked: dict[str, Any] = {"rate_hz": rate_hz, "interfaces": list(interfaces), "machine": machine}
        self._rows: list[_Row] = []
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

    def _take(self, event: Head | Lost, _body: bytes) -> None:
        with self._lock:
            if isinstance(event, Lost):
                self._lost = event.why
            else:
                self._rows += _ROWS.validate_python(event.rows)


def _reading(row: _Row) -> HostReading:
    return HostReading(
        at_ns=row.t_ns,
        idle_s=row.idle_s,
        steal_s=row.steal_s,
        energy_j=tuple(energy_uj / 1e6 for energy_uj in row.energy_uj if energy_uj is not None),
        available_b=row.available_bytes,
        carriers=row.carrier,
        peers={name: radio.peers for name, radio in row.radios.items() if radio.peers is not None},
        channels={name: radio.channel for name, radio in row.radios.items() if radio.channel is not None},
        events=row.events,
    )
