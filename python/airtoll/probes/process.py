"""Runs both ends of a measuring tool, a server on one host and a client on another, and ends both in every case.

Only the output decides: iperf3 3.12 with -J and sockperf 3.7 exit with 0 after most failures.
"""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from airtoll.errors import AirtollError
from airtoll.host import Host, Process, last_words
from airtoll.study.factors import Transport

ReportT = TypeVar("ReportT", bound=BaseModel)

LISTEN_TIMEOUT_S = 10.0
"""A server that does not listen within this time has failed."""

GRACE_S = 10.0
"""Time that a tool may take beyond its planned time before it counts as hung."""


@contextmanager
def started(host: Host, argv: Sequence[str]) -> Iterator[Process]:
    """Start a command on the host. Leaving the context kills the command if it still runs."""
    with host.popen(argv) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def serving(host: Host, argv: Sequence[str], transport: Transport, port: int, what: str) -> Iterator[Process]:
    """Start a server and enter the context when the server listens on the port or has already exited.

    The kernel's table is read because neither iperf3 -J nor sockperf reports in time that it is ready. A client that
    starts too early sends unwanted traffic or, over UDP, gets no answer. Raises AirtollError if another socket has the
    port, because the client would talk to that socket.
    """
    if host.listens(transport, port):
        raise AirtollError(f"{what}: port {port} is in use")
    with started(host, argv) as server:
        if not host.listens(transport, port, LISTEN_TIMEOUT_S, server):
            try:
                # A server that has exited never listens: the host may answer before it reports the exit.
                server.wait(1.0)
            except subprocess.TimeoutExpired:
                raise AirtollError(
                    f"{what} does not listen on port {port} after {LISTEN_TIMEOUT_S:.0f} s"
                ) from None
        yield server


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


def wait_until(process: Process, moment_s: float) -> None:
    """Wait until `moment_s` (time.monotonic) or until the process ends."""
    try:
        process.wait(timeout=max(0.0, moment_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return


def finish(process: Process, timeout_s: float, what: str) -> tuple[bytes, bytes]:
    """Wait for the process and return stdout and stderr. Kills a process that hangs and raises AirtollError."""
    try:
        return process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        process.kill()
        said = last_words(error.stderr or b"", error.stdout or b"")
        raise AirtollError(f"{what} did not end within {timeout_s:.1f} s: {said}") from None
