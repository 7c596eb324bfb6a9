"""Measure how long reports take: of the quickstart with 100,000 samples, and of the largest study in full.

The results are synthetic: their runs have plausible numbers, and the model runs as for real results. Each report is
written in its own process, like `airtoll report`.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from page import publish

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "report"))
from report_fakes import make_plan, make_samples, store

from airtoll.study import expand, load_study
from airtoll.study.cell import Plan, Run

REPEATS = 5
STUDIES = Path(__file__).parent.parent / "studies"

_REPORT = """
import resource, sys, time
began = time.perf_counter()
from pathlib import Path
from airtoll.report import write_report
from airtoll.store import Result
result = Result.open(Path(sys.argv[1]))
paths = write_report(result, result.directory)
taken = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(taken, time.process_time(), peak, paths.html.stat().st_size / 1e6)
"""


def measured(name: str, plan: Plan, round_trips: int) -> str:
    """A row of the table: medians of the time, memory and size of one report."""
    with TemporaryDirectory() as directory:

        def samples(run: Run) -> list:  # type: ignore[type-arg]
            return make_samples(run, round_trips)

        result = store(Path(directory) / "result", plan, samples=samples, link={})
        count = sum(map(len, result.samples()))
        takes = []
        for _ in range(REPEATS):
            command = [sys.executable, "-c", _REPORT, str(result.directory)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            takes.append([float(word) for word in done.stdout.split()])
    wall, cpu, peak, size = (median(column) for column in zip(*takes, strict=True))
    return f"| {name} | {len(plan.runs)} | {count:,} | {wall:.1f} | {cpu:.1f} | {peak:.0f} | {size:.2f} |"


def reports() -> str:
    """The reports of both results."""
    study = load_study(STUDIES / "kolahi-11ac.toml")
    rows = [
        measured("quickstart", make_plan(), 2100),
        measured("kolahi-11ac", expand(study), 100),
    ]
    return "\n".join(
        [
            "| result | runs | samples | wall s | CPU s | memory MiB | page MB |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *rows,
        ]
    )


if __name__ == "__main__":
    publish(
        "How long a report takes.",
        f"Reports, each the median of {REPEATS}: imports, statistics, predictions of the model, charts and all files.",
        [reports],
    )
