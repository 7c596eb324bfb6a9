"""Hosts behind SSH: copies the agent's program there if it is not there yet, and connects to it.

The system's OpenSSH does the rest: known hosts, keys, agents, jump hosts and everything else of ssh_config(5). All
connections to a host share one, which ends with `Ssh.close`.
"""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from shlex import join, quote
from tempfile import TemporaryDirectory
from typing import Final

from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words

CONNECT_TIMEOUT_S: Final = 10
"""Time for the first connection to a host."""

_COPY_TIMEOUT_S: Final = 120.0

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
    ("is not in the sudoers file", "the user may not use sudo"),
    ("command not found", "the host lacks a command that reaches the agent"),
    ("Exec format error", "the agent's program is for another architecture"),
)
"""Words of ssh and sudo, and what to do."""

# Prints the architecture, the path of the agent, and whether the file there has the checksum of that architecture.
_FIND: Final = """
set -- $CHECKSUMS
machine=$(uname -m)
for pair; do case $pair in "$machine="*) sum=${pair#*=} ;; esac; done
folder=${XDG_CACHE_HOME:-$HOME/.cache}/airtoll
file=$folder/airtoll-agent-${sum:-unknown}
have=$(sha256sum "$file" 2>/dev/null) && [ "${have%% *}" = "$sum" ] && [ -x "$file" ] && there=yes
printf '%s %s %s\\n' "$machine" "${there:-no}" "$file"
"""

_COPY: Final = """
mkdir -p "$(dirname "$FILE")" && cat > "$FILE.$$" && chmod 700 "$FILE.$$" || exit
have=$(sha256sum "$FILE.$$") && [ "${have%% *}" = "$SUM" ] || {
    rm -f "$FILE.$$"
    echo "the copy is damaged" >&2
    exit 1
}
mv "$FILE.$$" "$FILE"
"""


class Ssh:
    """The way to one host."""

    def __init__(
        self, name: str, destination: str, options: Sequence[str] = (), become: Sequence[str] = ()
    ) -> None:
        """`destination` and `options` are those of ssh(1); `become` precedes the agent's command, such as sudo -n."""
        self.name = name
        self._destination = destination
        self._become = list(become)
        self._folder = TemporaryDirectory(prefix="airtoll-ssh-")
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

    def connect(self) -> AgentHost:
        """The host, with the agent of this version of airtoll.

        Raises UsageError if the user has to do something first, and LostError if the host does not answer.
        """
        path = self._deployed()
        command = join([*self._become, path, "serve"])
        try:
            connection = Connection(self.name, ["ssh", *self._options, self._destination, command])
        except LostError as error:
            raise self._explained(str(error)) from None
        return AgentHost(self.name, connection, [path])

    def __enter__(self) -> "Ssh":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the shared connection."""
        argv = ["ssh", *self._options, "-O", "exit", self._destination]
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=5)
        self._folder.cleanup()

    def _deployed(self) -> str:
        """The path of the agent on the host, after copying it if necessary."""
        checksums = {}
        for file in sorted(binary.FOLDER.glob("airtoll-agent-*")):
            name = file.name.removeprefix("airtoll-agent-")
            for machine in binary.machines(name):
                checksums[machine] = (file, binary.checksum(file))
        words = " ".join(f"{machine}={checksum}" for machine, (_, checksum) in checksums.items())
        found = self._shell(f"CHECKSUMS={quote(words)}{_FIND}").decode(errors="replace")
        try:
            # A login shell may print a greeting before.
            machine, there, path = found.splitlines()[-1].split(" ", 2)
        except (IndexError, ValueError):
            raise AirtollError(f"host {self.name}: its shell answered {found[:80]!r}") from None
        if there == "yes":
            return path
        if machine not in checksums:
            binary.program(machine)  # raises the error that names the architectures
        file, checksum = checksums[machine]
        self._shell(f"FILE={quote(path)} SUM={checksum}{_COPY}", file.read_bytes())
        return path

    def _shell(self, script: str, octets: bytes = b"") -> bytes:
        argv = ["ssh", *self._options, self._destination, f"exec sh -c {quote(script)}"]
        try:
            done = subprocess.run(
                argv, input=octets, capture_output=True, check=False, timeout=_COPY_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise LostError(f"host {self.name}: no answer within {_COPY_TIMEOUT_S:.0f} s") from None
        except FileNotFoundError:
            raise UsageError("the command 'ssh' is missing: apt-get install openssh-client") from None
        if done.returncode != 0:
            raise self._explained(f"host {self.name}: {last_words(done.stderr, done.stdout)}", done.stderr)
        return done.stdout

    def _explained(self, text: str, said: bytes = b"") -> AirtollError:
        """The error for the words of ssh or sudo, with the remedy."""
        every = f"{text}\n{said.decode(errors='replace')}"
        for words, remedy in _REMEDIES:
            if words in every:
                return UsageError(f"host {self.name} ({self._destination}): {remedy}")
        return LostError(text)
