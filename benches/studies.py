"""Measure how long the five papers' studies take with --quick, and count their valid runs.

The reports and their index page stay in results/quick.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from page import publish

from airtoll.labs.namespace import machine_facts
from airtoll.store import Result

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
STUDIES = ("kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n", "hayajneh-enhanced")
WITHIN_MIN = 25
DIRECTORY = Path("results/quick")


def introduction() -> str:
    """The title, the machine and the limit."""
    machine = machine_facts()
    return (
        "# Duration of the papers' studies with --quick\n\n"
        f"Made by `make bench-studies WRITE=docs/measurements/studies.md` on {machine['processor']}, "
        f"{machine['cores']} cores, Linux {machine['kernel']},\n"
        "as root. The limit for all five studies with `--quick`, including their reports, "
        f"is {WITHIN_MIN} minutes.\n\n"
        "A run is invalid if the machine was late or too slow. Invalid runs are excluded from every figure. Their\n"
        "number depends on the other load of the machine, including other virtual machines."
    )


def quick_studies() -> str:
    """Run the studies in order with the commands of a user."""
    rows, total_min = [], 0.0
    for study in STUDIES:
        directory = DIRECTORY / study
        shutil.rmtree(directory, ignore_errors=True)
        began_s = time.monotonic()
        command = [AIRTOLL, "run", study, "--quick", "--out", str(directory)]
        if (done := subprocess.run(command, check=False, stdout=subprocess.DEVNULL)).returncode > 1:
            done.check_returncode()  # 1 is allowed: a comparison has too few valid runs, and the table counts them
        took_min = (time.monotonic() - began_s) / 60
        total_min += took_min
        records = Result.open(directory).records()
        valid = sum(record.verdict.valid for record in records)
        rows.append(f"| {study} | {len(records)} | {valid} | {took_min:.1f} |")
    reports = [AIRTOLL, "report", *(str(DIRECTORY / study) for study in STUDIES)]
    subprocess.run(reports, check=True, stdout=subprocess.DEVNULL)
    return "\n".join(
        ["| study | runs | valid | min |", "|---|---|---|---|", *rows, f"| total | | | {total_min:.1f} |"]
    )


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [quick_studies])
