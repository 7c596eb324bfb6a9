"""The interface of a host, the readings of its state, and commands that must succeed on it."""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from shutil import which
from typing import Annotated, Any, Final, Literal, Protocol, Self

from pydantic import Field, FiniteFloat

from airtoll.errors import AirtollError
from airtoll.study.factors import Transport
from airtoll.study.quantity import one_line

OperatingSystem = Literal["linux", "macos", "windows"]

Unsigned = Annotated[int, Field(ge=0, lt=2**63)]
"""A number that a host counts: no longer than those of its kernel."""

_ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CommandTimeoutError(AirtollError, subprocess.TimeoutExpired):
    """A command of a host did not end in time, and was killed."""

    def __init__(self, host: str, argv: Sequence[str], late: subprocess.TimeoutExpired) -> None:
        super().__init__(argv, late.timeout, late.output, late.stderr)
        self.host = host

    def __str__(self) -> str:
        """The host, the command and the time in one line."""
        return f"host {self.host}: '{self.cmd[0]}' did not end within {self.timeout:g} s"


class Process(Protocol):
    """A command on a host, with the interface of subprocess.Popen. Calls raise AirtollError if the host is lost."""

    returncode: int | None

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while the command runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired."""
        ...

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for the end of the output, and return stdout and stderr. Raises subprocess.TimeoutExpired."""
        ...

    def next_line(self, until_s: float) -> bytes | None:
        """The next line of stdout without its end, or None at the end of the output.

        Raises TimeoutError if no complete line arrives until `until_s` (time.monotonic).
        """
        ...

    def send_signal(self, sig: int) -> None:
        """Send a signal to the command. Nothing happens if it has ended."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to the command."""
        ...

    def kill(self) -> None:
        """Kill the command and the processes that it started."""
        ...

    def cpu_s(self) -> float:
        """CPU time of all threads of the command; 0 if it has ended."""
        ...

    def threads(self) -> Mapping[str, "ThreadTimes"]:
        """The times of the threads of the command and of the processes that it started, by number.

        Empty if the command has ended, or if its kernel does not count them.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class ThreadTimes:
    """The times of a thread since it started."""

    run_s: float  # on a CPU
    wait_s: float  # able to run, but waiting for a CPU

    def since(self, before: "ThreadTimes") -> "ThreadTimes":
        """The times since an earlier reading."""
        return ThreadTimes(self.run_s - before.run_s, self.wait_s - before.wait_s)


class Host(Protocol):
    """A machine, or something that acts as one: a network namespace, a guest, a machine behind SSH."""

    name: str

    @property
    def os(self) -> OperatingSystem:
        """The operating system. Only a host with Linux has an agent, and with it programs, readings and a clock."""
        ...

    def popen(self, argv: Sequence[str]) -> Process:
        """Start a command on the host. Its output is kept."""
        ...

    def run(self, argv: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[bytes]:
        """Run a command of `popen` to completion. Raises CommandTimeoutError after killing it."""
        ...

    def facts(self) -> dict[str, Any]:
        """Description of the machine for the record: kernel, CPU, cores, TCP settings."""
        ...

    def program(self, name: str) -> list[str]:
        """The command of one of airtoll's own measuring programs: pingpong, video."""
        ...

    def listens(
        self, transport: Transport, port: int, timeout_s: float = 0.0, process: Process | None = None
    ) -> bool:
        """Whether a server listens on the port, now or within the time. Waits no longer than `process` runs."""
        ...

    def connected(self, transport: Transport, port: int, peers: int, timeout_s: float) -> int:
        """Wait for that number of connected sockets of the port, and return the number."""
        ...

    def dropped_datagrams(self) -> int:
        """UDP datagrams dropped since the host came up because a socket buffer was full (RcvbufErrors)."""
        ...

    def texts(self, *paths: str) -> list[str | None]:
        """The content of small files; None for a file that cannot be read."""
        ...

    def clock(self) -> "ClockOffset":
        """The offset of the host's clock, from the shortest of several round trips."""
        ...

    def sampling(
        self, rate_hz: float, interfaces: Sequence[str] = (), *, machine: bool = True
    ) -> AbstractContextManager["Sampling"]:
        """A context in which the host reads its own state at a fixed rate, and at both ends of the context.

        `interfaces` are its network interfaces to observe. `machine`: whether to read CPU, memory and energy, which all
        hosts of a machine share.
        """
        ...


class Sampling(Protocol):
    """The readings of a host."""

    @property
    def readings(self) -> Sequence["HostReading"]:
        """The readings so far, in order. Raises AirtollError if the host is lost."""
        ...


