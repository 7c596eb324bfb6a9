"""The recipe of the guest's kernel, and where the built kernel is kept.

The kernel is built from a source package of Debian, this package's patches and its configuration. The directory of a
built kernel is named by the digest of patches and configuration, so an airtoll with another recipe builds its own.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, Self

from pydantic import BaseModel, TypeAdapter

from airtoll.documents import read_json
from airtoll.errors import AirtollError, UsageError
from airtoll.ownership import check_owner

SUITE: Final = "trixie-backports"
"""Debian's suite with the source package. Older kernels intercept system calls by ptrace, which takes twice as long."""

PACKAGE: Final = "linux-source-7.3"
"""The package whose kernels the patches are for."""

KERNEL: Final = "linux"
"""File name of the built kernel."""

FACTS: Final = "guest.json"
"""File name of the description of the built kernel."""

_FILES: Final = files("airtoll.guest") / "kernel"


class _Facts(BaseModel):
    package: str
    version: str
    sha256: str


_FACTS: Final = TypeAdapter(_Facts)


@dataclass(frozen=True)
class Kernel:
    """A built kernel."""

    file: Path
    package: str  # Debian's source package
    version: str  # of that package, such as 7.3.4-1~bpo13+1
    sha256: str  # of the file
    size_bytes: int

    @classmethod
    def read(cls, directory: Path) -> Self | None:
        """The kernel in this directory, or None if it has none."""
        try:
            facts = read_json(_FACTS, (directory / FACTS).read_bytes(), FACTS)
            file = directory / KERNEL
            size = file.stat().st_size
        except (OSError, AirtollError):
            return None
        return cls(file, facts.package, facts.version, facts.sha256, size)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the file, which no other user can change. Another file may get its name, but is not run.

        Raises UsageError with the remedy if another user can change it or the files of its folder.
        """
        descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            of_path = {self.file.parent: self.file.parent.stat(), self.file: os.fstat(descriptor)}
            for path, found in of_path.items():
                check_owner(path, found, "airtoll runs it", "run airtoll as its owner, or set XDG_CACHE_HOME")
            yield descriptor
        finally:
            os.close(descriptor)

    def describe(self) -> str:
        """The text of its `FACTS` file."""
        facts = {name: value for name, value in asdict(self).items() if name not in ("file", "size_bytes")}
        return json.dumps(facts, indent=2) + "\n"


def patches() -> list[str]:
    """The texts of the patches, in the order in which they are applied."""
    names = sorted(each.name for each in _FILES.iterdir() if each.name.endswith(".patch"))
    return [(_FILES / name).read_text(encoding="utf-8") for name in names]


def configuration() -> str:
    """The kernel's configuration, on top of an empty one."""
    return (_FILES / "config").read_text(encoding="utf-8")


def digest() -> str:
    """Digest of the recipe."""
    parts = [PACKAGE, configuration(), *patches()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def directory() -> Path:
    """The directory of the built kernel: below $XDG_CACHE_HOME, by default ~/.cache."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_home) / "airtoll" / "guest" / digest()


def built() -> Kernel | None:
    """The built kernel, or None."""
    return Kernel.read(directory())


def needed() -> Kernel:
    """The built kernel. Raises UsageError with the remedy if it is missing, or if another user could replace it."""
    kernel = built()
    if kernel is None or unsupported() is not None:
        raise UsageError(f"the virtual clock: {missing()}")
    with kernel.opened():
        return kernel


@cache
def unsupported() -> str | None:
    """Return why no guest can be built on this machine, or None if one can."""
    if platform.machine() != "x86_64":
        return f"a guest requires an x86_64 machine, and this is {platform.machine()}"
    return None


def missing() -> str | None:
    """Return what prevents a guest from running on this machine, with the remedy, or None."""
    if (reason := unsupported()) is not None:
        return reason
    return None if built() else "the guest is not built: airtoll lab build"
