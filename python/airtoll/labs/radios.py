"""The radios of this machine, which lab `linux` gives to its hosts.

A radio moves into the network namespace of a host and returns when the link is taken down. If airtoll is killed, the
namespace ends, and the kernel moves the radio to the machine's first namespace; its interface is then named wlanN.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.host import last_words, succeed
from airtoll.labs.namespace import NamespaceHost

_CLASS: Final = Path("/sys/class/ieee80211")
_TIMEOUT_S: Final = 10.0
_RETURN_S: Final = 5.0  # for the kernel to move a radio whose namespace has ended
_POLL_S: Final = 0.05


@dataclass(frozen=True)
class Radio:
    """A radio of this machine, with its first interface."""

    number: int  # of the kernel, which also names a radio in another namespace
    interface: str
    mac: str


def names() -> tuple[str, ...]:
    """The names of the radios of this machine."""
    return tuple(sorted(file.name for file in _CLASS.glob("*")))


def missing(wanted: Sequence[str]) -> str | None:
    """Return why this machine cannot give these radios to hosts, with the remedy, or None."""
    if os.geteuid() != 0:
        return "lab linux: radios of this machine require root"
    until_s = time.monotonic() + _RETURN_S
    while (absent := next((name for name in wanted if name not in names()), None)) is not None:
        if time.monotonic() > until_s:
            has = ", ".join(names()) or "no radio"
            return f"radios: '{absent}' is not a radio of this machine, which has {has} (iw phy)"
        time.sleep(_POLL_S)
    return None


def parse(text: str) -> dict[int, list[tuple[str, str]]]:
    """Name and MAC address of the interfaces in the output of `iw dev`, by number of the radio."""
    found: dict[int, list[tuple[str, str]]] = {}
    for block in re.split(r"^phy#", text, flags=re.MULTILINE)[1:]:
        number, _, lines = block.partition("\n")
        pairs = re.findall(r"^\tInterface (\S+)\n(?:\t\t.*\n)*?\t\taddr (\S+)$", lines, flags=re.MULTILINE)
        found[int(number)] = pairs
    return found


def _find(name: str) -> Radio:
    """The radio of that name. A radio without an interface gets one."""
    number = int((_CLASS / name / "index").read_text(encoding="ascii"))
    interfaces = parse(_here("iw", "dev")).get(number)
    if not interfaces:
        _here("iw", f"phy#{number}", "interface", "add", _rust.DEVICE_NAME, "type", "managed")
        interfaces = parse(_here("iw", "dev"))[number]
    interface, mac = interfaces[0]
    return Radio(number, interface, mac)


@contextmanager
def lent(name: str, host: NamespaceHost) -> Iterator[Radio]:
    """Move the radio to the host, where its interface has the name of every lab's devices, and back at the end.

    Raises AirtollError if the machine does not have the radio, or if the kernel refuses to move it.
    """
    if (why := missing([name])) is not None:
        raise AirtollError(why)
    radio = _find(name)
    _move(radio, host)
    try:
        _rename(host, radio.interface, _rust.DEVICE_NAME)
        yield radio
    finally:
        _return(radio, host)


def _move(radio: Radio, host: NamespaceHost) -> None:
    # iw names a namespace by one of its processes.
    _here("iw", f"phy#{radio.number}", "set", "netns", "name", host.namespace)


def _return(radio: Radio, host: NamespaceHost) -> None:
    """Move the radio back, with its own name. If its namespace has ended, the kernel moves it."""
    if not Path(host.namespace).exists():
        return
    _rename(host, _rust.DEVICE_NAME, radio.interface)
    _here(
        *("nsenter", f"--net={host.namespace}", "--"),
        *("iw", f"phy#{radio.number}", "set", "netns", str(os.getpid())),
    )


def _rename(host: NamespaceHost, old: str, new: str) -> None:
    for change in (("down",), ("name", new)):
        argv = ["ip", "link", "set", old, *change]
        succeed(host, argv, _TIMEOUT_S, f"lab linux: the radio of {host.name}")


def _here(*argv: str) -> str:
    """Run a command in the namespace of airtoll, and return its output."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        raise AirtollError(f"lab linux: {' '.join(argv)}: {last_words(done.stderr, done.stdout)}")
    return done.stdout.decode(errors="replace")
