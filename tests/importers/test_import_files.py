"""Files recorded by iperf3, irtt and flent become runs with the figures of the files."""

import gzip
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from recorded_files import LEVELS, RECORDED, Import, numbers

from airtoll.errors import UsageError
from airtoll.store import Result
from airtoll.store.importers import Given, import_files, levels_in_name


def told(name: str) -> dict[str, Any]:
    content = (RECORDED / name).read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    return document


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        (
            "iperf3-tcp-client.json",
            {"transport": "tcp", "direction": "up", "packet_size": 1408, "offered": "max"},
        ),
        (
            "iperf3-tcp-server.json",
            {"transport": "tcp", "direction": "up", "packet_size": 1408, "offered": "max"},
        ),
        ("iperf3-tcp-reverse-parallel-client.json", {"direction": "down", "ip": "ipv6"}),
        ("iperf3-tcp-bidir-client.json", {"direction": "both"}),
        ("iperf3-udp-client.json", {"transport": "udp", "direction": "up", "offered": 33.0}),
        ("iperf3-udp-reverse-client.json", {"direction": "down", "packet_size": 512}),
        ("iperf3-udp-bidir-client.json", {"direction": "both", "offered": 20.0}),
        ("irtt.json.gz", {"transport": "udp", "ip": "ipv4", "packet_size": 172}),
        ("tcp_download.flent.gz", {"transport": "tcp", "direction": "down", "packet_size": 16384}),
        ("tcp_upload.flent.gz", {"transport": "tcp", "direction": "up", "ip": "ipv4"}),
        ("rrul_be.flent.gz", {"transport": "tcp", "direction": "both"}),
    ],
)
def test_the_cell_has_the_levels_of_the_file(imported: Import, name: str, levels: Mapping[str, Any]) -> None:
    (run,) = imported(name).plan.runs
    assert {factor: getattr(run.cell, factor) for factor in levels} == levels
    assert run.cell.lab == "imported"
    assert run.cell.security == "ccmp"


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("iperf3-tcp-client.json", ["sum_received"]),
        ("iperf3-tcp-server.json", ["sum_received"]),
        ("iperf3-tcp-omit-client.json", ["sum_received"]),
        ("iperf3-tcp-omit-server.json", ["sum_received"]),
        ("iperf3-tcp-reverse-parallel-client.json", ["sum_received"]),
        ("iperf3-tcp-bidir-client.json", ["sum_received", "sum_received_bidir_reverse"]),
        ("iperf3-udp-client.json", ["sum_received"]),
        ("iperf3-udp-server.json", ["sum_received"]),
        ("iperf3-udp-reverse-client.json", ["sum_received"]),
        ("iperf3-udp-bidir-client.json", ["sum_received", "sum_received_bidir_reverse"]),
    ],
)
def test_throughput_equals_the_received_data_of_iperf3(imported: Import, name: str, sums: list[str]) -> None:
    end = told(name)["end"]
    arrived = sum(8 * end[key]["bytes"] / end[key]["seconds"] for key in sums)
    assert numbers(imported(name))["throughput"] == pytest.approx(arrived, rel=0.01)


@pytest.mark.parametrize(
    "name",
    [
        "iperf3-tcp-reverse-parallel-server.json",
        "iperf3-tcp-bidir-server.json",
        "iperf3-udp-reverse-server.json",
    ],
)
def test_a_report_without_received_data_makes_the_run_invalid(imported: Import, name: str) -> None:
    (record,) = imported(name).records()
    assert not record.verdict.valid
    assert "not the data received" in record.verdict.reasons[0]


def test_loss_and_jitter_of_udp_are_the_receivers(imported: Import) -> None:
    total = told("iperf3-udp-client.json")["end"]["sum_received"]
    found = numbers(imported("iperf3-udp-client.json"))
    assert found["loss"] == total["lost_packets"] / total["packets"]
    assert found["jitter"] == pytest.approx(total["jitter_ms"])


def test_intervals_omitted_by_iperf3_are_warm_up(imported: Import) -> None:
    (samples,) = imported("iperf3-tcp-omit-server.json").samples()
    rows = zip(samples.t_ns.tolist(), samples.phase, strict=True)
    phases = [(phase, t_ns) for t_ns, phase in sorted(rows)]
    assert phases[0] == ("warmup", 0)
    assert all(t_ns >= 1_000_000_000 for phase, t_ns in phases if phase == "measure")


def test_a_report_of_an_older_iperf3_has_counts_only(tmp_path: Path) -> None:
    report = told("iperf3-udp-client.json")
    del report["end"]["sum_received"]
    report["end"]["sum"] |= {"lost_packets": 52, "packets": 5200, "jitter_ms": 0.5}
    file = tmp_path / "old.json"
    file.write_text(json.dumps(report))
    (record,) = import_files([Given(file, LEVELS)], tmp_path / "result", "Old")
    assert "not the data received" in record.verdict.reasons[0]
    found = numbers(Result.open(tmp_path / "result"))
    assert found == {"loss": pytest.approx(0.01), "jitter": 0.5}


