"""Stations with macOS or Windows, for which no agent exists: commands by plain SSH.

Such a host runs commands, and nothing else: it has no readings, no clock and none of the agent's programs. Every
command must therefore end by itself. On macOS, the end of the connection also interrupts the command.
"""

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from shlex import join, quote
from tempfile import TemporaryFile
from typing import Any, Final, Literal, NoReturn

from airtoll.agent.connection import LostError
from airtoll.agent.ssh import Ssh
from airtoll.errors import AirtollError
from airtoll.host import ClockOffset, CommandTimeoutError, HostReading, Process, ThreadTimes, last_words
from airtoll.study.factors import Transport
from airtoll.study.quantity import one_line

AgentlessSystem = Literal["macos", "windows"]

_PLAIN: Final = re.compile(r"[A-Za-z0-9.:_/=,+-]+")
"""An argument that has no meaning for cmd.exe."""

_NO_CONNECTION: Final = 255  # the status with which ssh(1) reports its own failures
_TIMEOUT_S: Final = 20.0
_END_S: Final = 2.0  # for a command to end after an interruption
_POLL_S: Final = 0.01

# The end of the standard input interrupts the command, and kills it a second later. The search path of sshd lacks the
# folders of Homebrew and MacPorts.
_INTERRUPTIBLE: Final = """
PATH=$PATH:/opt/homebrew/bin:/usr/local/bin:/opt/local/bin
exec 3<&0
"$@" </dev/null &
command=$!
{ cat; kill -INT $command; sleep 1; kill -KILL $command; } <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $command
status=$?
kill $watcher 2>/dev/null
exit $status
"""

_MAC_FACTS: Final = "uname -r; uname -m; sw_vers -productVersion; sysctl -n machdep.cpu.brand_string hw.ncpu"

_SPARED: Final = {"ip", "ss", "timeout"}
"""Commands of Linux that a measurement does without on these hosts."""


class AgentlessProcess:
    """A command on a host without an agent, with the interface of `subprocess.Popen`."""

    def __init__(self, host: "AgentlessHost", argv: Sequence[str]) -> None:
        self._host = host
        self._stdout, self._stderr = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._ssh = subprocess.Popen(
            host.command(argv),
            stdin=subprocess.PIPE,
            stdout=self._stdout,
            stderr=self._stderr,
            start_new_session=True,  # Ctrl-C must reach only airtoll, which ends commands in order
        )
        self._lines_read = 0  # octets of stdout that `next_line` has returned
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status; None while it runs. Raises LostError without a connection."""
        return self._checked(self._ssh.poll())

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired, or LostError without a connection."""
        status = self._checked(self._ssh.wait(timeout))
        assert status is not None
        return status

    def _checked(self, status: int | None) -> int | None:
        if status == _NO_CONNECTION:
            error = LostError(f"host {self._host.name}: {last_words(self._read(self._stderr))}")
            error.said = self._read(self._stderr)
            raise error
        self.returncode = status
        return status

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for the end, and return the rest of stdout, and stderr. Raises as `wait` does."""
        self.wait(timeout)
        return self._read(self._stdout, self._lines_read), self._read(self._stderr)

    @staticmethod
    def _read(file: Any, offset: int = 0) -> bytes:
        file.seek(offset)
        content: bytes = file.read()
        return content

    def next_line(self, until_s: float) -> bytes | None:
        """The next line of stdout without its end, or None at the end. Raises TimeoutError at `until_s`."""
        while True:
            has_ended = self.poll() is not None
            line, end, _ = self._read(self._stdout, self._lines_read).partition(b"\n")
            if end:
                self._lines_read += len(line) + 1
                return line
            if has_ended:
                return None
            if time.monotonic() > until_s:
                raise TimeoutError
            time.sleep(_POLL_S)

    def send_signal(self, sig: int) -> None:  # noqa: ARG002
        """Interrupt the command on macOS, whatever the signal. Windows lets it run to its end."""
        if self._host.os == "macos" and self._ssh.stdin is not None:
            with suppress(OSError):
                self._ssh.stdin.close()

    def terminate(self) -> None:
        """Interrupt the command, as `send_signal` does."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Interrupt the command, and end the connection."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._ssh.wait(_END_S if self._host.os == "macos" else 0)
        self._ssh.kill()

    def cpu_s(self) -> float:
        """0: the host does not tell."""
        return 0.0

    def threads(self) -> Mapping[str, ThreadTimes]:
        """None: the host does not tell."""
        return {}

    def __enter__(self) -> "AgentlessProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._ssh.wait()
        if self._ssh.stdin is not None:
            with suppress(OSError):
                self._ssh.stdin.close()
        self._stdout.close()
        self._stderr.close()


class _NoReadings:
    readings: Sequence[HostReading] = ()


