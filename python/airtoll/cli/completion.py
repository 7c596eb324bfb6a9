"""Completion scripts of the shells: `airtoll --show-completion` and `--install-completion`."""

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from airtoll.errors import UsageError

_FILES: Final = {
    "bash": (".bash_completions/airtoll.sh", ".bashrc", "source ~/.bash_completions/airtoll.sh"),
    "zsh": (".zfunc/_airtoll", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/airtoll.fish", None, None),
}
"""By shell, relative to the home directory: the script, and the line of the start-up file that loads it."""


def show(command: click.Command) -> None:
    """Print the completion script of the current shell."""
    click.echo(_script(command, _shell()))


def install(command: click.Command) -> None:
    """Write the completion script of the current shell, and make the shell load it at its start."""
    shell = _shell()
    script, startup, line = _FILES[shell]
    path = Path.home() / script
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(command, shell))
    if startup is not None and line is not None:
        file = Path.home() / startup
        lines = file.read_text() if file.exists() else ""
        if line not in lines.splitlines():
            file.write_text(f"{lines.rstrip()}\n{line}\n".lstrip())
    click.echo(f"{shell} completion is installed in {path}; it takes effect in a new terminal")


def _script(command: click.Command, shell: str) -> str:
    made = get_completion_class(shell)
    assert made is not None, shell
    return made(command, {}, "airtoll", "_AIRTOLL_COMPLETE").source()


def _shell() -> str:
    """The shell that runs the command, or the user's shell. Raises UsageError if it has no completion script."""
    caller = Path(f"/proc/{os.getppid()}/comm")
    found = [
        caller.read_text().strip().lstrip("-") if caller.exists() else "",
        Path(os.environ.get("SHELL", "")).name,
    ]
    for name in found:
        if name in _FILES:
            return name
    raise UsageError(f"completion: unknown shell {found[1] or found[0]!r}; use {', '.join(_FILES)}")