def test_a_stream_of_events_is_the_same_report(tmp_path: Path, imported: Import) -> None:
    report = told("iperf3-tcp-client.json")
    events = [{"event": "start", "data": report["start"]}]
    events += [{"event": "interval", "data": interval} for interval in report["intervals"]]
    events += [{"event": "end", "data": report["end"]}]
    stream = tmp_path / "stream.json"
    stream.write_text("".join(json.dumps(event) + "\n" for event in events))
    import_files([Given(stream, LEVELS)], tmp_path / "streamed", "Stream")
    assert numbers(Result.open(tmp_path / "streamed")) == numbers(imported("iperf3-tcp-client.json"))


def test_round_trip_times_equal_those_of_irtt(imported: Import) -> None:
    stats = told("irtt.json.gz")["stats"]
    found = numbers(imported("irtt.json.gz"))
    assert found["rtt"] == pytest.approx(stats["rtt"]["median"] / 1e6)
    assert found["loss_idle_up"] == stats["upstream_loss_percent"] / 100
    assert "delay_idle_up" not in found


def test_one_way_delays_count_where_the_clocks_are_said_to_be_one(imported: Import) -> None:
    stats = told("irtt.json.gz")["stats"]
    found = numbers(imported("irtt.json.gz", shared_clocks=True))
    assert found["delay_idle_up"] == pytest.approx(stats["send_delay"]["median"] / 1e6)
    assert found["delay_idle_down"] == pytest.approx(stats["receive_delay"]["median"] / 1e6)


@pytest.mark.parametrize("name", ["tcp_download.flent.gz", "tcp_upload.flent.gz", "rrul_be.flent.gz"])
def test_throughput_equals_that_of_netperf_in_flent(imported: Import, name: str) -> None:
    series = told(name)["metadata"]["SERIES_META"]
    rates = [each["MEAN_VALUE"] for each in series.values() if each["RUNNER"] == "NetperfDemoRunner"]
    assert numbers(imported(name))["throughput"] == pytest.approx(1e6 * sum(rates), rel=0.01)


def test_round_trips_under_flents_load_are_kept_apart(imported: Import) -> None:
    (samples,) = imported("tcp_download.flent.gz").samples()
    idle, loaded = (samples.value[samples.metric.equal(metric)].tolist() for metric in ("rtt", "rtt_loaded"))
    assert max(idle) < 1 < sorted(loaded)[len(loaded) // 2]  # ms: the shaper's queue holds 20 ms


def test_flent_ping_has_neither_transport_nor_packet_size(imported: Import) -> None:
    result = imported("ping.flent.gz", transport="udp", packet_size=64)
    owd = told("ping.flent.gz")["metadata"]["SERIES_META"]["Ping (ms) UDP"]
    assert numbers(result)["rtt"] == pytest.approx(owd["RTT_MEDIAN"], rel=1e-4)


def test_flent_udp_flood_lacks_received_data(imported: Import) -> None:
    (record,) = imported("udp_flood.flent.gz", packet_size=1470).records()
    assert any("does not contain the received data up" in reason for reason in record.verdict.reasons)


def test_the_record_says_when_where_and_by_whose_word(imported: Import) -> None:
    result = imported("iperf3-tcp-client.json")
    (record,) = result.records()
    start = told("iperf3-tcp-client.json")["start"]
    assert record.started == datetime.fromtimestamp(start["timestamp"]["timesecs"], UTC)
    assert (record.finished - record.started).total_seconds() == 2
    assert record.hosts["sta"]["kernel"] == start["system_info"].split()[2]
    assert record.versions.tools == {"throughput": "iperf 3.12"}
    assert record.link["levels_by_owner"] == sorted(LEVELS)
    assert "transport" in record.link["levels_by_file"]
    assert "snr" in record.link["levels_unsaid"]
    stored = result.run_directory(record.run.id) / "raw" / "iperf3-tcp-client.json"
    assert stored.read_bytes() == (RECORDED / "iperf3-tcp-client.json").read_bytes()
    assert result.verify() == []


def test_a_client_on_the_access_points_side_sends_down(imported: Import) -> None:
    result = imported("iperf3-tcp-client.json", direction="down")
    (record,) = result.records()
    assert record.run.cell.direction == "down"
    assert list(record.hosts) == ["ap"]
    assert numbers(result)["throughput"] > 1e6


def test_files_of_two_levels_are_paired_in_the_order_of_their_times(tmp_path: Path) -> None:
    report = told("iperf3-tcp-client.json")
    files = []
    for number, security in enumerate(("open", "ccmp", "ccmp", "open")):
        report["start"]["timestamp"]["timesecs"] += 10
        report["start"]["cookie"] = f"test {number}"
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(report))
        files.append(Given(file, {**LEVELS, "security": security}))
    import_files(files[::-1], tmp_path / "result", "Pairs")
    runs = Result.open(tmp_path / "result").plan.runs
    assert [(run.cell.security, run.block, run.replicate) for run in runs] == [
        ("open", 1, 1),
        ("ccmp", 1, 1),
        ("ccmp", 2, 2),
        ("open", 2, 2),
    ]
    own = [Given(each.path, each.levels, block) for each, block in zip(files, (7, 8, 7, 8), strict=True)]
    import_files(own, tmp_path / "own", "Pairs")
    blocks = [run.block for run in Result.open(tmp_path / "own").plan.runs]
    assert blocks == [1, 2, 1, 2]


