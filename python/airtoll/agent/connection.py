"""The connection to an agent: frames on the standard streams of a local process, such as nsenter or ssh.

A frame is the lengths of its head and of its body, each a 32-bit big-endian number of octets, then the head, one JSON
object, then the body. `crates/airtoll-agent/src/agent/session.rs` lists the requests.
"""

import itertools
import json
import os
import selectors
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, FailFast, TypeAdapter, ValidationError

from airtoll import _rust
from airtoll.documents import first_fault
from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.study.quantity import one_line

ANSWER_TIMEOUT_S: Final = 20.0
"""An agent that does not answer within this time is lost, as is a host behind a link that has gone."""

_END_S: Final = 5.0
"""Time for a worker to end after its input has closed."""

_RESTORE_S: Final = 120.0
"""Time to wait for a supervisor, which gives 30 s to each command that restores the host. The command that reaches the
host is never killed for it: a supervisor that takes longer continues without this process."""

_LENGTHS: Final = struct.Struct(">II")
_MOST_B: Final = 1 << 22  # of a head or a body


_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Lost:
    """The last event of every number: the connection has ended."""

    why: str


class Head(BaseModel):
    """The head of a frame from the agent: its greeting, an answer or an event."""

    agent: str | None = None
    pid: int = 0
    program: str | None = None
    id: int | None = None
    ok: Any = None
    error: str | None = None
    process: int | None = None
    stream: Literal["stdout", "stderr"] | None = None
    end: bool = False
    exit: int | None = None
    sampler: int | None = None
    rows: Annotated[list[dict[str, Any]], FailFast()] = []


_ANYTHING: Final[TypeAdapter[Any]] = TypeAdapter(object)


class LostError(AirtollError):
    """The connection to a host has ended, or the host does not answer."""

    said: bytes = b""
    """The standard error of the command that reaches the host."""


@dataclass(frozen=True)
class AgentAnswer(Generic[_Value]):
    """The answer to a request."""

    value: _Value
    body: bytes


