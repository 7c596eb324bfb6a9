"""The output of ping of several systems becomes round-trip times."""

import re
from datetime import UTC, datetime
from statistics import median

import pytest
from recorded_files import RECORDED, Import, numbers

from airtoll.errors import UsageError

UNIX = (
    "iputils",
    "iputils-1400",
    "iputils-6",
    "iputils-D",
    "iputils-A",
    "busybox",
    "inetutils",
    "macos",
    "macos-6",
)


def text(name: str) -> str:
    return (RECORDED / "ping" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", UNIX)
def test_every_round_trip_is_a_sample(imported: Import, name: str) -> None:
    result = imported(f"ping/{name}.txt", transport="udp")
    (samples,) = result.samples()
    printed = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", text(name))]
    assert samples.value.tolist() == printed
    assert numbers(result)["rtt"] == pytest.approx(median(printed))
    mean = re.search(r"min/avg/max\S* = [\d.]+/([\d.]+)/", text(name))
    assert mean is not None
    assert sum(printed) / len(printed) == pytest.approx(float(mean[1]), abs=0.001)
    (record,) = result.records()
    assert record.verdict.valid


@pytest.mark.parametrize(
    ("name", "ip", "packet_size"),
    [
        ("iputils", "ipv4", 56),
        ("iputils-1400", "ipv4", 1400),
        ("iputils-6", "ipv6", 56),
        ("iputils-q", "ipv4", 56),
        ("macos-6", "ipv6", 8),
        ("windows", "ipv4", 32),
        ("windows-german", "ipv4", 32),
        ("windows-french", "ipv4", 32),
    ],
)
def test_address_and_size_are_in_the_file(imported: Import, name: str, ip: str, packet_size: int) -> None:
    (run,) = imported(f"ping/{name}.txt", transport="udp").plan.runs
    assert (run.cell.ip, run.cell.packet_size) == (ip, packet_size)


@pytest.mark.parametrize(
    ("name", "round_trips_ms"),
    [
        ("windows", [0.5, 3, 12]),
        ("windows-german", [2, 0.5, 4]),
        ("windows-french", [2, 0.5, 4]),
    ],
)
def test_windows_prints_whole_milliseconds_in_any_language(
    imported: Import, name: str, round_trips_ms: list[float]
) -> None:
    result = imported(f"ping/{name}.txt", transport="udp")
    (samples,) = result.samples()
    assert samples.value.tolist() == round_trips_ms
    (record,) = result.records()
    assert record.probes["rtt"]["below_resolution"] == 1


def test_lost_pings_are_counted(imported: Import) -> None:
    (record,) = imported("ping/windows.txt", transport="udp").records()
    assert (record.probes["rtt"]["sent"], record.probes["rtt"]["received"]) == (4, 3)


def test_a_ping_without_a_reply_is_invalid(imported: Import) -> None:
    (record,) = imported("ping/iputils-unreachable.txt", transport="udp").records()
    assert record.verdict.reasons == ("no sample: rtt has no value in the measured window",)


def test_a_quiet_ping_has_only_the_mean(imported: Import) -> None:
    result = imported("ping/iputils-q.txt", transport="udp")
    assert numbers(result)["rtt"] == 0.057
    (record,) = result.records()
    assert record.probes["rtt"]["round_trip"] == "mean of all pings"
    assert record.verdict.valid


def test_time_stamps_say_when(imported: Import) -> None:
    (record,) = imported("ping/iputils-D.txt", transport="udp").records()
    assert record.started == datetime(2026, 11, 26, 3, 44, 34, 755069, tzinfo=UTC)


def test_ping_has_no_transport(imported: Import) -> None:
    with pytest.raises(UsageError, match="missing levels: transport"):
        imported("ping/iputils.txt")
