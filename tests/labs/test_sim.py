"""Lab sim performs a study in virtual time: planned and stored like any lab, with the same result everywhere."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airtoll.errors import AirtollError, UsageError
from airtoll.judge import Figures, gate, parse_rule
from airtoll.labs import check_cells, open_lab
from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.labs.sim import Sim, simulate
from airtoll.probes import probes_of
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.stats import per_run
from airtoll.store import Result, check_ready, record
from airtoll.study import LinkSettings, Plan, expand, find_study, load_study, read_scenario
from airtoll.study.cell import Cell, Method

METHOD = Method(repeats=1, discard_first=0, duration=2.0, warmup=0.5, seed=1)


def fake_engine(scenario: str) -> str:
    """A fake medium: an answer with the medium's structure, computed only from the scenario."""
    words = json.loads(scenario)
    asked = words["traffic"] == "request-response"
    udp = words["transport"] == "udp"
    marks = {"mean": 1.1, "p50": 1.0, "p95": 1.5, "p99": 2.0, "max": 3.0}
    return json.dumps(
        {
            "throughput_mbps": words["packet_size"] / 50 + words["seed"] % 7,
            "delay_ms": marks,
            "rtt_ms": marks if asked else None,
            "jitter_ms": 0.25 if udp else None,
            "loss": 0.125 if udp else None,
            "airtime": {"payload": 0.75, "ifs_backoff": 0.25},
            "stations": [{"throughput_mbps": 1}],
            "counters": {"transmissions": 10},
            "facts": {},
        }
    )


def let_all(_scenario: str) -> None:
    """A fake check that accepts every scenario."""


def refuse(_scenario: str) -> None:
    raise ValueError("VHT MCS 9 has no such thing (Table 21-30)")


def fake_lab(link: LinkSettings | None = None, check: Callable[[str], None] = let_all) -> Sim:
    return Sim(link, solver=fake_engine, check=check)


def quick_plan() -> Plan:
    return expand(load_study(find_study("quickstart")), lab="sim", quick=True)


def recorded(directory: Path, plan: Plan) -> Result:
    study = load_study(find_study("quickstart"))
    with Result.create(directory, study.text, plan, "sim", quick=True) as result:
        record(result, fake_lab(), probes_of(lab="sim"), lambda _event: None)
    return Result.open(directory)


def test_a_study_in_lab_sim_is_a_result_like_any_other(tmp_path: Path) -> None:
    result = recorded(tmp_path / "r", quick_plan())
    assert result.verify() == []
    assert result.pending() == ()
    records = result.records()
    assert all(one.verdict.valid for one in records)
    assert all(set(one.hosts) == {"machine"} for one in records)
    assert records[0].link["scenario"]["phy"] == "ofdm"  # type: ignore[index, call-overload]
    udp = next(one.run.id for one in records if one.run.cell.transport == "udp")
    by_metric = {metric: value for run, metric, value in per_run(result.samples()) if run == udp}
    assert by_metric["rtt"] == 1.0
    assert by_metric["rtt_p99"] == by_metric["delay_p99"] == 2.0
    assert (by_metric["jitter"], by_metric["loss"]) == (0.25, 0.125)
    assert by_metric["throughput"] > 1e6
    raw = result.run_directory(records[0].run.id) / "raw"
    words = json.loads((raw / "throughput" / "scenario.json").read_text())
    assert (words["duration_s"], words["seed"]) == (0.5, records[0].run.seed)
    assert (raw / "rtt" / "answer.json").read_text() == fake_engine(
        (raw / "rtt" / "scenario.json").read_text()
    ) + "\n"


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    plan = quick_plan()
    first, second = (recorded(tmp_path / name, plan) for name in ("a", "b"))
    for run in plan.runs:
        for name in ("samples.parquet", "raw/throughput/answer.json", "raw/rtt/answer.json"):
            a, b = ((one.run_directory(run.id) / name).read_bytes() for one in (first, second))
            assert a == b, (run.id, name)


@pytest.mark.parametrize(("direction", "endpoint"), [("up", "ap"), ("down", "sta"), ("both", "link")])
def test_throughput_is_that_of_the_receiver(cell: Callable[..., Cell], direction: str, endpoint: str) -> None:
    probe, _ = probes_of(lab="sim")
    one = cell(lab="sim", direction=direction, topology="stations", stations=3)
    with fake_lab().open(one, seed=7) as link:
        measurement = probe.measure(link, one, METHOD)
    sample = next(s for s in measurement.samples if s.metric == "throughput")
    assert (sample.endpoint, sample.direction) == (endpoint, direction)
    assert (sample.t_ns, sample.dur_ns) == (500_000_000, 2_000_000_000)
    assert sample.value == pytest.approx(1408 / 50 * 1e6)
    shares = {s.metric: s.value for s in measurement.samples if s.metric.startswith("airtime_")}
    assert shares == {"airtime_payload": 0.75, "airtime_ifs_backoff": 0.25}


def test_metrics_that_the_medium_does_not_report_have_no_samples(cell: Callable[..., Cell]) -> None:
    throughput, rtt = probes_of(lab="sim")
    one = cell(lab="sim", transport="tcp")
    with fake_lab().open(one, seed=1) as link:
        assert not {"jitter", "loss"} & {s.metric for s in throughput.measure(link, one, METHOD).samples}
        assert {s.metric for s in rtt.measure(link, one, METHOD).samples} == {"rtt", "rtt_p99"}


