"""A new probe requires one file and one line; then studies, plans and labs support it."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from airtoll.labs.sim import Sim
from airtoll.probes import probes_of
from airtoll.study import expand, load_study
from airtoll.study.cell import Method
from airtoll.study.probes import PROBES, ProbeEntry

FILE = """
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.simulated import simulated


class Toy:
    name = "toy"

    def missing(self, lacks=None):
        return None

    def measure(self, link, cell, method):
        return Measurement([Sample("toy", "answers", "1", "ap", "up", 0, 0, float(len(link.hosts)))])


class SimulatedToy(Toy):
    def measure(self, link, cell, method):
        answer = simulated(link, method, traffic="request-response")
        return Measurement([Sample("toy", "answers", "1", "ap", "up", 0, 0, answer.values["rtt_ms"]["p50"])])
"""
STUDY = """
title = "A toy"
lab = "sim"
[factors]
security = ["open"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = [512]
phy = ["ofdm"]
rate = [54]
[method]
repeats = 1
duration = "200 ms"
warmup = 0
probes = ["toy"]
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProbeEntry:
    (tmp_path / "toy_probe.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    entry = ProbeEntry(on_hosts="toy_probe:Toy", in_sim="toy_probe:SimulatedToy", transport="udp", least_b=20)
    monkeypatch.setitem(PROBES, "toy", entry)
    monkeypatch.delitem(sys.modules, "toy_probe", raising=False)
    return entry


@pytest.mark.usefixtures("toy")
def test_a_study_can_name_it_and_lab_sim_measures_with_it(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(STUDY)
    plan = expand(load_study(path))
    (run,) = plan.runs
    (probe,) = probes_of(plan.method.probes, "sim")
    with Sim().open(run.cell, run.seed) as link:
        (sample,) = probe.measure(link, run.cell, plan.method).samples
    assert sample.value is not None
    assert sample.value > 0
    assert Method.model_validate(plan.method.model_dump()).probes == ("toy",)


def test_the_declaration_of_a_probe_is_checked(
    tmp_path: Path, toy: ProbeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(STUDY)
    monkeypatch.setitem(PROBES, "toy", replace(toy, least_b=600))
    with pytest.raises(Exception, match="512 B with probe toy is impossible: its headers take 600 B"):
        load_study(path)
    monkeypatch.setitem(PROBES, "toy", replace(toy, transport="tcp"))
    with pytest.raises(Exception, match="toy requires transport tcp"):
        load_study(path)


@pytest.mark.usefixtures("toy")
def test_it_runs_on_hosts_too() -> None:
    (probe,) = probes_of(["toy"])
    assert probe.name == "toy"


@pytest.mark.parametrize("name", PROBES)
def test_every_declared_class_is_there_and_the_declaration_is_complete(name: str) -> None:
    assert [probe.name for probe in probes_of([name])] == [name]
    assert PROBES[name].measures
    in_sim = [probe.name for probe in probes_of([name], "sim")]
    assert in_sim == ([] if PROBES[name].in_sim is None else [name])
    in_guests = [probe.name for probe in probes_of([name], clock="virtual")]
    assert in_guests == ([] if PROBES[name].real_time else [name])
