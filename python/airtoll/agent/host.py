"""A host that an agent serves."""

import itertools
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

from pydantic import BaseModel, FailFast, Field, TypeAdapter

from airtoll.agent.connection import ANSWER_TIMEOUT_S, Connection
from airtoll.agent.processes import AgentProcess
from airtoll.agent.sampling import AgentSampling
from airtoll.errors import AirtollError
from airtoll.host import ClockOffset, CommandTimeoutError, OperatingSystem, Process, Unsigned
from airtoll.study.factors import Transport

_CLOCK_EXCHANGES: Final = 50
_AT_END_S: Final = 30.0 + ANSWER_TIMEOUT_S  # an agent gives each command of `at_end` 30 s


class _Facts(BaseModel):
    boot_id: str | None
    kernel: str | None
    architecture: str | None
    os: str | None
    processor: str | None
    cores: Unsigned | None
    memory_bytes: Unsigned | None
    cpu_governor: str | None


class _Port(BaseModel):
    waiting: Unsigned
    connected: Unsigned


class _Clock(BaseModel):
    arrived_ns: Unsigned
    realtime_ns: Annotated[int, Field(ge=-(2**63), lt=2**63)]
    sent_ns: Unsigned


_FACTS: Final = TypeAdapter(_Facts)
_PORT: Final = TypeAdapter(_Port)
_CLOCK: Final = TypeAdapter(_Clock)
_COUNT: Final[TypeAdapter[int]] = TypeAdapter(Unsigned)
_TEXT: Final = TypeAdapter(str)
_WORDS: Final = TypeAdapter(Annotated[list[str], FailFast()])
_TEXTS: Final = TypeAdapter(Annotated[list[str | None], FailFast()])