def test_the_mediums_refusal_is_said_before_anything_is_done(cell: Callable[..., Cell]) -> None:
    assert fake_lab(check=refuse).check(cell(lab="sim")) == "VHT MCS 9 has no such thing (Table 21-30)"
    lab = fake_lab(check=lambda text: refuse(text) if '"9 Mbit/s"' in text else None)
    cells = [cell(lab="sim", rate=rate) for rate in ("6 Mbit/s", "9 Mbit/s")]
    with pytest.raises(UsageError, match=r"^VHT MCS 9 .*\(Table 21-30\) \(rate 9 Mbit/s\)$"):
        check_cells(cells, lab)
    with pytest.raises(UsageError, match=r"\(Table 21-30\)$"):
        check_cells(cells, fake_lab(check=refuse))


def test_the_settings_of_the_link_reach_the_medium(cell: Callable[..., Cell]) -> None:
    asked: list[dict[str, Any]] = []
    lab = Sim(
        LinkSettings(queue="fq_codel", retry_limit=4),
        solver=fake_engine,
        check=lambda text: asked.append(json.loads(text)),
    )
    assert lab.check(cell(lab="sim", snr=20.0)) is None
    assert (asked[0]["queue"], asked[0]["retry_limit"], asked[0]["snr_db"]) == ("fq_codel", 4, 20.0)


def test_limits_of_a_lab_are_named(cell: Callable[..., Cell]) -> None:
    air = Air(LinkSettings(amsdu=3000))
    assert air.check(cell()) == "link.amsdu: lab air cannot set it; lab sim can"
    too_many = cell(stations=17, topology="stations")
    assert Air().check(too_many) == "stations '17': lab air supports 1 to 16"


def test_there_is_no_capture_of_frames_that_are_not_built(cell: Callable[..., Cell], tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="lab sim builds no frames"),
        fake_lab().open(cell(lab="sim"), seed=1, pcap=tmp_path / "air.pcap"),
    ):
        pass


def test_a_simulated_probe_measures_no_other_link(cell: Callable[..., Cell]) -> None:
    other = Link(hosts={}, addresses={}, facts={}, counters=dict)
    for probe in probes_of(lab="sim"):
        with pytest.raises(AirtollError, match="only measure links of lab sim"):
            probe.measure(other, cell(), METHOD)


def test_a_refusal_of_the_medium_is_a_usage_error() -> None:
    def engine(_scenario: str) -> str:
        raise ValueError("stations: at least one (9.4.1.8)")

    with pytest.raises(UsageError, match=r"^stations: at least one \(9\.4\.1\.8\)$"):
        simulate(read_scenario({}), engine)


PROFILES = """
title = "Profiles"
lab = "sim"
[factors]
security = ["strong", "open", "usual"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["1408 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 3
duration = "0.2 s"
[security.usual]
title = "what everyone has"
pairwise = "ccmp"
[security.strong]
wpa_key_mgmt = "sae"
pairwise = "gcmp256"
"""


def test_profiles_of_a_study_are_compared_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES)
    study = load_study(path)
    plan = expand(study)
    lab = open_lab("sim", plan)
    with Result.create(tmp_path / "r", study.text, plan, "sim", quick=False) as result:
        record(result, lab, probes_of(lab="sim"), lambda _event: None)
    result = Result.open(tmp_path / "r")
    assert result.verify() == []
    assert result.pending() == ()
    data = ReportData.of(result)
    assert (data.comparison.baseline, data.comparison.levels) == ("open", ("open", "usual", "strong"))
    means = {c.cell.security: c.summary.mean for c in data.comparison.cells if c.metric == "throughput"}
    assert means["open"] > means["usual"] >= means["strong"]

    files = write_report(result, tmp_path / "r")
    page = files.html.read_text()
    assert "usual (what everyone has): wpa_key_mgmt wpa-psk, pairwise ccmp" in page
    assert "strong: wpa_key_mgmt sae, pairwise gcmp256" in page
    rows = list(csv.DictReader((tmp_path / "r" / "cells.csv").read_text().splitlines()))
    pairs = {(row["baseline"], row["security"]) for row in rows if row["baseline"]}
    assert pairs == {("open", "usual"), ("open", "strong")}

    rules = [parse_rule(text) for text in ("throughput of strong >= 1 Mbit/s", "cost(rtt) of usual <= 50 %")]
    assert [outcome.state for outcome in gate(Figures.of(result), rules)] == ["pass", "pass"]


def test_lab_sim_opens_by_name_and_has_no_requirements(cell: Callable[..., Cell]) -> None:
    plan = quick_plan()
    lab = open_lab("sim", plan)
    assert lab.virtual
    assert lab.missing() is None
    check_ready(plan.runs, lab, probes_of(lab="sim"))
    with lab.open(cell(lab="sim"), seed=5) as link:
        a, b = (probes_of(lab="sim")[0].measure(link, cell(lab="sim"), METHOD) for _ in range(2))
    assert a == b
