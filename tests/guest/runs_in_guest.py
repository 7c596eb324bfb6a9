"""Performs all runs of some studies in one guest, one after the other.

`airtoll run` boots a guest per run. Booting and loading take longer than most runs of tests. The rest is what a guest
of `airtoll run` does (`airtoll.guest.runs.perform_inside`).
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from guest_script import run_script

from airtoll.guest import recipe
from airtoll.labs import Lab, open_lab
from airtoll.probes import probes_of
from airtoll.probes.base import Sample
from airtoll.stats.metrics import per_run
from airtoll.store import RunRecord, Samples
from airtoll.store.recorder import perform
from airtoll.study import expand, load_study
from airtoll.study.cell import Cell, Method, Plan


@dataclass(frozen=True)
class Finished:
    """A run of a study."""

    plan: Plan
    record: RunRecord
    samples: Samples

    @property
    def metrics(self) -> dict[str, float]:
        """The value of each metric of the run."""
        return _metrics(self.samples)

    def in_lab_sim(self) -> dict[str, float]:
        """The metrics of the throughput probe when lab sim performs the study."""
        cell = self.record.run.cell.model_copy(update={"lab": "sim"})
        return self.simulated(open_lab("sim", self.plan), cell, self.plan.method)

    def simulated(self, lab: Lab, cell: Cell, method: Method) -> dict[str, float]:
        """The metrics of the throughput probe in this lab sim."""
        (probe,) = probes_of(("throughput",), "sim")
        with lab.open(cell, self.record.run.seed) as link:
            samples = probe.measure(link, cell, method).samples
        return _metrics(Samples.of(self.record.run.id, samples))


def _metrics(samples: Samples) -> dict[str, float]:
    return {name: value for _, name, value in per_run([samples])}


def plan_of(study: Path) -> Plan:
    """The plan of a study in virtual time."""
    return expand(load_study(study), clock="virtual")


def perform_all(
    kernel: recipe.Kernel,
    folder: Path,
    studies: Mapping[str, str],
    then: str = "",
    environment: Mapping[str, str] | None = None,
) -> dict[str, list[Finished]]:
    """The runs of each study, by its name, in the order of its plan.

    `then` is a shell script that runs afterwards. `environment` has variables of all programs in the guest.
    """
    files = {name: folder / f"{name}.toml" for name in studies}
    for name, file in files.items():
        file.write_text(studies[name])
    argv = " ".join(map(str, (sys.executable, __file__, *files.values())))
    path = ":".join(sys.path)
    script = f"PYTHONPATH={path} {argv} > /run/job/runs 2> /run/job/errors\n{then}"
    run_script(kernel, script, folder, environment)
    lines = (folder / "job" / "runs").read_text().splitlines()
    plans = {name: plan_of(file) for name, file in files.items()}
    assert len(lines) == sum(len(plan.runs) for plan in plans.values()), (folder / "job/errors").read_text()
    left = iter(lines)
    return {name: [_finished(plan, next(left)) for _ in plan.runs] for name, plan in plans.items()}


def _finished(plan: Plan, line: str) -> Finished:
    told = json.loads(line)
    record = RunRecord.model_validate(told["record"])
    return Finished(plan, record, Samples.of(record.run.id, [Sample(*row) for row in told["samples"]]))


def _performed(study: Path) -> Iterator[dict[str, Any]]:
    plan = plan_of(study)
    lab = open_lab(plan.runs[0].cell.lab, plan)
    probes = probes_of(plan.method.probes, lab.name, "virtual")
    for run in plan.runs:
        done = perform(run, lab, probes, plan.method, on_event=lambda _: None, capture=None)
        samples = [astuple(sample) for sample in done.values]
        yield {"record": done.record.model_dump(mode="json"), "samples": samples}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for told in _performed(Path(name)):
            print(json.dumps(told), flush=True)
