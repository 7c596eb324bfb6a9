"""Captures of the air by a radio in monitor mode, for lab `hosts`."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airtoll.agent.connection import LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.processes import AgentProcess
from airtoll.errors import AirtollError
from airtoll.host import last_words, succeed

_COMMAND_S: Final = 10.0
_END_S: Final = 60.0  # for tcpdump to write the last frames

# A folder on a disk if possible: the frames of a run can fill the memory, in which some systems have /tmp.
_FOLDER: Final = "mktemp -d /var/tmp/airtoll-XXXXXXXX 2>/dev/null || mktemp -d -t airtoll-XXXXXXXX"

_LISTENING: Final = re.compile(rb"listening on .*link-type (\S+)")
_RADIOTAP: Final = b"IEEE802_11_RADIO"


@dataclass(frozen=True)
class Monitor:
    """An interface in monitor mode, which the user has set to the channel of the network."""

    host: AgentHost
    interface: str

    @property
    def _where(self) -> str:
        return f"host {self.host.name}: {self.interface}"

    def check_channel(self, channel_mhz: int) -> None:
        """Raise AirtollError with the remedy if the interface listens to another channel."""
        info = self.host.run(["iw", "dev", self.interface, "info"], _COMMAND_S).stdout
        channel = re.search(rb"^\s*channel \d+ \((\d+) MHz\)", info, re.MULTILINE)
        if channel is not None and int(channel[1]) != channel_mhz:
            raise AirtollError(
                f"{self._where} listens at {int(channel[1])} MHz, and the network is at {channel_mhz} MHz: "
                f"iw dev {self.interface} set freq {channel_mhz}"
            )

    @contextmanager
    def capturing(self, pcap: Path) -> Iterator[None]:
        """Capture what the interface receives during the context, into a file of this machine.

        There is no file if the context ends with an exception. Raises AirtollError with the remedy if the interface is
        not in monitor mode, or if tcpdump fails; LostError if the host vanishes.
        """
        host = self.host
        for command in host.lacking(["tcpdump", "iw"]):
            raise AirtollError(f"host {host.name} lacks the command '{command}': apt-get install {command}")
        doing = f"host {host.name}: a folder for the capture"
        folder = succeed(host, ["sh", "-c", _FOLDER], _COMMAND_S, doing).decode().strip()
        remove = ["rm", "-rf", folder]
        kept = host.at_end(remove)
        try:
            with self._tcpdump(f"{folder}/air.pcap"):
                yield
            with pcap.open("wb") as file:
                file.writelines(host.parts(f"{folder}/air.pcap"))
        finally:
            with suppress(LostError):  # then the agent has removed the folder
                host.run(remove, _COMMAND_S)
                host.forget_at_end(kept)

    @contextmanager
    def _tcpdump(self, file: str) -> Iterator[None]:
        """Run tcpdump during the context; it writes everything that it received."""
        # As root, it would otherwise become a user who may not write to the folder.
        argv = ["tcpdump", "-i", self.interface, "-w", file, "-Z", "root"]
        # It reports on standard error.
        with self.host.popen(["sh", "-c", 'exec "$@" 2>&1', "sh", *argv]) as tcpdump:
            try:
                self._await_start(tcpdump)
                yield
                tcpdump.send_signal(signal.SIGINT)
                try:
                    said, _ = tcpdump.communicate(timeout=_END_S)
                except subprocess.TimeoutExpired:
                    raise AirtollError(f"{self._where}: tcpdump did not end within {_END_S:.0f} s") from None
                if tcpdump.returncode != 0:
                    raise AirtollError(f"{self._where}: tcpdump: {last_words(said)}")
            finally:
                tcpdump.kill()

    def _await_start(self, tcpdump: AgentProcess) -> None:
        """Wait until the capture has begun. Raises AirtollError if it does not, or if it has no radiotap headers."""
        until_s = time.monotonic() + _COMMAND_S
        said = b""
        try:
            while (line := tcpdump.next_line(until_s)) is not None:
                said += line + b"\n"
                if (listening := _LISTENING.search(line)) is not None:
                    if listening[1] == _RADIOTAP:
                        return
                    raise AirtollError(
                        f"{self._where} is not in monitor mode: ip link set {self.interface} down, "
                        f"iw dev {self.interface} set type monitor, ip link set {self.interface} up"
                    )
        except TimeoutError:
            said += b"no answer"
        raise AirtollError(f"{self._where}: tcpdump: {last_words(said)}")
