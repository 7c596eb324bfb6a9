"""The files of a guest's job, and its lines on the console."""

from pathlib import Path
from typing import Final

JOB: Final = Path("/run/job")
"""The job's directory in the guest."""

TASK: Final = "job.json"
"""File with the job: `task`, the name of one of `inside.TASKS`, and `environment`, the variables that its programs
inherit."""

OUTCOME: Final = "outcome.json"
"""File that a job writes when it ends: `virtual_s`, the time since the guest booted, and `error` and `exit_code` if it
failed."""

EVENT: Final = "airtoll-event "
"""Start of a line of the console that reports progress."""

TEMPORARY: Final = Path("/run/tmp")
"""Directory for the temporary files of programs in the guest."""
