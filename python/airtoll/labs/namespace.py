"""A host that is a network namespace of this machine."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost


class NamespaceHost(AgentHost):
    """One of the network namespaces that an emulator process holds.

    The agent and its commands also join the emulator's PID namespace, whose init process is the emulator: when it ends,
    for any reason, the kernel kills all of them.
    """

    def __init__(
        self,
        name: str,
        emulator_pid: int,
        namespace_fd: int,
        *,
        user_namespace: bool,
    ) -> None:
        """`namespace_fd`: the emulator's file descriptor of the host's network namespace."""
        self.namespace = f"/proc/{emulator_pid}/fd/{namespace_fd}"
        agent = str(binary.local())
        enter = [
            "nsenter",
            *(["--preserve-credentials", f"--user=/proc/{emulator_pid}/ns/user"] if user_namespace else []),
            f"--pid=/proc/{emulator_pid}/ns/pid",
            f"--net={self.namespace}",
            "--",
        ]
        super().__init__(Connection(name, [*enter, agent, "serve"]))


def python_command(program: str) -> list[str]:
    """The command that runs this program text with the Python and the packages of this process."""
    return [sys.executable, "-I", "-c", program]


def machine_facts() -> dict[str, Any]:
    """Description of the machine that airtoll runs on, for the record."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        None,
    )
    memory_kib = int(Path("/proc/meminfo").read_text(encoding="ascii").split(maxsplit=2)[1])
    return {
        # Identifies the machine: unique per boot of a kernel, and the same in all its namespaces (random(4)).
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "os": platform.freedesktop_os_release().get("PRETTY_NAME"),
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_bytes": memory_kib * 1024,
    }
