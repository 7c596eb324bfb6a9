"""Programs that a checkout builds when a command first requires them."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from airtoll.errors import AirtollError, UsageError

_QUIET_S: Final = 2.0
"""A build that takes no longer prints nothing: its tool found little to do."""


def checkout() -> Path | None:
    """The checkout of an editable installation; None if the package was installed from a wheel."""
    root = Path(__file__).parents[2]
    return root if (root / "crates").is_dir() and (root / "Cargo.toml").is_file() else None


@dataclass(frozen=True)
class Build:
    """A build command that runs in the checkout."""

    command: Sequence[str]
    product: str
    """For the user: "the comparison with OpenSSL"."""
    takes: str
    """For the user: "once, about a minute"."""
    hint: str
    """How to install the command if it is missing."""

    def run(self, root: Path) -> str:
        """Run the command and return its standard output. If it takes long, one line says what is being built.

        Raises UsageError if the command is missing, and AirtollError with its first error if it fails.
        """
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                self.command, cwd=root, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
            )
        except FileNotFoundError:
            raise UsageError(f"{self.command[0]} is missing, to build {self.product}: {self.hint}") from None
        with process:
            try:
                output, errors = self._wait(process)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            raise AirtollError(f"building {self.product}: {self.command[0]}: {_first_error(errors)}")
        return output

    def _wait(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        try:
            return process.communicate(timeout=_QUIET_S)
        except subprocess.TimeoutExpired:
            words = f"building {self.product} ({self.takes})"
        console = Console(stderr=True, highlight=False, markup=False)
        if not console.is_terminal:
            console.print(words, soft_wrap=True)
            return process.communicate()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            progress.add_task(words)
            return process.communicate()


def cargo_build(root: Path, arguments: Sequence[str], product: str, takes: str, folder: Path) -> Path:
    """Build a program with `cargo build ARGUMENTS`, which compiles what changed, and install it in the folder.

    Raises UsageError without cargo, and AirtollError if the build fails.
    """
    command = ["cargo", "build", "--quiet", "--message-format", "json-render-diagnostics", *arguments]
    build = Build(command, product, takes, "install Rust from https://rustup.rs")
    messages = [json.loads(line) for line in build.run(root).splitlines()]
    (program,) = (Path(message["executable"]) for message in messages if message.get("executable"))
    return _install(program, folder)


def _first_error(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error")), lines[-1] if lines else "failed")


def _install(program: Path, folder: Path) -> Path:
    """Copy the program into the folder if it changed. Another process never sees an incomplete copy."""
    installed = folder / program.name
    source = program.stat()
    if installed.is_file():
        found = installed.stat()
        if (found.st_mtime_ns, found.st_size) == (source.st_mtime_ns, source.st_size):
            return installed
    folder.mkdir(exist_ok=True)
    copy = folder / f".{program.name}.{os.getpid()}"
    try:
        shutil.copy2(program, copy)
        copy.replace(installed)
    finally:
        copy.unlink(missing_ok=True)
    return installed
