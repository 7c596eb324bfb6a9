"""The agent's program, for this machine and for the machines behind SSH.

- `local`: the agent for namespaces, guests and this machine. A build in a checkout makes it with the libraries and the
  optimization of the extension.
- `program`: the agent for a processor architecture. It is static: of the host, it requires only the kernel. A wheel
  contains it. A checkout builds it at first use.
"""

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Final

from airtoll.errors import AirtollError
from airtoll.programs import Build, checkout

FOLDER: Final = Path(__file__).parent / "programs"
"""The programs that the build made: airtoll-agent-ARCHITECTURE, and in a checkout airtoll-agent."""

_SAME: Final = {"amd64": "x86_64", "arm64": "aarch64", "armv7l": "armv7", "armv8l": "armv7"}
"""Names of an architecture that uname(1) prints beside Rust's."""


def architecture(machine: str) -> str:
    """Rust's name of the architecture that `uname -m` names."""
    return _SAME.get(machine, machine)


def checksums() -> dict[str, str]:
    """SHA-256 of the program for each machine, by the words of `uname -m`.

    In a checkout: of the program for this machine's architecture, and of each program that `program` built before.
    """
    root = checkout()
    if root is not None:
        _build(root, architecture(platform.machine()))
    found = {}
    for file in sorted(FOLDER.glob("airtoll-agent-*")):
        name = file.name.removeprefix("airtoll-agent-")
        if root is None or name in _up_to_date:
            for machine in (name, *(machine for machine, same in _SAME.items() if same == name)):
                found[machine] = checksum(file)
    return found


def local() -> Path:
    """The agent for this machine. Raises AirtollError if the build has none."""
    file = FOLDER / "airtoll-agent"
    return file if file.is_file() else program(platform.machine())


def program(machine: str) -> Path:
    """The static agent for a machine (`uname -m`), which a checkout builds if a source changed.

    Raises AirtollError if the installation has none, or if the build fails.
    """
    name = architecture(machine)
    if (root := checkout()) is not None:
        _build(root, name)
    file = FOLDER / f"airtoll-agent-{name}"
    if not file.is_file():
        built = sorted(path.name.removeprefix("airtoll-agent-") for path in FOLDER.glob("airtoll-agent-*"))
        have = ", ".join(built) or "none"
        raise AirtollError(f"no airtoll-agent for {name}: this installation has {have}")
    return file


_up_to_date: Final[set[str]] = set()
"""Architectures whose program this process has built, or found to be up to date."""


_SOURCES: Final = (
    "Cargo.lock",
    "Cargo.toml",
    "tools/agent.sh",
    "crates/*/Cargo.toml",
    "crates/*/src/**/*.rs",
)


def _build(root: Path, name: str) -> None:
    if name in _up_to_date:
        return
    file = FOLDER / f"airtoll-agent-{name}"
    changed = max(path.stat().st_mtime_ns for pattern in _SOURCES for path in root.glob(pattern))
    # Not left to cargo, which would run in a guest, where no time passes while it does.
    if not file.is_file() or file.stat().st_mtime_ns < changed:
        product = f"the agent for hosts with {name}"
        Build(["tools/agent.sh", name], product, "once, about two minutes", "restore the checkout").run(root)
        checksum.cache_clear()
    _up_to_date.add(name)


@cache
def checksum(file: Path) -> str:
    """SHA-256 of a program, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
