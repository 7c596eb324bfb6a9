"""Processes that agents or labs start."""

import time
from collections.abc import Callable
from pathlib import Path

from airtoll.agent.host import AgentHost


def wait_until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def runs(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker_of(host: AgentHost) -> int:
    """The process of the agent that does the work."""
    return int(host.run(["sh", "-c", "echo $PPID"], 5).stdout)