def test_both_ends_of_a_test_are_one_test(imported: Import) -> None:
    with pytest.raises(UsageError, match="report the same test"):
        imported("iperf3-tcp-client.json", "iperf3-tcp-server.json")


def test_files_that_are_no_replicates_are_refused(tmp_path: Path) -> None:
    report = told("iperf3-tcp-client.json")
    report["start"] |= {"cookie": "another"}
    report["start"]["test_start"]["duration"] = 30
    longer = tmp_path / "longer.json"
    longer.write_text(json.dumps(report))
    files = [Given(RECORDED / "iperf3-tcp-client.json", LEVELS), Given(longer, LEVELS)]
    with pytest.raises(UsageError, match=r"have the same cell, but duration_s is"):
        import_files(files, tmp_path / "result", "Mixed")
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"transport": "udp"}, "transport: the file says tcp, you say udp"),
        ({"packet_size": 128}, "packet_size: the file says 1408 B, you say 128 B"),
        ({"phy": "ofdm"}, "mcs7"),
        ({"phy": "ofdm", "rate": "54 Mbit/s", "bandwidth": 40}, "40"),
    ],
)
def test_invalid_levels_are_refused(imported: Import, levels: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        imported("iperf3-tcp-client.json", **levels)


def test_only_levels_implied_by_the_phy_are_assumed(tmp_path: Path) -> None:
    file = RECORDED / "iperf3-tcp-client.json"
    some = {"security": "open", "topology": "wired-ap", "phy": "ofdm", "rate": "auto"}
    (record,) = import_files([Given(file, some)], tmp_path / "some", "Some")
    assert (record.run.cell.bandwidth, record.run.cell.gi, record.run.cell.rate) == (20, "long", "auto")


def test_only_the_security_must_be_told(tmp_path: Path) -> None:
    file = RECORDED / "iperf3-tcp-client.json"
    with pytest.raises(UsageError, match="does not tell the security level: give --security LEVEL"):
        import_files([Given(file)], tmp_path / "none", "None")
    (record,) = import_files([Given(file, {"security": "open"})], tmp_path / "result", "Open")
    assert record.run.cell.unknown == ("topology", "phy", "bandwidth", "gi", "rate")
    assert record.link["levels_unknown"] == list(record.run.cell.unknown)
    assert Result.open(tmp_path / "result").verify() == []


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("open.json", {"security": "open"}),
        ("home_11ac-80MHz_WPA2.json", {"security": "ccmp", "phy": "vht", "bandwidth": 80}),
        ("open-vht80-mcs9.json", {"security": "open", "phy": "vht", "bandwidth": 80, "rate": "mcs9"}),
        ("gcmp_ht40.txt", {"security": "gcmp", "phy": "ht", "bandwidth": 40}),
        ("wpa3-192.txt", {"security": "wpa3-192"}),
        ("WPA3 SAE mcs7.txt", {"security": "sae", "rate": "mcs7"}),
        ("ccmp/run-1.json", {"security": "ccmp"}),
        ("ccmp/open.json", {"security": "open"}),
        ("open-vs-ccmp.json", {}),
        ("reopened.json", {}),
        ("wep.txt", {"security": "wep104"}),
    ],
)
def test_the_name_of_a_file_tells_levels(name: str, levels: Mapping[str, Any]) -> None:
    assert levels_in_name(Path(name)) == levels


def test_levels_of_file_owner_and_study_replace_those_of_the_name(tmp_path: Path) -> None:
    file = tmp_path / "ccmp-vht.json"
    file.write_bytes((RECORDED / "iperf3-tcp-client.json").read_bytes())
    (record,) = import_files([Given(file, {"security": "open"})], tmp_path / "result", "Owner")
    assert (record.run.cell.security, record.run.cell.phy) == ("open", "vht")
    assert record.link["levels_by_name"] == ["phy"]
    file = file.rename(tmp_path / "open-ht-80mhz.json")
    with pytest.raises(UsageError, match=r"from the name of the file: security, phy, bandwidth"):
        import_files([Given(file)], tmp_path / "wrong", "Wrong")
