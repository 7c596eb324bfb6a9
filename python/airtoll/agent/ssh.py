"""Hosts behind SSH: copies the agent's program there if it is not there yet, and connects to it.

Hosts without an agent (`airtoll.agent.agentless`) are reached the same way.

The system's OpenSSH does the rest: known hosts, keys, agents, jump hosts and everything else of ssh_config(5). All
connections to a host share one, which ends with `Ssh.close`.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from shlex import join, quote
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words

CONNECT_TIMEOUT_S: Final = 10
"""Time for the first connection to a host."""

_COPY_TIMEOUT_S: Final = 120.0

_FOLDER: Final = "airtoll-ssh-"
"""The first part of the name of a folder with the sockets of ssh(1)."""

SUDO: Final = ("sudo", "-n")
"""How the agent becomes root without a password."""

_REMEDIES: Final = (
    (
        "Host key verification failed",
        "the key of the host has changed or is unknown: connect once with ssh, or correct known_hosts",
    ),
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the key of the host has changed: ssh-keygen -R, if that is right",
    ),
    ("Permission denied", "ssh requires a key or an agent, because airtoll cannot enter a password"),
    ("a password is required", "sudo asks for a password: allow the user to run the agent with NOPASSWD"),
    ("is not in the sudoers file", "the user may not use sudo: add a rule with NOPASSWD, or connect as root"),
    ("sudo: not found", "the host lacks sudo: install it, or connect as root without the key become"),
    ("sudo: command not found", "the host lacks sudo: install it, or connect as root without the key become"),
    ("Exec format error", "the agent's program is for another architecture"),
)
"""Words of ssh and sudo, and what to do."""

# Executes the agent if the file has the checksum of the host's architecture. On some systems, users do not search the
# folders of iw(8) and wpa_cli(8). A file is no agent if another user owns it or can write to it or to its folder: that
# user could replace it after the comparison.
_SERVE: Final = """
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
set -- $CHECKSUMS
machine=$(uname -m)
for pair; do case $pair in "$machine="*) sum=${pair#*=} ;; esac; done
file=${XDG_CACHE_HOME:-$HOME/.cache}/airtoll/airtoll-agent-${sum:-unknown}
[ -O "$file" ] && [ -O "${file%/*}" ] && [ -x "$file" ] &&
    ! ls -ld "$file" "${file%/*}" | grep -Eq '^(.....|........)w' &&
    have=$(sha256sum "$file") && [ "${have%% *}" = "$sum" ] && exec $BECOME "$file" serve $OWNER
echo "no agent for $machine: $file" >&2
exit 1
"""
_NO_AGENT: Final = re.compile("no agent for ([A-Za-z0-9_]+): (.+)")

_COPY: Final = """
umask 077
folder=${FILE%/*}
mkdir -p "$folder" || exit
[ -O "$folder" ] || { echo "$folder belongs to another user" >&2; exit 1; }
chmod go-w "$folder" || exit
cat > "$FILE.$$" && chmod 700 "$FILE.$$" || exit
have=$(sha256sum "$FILE.$$") && [ "${have%% *}" = "$SUM" ] || {
    rm -f "$FILE.$$"
    echo "the copy is damaged" >&2
    exit 1
}
mv "$FILE.$$" "$FILE"
"""


def _folder_of_sockets() -> tuple[TemporaryDirectory[str], int]:
    """A new folder and the descriptor of its lock, which ends with this process.

    Removes the folders that killed processes of this user left.
    """
    for path in Path(gettempdir()).glob(f"{_FOLDER}*"):
        if (left := _locked(path)) is not None:
            if os.fstat(left).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)
            os.close(left)
    while True:
        folder = TemporaryDirectory(prefix=_FOLDER)
        if (lock := _locked(Path(folder.name))) is not None:
            if os.path.exists(folder.name):
                return folder, lock
            os.close(lock)
        folder.cleanup()  # another process took it for one that was left


def _locked(folder: Path) -> int | None:
    """A descriptor that locks the folder; None if another process has locked it, or if it cannot be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


class Ssh:
    """The way to one host."""

    def __init__(
        self, name: str, destination: str, options: Sequence[str] = (), become: Sequence[str] = ()
    ) -> None:
        """`destination` and `options` are those of ssh(1); `become` precedes the agent's command, such as sudo -n."""
        self.name = name
        self._destination = destination
        self._become = list(become)
        self._folder, lock = _folder_of_sockets()
        self._held = ExitStack()
        self._held.callback(os.close, lock)
        self._held.callback(self._folder.cleanup)
        # The path of a socket has at most 108 octets.
        self._options = [
            *("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_TIMEOUT_S}"),
            *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
            *(
                "-o",
                "ControlMaster=auto",
                "-o",
                f"ControlPath={self._folder.name}/%C",
                "-o",
                "ControlPersist=30",
            ),
            *options,
        ]

    def connect(self, owner: Sequence[str] = ()) -> AgentHost:
        """The host, with the agent of this version of airtoll. `owner`: the owner of its lock, as `serve` takes it.

        Raises UsageError if the user has to do something first, and LostError if the host does not answer.
        """
        try:
            return self._served_or_copied(owner)
        except LostError as error:
            raise self.explained(error) from None

    def __enter__(self) -> "Ssh":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the shared connection."""
        argv = ["ssh", *self._options, "-O", "exit", "--", self._destination]
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=5)
        self._held.close()

    def _served_or_copied(self, owner: Sequence[str]) -> AgentHost:
        """The agent, which is copied if the host does not have it."""
        known = binary.checksums()
        try:
            return self._served(owner)
        except LostError as error:
            if (found := _NO_AGENT.search(str(error))) is None:
                raise
        machine, path = found.groups()
        file = binary.program(machine)
        if machine in known:
            self._copy(file, path)
            return self._served(owner)
        # A checkout has built the program just now. An earlier process may have copied it.
        return self._served_or_copied(owner)

    def _served(self, owner: Sequence[str]) -> AgentHost:
        """The agent, if the host has it."""
        checksums = " ".join(f"{machine}={checksum}" for machine, checksum in binary.checksums().items())
        serve = _SERVE.replace("$BECOME", join(self._become)).replace("$OWNER", join(owner))
        script = f"CHECKSUMS={quote(checksums)}{serve}"
        try:
            return AgentHost(Connection(self.name, self._command(script)))
        except FileNotFoundError:
            raise UsageError("the command 'ssh' is missing: apt-get install openssh-client") from None

    def _copy(self, file: Path, path: str) -> None:
        """Copy the agent to a path of the host."""
        script = f"FILE={quote(path)} SUM={binary.checksum(file)}{_COPY}"
        try:
            done = subprocess.run(
                self._command(script),
                input=file.read_bytes(),
                capture_output=True,
                check=False,
                timeout=_COPY_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise LostError(f"host {self.name}: no answer within {_COPY_TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            error = LostError(f"host {self.name}: {last_words(done.stderr, done.stdout)}")
            error.said = done.stderr
            raise error

    def argv(self, command: str) -> list[str]:
        """The call of ssh that runs a command, as one text, in the login shell of the host."""
        return ["ssh", *self._options, "--", self._destination, command]

    def _command(self, script: str) -> list[str]:
        return self.argv(f"exec sh -c {quote(script)}")

    def explained(self, error: LostError) -> AirtollError:
        """The error with the remedy, if the words of ssh or sudo have a known one."""
        return explained(error, f"host {self.name} ({self._destination})")


def explained(error: LostError, host: str) -> AirtollError:
    """The error with the remedy, if the words of ssh or sudo have a known one. `host` begins the line."""
    said = f"{error}\n{error.said.decode(errors='replace')}"
    remedy = next((remedy for words, remedy in _REMEDIES if words in said), None)
    return error if remedy is None else UsageError(f"{host}: {remedy}")
