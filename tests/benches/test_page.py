"""Stored pages name the CPU's model and the release of the kernel without a local suffix."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pages_name_the_machine_without_a_local_suffix() -> None:
    script = (
        "import page; facts = {'kernel': '6.18.44-own-v1', 'processor': 'AMD EPYC', 'cores': 2}; "
        "page.machine_facts = lambda: facts; print(page.machine())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "benches", capture_output=True, text=True, check=True
    )
    numbers = re.findall(r"^(?:cpu family|model)\s*: (\d+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    of_cpu = f" (family {numbers[0]}, model {numbers[1]})" if numbers else ""
    assert done.stdout == f"AMD EPYC{of_cpu}, 2 cores, Linux 6.18.44\n"


def test_stored_pages_have_no_local_suffix() -> None:
    for page in (ROOT / "docs/measurements").rglob("*.md"):
        assert not re.findall(r"Linux \d[0-9.]*-\S+", page.read_text(encoding="utf-8")), page
