"""The engine's times per frame: measured by a process on the station's host, independent of the link."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.ciphers.parts import printed_lanes
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Link
from airtoll.prediction import Predictions
from airtoll.probes import engine, probes_of
from airtoll.probes.engine import Engine
from airtoll.store.verdict import verdict_of
from airtoll.study import expand, load_study
from airtoll.study.cell import Cell, Method, Run
from airtoll.study.plan import CPU_PROBE_S, estimate_s, measures

MakeCell = Callable[..., Cell]
Recorded = Callable[[str], bytes]

METRICS = ["mic_time", "cipher_time", "seal_time", "open_time"]
PRINTED_METRICS = ["printed_mic_time", "printed_cipher_time"]

STUDY = """
title = "A study"
lab = "air"
[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["1400 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 1
duration = "10 s"
warmup = "0 s"
probes = ["rtt", "engine"]
"""


def test_a_suite_has_all_four_times_on_the_machine_that_it_names(
    link: Link, cell: MakeCell, method: Method
) -> None:
    measurement = Engine().measure(link, cell(security="ccmp", packet_size=1400), method)
    assert [sample.metric for sample in measurement.samples] == METRICS
    assert {(s.probe, s.unit, s.endpoint, s.direction) for s in measurement.samples} == {
        ("engine", "us", "sta", "")
    }
    assert all(sample.value is None or 0 < sample.value < 10_000 for sample in measurement.samples)
    assert measurement.facts["payload_bytes"] == 1436
    assert measurement.facts["backend"] in ("portable", "aesni", "vaes256", "vaes512", "armv8")
    assert isinstance(measurement.facts["core"], int)
    assert engine.parse(measurement.raw["engine.json"]).suite == "ccmp"


def test_a_suite_with_lanes_is_measured_beside_the_lanes_as_printed(
    link: Link, cell: MakeCell, method: Method
) -> None:
    measurement = Engine().measure(link, cell(security="enhanced4", packet_size=1400), method)
    assert [sample.metric for sample in measurement.samples] == [*METRICS, *PRINTED_METRICS]
    assert all(sample.value is None or 0 < sample.value < 10_000 for sample in measurement.samples)
    assert [engine.parse(measurement.raw[name]).suite for name in ("engine.json", "engine-printed.json")] == [
        "enhanced4",
        "paper-lanes4",
    ]
    assert measurement.facts["suite"] == "enhanced4"
    assert measurement.facts["printed"]["suite"] == "paper-lanes4"
    assert measurement.facts["printed"]["payload_bytes"] == 1436


@pytest.mark.parametrize(
    ("suite", "scheme"), [("enhanced1", "paper-lanes1"), ("enhanced8", "paper-lanes8"), ("ccmp", None)]
)
def test_only_a_suite_with_lanes_has_lanes_as_printed(suite: str, scheme: str | None) -> None:
    assert printed_lanes(suite) == scheme


def test_the_frame_is_that_of_the_packet_over_udp(cell: MakeCell) -> None:
    # LLC/SNAP 8 octets, UDP 8, and IPv4 20 (RFC 791) or IPv6 40 (RFC 8200).
    assert engine.frame_payload_b(cell(packet_size=1400)) == 1436
    assert engine.frame_payload_b(cell(packet_size=1400, ip="ipv6")) == 1456
    assert engine.frame_payload_b(cell(packet_size=1400, transport="tcp")) == 1436


def test_an_error_of_the_process_is_one_line(link: Link, cell: MakeCell, method: Method) -> None:
    with pytest.raises(AirtollError, match=r"^engine on sta: engine: 'open' is not a suite; usage: "):
        Engine().measure(link, cell(security="open"), method)


def test_each_time_is_a_median_within_its_quartiles(recorded: Recorded) -> None:
    times = engine.read(engine.parse(recorded("engine-ccmp.json")))
    for sample in times.samples:
        low, high = times.facts["parts"][sample.metric.removesuffix("_time")]["us_quartiles"]
        assert sample.value is not None
        assert low <= sample.value <= high
    assert times.facts["cpu_model"]


def test_a_part_without_a_figure_has_no_value(recorded: Recorded) -> None:
    report = json.loads(recorded("engine-ccmp.json"))
    report["parts"] = [one for one in report["parts"] if one["part"] != "seal"]
    times = engine.read(engine.parse(json.dumps(report).encode()))
    assert [sample.value is None for sample in times.samples] == [False, False, True, False]


@given(part=st.floats(0, 1))
def test_a_truncated_report_is_refused(part: float) -> None:
    whole = (Path(__file__).parent / "recorded" / "engine-ccmp.json").read_bytes().rstrip()
    with pytest.raises(AirtollError, match=r"^engine: its output of \d+ bytes: "):
        engine.parse(whole[: int(part * (len(whole) - 1))])


@pytest.mark.parametrize(
    "change",
    [
        {"took_s": 0},
        {"parts": [{"part": "mic", "us": -1.0, "us_quartiles": [1, 1], "slices": 1, "cycles": None}]},
        {"parts": [{"part": "mac", "us": 1.0, "us_quartiles": [1, 1], "slices": 1, "cycles": None}]},
        {"parts": [{"part": "mic", "us": 1.0, "us_quartiles": [1, 1], "slices": 1, "cycles": None}] * 2},
    ],
)
def test_an_implausible_report_is_refused(recorded: Recorded, change: dict[str, Any]) -> None:
    report = json.loads(recorded("engine-ccmp.json")) | change
    with pytest.raises(AirtollError, match=r"^engine: its output of \d+ bytes") as caught:
        engine.parse(json.dumps(report).encode())
    assert "\n" not in str(caught.value)


@given(st.binary())
def test_damaged_engine_output_is_refused(output: bytes) -> None:
    with pytest.raises(AirtollError, match=r"^engine: "):
        engine.parse(output)


def test_engine_probe_measures_only_protected_cells_in_real_time(cell: MakeCell) -> None:
    assert measures("engine", cell(security="tkip", transport="tcp"))
    assert not measures("engine", cell(security="open"))
    assert not measures("engine", cell(security="ccmp", lab="sim"))
    assert [probe.name for probe in probes_of(["rtt", "engine"], "sim")] == ["rtt"]


def test_engine_metrics_are_not_predicted_in_virtual_time(cell: MakeCell) -> None:
    method = Method(repeats=1, discard_first=0, duration=1, warmup=0, seed=1, probes=("rtt", "engine"))
    predictions = Predictions(method)
    values = predictions[predictions.case(cell(security="ccmp"))].values
    assert "rtt" in values
    assert not values.keys() & set(METRICS)


def test_a_run_need_not_wait_for_it_as_long_as_for_the_link(recorded: Recorded, cell: MakeCell) -> None:
    times = engine.read(engine.parse(recorded("engine-ccmp.json")))
    run = Run(order=1, block=1, replicate=1, discard=False, seed=1, cell=cell(security="ccmp"))
    method = Method(repeats=1, discard_first=0, duration=600.0, warmup=0, seed=1)
    measurement = engine.Measurement(times.samples)
    assert verdict_of(run, method, {"engine": measurement}, {}, {}).valid


def test_the_engine_probe_adds_its_second_only_to_protected_cells(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    assert estimate_s(expand(load_study(path)), overhead_s=0) == 10.0 + 10.0 + CPU_PROBE_S
    path.write_text(STUDY.replace('"ccmp"', '"enhanced4"'))
    assert estimate_s(expand(load_study(path)), overhead_s=0) == 10.0 + 10.0 + 2 * CPU_PROBE_S


def test_a_study_of_the_cpu_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace('"rtt", "engine"', '"engine"'))
    with pytest.raises(UsageError, match="no probe of the study measures udp: add throughput"):
        load_study(path)
