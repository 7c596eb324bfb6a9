"""Compare lab hosts with lab air in virtual time.

In a guest, emulated air joins machines with SSH servers, and a hook switches it. The same runs in lab air are the
reference. The study has the levels and durations of --quick, and more repeats.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean

import tomli_w
from page import publish
from runs import AIRTOLL, words_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from guest_script import run_script

from airtoll.guest import recipe
from airtoll.stats.metrics import METRICS, per_run
from airtoll.store import Result

ROOT = Path(__file__).parent.parent
STUDY = "kolahi-11ac"
REPEATS = 10
LIMITS = {"throughput": 2.0, "rtt": 5.0}
"""Largest differences of means, in percent."""

IN_GUEST = """
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from airtoll.guest.job import TEMPORARY
from machines_on_air import machines
from airtoll.study import expand, load_study
(TEMPORARY / "lab").mkdir(exist_ok=True)
plan = expand(load_study({study!r}))
with machines(TEMPORARY / "lab", plan.runs[0].cell, plan.link, "virtual") as inventory:
    argv = [{airtoll!r}, "run", {study!r}, "--lab", "hosts", "--inventory", str(inventory), "--out", "/run/job/result"]
    path = str(inventory.parent / "bin") + ":" + os.environ["PATH"]
    sys.exit(subprocess.run(argv, env={{**os.environ, "PATH": path}}).returncode)
"""


def study() -> dict:
    """The study with the levels and durations of --quick, and `REPEATS`."""
    words = words_of(STUDY)
    quick = words.pop("quick")
    words.pop("link")  # a card: lab hosts has those of its machines
    words["factors"] |= {**quick["factors"], "crypto_at": ["host"]}
    durations = {key: quick[key] for key in ("duration", "warmup")}
    words["method"] |= {**durations, "repeats": REPEATS, "probes": ["throughput", "rtt"]}
    return words


def differences() -> str:
    """Run the study in both labs, and compare the means of each cell."""
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:  # the guest has its own /tmp
        folder = Path(name)
        file = folder / f"{STUDY}.toml"
        file.write_text(tomli_w.dumps(study()), encoding="utf-8")
        kernel = recipe.needed()
        inner = IN_GUEST.format(tests=str(ROOT / "tests"), study=str(file), airtoll=AIRTOLL)
        program = folder / "in_guest.py"
        program.write_text(inner)
        run_script(kernel, f"{sys.executable} {program} > /run/job/log 2>&1", folder)
        hosts = Result.open(folder / "job" / "result")
        air = folder / "air"
        argv = [AIRTOLL, "run", str(file), "--clock", "virtual", "--out", str(air)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        return _table(_means(hosts), _means(Result.open(air)))


def _means(result: Result) -> dict[tuple[str, str], tuple[float, int]]:
    cells = {
        record.run.id: record.run.cell.model_dump(exclude={"lab"})
        for record in result.records()
        if record.verdict.valid
    }
    values = defaultdict(list)
    for run, metric, value in per_run(result.samples()):
        if metric in LIMITS and run in cells:
            values[json.dumps(cells[run]), metric].append(value)
    return {where: (mean(found), len(found)) for where, found in values.items()}


def _table(hosts: dict, air: dict) -> str:
    rows = ["| flow | metric | runs | air | hosts | difference | limit |", "|---|---|---|---|---|---|---|"]
    for where, (value, runs) in sorted(hosts.items()):
        cell, metric = json.loads(where[0]), where[1]
        reference, _ = air[where]
        unit = METRICS[metric]
        flow = f"{cell['security']} {cell['transport']} {cell['ip']} {cell['packet_size']} B"
        change = 100 * (value / reference - 1)
        shown = f"{reference * unit.scale:.3f} | {value * unit.scale:.3f} {unit.display_unit}"
        rows.append(f"| {flow} | {metric} | {runs} | {shown} | {change:+.2f} % | {LIMITS[metric]:g} % |")
    return "\n".join(rows)


def introduction() -> str:
    """The title and the method."""
    return (
        "# Lab hosts beside lab air\n\n"
        "Lab `hosts` measures the same as lab `air`: throughput within 2 %, round-trip times within 5 %.\n\n"
        "`make bench-hosts WRITE=docs/measurements/hosts.md` measures this table: the study kolahi-11ac with the\n"
        f"levels of `--quick` and {REPEATS} repeats, in virtual time. In lab hosts, a hook switches the access\n"
        "point. No SSH server runs in the guest: a script that enters the machine's namespaces replaces ssh.\n\n"
        "A round trip contains one backoff of 0 to 15 slots (IEEE Std 802.11-2020, 10.3.3). The mean of the 48 round\n"
        f"trips of a run therefore varies by 2 %, and that of {REPEATS} runs by 0.7 %."
    )


if __name__ == "__main__":
    publish(__doc__ or "", introduction(), [differences])
