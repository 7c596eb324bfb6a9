"""Commands on a host, with the interface of `subprocess.Popen`."""

import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pydantic import BaseModel, TypeAdapter

from airtoll.agent.connection import ANSWER_TIMEOUT_S, Connection, Head, Lost, LostError
from airtoll.errors import AirtollError
from airtoll.host import ThreadTimes

STREAMS: Final = ("stdout", "stderr")


class _Started(BaseModel):
    pid: int


_STARTED: Final = TypeAdapter(_Started)
_SECONDS: Final = TypeAdapter(float | None)
_THREADS: Final = TypeAdapter(dict[str, tuple[float, float]])


class AgentProcess:
    """A command that an agent runs. Its output is kept here, so a command never waits for its reader."""

    def __init__(self, connection: Connection, argv: Sequence[str], *, stdin: bool = False) -> None:
        """Start the command. Raises LostError without a connection."""
        self.args = list(argv)
        self._connection = connection
        self._changed = threading.Condition()
        self._output = {name: bytearray() for name in STREAMS}
        self._open = set(STREAMS)
        self._lines_read = 0  # octets of stdout that `next_line` has returned
        self._lost: str | None = None
        self.returncode: int | None = None
        self.number = connection.listen("process", self._take)
        try:
            answer = connection.ask("start", shape=_STARTED, process=self.number, argv=self.args, stdin=stdin)
        except BaseException:
            connection.forget("process", self.number)
            raise
        self.pid: int = answer.value.pid

    def _take(self, event: Head | Lost, body: bytes) -> None:
        with self._changed:
            if isinstance(event, Lost):
                self._lost = event.why
                self._open.clear()
            elif event.stream is not None:
                self._output[event.stream] += body
                if event.end:
                    self._open.discard(event.stream)
            else:
                status = event.exit
                self.returncode = -signal.SIGKILL if status is None else status
            self._changed.notify_all()

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs. Raises LostError without a connection."""
        with self._changed:
            self._check()
            return self.returncode

    def _check(self) -> None:
        if self._lost is not None and self.returncode is None:
            raise LostError(f"host {self._connection.name}: {self._lost}")

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises subprocess.TimeoutExpired, or LostError without a connection."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.returncode is not None or self._lost, timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._check()
            assert self.returncode is not None
            return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for the end of the command and of its output, and return the rest of both streams.

        Lines that `next_line` returned are not part of the rest. Raises as `wait` does.
        """
        until_s = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            if not self._changed.wait_for(lambda: not self._open, timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0, *self._rest())
        self.wait(None if until_s is None else max(0.0, until_s - time.monotonic()))
        return self._rest()

    def _rest(self) -> tuple[bytes, bytes]:
        return bytes(self._output["stdout"][self._lines_read :]), bytes(self._output["stderr"])

    def next_line(self, until_s: float) -> bytes | None:
        """The next line of standard output without its end, or None at the end of the output.

        Raises TimeoutError if no complete line arrives until `until_s` (time.monotonic).
        """
        output = self._output["stdout"]

        def end() -> int:
            return output.find(b"\n", self._lines_read)

        with self._changed:
            if not self._changed.wait_for(
                lambda: end() >= 0 or "stdout" not in self._open, max(0.0, until_s - time.monotonic())
            ):
                raise TimeoutError
            at = end()
            if at < 0:
                self._check()
                return None
            line = bytes(output[self._lines_read : at])
            self._lines_read = at + 1
            return line

    def write(self, octets: bytes, *, end: bool = False) -> None:
        """Write to the command's standard input and, at the end, close it. Raises AirtollError if it is closed."""
        self._connection.ask("write", octets, process=self.number, end=end)

    def send_signal(self, sig: int) -> None:
        """Send a signal to the command. Nothing happens if it has ended."""
        self._signal(sig, group=False)

    def terminate(self) -> None:
        """Send SIGTERM to the command."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the command and everything that it started in its process group."""
        self._signal(signal.SIGKILL, group=True)

    def _signal(self, sig: int, *, group: bool) -> None:
        with suppress(LostError):  # then the agent has killed it
            self._connection.ask("signal", process=self.number, signal=int(sig), group=group)

    def cpu_s(self) -> float:
        """CPU time of all threads of the command; 0 if it has ended."""
        return self._connection.ask("process_cpu", shape=_SECONDS, process=self.number).value or 0.0

    def threads(self) -> dict[str, ThreadTimes]:
        """The times of the threads of the command and of the processes that it started, by number."""
        found = self._connection.ask("process_threads", shape=_THREADS, process=self.number).value
        return {number: ThreadTimes(*times) for number, times in found.items()}

    def __enter__(self) -> "AgentProcess":
        return self

    def __exit__(self, *raised: object) -> None:
        """Wait for the end. Raises LostError if the host does not report it in time, except after Ctrl-C."""
        try:
            with suppress(LostError):
                self.wait(ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._connection.drop(f"'{self.args[0]}' did not end within {ANSWER_TIMEOUT_S:.0f} s")
            if KeyboardInterrupt not in raised:
                self._check()
        finally:
            self._connection.forget("process", self.number)
            with suppress(AirtollError):
                self._connection.ask("forget", process=self.number)