@dataclass(frozen=True)
class ClockOffset:
    """The clocks of a host, compared with the monotonic clock of this machine at `at_ns`."""

    offset_ns: int  # the host's monotonic clock minus this machine's
    uncertainty_ns: int  # half of the shortest round trip: the error cannot exceed it
    at_ns: int
    wall_ahead_ns: int = 0  # the host's time of day minus its monotonic clock
    wall_uncertainty_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class RadioRate:
    """The PHY rate of a frame. A rate without MCS has no streams and no width."""

    bit_per_s: FiniteFloat
    mcs: Unsigned | None = None  # of HT, it implies the streams
    streams: Unsigned | None = None
    width_mhz: Unsigned | None = None

    def __str__(self) -> str:
        """The rate in one line: "135 Mbit/s, mcs7, streams 1, 40 MHz"."""
        speed = f"{round(self.bit_per_s / 1e6, 1):g} Mbit/s"
        if self.mcs is None:
            return speed
        return f"{speed}, mcs{self.mcs}, streams {self.streams}, {self.width_mhz} MHz"


@dataclass(frozen=True, kw_only=True)
class PeerStatistics:
    """Statistics that the radio of a host reports about a peer. None means that the radio does not report the value."""

    signal_dbm: FiniteFloat | None = None  # of the last received frame
    tx_rate: RadioRate | None = None  # of the last Data frame that was sent
    rx_rate: RadioRate | None = None  # of the last Data frame that was received
    tx_bytes: Unsigned | None = None  # of MPDUs; this and the next six are totals since the peer joined
    rx_bytes: Unsigned | None = None
    tx_packets: Unsigned | None = None
    tx_retries: Unsigned | None = None
    tx_failed: Unsigned | None = None  # frames without Ack after all retries
    tx_airtime_us: Unsigned | None = None  # of transmissions to the peer; few drivers measure it
    rx_airtime_us: Unsigned | None = None
    links: Mapping[str, "PeerStatistics"] = field(default_factory=dict)  # by ID, of a multi-link association


@dataclass(frozen=True, kw_only=True)
class ChannelTimes:
    """The channel of a radio: totals since its driver reset them. None: the driver does not report the value."""

    frequency_mhz: Unsigned | None = None
    noise_dbm: FiniteFloat | None = None
    active_ms: Unsigned | None = None  # time on the channel
    busy_ms: Unsigned | None = None  # of that, time in which the primary channel was sensed busy
    receive_ms: Unsigned | None = None
    transmit_ms: Unsigned | None = None


@dataclass(frozen=True, kw_only=True)
class HostEvent:
    """An event of a network interface, or of the regulatory domain, which belongs to none."""

    event: str
    t_ns: Unsigned  # the host's monotonic clock
    interface: str | None = None
    peer: str | None = None
    reason: Unsigned | None = None
    status: Unsigned | None = None
    country: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostReading:
    """The state of a host at one time. Values that were not asked for, or that the host does not have, are absent."""

    at_ns: int  # the host's monotonic clock
    idle_s: tuple[float, ...] = ()  # per core, since boot
    steal_s: tuple[float, ...] = ()  # taken by the hypervisor
    energy_j: tuple[float, ...] = ()  # per package of the processor (RAPL), since the sampling began
    available_b: int | None = None  # memory
    carriers: Mapping[str, bool | None] = field(default_factory=dict)  # by interface
    peers: Mapping[str, Mapping[str, PeerStatistics]] = field(
        default_factory=dict
    )  # by interface and MAC address
    channels: Mapping[str, ChannelTimes] = field(default_factory=dict)  # by interface
    events: tuple[HostEvent, ...] = ()  # since the reading before


def last_words(*outputs: bytes) -> str:
    """The error message of a failed tool: the last line of its first non-empty output, without colours.

    Characters that a terminal would execute are escaped: the tool may run on another machine.
    """
    for output in outputs:
        text = _ANSI_COLOUR.sub("", output.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return one_line(lines[-1], most=4096)
    return "it printed nothing"


def succeed(host: Host, argv: Sequence[str], timeout_s: float, doing: str) -> bytes:
    """Run a command that must succeed, and return its standard output.

    Raises AirtollError with `doing` and the last words of the command if it fails.
    """
    done = host.run(argv, timeout_s)
    if done.returncode != 0:
        raise AirtollError(f"{doing}: {last_words(done.stderr, done.stdout)}")
    return done.stdout


SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path of a guest's programs."""


def missing_commands(packages: Mapping[str, str], path: str | None = None) -> dict[str, str]:
    """Return the missing commands and their packages (command -> Debian package).

    `path` replaces the user's search path.
    """
    return {command: package for command, package in packages.items() if which(command, path=path) is None}


def named_commands(commands: Iterable[str]) -> str:
    """Commands as words of an error: "the command 'ip'", "the commands 'ip', 'nsenter'"."""
    quoted = [f"'{command}'" for command in commands]
    return f"the command{'s' if len(quoted) > 1 else ''} {', '.join(quoted)}"


def packages_of(missing: Mapping[str, str]) -> str:
    """The packages with the missing commands, as arguments of a package manager."""
    return " ".join(dict.fromkeys(missing.values()))


def machine_lacks(packages: Mapping[str, str]) -> str | None:
    """Return the commands that this machine lacks (command -> Debian package), with the remedy, or None."""
    if not (missing := missing_commands(packages)):
        return None
    verb = "are" if len(missing) > 1 else "is"
    return f"{named_commands(missing)} {verb} missing: apt-get install {packages_of(missing)}"
