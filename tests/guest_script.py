"""Runs the text of a shell script in a guest."""

from collections.abc import Mapping
from pathlib import Path

from airtoll.clock import Clock
from airtoll.guest import boot, recipe


def run_script(
    kernel: recipe.Kernel,
    script: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    clock: Clock = "virtual",
    radios: int = 0,
) -> boot.Ended:
    """Run a script with this environment. The folder receives the script, and `job`, which is /run/job in the guest.

    `clock` and `radios` are as in `boot.perform`.
    """
    program = folder / "script"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    job = folder / "job"
    job.mkdir()
    task = {"task": "shell", "environment": {**(environment or {}), "SHELL": str(program)}}
    return boot.perform(kernel, task, job, clock=clock, radios=radios)
