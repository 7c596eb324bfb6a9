"""FTP transfer rate, with curl as the client and airtoll's own server: the rate that a user sees at layer 7.

The client runs on the station, and the server on the host that is the server in the topology. The server is a part of
the agent (crate `airtoll-agent`, module ftp). Direction up is STOR, down is RETR, and both means two simultaneous
sessions. Each session transfers one file in binary, passive mode (RFC 959; EPSV of RFC 2428 for both IP versions). No
disk is involved: the server generates zeros and discards received data; the client sends /dev/zero and discards
received data. The file has no fixed size. Each transfer ends after the same time, so that every link is measured
equally long. TCP uses the hosts' own settings. The cell's packet size has no effect, since both programs write 64 KiB
at a time.

| metric          | unit   | endpoint | meaning                                                                        |
|-----------------|--------|----------|--------------------------------------------------------------------------------|
| ftp_rate        | byte/s | sta      | the whole transfer by the client, from its command to the server's reply 226   |
| ftp_rate_steady | byte/s | receiver | payload that arrived in the interval: without slow start within the window     |

In all output, 1 kbyte is 1000 byte. FTP clients print kbytes of 1000 or of 1024 byte; a paper that does not say which
leaves 2.4 % open. `ftp_rate` includes the connection's slow start and the draining of the sender's buffers at the end.
Several stations transfer at the same time. Each has its own endpoint, such as sta/sta1, and their rates are added.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field

from airtoll.errors import AirtollError
from airtoll.host import Host, Process, last_words
from airtoll.labs.base import Link
from airtoll.probes import limits, process, watch
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.flows import ENDS, Way, zeros_allowed
from airtoll.probes.watch import Watched
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Ip

PORT = 2121
"""Port of the first session. On a host that is not a namespace, port 21 would require root."""

INTERVAL_S = 0.1

STOP_MARGIN_S = 0.25
"""Time between the planned ends of window and transfer: for starting, connecting and the last interval."""

BEGIN_SPREAD_S = 3.0
"""Extra time for several clients, because the last one logs in on a link that the others already load."""

_URL_FILE = "payload"
_USER = "airtoll:"

_Seconds = Annotated[float, Field(ge=0, le=1e6)]
_Octets = Annotated[int, Field(ge=0, le=2**53)]
_Nanos = Annotated[int, Field(ge=0, le=2**53)]


class _Model(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


class ClientReport(_Model):
    """The parts of curl's report (--write-out '%{json}') that airtoll reads."""

    exitcode: int
    errormsg: str | None = None
    size_download: _Octets
    size_upload: _Octets
    time_pretransfer: _Seconds
    time_total: _Seconds
    curl_version: str


class ServerReport(_Model):
    """The server's report on its transfer, which its module documents."""

    version: str
    direction: Literal["up", "down"]
    octets: _Octets
    complete: bool
    trace: Annotated[list[tuple[_Nanos, _Octets]], FailFast()]


@dataclass(frozen=True)
class Transfer:
    """One file transfer between a station and its server."""

    way: Way
    client: Host
    server: Host
    address: str  # the server's
    port: int
    station: str | None  # None if the cell has one station

    @property
    def name(self) -> str:
        """Base name of the transfer's files."""
        return f"ftp-{self.way}{'' if self.station is None else f'-{self.station}'}"

    def endpoint(self, end: str) -> str:
        """The endpoint's name in samples."""
        return end if self.station is None else f"{end}/{self.station}"


def transfers_of(link: Link, cell: Cell) -> list[Transfer]:
    """The transfers of the cell, each on its own port."""
    ways: tuple[Way, ...] = ("up", "down") if cell.direction == "both" else (cell.direction,)
    several = len(link.pairs) > 1
    return [
        Transfer(
            way,
            link.hosts[station],
            link.hosts[server],
            link.addresses[server, cell.ip],
            PORT + at,
            station if several else None,
        )
        for at, (way, (station, server)) in enumerate((way, pair) for way in ways for pair in link.pairs)
    ]


