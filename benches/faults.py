"""Inject faults into studies of lab hosts, and print the outcome of each.

The faults and the checks are those of `tests/cli/test_hosts_faults.py`, in a guest in virtual time.
"""

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from page import publish

from airtoll.guest import recipe

ROOT = Path(__file__).parent.parent
TESTS = "tests/cli/test_hosts_faults.py"

Words = dict[str, str]


def faults() -> str:
    """Run the tests, and tabulate what they recorded."""
    recipe.needed()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "report.xml"
        argv = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            TESTS,
            f"--junit-xml={file}",
            "-o",
            "junit_family=xunit1",
        ]
        done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stdout)
        cases = [
            {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
            for case in ET.parse(file).iter("testcase")  # noqa: S314 - written by pytest
        ]
    rows = [row for words in cases for row in _rows(words)]
    head = ["| fault | during | first attempt | attempts | last attempt |", "|---|---|---|---:|---|"]
    return "\n".join([f"{len(rows)} faults:", "", *head, *rows])


def _rows(words: Words) -> Iterator[str]:
    if "fault" in words:
        attempts = json.loads(words["attempts"])
        first, last = ("; ".join(reasons) or "valid" for reasons in (attempts[0], attempts[-1]))
        first = f"airtoll stops: {words['stop']}" if words["stop"] else first
        yield f"| {words['fault']} | {words['when']} | {_cell(first)} | {len(attempts)} | {_cell(last)} |"
    for what, phase in json.loads(words.get("kills", "[]")):
        yield f"| {what} | {phase} | not stored | | study completed by `--resume` |"


def _cell(text: str) -> str:
    """The text for a cell of a table, without the name of the run and the folders of the test."""
    return re.sub(r"\brun \S+: |/\S*/(?=hook\b)", "", text).replace("|", "\\|")


def introduction() -> str:
    """The title and the method."""
    return (
        "# Injected faults\n\n"
        "After every injected fault, the study is complete, its last attempts are valid, and the machines and the\n"
        "access point are as before.\n\n"
        "`make bench-faults WRITE=docs/measurements/faults.md` runs two studies of lab hosts on emulated air in\n"
        "virtual time. In one, a fault occurs in almost every run. The other is killed again and again and resumed.\n"
        "A script that enters the machine's namespaces replaces ssh, and a hook switches the access point. The bench\n"
        "fails unless\n\n"
        "- the runs without a fault are valid, and the last attempt of each other run is valid\n"
        "- the result has every run, and its files are undamaged\n"
        "- after each stop, no process, file or change of airtoll is left on a machine, and the access point is\n"
        "  restored\n\n"
        "On radios of a guest, `tests/guest/test_own_access_point_study.py` does the same: hostapd is killed, the\n"
        "access point restarts, it deauthenticates the station, it changes the channel, the station joins again, and\n"
        "an interface goes down."
    )


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [faults])
