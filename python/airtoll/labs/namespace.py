"""A host that is a network namespace of this machine."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from airtoll.labs.base import CpuTimes


class Command(subprocess.Popen[bytes]):
    """nsenter(1) and, as its child, the command.

    Signals go to the command, and nsenter ends with it. If nsenter ended first, the command would become a child of
    this machine's orphan reaper, and the PID namespace could not end before that process had reaped it.
    """

    def send_signal(self, sig: int) -> None:
        children = self.commands()
        if not children:  # it has not forked yet, or has ended
            super().send_signal(sig)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, sig)

    def commands(self) -> list[int]:
        """The process identifier of the command, if it runs."""
        try:
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        except OSError:
            return []
        return [int(child) for child in children.split()]

    def cpu_s(self) -> float:
        """CPU time of all threads of the command; 0 if it does not run."""
        ticks = 0
        for child in self.commands():
            with suppress(OSError):
                stat = Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace")
                # proc_pid_stat(5): utime and stime are fields 14 and 15; the name before them may contain any character
                ticks += sum(int(field) for field in stat.rpartition(")")[2].split()[11:13])
        return ticks / os.sysconf("SC_CLK_TCK")


class NamespaceHost:
    """Runs commands in one of the network namespaces that an emulator process holds.

    Commands also join the emulator's PID namespace, whose init process is the emulator: when it ends, for any reason,
    the kernel kills every command.
    """

    def __init__(self, name: str, emulator_pid: int, namespace_fd: int, *, user_namespace: bool) -> None:
        """`namespace_fd`: the emulator's file descriptor of the host's network namespace."""
        self.name = name
        self.namespace = f"/proc/{emulator_pid}/fd/{namespace_fd}"
        self._enter = [
            "nsenter",
            *(["--preserve-credentials", f"--user=/proc/{emulator_pid}/ns/user"] if user_namespace else []),
            f"--pid=/proc/{emulator_pid}/ns/pid",
            f"--net={self.namespace}",
            "--",
        ]

    def popen(self, argv: Sequence[str]) -> Command:
        """Start a command with stdout and stderr piped; killing the process kills the command."""
        return Command(
            [*self._enter, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must reach only airtoll, which ends commands in order
        )

    def run(self, argv: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[bytes]:
        """Run a command to completion. Raises subprocess.TimeoutExpired after killing it."""
        with self.popen(argv) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout_s)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)

    def facts(self) -> dict[str, Any]:
        """Kernel, processor and cores of this machine."""
        return machine_facts()

    def cpu(self) -> CpuTimes:
        """CPU time of this machine, which all namespaces share."""
        return machine_cpu_times()


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


def machine_cpu_times() -> CpuTimes:
    """CPU time of all cores since boot, from /proc/stat (proc(5)). Differences are accurate to 10 ms per core.

    Busy is the time in which a core was neither idle nor taken by the hypervisor. Linux measures idle time, but counts
    busy time only at ticks of its clock, and misses most of the work that timers start between two ticks.
    """
    now_s = time.monotonic()
    total, *cores = [
        line.split()[1:9]
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines()
        if line.startswith("cpu")
    ]
    _, _, _, idle, iowait, _, _, steal = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in total)
    idle_s = idle + iowait
    return CpuTimes(busy_s=len(cores) * now_s - idle_s - steal, idle_s=idle_s)
