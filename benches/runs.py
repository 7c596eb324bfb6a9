"""Runs of studies that benches perform with the commands of a user."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w

from airtoll.labs.sim import Sim
from airtoll.prediction.predictions import paced_as_measured
from airtoll.probes import probes_of
from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.store.records import RunRecord
from airtoll.store.samples import Samples
from airtoll.study import find_study
from airtoll.study.cell import Plan

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))


def words_of(study: str) -> dict[str, Any]:
    """The tables of a published study."""
    return tomllib.loads(find_study(study).read_text(encoding="utf-8"))


def perform(study: str, directory: Path, *options: str) -> None:
    """Run a study, a name or a file."""
    command = [AIRTOLL, "run", study, *options, "--out", str(directory)]
    if (done := subprocess.run(command, check=False, stdout=subprocess.DEVNULL)).returncode > 1:
        done.check_returncode()  # 1 is allowed: a comparison has too few valid runs, and the table counts them


@contextmanager
def performed(words: dict[str, Any], *options: str) -> Iterator[Result]:
    """The result of a study with these tables."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "study.toml"
        file.write_text(tomli_w.dumps(words), encoding="utf-8")
        perform(str(file), Path(folder) / "result", *options)
        yield Result.open(Path(folder) / "result")


def simulated(plan: Plan, record: RunRecord, **settings: object) -> dict[str, float]:
    """The metrics of the run in lab sim with these settings, its seed and the UDP load that it offered, by iperf3."""
    cell = record.run.cell
    load_bit_per_s = record.probes.get("throughput", {}).get("offered_bit_per_s")
    load = {} if load_bit_per_s is None else {"udp_load": load_bit_per_s / 1e6}
    link = paced_as_measured(plan.link, cell, plan.method) if load else plan.link
    with Sim(link.model_copy(update=settings), plan.stacks, plan.profiles).open(
        cell, record.run.seed
    ) as opened:
        method = plan.method.model_copy(update=load)
        samples = [
            sample
            for probe in probes_of(plan.method.probes, "sim")
            for sample in probe.measure(opened, cell, method).samples
        ]
    return {metric: value for _, metric, value in per_run([Samples.of(record.run.id, samples)])}