class Connection:
    """One agent. Threads may send requests side by side."""

    def __init__(self, name: str, argv: Sequence[str], *, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        """Start the command that reaches the agent of the host `name`.

        Raises LostError with the command's own words if the agent does not report.
        """
        self.name = name
        self._transport = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must reach only airtoll, which ends commands in order
        )
        assert self._transport.stdin is not None
        os.set_blocking(self._transport.stdin.fileno(), False)  # a host may stop reading
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._answers: dict[int, AgentAnswer[Any] | str] = {}
        self._waiting: set[int] = set()
        self._numbers = itertools.count(1)
        self._listeners: dict[tuple[str, int], Callable[[Head | Lost, bytes], None]] = {}
        self._lost: str | None = None
        self._worker_has_ended = False
        self._hello: Head | None = None
        self._said = bytearray()  # the transport's standard error
        self._reader = threading.Thread(target=self._read, name=f"agent {name}", daemon=True)
        self._errors = threading.Thread(target=self._read_errors, name=f"agent {name} stderr", daemon=True)
        self._errors.start()
        self._reader.start()
        try:
            with self._changed:
                if not self._changed.wait_for(lambda: self._hello or self._lost, timeout_s):
                    raise LostError(f"host {name}: the agent did not report within {timeout_s:.0f} s")
            if self._hello is None:
                raise LostError(f"host {name}: {self._lost}")
            if (version := self._hello.agent) != _rust.AGENT_VERSION:
                raise LostError(
                    f"host {name}: the agent is {one_line(str(version))}, and airtoll requires {_rust.AGENT_VERSION}"
                )
        except LostError as error:
            self.close()
            error.said = bytes(self._said)
            raise
        except BaseException:
            self.close()
            raise

    def ask(
        self,
        do: str,
        body: bytes = b"",
        *,
        shape: TypeAdapter[_Value] = _ANYTHING,
        answer_s: float = ANSWER_TIMEOUT_S,
        **words: Any,
    ) -> AgentAnswer[_Value]:
        """The answer to a request, whose value has the shape.

        Raises LostError if none comes in time or if its value has another shape, AirtollError if the agent refuses.
        """
        number = next(self._numbers)
        until_s = time.monotonic() + answer_s
        with self._changed:
            self._waiting.add(number)
        try:
            is_sent = self._send({"id": number, "do": do, **words}, body, until_s)
            with self._changed:
                is_late = not is_sent or not self._changed.wait_for(
                    lambda: number in self._answers or self._lost, max(0.0, until_s - time.monotonic())
                )
            if is_late:
                # A new connection may reach the host again; through this one, an answer would come too late.
                self.drop(f"the agent did not answer within {answer_s:.0f} s")
            with self._changed:
                if number not in self._answers:
                    raise LostError(f"host {self.name}: {self._lost}")
                answer = self._answers[number]
        finally:
            with self._changed:
                self._waiting.discard(number)
                self._answers.pop(number, None)
        if isinstance(answer, str):
            raise AirtollError(f"host {self.name}: {answer}")
        try:
            return AgentAnswer(shape.validate_python(answer.value), answer.body)
        except ValidationError as error:
            self.drop(f"the agent's answer to '{do}' is not readable: {first_fault(error)}")
            raise LostError(f"host {self.name}: {self._lost}") from None

    def listen(self, kind: str, take: Callable[[Head | Lost, bytes], None]) -> int:
        """Call `take` with each event of a new number of this kind: `process` or `sampler`. Returns the number."""
        number = next(self._numbers)
        self._listeners[kind, number] = take
        return number

    def forget(self, kind: str, number: int) -> None:
        """End the calls."""
        self._listeners.pop((kind, number), None)

    @property
    def program(self) -> str:
        """The path of the agent's program on the host."""
        assert self._hello is not None
        return str(self._hello.program)

    @property
    def lost(self) -> str | None:
        """The reason why the connection has ended, or None."""
        return self._lost

    def close(self) -> None:
        """End the agent and everything that it started, and wait until the transport has ended.

        The agent may restore its host meanwhile (`AgentHost.at_end`).
        """
        pipe = self._transport.stdin
        assert pipe is not None
        with self._sending, suppress(OSError):
            pipe.close()
        self._reader.join(_END_S)
        is_restoring = self._worker_has_ended
        if not is_restoring:
            self._kill()
        with suppress(subprocess.TimeoutExpired):
            self._transport.wait(_RESTORE_S if is_restoring else _END_S)
        self._reader.join(timeout=1.0)
        self._errors.join(timeout=1.0)

    def drop(self, why: str) -> None:
        """End the connection at once. Everyone who waits or asks gets LostError with the reason."""
        self._lose(why)
        self._kill()

    def _kill(self) -> None:
        """Kill the command that reaches the agent. If the command is the supervisor, the worker restores the host."""
        with suppress(PermissionError):  # sudo belongs to root
            self._transport.kill()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, head: Mapping[str, Any], body: bytes, until_s: float) -> bool:
        """Send a frame. Returns false if the host does not take all of it in time: the rest would not be a frame."""
        octets = json.dumps(head).encode()
        pipe = self._transport.stdin
        assert pipe is not None
        if not self._sending.acquire(timeout=max(0.0, until_s - time.monotonic())):
            return False
        try:
            if self._lost is not None:  # another request may have been sent in part
                raise OSError(self._lost)
            rest = memoryview(_LENGTHS.pack(len(octets), len(body)) + octets + body)
            with selectors.PollSelector() as selector:
                selector.register(pipe, selectors.EVENT_WRITE)
                while rest:
                    if not selector.select(max(0.0, until_s - time.monotonic())):
                        return False
                    with suppress(BlockingIOError):
                        rest = rest[os.write(pipe.fileno(), rest) :]
            return True
        except (OSError, ValueError):  # ValueError: closed by `close`
            self._reader.join(timeout=1.0)
            raise LostError(f"host {self.name}: {self._lost or 'the connection has ended'}") from None
        finally:
            self._sending.release()

    def _read(self) -> None:
        stream = self._transport.stdout
        assert stream is not None
        why = None
        try:
            while (frame := _frame(stream)) is not None:
                self._take(*frame)
            self._worker_has_ended = self._hello is not None
        except ValidationError as error:
            why = f"the agent's answer is not readable: {first_fault(error)}"
        except (ValueError, OSError) as error:
            why = f"the agent's answer is not readable: {one_line(str(error), most=4096)}"
        finally:
            stream.close()
            self._errors.join(timeout=0.5)
            said = last_words(bytes(self._said)) if self._said.strip() else "the connection has ended"
            self._lose(why or said)

    def _lose(self, why: str) -> None:
        """Tell everyone who waits that the connection has ended, with the first reason."""
        with self._changed:
            self._lost = self._lost or why
            self._changed.notify_all()
            listeners = list(self._listeners.values())
        for take in listeners:
            take(Lost(why=self._lost), b"")

    def _take(self, head: Head, body: bytes) -> None:
        for kind, number in (("process", head.process), ("sampler", head.sampler)):
            if number is not None:
                if (take := self._listeners.get((kind, number))) is not None:
                    take(head, body)
                return
        with self._changed:
            if head.agent is not None:
                self._hello = head
            elif head.id is not None and head.id in self._waiting:
                if not head.model_fields_set & {"ok", "error"}:
                    raise ValueError("it has no value")
                self._answers[head.id] = (
                    AgentAnswer(head.ok, body) if head.error is None else one_line(head.error, most=4096)
                )
            self._changed.notify_all()

    def _read_errors(self) -> None:
        stream = self._transport.stderr
        assert stream is not None
        with stream:
            while chunk := os.read(stream.fileno(), 4096):
                self._said += chunk
                del self._said[:-65536]


def _frame(stream: IO[bytes]) -> tuple[Head, bytes] | None:
    """The next frame; None at the end of the stream. Raises ValueError, or ValidationError, for anything else."""
    lengths = stream.read(_LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise ValueError(repr(lengths))
    head_b, body_b = _LENGTHS.unpack(lengths)
    if head_b > _MOST_B or body_b > _MOST_B:
        # Typically the greeting of a login shell.
        raise ValueError(repr(lengths + stream.read(64)))
    head = stream.read(head_b)
    body = stream.read(body_b)
    if len(head) < head_b or len(body) < body_b:
        raise ValueError("it ends within a frame")
    return Head.model_validate_json(head), body
