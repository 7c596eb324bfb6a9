"""Run a command of the build, show its progress, and explain a failure in one line.

usage: python tools/explained.py COMMAND [ARGUMENT ...]

The bar and the counts of cargo appear at once; all other output waits until the command has ended. If the command fails
for a reason that the user can remove (no network, a full disk), print one line that says what to do and exit with
status 2. Otherwise print the output of the command and exit with its status.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

_PROGRESS = re.compile(
    rb"^\s*(\x1b\[[0-9;]*m)*\s*(Building|Compiling|Downloaded|Downloading|Finished|Updating|Blocking)\b"
)
"""Lines of cargo that are shown at once."""

_CAUSES = (
    (
        re.compile(r"No space left on device|not enough free space|ENOSPC|os error 28"),
        "the disk of {folder} is full ({free} MB left): free some space",
    ),
    (
        re.compile(
            r"Could not resolve|[Ff]ailed to resolve|Temporary failure|Name or service not known|NewConnectionError|"
            r"Failed to establish a new connection|Network is unreachable|[Cc]onnection (refused|timed out|reset)|"
            r"Could ?n.t connect|[Ff]ailed to connect|ProxyError|[Tt]imed out|spurious network error"
        ),
        "{program} could not download what it requires: connect this machine to the network",
    ),
    (
        re.compile(r"Permission denied|os error 13"),
        "{program} may not write in {folder}: change the owner of its files",
    ),
    (re.compile(r"linker `?cc`? not found"), "the C compiler is missing: apt-get install gcc libc6-dev"),
)


def _cause(program: str, output: str) -> str | None:
    """The remedy of the failure, or None if its cause is not known."""
    folder = Path.cwd()
    free = shutil.disk_usage(folder).free // 1_000_000
    for pattern, remedy in _CAUSES:
        if pattern.search(output):
            return remedy.format(program=program, folder=folder, free=free)
    return None


def _shown(stream: IO[bytes]) -> bytes:
    """All output until its end. Shows progress."""
    output = bytearray()
    line = bytearray()
    while chunk := os.read(stream.fileno(), 65536):
        output += chunk
        for octet in chunk:
            line.append(octet)
            if octet in b"\r\n":
                if _PROGRESS.match(line):
                    sys.stderr.buffer.write(line)
                line.clear()
        sys.stderr.buffer.flush()
    return bytes(output)


def main(command: list[str]) -> int:
    """Run the command and return the exit status."""
    environment = dict(os.environ)
    if sys.stderr.isatty():
        # Cargo draws its bar only on a terminal, unless it is told to.
        width = str(shutil.get_terminal_size().columns)
        environment |= {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": width}
    program = Path(command[0]).name
    try:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=sys.stdin
        )
    except FileNotFoundError:
        print(f"airtoll: the command {program} is missing", file=sys.stderr)
        return 2
    assert process.stdout is not None
    with process:
        try:
            output = _shown(process.stdout)
        except KeyboardInterrupt:  # the command received the signal, too
            process.wait()
            return 130
    if process.returncode == 0:
        return 0
    text = output.decode(errors="replace")
    if (cause := _cause("pip" if "pip" in command else program, text)) is not None:
        print(f"airtoll: {cause}", file=sys.stderr)
        return 2
    sys.stderr.write(text)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
