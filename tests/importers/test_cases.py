"""Files that other programs misread: each is read right, or invalid with the true reason."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from recorded_files import RECORDED, numbers

from airtoll.errors import UsageError
from airtoll.stats import per_run
from airtoll.store import Result
from airtoll.store.importers import Given, import_files
from airtoll.store.records import RunRecord, spoiled_metrics

CASES = RECORDED / "cases"


def imported(directory: Path, file: Path, **levels: Any) -> Result:
    import_files([Given(file, {"security": "ccmp", **levels})], directory / "result", "Case")
    return Result.open(directory / "result")


def counted(result: Result) -> Mapping[str, float]:
    """The numbers of the only run that count."""
    return {
        metric: value for _, metric, value in per_run(result.samples(), spoiled_metrics(result.records()))
    }


def by_way(result: Result, metric: str = "throughput") -> Mapping[str, float]:
    """The values of a metric of the only run at the receivers, in Mbit/s or ms, by direction."""
    (samples,) = result.samples()
    found: dict[str, list[float]] = {}
    rows = zip(samples.metric, samples.direction, samples.endpoint, samples.value.tolist(), strict=True)
    for name, way, endpoint, value in rows:
        if name == metric and endpoint == {"up": "ap", "down": "sta", "both": "sta"}[way]:
            found.setdefault(way, []).append(value)
    return {way: sum(values) / len(values) for way, values in found.items()}


@pytest.mark.parametrize(
    ("name", "mbps"),
    [
        ("iperf3-3.9-bidir-duplicate-keys.json", {"up": 50.0, "down": 10.0}),
        ("iperf3-n-bytes.json", {"up": 50.28}),
        ("iperf3-json-stream-full-output.json", {"up": 50.23}),
        ("iperf3-warning-first.json", {"up": 50.29}),
        ("iperf3-powershell-utf16.json", {"up": 50.29}),
        ("iperf3-text-output.txt", {"up": 41.9}),
        ("flent-udp-rr-pings.flent", {"up": 40.0, "down": 80.0}),
        ("flent-swap-up-down.flent", {"down": 40.0}),
        ("flent-empty-series-meta.flent", {"up": 40.0, "down": 80.0}),
    ],
)
def test_the_received_data_counts(tmp_path: Path, name: str, mbps: Mapping[str, float]) -> None:
    result = imported(tmp_path, CASES / name)
    (record,) = result.records()
    assert record.verdict.valid
    assert {way: bit / 1e6 for way, bit in by_way(result).items()} == pytest.approx(mbps, rel=5e-4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("iperf3-udp-loss-179-percent.json", "169000 datagrams lost up of 94199 sent"),
        ("iperf3-udp-negative-loss.json", "-104080 datagrams lost up of 44133 sent: the loss is negative"),
        ("iperf3-3.12-server-udp-R-omit.json", "the data sent down but not the data received"),
    ],
)
def test_counters_that_contradict_each_other_make_a_run_invalid(
    tmp_path: Path, name: str, words: str
) -> None:
    (record,) = imported(tmp_path, CASES / name).records()
    assert words in "; ".join(record.verdict.reasons)


def test_a_wrapped_counter_of_datagrams_received_is_unknown(tmp_path: Path) -> None:
    result = imported(tmp_path, CASES / "iperf3-3.12-server-udp-R-omit.json")
    (samples,) = result.samples()
    assert set(samples.metric) == {"throughput"}
    sent = samples.value[samples.phase.equal("measure")]
    assert sent.mean() == pytest.approx(20.0e6, rel=0.01)


def test_a_jitter_above_the_duration_of_the_test_does_not_count(tmp_path: Path) -> None:
    result = imported(tmp_path, CASES / "iperf3-udp-jitter-clock-offset.json")
    (record,) = result.records()
    assert "the two clocks differ" in record.verdict.spoiled["jitter"]
    assert set(counted(result)) == {"throughput", "loss"}


def test_a_slightly_negative_loss_does_not_count_but_the_jitter_does(tmp_path: Path) -> None:
    result = imported(tmp_path, CASES / "iperf2-udp-negative-lost.txt")
    (record,) = result.records()
    assert "the octets received are about 654" in record.verdict.spoiled["loss"]
    assert counted(result) == {"throughput": 751e6, "jitter": 14.786}


@pytest.mark.parametrize(
    ("name", "round_trips_ms"),
    [
        ("ping-windows-es-under-1ms.txt", [2.0, 0.5, 3.0]),
        ("ping-windows-zh-gbk.txt", [2.0, 0.5, 3.0]),
        ("ping-macos-unreachable.txt", [1.0, 2.0, 3.0]),
    ],
)
def test_each_reply_of_a_ping_is_a_round_trip(tmp_path: Path, name: str, round_trips_ms: list[float]) -> None:
    result = imported(tmp_path, CASES / name)
    (samples,) = result.samples()
    assert samples.value.tolist() == round_trips_ms
    (record,) = result.records()
    assert record.verdict.valid
    assert (record.probes["rtt"]["sent"], record.probes["rtt"]["received"]) == (4, 3)


@pytest.mark.parametrize("name", ["flent-udp-rr-pings.flent", "flent-empty-series-meta.flent"])
def test_udp_rr_is_a_ping_and_no_load(tmp_path: Path, name: str) -> None:
    result = imported(tmp_path, CASES / name)
    (samples,) = result.samples()
    idle = (samples.metric.equal("rtt") & samples.probe.equal("ping")).sum()
    assert idle == 25
    assert numbers(result)["rtt"] == 2.0
    assert samples.metric.equal("rtt_loaded").sum() > 500


def edited(directory: Path, name: str, edit: Any) -> Path:
    document = json.loads((CASES / name).read_text())
    edit(document)
    file = directory / "edited.json"
    file.write_text(json.dumps(document))
    return file


def record_of(directory: Path, file: Path, **levels: Any) -> RunRecord:
    (record,) = imported(directory, file, **levels).records()
    return record


@pytest.mark.parametrize(
    ("lost", "bytes_", "reason", "absent"),
    [
        (50952, 1417117696, "", ()),
        (0, 1417117696, "the octets received are 43247 datagrams of 32768 B, but the counters say 94199", ()),
        (94200, 1417117696, "94200 datagrams lost up of 94199 sent", ()),
        (-900, 3086680064, "", ("loss",)),
        (-90000, 3086680064, "the loss is negative", ()),
        (2**64 - 77, 1417117696, "a counter of datagrams wrapped", ()),
    ],
)
def test_counters_agree_with_octets(
    tmp_path: Path, lost: int, bytes_: int, reason: str, absent: tuple[str, ...]
) -> None:
    def edit(document: Any) -> None:
        document["end"]["sum_received"] |= {"lost_packets": lost, "bytes": bytes_}

    record = record_of(tmp_path, edited(tmp_path, "iperf3-udp-loss-179-percent.json", edit))
    assert record.verdict.valid == (not reason)
    assert reason in "; ".join(record.verdict.reasons)
    assert tuple(record.verdict.spoiled) == absent


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        (
            {"phy": "ht", "rate": "mcs2", "bandwidth": 20, "gi": "long", "streams": 1},
            "PHY rate of 19.5 Mbit/s",
        ),
        ({"phy": "dsss", "rate": "auto"}, "PHY rate of 11 Mbit/s"),
        ({"phy": "ofdm"}, ""),
        ({"phy": "ht", "rate": "mcs7"}, ""),
        ({"rate": "mcs0"}, ""),
        ({}, ""),
    ],
)
def test_a_throughput_above_the_phy_rate_is_invalid(
    tmp_path: Path, levels: dict[str, Any], reason: str
) -> None:
    record = record_of(tmp_path, CASES / "iperf3-n-bytes.json", **levels)
    assert record.verdict.valid == (not reason)
    assert reason in "; ".join(record.verdict.reasons)


def test_datagrams_out_of_order_are_no_failure(tmp_path: Path) -> None:
    text = (CASES / "iperf3-udp-negative-loss.json").read_text()
    notes = "".join(f'"error": "OUT OF ORDER - incoming packet = {at}", ' for at in range(3))
    file = tmp_path / "reordered.json"
    file.write_text(text.replace("{", "{" + notes, 1))
    (tmp_path / "plain").mkdir()
    plain = imported(tmp_path / "plain", CASES / "iperf3-udp-negative-loss.json")
    assert numbers(imported(tmp_path, file)) == numbers(plain)
    file.write_text(text.replace("{", "{" + notes + '"error": "the client has terminated", ', 1))
    with pytest.raises(UsageError, match="the test failed: the client has terminated"):
        imported(tmp_path / "failed", file)


def test_other_repeated_keys_are_refused(tmp_path: Path) -> None:
    text = (CASES / "iperf3-n-bytes.json").read_text()
    file = tmp_path / "twice.json"
    file.write_text(text.replace('"omit":\t0', '"omit":\t0, "omit":\t1'))
    with pytest.raises(UsageError, match="an object repeats the keys omit: their values are ambiguous"):
        imported(tmp_path, file)
