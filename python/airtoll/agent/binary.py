"""The agent's program for a processor architecture. It is static: of the host, it requires only the kernel."""

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Final

from airtoll.errors import AirtollError

FOLDER: Final = Path(__file__).parent / "programs"
"""The programs that the build made: airtoll-agent-ARCHITECTURE."""

_SAME: Final = {"amd64": "x86_64", "arm64": "aarch64", "armv7l": "armv7", "armv8l": "armv7"}
"""Names of an architecture that uname(1) prints beside Rust's."""


def architecture(machine: str) -> str:
    """Rust's name of the architecture that `uname -m` names."""
    return _SAME.get(machine, machine)


def checksums() -> dict[str, str]:
    """SHA-256 of the program for each machine, by the words of `uname -m`."""
    found = {}
    for file in sorted(FOLDER.glob("airtoll-agent-*")):
        name = file.name.removeprefix("airtoll-agent-")
        for machine in (name, *(machine for machine, same in _SAME.items() if same == name)):
            found[machine] = checksum(file)
    return found


def program(machine: str | None = None) -> Path:
    """The agent for a machine (`uname -m`), or for this one. Raises AirtollError if the build has none."""
    name = architecture(machine or platform.machine())
    file = FOLDER / f"airtoll-agent-{name}"
    if not file.is_file():
        built = sorted(path.name.removeprefix("airtoll-agent-") for path in FOLDER.glob("airtoll-agent-*"))
        have = ", ".join(built) or "none"
        raise AirtollError(
            f"no airtoll-agent for {name} (built for: {have}); build it with: tools/agent.sh {name}"
        )
    return file


@cache
def checksum(file: Path) -> str:
    """SHA-256 of a program, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