class AgentlessHost:
    """A host behind SSH that runs no agent."""

    def __init__(self, way: Ssh, system: AgentlessSystem) -> None:
        self.name = way.name
        self.os: AgentlessSystem = system
        self._way = way
        self._facts: dict[str, Any] | None = None

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command of this machine that runs a command of the host."""
        if self.os == "macos":
            return self._way.argv(f"exec sh -c {quote(_INTERRUPTIBLE)} sh {join(argv)}")
        # Windows executes a command by cmd.exe, which has no reliable way of quoting.
        if (bad := next((word for word in argv if not _PLAIN.fullmatch(word)), None)) is not None:
            raise AirtollError(
                f"host {self.name}: {one_line(bad)!r} cannot be an argument of a command on Windows"
            )
        return self._way.argv(" ".join(argv))

    def popen(self, argv: Sequence[str]) -> AgentlessProcess:
        """Start a command on the host, as the user of the connection."""
        return AgentlessProcess(self, argv)

    def run(self, argv: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[bytes]:
        """Run a command to completion. Raises CommandTimeoutError, or LostError without a connection."""
        with self.popen(argv) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout_s)
            except BaseException as error:
                process.kill()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise CommandTimeoutError(self.name, argv, error) from None
                raise
            return subprocess.CompletedProcess(argv, process.wait(), stdout, stderr)

    def reach(self) -> None:
        """Raise UsageError with a remedy, or LostError, if the host does not answer."""
        try:
            self._answer(["echo", "here"] if self.os == "macos" else ["cmd", "/c", "ver"])
        except LostError as error:
            raise self._way.explained(error) from None

    def _answer(self, argv: Sequence[str]) -> str:
        try:
            return self.run(argv, _TIMEOUT_S).stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            raise LostError(f"host {self.name}: no answer within {_TIMEOUT_S:.0f} s") from None

    def facts(self) -> dict[str, Any]:
        """The system of the host and its version, and of macOS also processor and cores; they are asked once."""
        if self._facts is None:
            self._facts = {"agent": None, **(self._of_macos() if self.os == "macos" else self._of_windows())}
        return dict(self._facts)

    def _of_macos(self) -> dict[str, Any]:
        found = self._answer(["sh", "-c", _MAC_FACTS]).splitlines()
        kernel, machine, version, processor, cores, *_ = [*found, *[""] * 5]
        return {
            "os": f"macOS {version}".strip(),
            "kernel": f"Darwin {kernel}",
            "architecture": machine,
            "processor": processor or None,
            "cores": int(cores) if cores.isdecimal() else None,
        }

    def _of_windows(self) -> dict[str, Any]:
        return {"os": " ".join(self._answer(["cmd", "/c", "ver"]).split()), "processor": None, "cores": None}

    def lacking(self, commands: Sequence[str]) -> list[str]:
        """The commands that the host's search path lacks, and that a measurement requires there."""
        finder = ["command", "-v"] if self.os == "macos" else ["where"]
        asked = [command for command in commands if command not in _SPARED]
        return [command for command in asked if self.run([*finder, command], _TIMEOUT_S).returncode != 0]

    def texts(self, *paths: str) -> list[str | None]:
        """None for each file: they are those of Linux. Raises LostError if the host does not answer."""
        self.reach()
        return [None for _ in paths]

    @contextmanager
    def sampling(
        self,
        rate_hz: float,  # noqa: ARG002
        interfaces: Sequence[str] = (),  # noqa: ARG002
        *,
        machine: bool = True,  # noqa: ARG002
    ) -> Iterator[_NoReadings]:
        """A context without readings."""
        yield _NoReadings()

    def program(self, name: str) -> list[str]:
        """Raises AirtollError: the program is part of the agent."""
        self._refuse(f"the program {name}")

    def listens(
        self,
        transport: Transport,  # noqa: ARG002
        port: int,  # noqa: ARG002
        timeout_s: float = 0.0,  # noqa: ARG002
        process: Process | None = None,  # noqa: ARG002
    ) -> bool:
        """Raises AirtollError: only an agent can tell, so no server runs here."""
        self._refuse("a server")

    def connected(self, transport: Transport, port: int, peers: int, timeout_s: float) -> int:  # noqa: ARG002
        """Raises AirtollError, as `listens` does."""
        self._refuse("a server")

    def dropped_datagrams(self) -> int:
        """Raises AirtollError, as `listens` does."""
        self._refuse("a server")

    def clock(self) -> ClockOffset:
        """Raises AirtollError: a comparison of clocks requires an agent."""
        self._refuse("its clock")

    def _refuse(self, what: str) -> NoReturn:
        raise AirtollError(f"host {self.name}: {what} requires an agent, which exists only for Linux")

    def close(self) -> None:
        """End the connection."""
        self._way.close()
