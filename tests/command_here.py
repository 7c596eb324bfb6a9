"""Runs the command in the process of the tests, because its start takes longer than most commands."""

import sys
from pathlib import Path

import pytest

from airtoll.cli import main


def exit_status(*arguments: object, folder: Path | None = None, **environment: str) -> int:
    """Run `airtoll ARGUMENTS` in a folder, with more environment variables, and return its exit status."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["airtoll", *map(str, arguments)])
        for name, value in environment.items():
            patched.setenv(name, value)
        if folder is not None:
            patched.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)
