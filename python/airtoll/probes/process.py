"""Runs both ends of a measuring tool, a server on one host and a client on another, and ends both in every case.

Only the output decides: iperf3 3.12 with -J and sockperf 3.7 exit with 0 after most failures.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from airtoll.errors import AirtollError
from airtoll.labs.base import Host, first_missing, last_words
from airtoll.study.factors import Transport

ReportT = TypeVar("ReportT", bound=BaseModel)

LISTEN_TIMEOUT_S = 10.0
"""A server that does not listen within this time has failed."""

GRACE_S = 10.0
"""Time that a tool may take beyond its planned time before it counts as hung."""

_POLL_S = 0.005
_WAITING_STATES: dict[Transport, bytes] = {"tcp": b"0A", "udp": b"07"}  # LISTEN; not connected (proc(5))
_CONNECTED = b"01"  # ESTABLISHED; connected UDP sockets have it too


def lacking(packages: Mapping[str, str]) -> str | None:
    """Return the package to install for a missing command (command -> Debian package), or None."""
    if (found := first_missing(packages)) is None:
        return None
    command, package = found
    return f"the command '{command}' is missing: apt-get install {package}"


@contextmanager
def started(host: Host, argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command on the host. Leaving the context kills the command if it still runs."""
    with host.popen(argv) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def serving(
    host: Host, argv: Sequence[str], transport: Transport, port: int, what: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and enter the context when the server listens on the port or has already exited.

    The kernel's table is read because neither iperf3 -J nor sockperf reports in time that it is ready. A client that
    starts too early sends unwanted traffic or, over UDP, gets no answer. Raises AirtollError if another socket has the
    port, because the client would talk to that socket.
    """
    if _listens(host, transport, port):
        raise AirtollError(f"{what}: port {port} is in use")
    with started(host, argv) as server:
        deadline = time.monotonic() + LISTEN_TIMEOUT_S
        while server.poll() is None and not _listens(host, transport, port):
            if time.monotonic() > deadline:
                raise AirtollError(f"{what} does not listen on port {port} after {LISTEN_TIMEOUT_S:.0f} s")
            wait_until(server, time.monotonic() + _POLL_S)
        yield server


def _listens(host: Host, transport: Transport, port: int) -> bool:
    return is_listening(_tables(host, transport), transport, port)


def _tables(host: Host, transport: Transport) -> bytes:
    return output_of(host, ["cat", f"/proc/net/{transport}", f"/proc/net/{transport}6"])


def wait_for_peers(host: Host, transport: Transport, port: int, peers: int, until: float) -> None:
    """Wait until that number of sockets of a port are connected, or until `until` (time.monotonic)."""
    while connected(_tables(host, transport), port) < peers and time.monotonic() < until:
        time.sleep(_POLL_S)


def connected(tables: bytes, port: int) -> int:
    """Number of connected sockets of a port in the text of /proc/net/tcp, tcp6, udp or udp6."""
    return sum(fields[3] == _CONNECTED for fields in _sockets(tables, port))


def unfetched(host: Host) -> int:
    """UDP datagrams dropped since the host came up because a socket buffer was full (RcvbufErrors)."""
    rows = [
        line.split() for line in output_of(host, ["cat", "/proc/net/snmp", "/proc/net/snmp6"]).splitlines()
    ]
    ipv4 = [row for row in rows if row[:1] == [b"Udp:"]]  # a row of names and a row of values
    ipv6 = dict(row for row in rows if len(row) == 2)
    return int(dict(zip(*ipv4, strict=True))[b"RcvbufErrors"]) + int(ipv6.get(b"Udp6RcvbufErrors", 0))


def read_report(model: type[ReportT], output: bytes, who: str, tool: str, complaint: str) -> ReportT:
    """Parse a tool's JSON report. Raises AirtollError if it is incomplete, with `complaint` if there is no output."""
    try:
        return model.model_validate_json(output)
    except ValidationError:
        if output.strip():
            raise AirtollError(
                f"{who}: its output of {len(output)} bytes is truncated or not a {tool} report"
            ) from None
        raise AirtollError(f"{who}: {complaint}") from None


def output_of(host: Host, argv: Sequence[str]) -> bytes:
    """Stdout and stderr of a short command, whether it succeeds or not. Raises AirtollError if it hangs."""
    try:
        done = host.run(argv, GRACE_S)
    except subprocess.TimeoutExpired:
        raise AirtollError(f"'{argv[0]}' on {host.name} did not end within {GRACE_S:.1f} s") from None
    return done.stdout + done.stderr


def wait_until(process: subprocess.Popen[bytes], moment_s: float) -> None:
    """Wait until `moment_s` (time.monotonic) or until the process ends."""
    try:
        process.wait(timeout=max(0.0, moment_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return


def is_listening(tables: bytes, transport: Transport, port: int) -> bool:
    """Whether the text of /proc/net/tcp, tcp6, udp or udp6 contains a listening socket on the port."""
    return any(fields[3] == _WAITING_STATES[transport] for fields in _sockets(tables, port))


def _sockets(tables: bytes, port: int) -> Iterator[list[bytes]]:
    local_port = f":{port:04X}".encode()
    for line in tables.splitlines():
        fields = line.split()  # sl, local_address, rem_address, st, ...
        if len(fields) > 3 and fields[1].endswith(local_port):
            yield fields


def finish(process: subprocess.Popen[bytes], timeout_s: float, what: str) -> tuple[bytes, bytes]:
    """Wait for the process and return stdout and stderr. Kills a process that hangs and raises AirtollError."""
    try:
        return process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        process.kill()
        said = last_words(error.stderr or b"", error.stdout or b"")
        raise AirtollError(f"{what} did not end within {timeout_s:.1f} s: {said}") from None
