"""The journal of changes to hosts, with the command that reverts each change.

A change is written to the disk before it is made, and removed after it has been reverted. If airtoll is killed, agents
revert the changes of their hosts at once (`AgentHost.at_end`), and the next airtoll with the same inventory reverts the
changes that the journal still has: a host or its agent may have failed too. A command may therefore run twice, though
never twice at the same time, and it must have no effect on a host that has already been restored.

Only the user can read the journal, because a command's standard input may contain passphrases.
"""

import fcntl
import hashlib
import os
import pwd
import re
import secrets
import socket
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Protocol, Self

from pydantic import Base64Bytes, Field, TypeAdapter

from airtoll.documents import read_json
from airtoll.durable import reporting, sync, write_new
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words
from airtoll.study.quantity import one_line

_TIMEOUT_S: Final = 60.0
_LOCK: Final = "lock"


class Runner(Protocol):
    """A host on which commands run, also at the end of the connection. `AgentHost` is one."""

    name: str

    def run(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to completion. Raises subprocess.TimeoutExpired after killing it."""
        ...

    def at_end(self, argv: Sequence[str], stdin: bytes | None = None) -> str:
        """Let the command run when the connection ends for any reason. Returns an identifier for `forget_at_end`."""
        ...

    def forget_at_end(self, kept: str) -> None:
        """Forget a command of `at_end`, also of an earlier connection. Waits for its end if it is running."""
        ...


@dataclass(frozen=True)
class Restoring:
    """A command that reverts a change of a host."""

    what: str  # the object that the command restores: "the wireless configuration"
    host: str
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    stdin: Base64Bytes = field(default=b"", repr=False)
    kept: str = ""  # the identifier of the command at the agent that runs it if the connection ends

    def run(self, host: Runner) -> None:
        """Run the command. Raises AirtollError if it fails."""
        try:
            done = host.run(self.argv, _TIMEOUT_S, self.stdin or None)
        except subprocess.TimeoutExpired:
            raise AirtollError(
                f"host {self.host}: restoring {self.what} took more than {_TIMEOUT_S:.0f} s"
            ) from None
        if done.returncode != 0:
            words = last_words(done.stderr, done.stdout)
            raise AirtollError(f"host {self.host}: restoring {self.what}: {words}")


_RESTORING: Final = TypeAdapter(Restoring)


class HostChange:
    """A change of a host that the journal and the host's agent revert if this process does not."""

    def __init__(self, file: Path, restoring: Restoring, host: Runner) -> None:
        self.host = host
        self._file = file
        self._restoring = restoring

    def revert(self) -> None:
        """Revert the change. Raises AirtollError if that fails; then the journal keeps the command."""
        self._restoring.run(self.host)
        self.host.forget_at_end(self._restoring.kept)
        _remove(self._file)


class HostJournal:
    """The changes of the hosts of an inventory. No other process can open the journal at the same time."""

    def __init__(self, inventory: Path) -> None:
        """Open the journal. Raises UsageError if another airtoll has it open or another user can access it.

        Raises AirtollError if it cannot be written.
        """
        self._folder = folder(inventory)
        self._inventory = inventory
        with reporting(str(self._folder)):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_own(self._folder, "the journal")
            sync(self._folder.parent)
            self._lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise UsageError(f"{inventory}: another airtoll measures with these hosts") from None
        with reporting(str(self._folder)):
            self.owner: Sequence[str] = (_identity(self._lock), _words(inventory))
        """The owner of the locks of the hosts, and the words for others. Its identity outlives a killed airtoll, whose
        agents may still run."""
        self._changes: dict[Path, HostChange] = {}  # of this process
        self._next = 1 + max((int(file.stem) for file in _files(self._folder)), default=0)

    def before(self, host: Runner, what: str, argv: Sequence[str], stdin: bytes = b"") -> HostChange:
        """Register the command that reverts a change, before the change is made. `what` is the changed object.

        Raises AirtollError if the journal cannot be written, or if the host is lost.
        """
        # The agent comes first, so that the journal knows which command the agent may run. If this process is killed
        # between the two, the agent reverts a change that was never made, which has no effect.
        kept = host.at_end(argv, stdin or None)
        restoring = Restoring(what, host.name, tuple(argv), stdin, kept)
        file = self._folder / f"{self._next:06}.json"
        self._next += 1
        try:
            with reporting(str(file)):
                _write(file, restoring)
        except BaseException:  # the change is not made
            host.forget_at_end(kept)
            raise
        change = self._changes[file] = HostChange(file, restoring, host)
        return change

    def pending(self) -> list[Restoring]:
        """The commands of changes that have not been reverted, in the order in which they must run."""
        return pending(self._inventory)

    def replay(self, reach: Callable[[str], Runner]) -> list[str]:
        """Revert the changes that another process left. Returns one line per change that could not be reverted.

        `reach` returns a host by its name, and raises AirtollError if it cannot be reached. It is called once per host
        that a change names, so a host that is down delays no other for long.
        """
        reached: dict[str, Runner | AirtollError] = {}
        failures = []
        for file in _files(self._folder):
            try:
                name = _read(file).host
                if name not in reached:
                    reached[name] = _outcome(reach, name)
                if isinstance(host := reached[name], AirtollError):
                    raise AirtollError(f"{host} (restoring {_read(file).what})")
                self._revert_left(file, host)
            except AirtollError as error:
                failures.append(str(error))
        return failures

    def recover(self, host: Runner) -> None:
        """Revert the changes that another process, or a lost connection of this one, left on the host.

        Raises AirtollError if one of them cannot be reverted. Call this before the state of the host is read.
        """
        for file in _files(self._folder):
            if _read(file).host == host.name:
                self._revert_left(file, host)

    def _revert_left(self, file: Path, host: Runner) -> None:
        """Revert a change unless it was made through this connection of the host."""
        change = self._changes.get(file)
        if change is None or change.host is not host:
            restoring = _read(file)
            if restoring.kept:
                # An agent that still runs must not restore the host after new settings have been made.
                host.forget_at_end(restoring.kept)
            restoring.run(host)
            _remove(file)

    def close(self) -> None:
        """Release the journal. It keeps the changes that have not been reverted."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _outcome(reach: Callable[[str], Runner], name: str) -> Runner | AirtollError:
    try:
        return reach(name)
    except AirtollError as error:
        return error


def folder(inventory: Path, kind: str = "restore") -> Path:
    """The folder of an inventory's journal, or of its `secrets`: below $XDG_STATE_HOME, by default ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = inventory.resolve()
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()
    return Path(home) / "airtoll" / kind / f"{path.stem}-{digest[:16]}"


def check_own(folder: Path, what: str) -> None:
    """Raise UsageError unless only this user can access the folder.

    `what` it contains: commands, which run with this user's rights and may contain passphrases, or secrets.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UsageError(
            f"{folder}: another user can access {what}: run airtoll as the owner of the folder, or name another "
            "place with XDG_STATE_HOME"
        )


def _identity(lock: int) -> str:
    """The identity of the journal, which its lock file keeps."""
    if not (found := os.pread(lock, 64, 0).decode("ascii", errors="replace")):
        found = secrets.token_hex(16)
        os.pwrite(lock, found.encode("ascii"), 0)
    return found


def _words(inventory: Path) -> str:
    """The user and the machine that measure with the hosts of the inventory, and the time since when they do."""
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = f"user {os.geteuid()}"
    file = one_line(str(inventory.resolve()), most=4096)
    return f"{user}@{socket.gethostname()} with {file} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def pending(inventory: Path) -> list[Restoring]:
    """The commands that restore the hosts of an inventory, in the order in which they must run."""
    return [_read(file) for file in _files(folder(inventory))]


def _files(folder: Path) -> list[Path]:
    """The files of the changes, the latest first."""
    return sorted(
        (file for file in folder.glob("*.json") if re.fullmatch(r"[0-9]{6,18}", file.stem)), reverse=True
    )


def _write(file: Path, restoring: Restoring) -> None:
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    write_new(new, _RESTORING.dump_json(restoring), mode=0o600)
    new.rename(file)
    sync(file.parent)


def _read(file: Path) -> Restoring:
    with reporting(str(file)):
        content = file.read_bytes()
    try:
        return read_json(_RESTORING, content, f"{file}: is damaged")
    except AirtollError as error:
        raise AirtollError(f"{error}: restore the host by hand, then delete the file") from None


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    sync(file.parent)