class AgentHost:
    """Runs commands on a host and reads its state, through the connection to its agent."""

    os: OperatingSystem = "linux"

    def __init__(self, connection: Connection) -> None:
        self.name = connection.name
        self.connection = connection
        self._facts: dict[str, Any] | None = None
        self._kept = itertools.count(1)
        self._inputs: dict[str, str] = {}  # files with the standard input of commands of `at_end`

    def popen(self, argv: Sequence[str], *, stdin: bool = False) -> AgentProcess:
        """Start a command with stdout and stderr kept; killing the process kills the command and its children."""
        return AgentProcess(self.connection, argv, stdin=stdin)

    def run(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command of `popen` to completion. Raises CommandTimeoutError after killing it."""
        with self.popen(argv, stdin=stdin is not None) as process:
            try:
                if stdin is not None:
                    with suppress(AirtollError):  # the command need not read its input
                        process.write(stdin, end=True)
                stdout, stderr = process.communicate(timeout=timeout_s)
            except BaseException as error:
                process.kill()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise CommandTimeoutError(self.name, argv, error) from None
                raise
            return subprocess.CompletedProcess(argv, process.wait(), stdout, stderr)

    def program(self, name: str) -> list[str]:
        """The command of one of the agent's own measuring programs: pingpong, video."""
        return [self.connection.program, name]

    def facts(self) -> dict[str, Any]:
        """Kernel, processor, cores and memory of the machine; they are asked once."""
        if self._facts is None:
            self._facts = self.connection.ask("facts", shape=_FACTS).value.model_dump()
        return dict(self._facts)

    def lacking(self, commands: Sequence[str]) -> list[str]:
        """The commands that the host's search path lacks."""
        return self.connection.ask("lacking", shape=_WORDS, commands=list(commands)).value

    def listens(
        self, transport: Transport, port: int, timeout_s: float = 0.0, process: Process | None = None
    ) -> bool:
        """Whether a server listens on the port, now or within the time. Waits no longer than `process` runs."""
        number = process.number if isinstance(process, AgentProcess) else None
        return self._port("listening", transport, port, timeout_s, process=number).waiting > 0

    def connected(self, transport: Transport, port: int, peers: int, timeout_s: float) -> int:
        """Wait for that number of connected sockets of the port, and return the number."""
        return self._port("connected", transport, port, timeout_s, peers=peers).connected

    def _port(self, do: str, transport: Transport, port: int, wait_s: float, **words: Any) -> _Port:
        words |= {"transport": transport, "port": port, "timeout_s": wait_s}
        return self.connection.ask(do, shape=_PORT, answer_s=wait_s + ANSWER_TIMEOUT_S, **words).value

    def dropped_datagrams(self) -> int:
        """UDP datagrams dropped since the host came up because a socket buffer was full (RcvbufErrors)."""
        return self.connection.ask("dropped_datagrams", shape=_COUNT).value

    def texts(self, *paths: str) -> list[str | None]:
        """The content of small files; None for a file that cannot be read."""
        found = self.connection.ask("texts", shape=_TEXTS, paths=list(paths)).value
        return [*found, *[None] * len(paths)][: len(paths)]

    def sampling(
        self, rate_hz: float, interfaces: Sequence[str] = (), *, machine: bool = True
    ) -> AgentSampling:
        """A context in which the agent reads the host's state at a fixed rate, and at both ends of the context.

        `interfaces` are network interfaces to observe: carrier, and of radios peers, channel and events. `machine`:
        whether to read CPU, memory and energy, which all hosts of a machine share.
        """
        return AgentSampling(self.connection, rate_hz, interfaces, machine=machine)

    def folder(self) -> str:
        """A folder of the host that only its user can read, and that is removed when the connection ends."""
        return self.connection.ask("folder", shape=_TEXT).value

    def get(self, path: str) -> bytes:
        """The content of a file. Raises AirtollError if it cannot be read."""
        return b"".join(self.parts(path))

    def parts(self, path: str) -> Iterator[bytes]:
        """The content of a file, part by part. Raises AirtollError if it cannot be read."""
        offset = 0
        while part := self.connection.ask("get", path=path, offset=offset).body:
            yield part
            offset += len(part)

    def put(self, path: str, content: bytes, mode: int = 0o600) -> None:
        """Write a file as a whole. Raises AirtollError if it cannot be written."""
        self.connection.ask("put", content, path=path, mode=mode)

    def at_end(self, argv: Sequence[str], stdin: bytes | None = None) -> str:
        """Let the agent run a command when the connection ends for any reason, the latest one first.

        Returns the file in which the agent keeps the command, for `forget_at_end`.
        """
        number = next(self._kept)
        command = argv
        if stdin is not None:
            input_file = f"{self.folder()}/input-{number}"
            self.put(input_file, stdin)
            command = ["sh", "-c", 'exec "$@" < "$0"', input_file, *argv]
        kept = self.connection.ask("at_end", shape=_TEXT, number=number, argv=list(command)).value
        if stdin is not None:
            self._inputs[kept] = input_file
        return kept

    def forget_at_end(self, kept: str) -> None:
        """Forget a command of `at_end`, also of an earlier agent. Waits for its end if that agent is running it.

        Forgetting a command that has run has no effect.
        """
        self.connection.ask("forget_at_end", file=kept, answer_s=_AT_END_S)
        if (input_file := self._inputs.pop(kept, None)) is not None:
            self.put(input_file, b"")

    def clock(self) -> ClockOffset:
        """The offset of the host's clock, from the shortest of several round trips."""
        return min((self._exchange() for _ in range(_CLOCK_EXCHANGES)), key=lambda one: one.uncertainty_ns)

    def _exchange(self) -> ClockOffset:
        sent_ns = time.monotonic_ns()
        answer = self.connection.ask("clock", shape=_CLOCK).value
        back_ns = time.monotonic_ns()
        held_ns = answer.sent_ns - answer.arrived_ns
        there_ns = (answer.arrived_ns + answer.sent_ns) // 2
        here_ns = (sent_ns + back_ns) // 2
        return ClockOffset(
            offset_ns=there_ns - here_ns,
            uncertainty_ns=(back_ns - sent_ns - held_ns + 1) // 2,
            at_ns=here_ns,
            wall_ahead_ns=answer.realtime_ns - there_ns,
            wall_uncertainty_ns=(held_ns + 1) // 2,
        )