class Ftp:
    """Measures a cell by one file transfer per station and direction."""

    name = "ftp"

    def missing(self, lacks: Lacks) -> str | None:
        """Return what must be installed before this probe can run, or None."""
        return lacks({"curl": "curl", "timeout": "coreutils"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with the client's own words if a transfer fails."""
        planned = Window.of(method)
        transfers = transfers_of(link, cell)
        seconds = planned.closes_s + STOP_MARGIN_S + (BEGIN_SPREAD_S if len(transfers) > 1 else 0.0)
        argvs = [commands(transfer, cell.ip, seconds) for transfer in transfers]
        outputs, watched = _perform(link, transfers, argvs, planned, seconds)
        clients = [
            parse_client(*done.client, _who("client", transfer.client))
            for transfer, done in zip(transfers, outputs, strict=True)
        ]
        servers = [
            parse_server(*done.server, _who("server", transfer.server))
            for transfer, done in zip(transfers, outputs, strict=True)
        ]
        began_s = [
            done.started_s + client.time_pretransfer for done, client in zip(outputs, clients, strict=True)
        ]
        began_s = [moment_s - min(began_s) for moment_s in began_s]
        window = Window(planned.opens_s + max(began_s), planned.closes_s + max(began_s))
        samples: list[Sample] = []
        found: list[str] = []
        raw: dict[str, bytes] = {}
        for transfer, done, client, server, later_s in zip(
            transfers, outputs, clients, servers, began_s, strict=True
        ):
            samples += [
                *client_samples(client, transfer.way, later_s, transfer.endpoint("sta")),
                *server_samples(server, window, later_s, transfer.endpoint(ENDS[transfer.way][1])),
            ]
            whose = "" if transfer.station is None else f" ({transfer.station}, {transfer.way})"
            alone = transfer.station is None
            found += [f"{fault}{whose}" for fault in faults(client, server, window, later_s, alone=alone)]
            raw |= {
                f"{transfer.name}-client.json": done.client[0],
                f"{transfer.name}-server.json": done.server[0],
            }
        server_argv, client_argv = argvs[0]
        return Measurement(
            samples=samples,
            raw=raw,
            facts={
                "version": f"curl {_curl_version(clients[0])}, ftp {servers[0].version}",
                "transfers": len(transfers),
                "server": server_argv,
                "client": client_argv,
                "transfer_s": seconds,
                "kbyte": "1000 byte",
                "limits": limits.facts(
                    watched, {transfer.way for transfer in transfers}, saturated=True, tcp=None
                ),
            },
            faults=found,
        )


@dataclass(frozen=True)
class _Outputs:
    """Output of both ends of a transfer (stdout, stderr), and the client's start time."""

    client: tuple[bytes, bytes]
    server: tuple[bytes, bytes]
    started_s: float


def _perform(
    link: Link,
    transfers: Sequence[Transfer],
    argvs: Sequence[tuple[list[str], list[str]]],
    planned: Window,
    seconds: float,
) -> tuple[list[_Outputs], Watched]:
    """Run the commands of all transfers at the same time, and observe the window after the start of the last one."""
    hung_s = seconds + 2 * process.GRACE_S
    with ExitStack() as running:
        servers, clients, started_s = [], [], []
        for transfer, (argv, _) in zip(transfers, argvs, strict=True):
            who = _who("server", transfer.server)
            server = running.enter_context(process.serving(transfer.server, argv, "tcp", transfer.port, who))
            if server.poll() is not None:
                stdout, stderr = process.finish(server, process.GRACE_S, who)
                raise AirtollError(f"{who} exited before a client connected: {last_words(stderr, stdout)}")
            servers.append(server)
        for transfer, (_, argv) in zip(transfers, argvs, strict=True):
            started_s.append(time.monotonic())
            clients.append(running.enter_context(process.started(transfer.client, argv)))
        ends: dict[str, list[Process]] = {"sender": [], "receiver": []}
        for transfer, server, client in zip(transfers, servers, clients, strict=True):
            sender, receiver = (client, server) if transfer.way == "up" else (server, client)
            ends["sender"].append(sender)
            ends["receiver"].append(receiver)
        process.wait_until(clients[-1], started_s[-1] + planned.opens_s)
        watched = watch.over(link, clients[-1], started_s[-1] + planned.closes_s, ends)
        said = [
            process.finish(client, hung_s, _who("client", transfer.client))
            for client, transfer in zip(clients, transfers, strict=True)
        ]
        for transfer, output in zip(transfers, said, strict=True):
            parse_client(*output, _who("client", transfer.client))  # else its server would wait forever
        outputs = [
            _Outputs(
                output, process.finish(server, process.GRACE_S, _who("server", transfer.server)), moment_s
            )
            for output, server, transfer, moment_s in zip(said, servers, transfers, started_s, strict=True)
        ]
        return outputs, watched


def commands(transfer: Transfer, ip: Ip, seconds: float) -> tuple[list[str], list[str]]:
    """The command lines of server and client."""
    host = f"[{transfer.address}]" if ip == "ipv6" else transfer.address
    where = f"{host}:{transfer.port}"
    server = [*transfer.server.program("ftp"), where, f"{seconds:.3f}", str(INTERVAL_S)]
    # No configuration file, no proxy, and no SIZE request, because the file has no size.
    client = ["curl", "-q", "--silent", "--show-error", "--noproxy", "*", "--ignore-content-length"]
    client += ["-6" if ip == "ipv6" else "-4", "--user", _USER, "--write-out", "%{json}"]
    client += ["--max-time", f"{seconds + process.GRACE_S:.3f}"]
    url = f"ftp://{where}/{_URL_FILE}"
    if transfer.way == "down":
        return server, [*client, "--output", "/dev/null", url]
    # The file ends where the standard input ends.
    pipe = 'timeout "$1" cat /dev/zero | { shift; exec "$@"; }'
    return server, ["sh", "-c", pipe, "ftp", f"{seconds:.3f}", *client, "--upload-file", "-", url]


def parse_client(output: bytes, stderr: bytes, who: str) -> ClientReport:
    """Parse curl's report. Raises AirtollError, with the name of that end, if it is incomplete or reports a failure."""
    report = process.read_report(ClientReport, output, who, "curl", last_words(stderr, output))
    if report.exitcode != 0:
        words = " ".join((report.errormsg or "").split()) or last_words(stderr)
        raise AirtollError(f"{who}: {words} (curl {report.exitcode})")
    return report


def parse_server(output: bytes, stderr: bytes, who: str) -> ServerReport:
    """Parse the server's report. Raises AirtollError, with the name of that end, if it is incomplete."""
    report = process.read_report(ServerReport, output, who, "transfer", last_words(stderr, output))
    backwards = ((t < t_before or n < n_before) for (t_before, n_before), (t, n) in pairwise(report.trace))
    if any(backwards):
        raise AirtollError(f"{who}: its trace runs backwards")
    return report


def client_samples(report: ClientReport, way: Way, began_s: float, endpoint: str = "sta") -> list[Sample]:
    """The rate of the whole transfer."""
    octets = report.size_upload if way == "up" else report.size_download
    took_s = report.time_total - report.time_pretransfer
    rate = octets / took_s if took_s > 0 else None
    t_ns, dur_ns = round(began_s * NS_PER_S), max(0, round(took_s * NS_PER_S))
    return [Sample("ftp", "ftp_rate", "byte/s", endpoint, way, t_ns, dur_ns, rate)]


def server_samples(
    report: ServerReport, window: Window, began_s: float, endpoint: str = "ap"
) -> list[Sample]:
    """Received payload, one sample per interval. The trace begins `began_s` after the start of the first transfer."""
    samples = []
    for start_s, end_s, octets in _intervals(report, began_s):
        phase = window.phase((start_s + end_s) / 2)
        if phase is not None:
            t_ns = round(start_s * NS_PER_S)
            dur_ns = round(end_s * NS_PER_S) - t_ns
            rate = octets / (end_s - start_s)
            samples.append(
                Sample(
                    "ftp", "ftp_rate_steady", "byte/s", endpoint, report.direction, t_ns, dur_ns, rate, phase
                )
            )
    return samples


def _intervals(report: ServerReport, began_s: float) -> Iterator[tuple[float, float, int]]:
    """Start, end and octets of each interval. An interval too short for a rate is merged into the next one."""
    reached_ns, counted = 0, 0
    for t_ns, octets in report.trace:
        if t_ns - reached_ns >= INTERVAL_S * NS_PER_S / 4:
            yield began_s + reached_ns / NS_PER_S, began_s + t_ns / NS_PER_S, octets - counted
            reached_ns, counted = t_ns, octets


def faults(
    client: ClientReport, server: ServerReport, window: Window, began_s: float, *, alone: bool
) -> list[str]:
    """Reasons why a transfer is invalid. Set `alone` if it has the air to itself and must therefore make progress."""
    found = []
    if not server.complete:
        found.append("ftp: the transfer did not complete")
    moved = client.size_upload if server.direction == "up" else client.size_download
    if server.direction == "up" and moved != server.octets:
        found.append(f"ftp: the client sent {moved} bytes, and the server received {server.octets}")
    measured = [
        row for row in _intervals(server, began_s) if window.phase((row[0] + row[1]) / 2) == "measure"
    ]
    covered_s = sum(end_s - start_s for start_s, end_s, _ in measured)
    # Intervals do not begin exactly at the window's edges: half an interval may be missing at each edge.
    if covered_s < window.duration_s - 1.5 * INTERVAL_S:
        found.append(f"ftp: short window: {covered_s:.2f} s of {window.duration_s:.2f} s were measured")
    silent = sum(octets == 0 for _, _, octets in measured)
    if silent > zeros_allowed("tcp", len(measured)) and alone:
        found.append(f"ftp: nothing arrived in {silent} of {len(measured)} intervals")
    return found


def _curl_version(report: ClientReport) -> str:
    return report.curl_version.removeprefix("libcurl/").split(" ", 1)[0]


def _who(end: str, host: Host) -> str:
    return f"ftp {end} on {host.name}"
