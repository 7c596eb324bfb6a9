"""The frames that lab linux puts on the air, as the capture of the medium shows them."""

import json
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from air_capture import (
    ACK,
    BEACON,
    BEACON_INTERVAL_US,
    BLOCK_ACK,
    CONTROL,
    CTS,
    DATA,
    MANAGEMENT,
    MEAN_SLOTS,
    NULL,
    POWER_MANAGEMENT,
    QOS,
    RETRY,
    RTS,
    SIFS_US,
    SLOT_US,
    Frame,
    Steady,
    exchanges,
    read,
    steady,
)
from guest_script import run_script
from made_cell import make_cell

from airtoll.guest import recipe
from airtoll.labs.emulated import air_scenario
from airtoll.labs.linux import Linux
from airtoll.labs.sim import closed_forms, simulate
from airtoll.study.link import LinkSettings

AP, STA, STA2 = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))
GROUP: Final = "ff:ff:ff:ff:ff:ff"
PAYLOAD_B: Final = 1472
AMSDU: Final = 0x80  # "A-MSDU Present" of the QoS Control field

Saturated = Mapping[str, tuple[float, dict[str, Any]]]
"""Seconds of traffic, in which one A-MPDU is less than 0.3 % of what iperf3 counts, and the cell."""

SATURATED: Final[Saturated] = {
    "802.11a": (2.0, {"rate": "54 Mbit/s"}),
    "vht80 2 streams": (0.9, {"phy": "vht", "rate": "mcs9", "bandwidth": 80, "streams": 2}),
}
MORE_SATURATED: Final[Saturated] = {
    "ht40": (2.0, {"phy": "ht", "rate": "mcs7", "bandwidth": 40}),
    "ht40 2 streams": (1.5, {"phy": "ht", "rate": "mcs15", "bandwidth": 40, "streams": 2}),
    "vht80": (1.5, {"phy": "vht", "rate": "mcs9", "bandwidth": 80}),
}

HT: Final[dict[str, Any]] = {"phy": "ht", "rate": "mcs7", "bandwidth": 20, "security": "ccmp"}
TWO: Final[dict[str, Any]] = {"topology": "stations", "stations": 2}
HIDDEN: Final = [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
"""Each station hears only itself and the access point."""


def iperf3(at_ms: int, role: str, port: int, took_s: float, *options: str) -> list[tuple[int, str, str]]:
    """A server on the access point, and a client whose datagrams fill the link for this time."""
    load = f"-u -b 800M -w 2M -l {PAYLOAD_B} -t 60 {' '.join(options)}"
    return [
        (0, "ap", f"iperf3 -s -1 -J -i 0.1 -p {port}"),
        (at_ms, role, f"timeout --signal=INT {took_s} iperf3 -c {{ap}} -p {port} {load}"),
    ]


def saturated(cells: Saturated) -> dict[str, dict[str, Any]]:
    """The scenarios of saturated stations by name."""
    return {
        name: {
            "cell": {"packet_size": PAYLOAD_B, **cell},
            "until_ms": 1000 + round(1000 * took_s),
            "script": iperf3(50, "sta", 5201, took_s),
        }
        for name, (took_s, cell) in cells.items()
    }


def scenarios() -> dict[str, dict[str, Any]]:
    """All scenarios by name, without those of long tests."""
    found = saturated(SATURATED)
    for name, cell, roles, until_ms in (
        ("categories of a station", HT, ("sta", "sta"), 900),
        ("categories of two stations", {**HT, **TWO}, ("sta1", "sta2"), 2300),
    ):
        best_effort, voice = roles
        script = [*iperf3(50, best_effort, 5201, 5.0), *iperf3(100, voice, 5202, 5.0, "--dscp ef")]
        found[name] = {"cell": cell, "until_ms": until_ms, "script": script}
    found["power save"] = {
        "cell": HT,
        "until_ms": 2200,
        "script": [
            (0, "sta", "iw dev wlan0 set power_save on"),
            (400, "ap", "ping -i 0.25 -c 4 -q {sta}"),
            (1500, "ap", "ping -b -c 3 -i 0.15 192.0.2.255"),
        ],
    }
    found["rts"] = {
        "cell": HT,
        "link": {"rts_threshold": 500},
        "until_ms": 300,
        "script": iperf3(50, "sta", 5201, 1.0),
    }
    for name, link in (("hidden", {}), ("hidden with rts", {"rts_threshold": 500})):
        script = [*iperf3(50, "sta1", 5201, 5.0), *iperf3(100, "sta2", 5202, 5.0)]
        found[name] = {
            "cell": {**TWO, "packet_size": PAYLOAD_B},
            "link": link,
            "air": {"hears": HIDDEN},
            "until_ms": 3200,
            "script": script,
        }
    return found


@pytest.fixture(scope="module")
def job(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the captures and the outcomes of the scenarios."""
    return perform(kernel, tmp_path_factory.mktemp("medium"), scenarios())


@pytest.fixture(scope="module")
def more(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of more saturated stations."""
    return perform(kernel, tmp_path_factory.mktemp("more"), saturated(MORE_SATURATED))


def perform(kernel: recipe.Kernel, folder: Path, wanted: Mapping[str, Any]) -> Path:
    """Perform scenarios in one guest. Returns the directory with their captures and outcomes."""
    if (reason := Linux().missing()) is not None:
        pytest.skip(reason)
    file = folder / "scenarios.json"
    file.write_text(json.dumps(wanted))
    argv = f"{sys.executable} {Path(__file__).with_name('medium.py')} {file}"
    run_script(kernel, f"{argv} > /run/job/outcomes 2> /run/job/errors", folder)
    found = folder / "job"
    assert len((found / "outcomes").read_text().splitlines()) == len(wanted), (found / "errors").read_text()
    return found


def outcome(job: Path, name: str) -> Mapping[str, Any]:
    """The outputs and counters of a scenario."""
    outcomes = map(json.loads, (job / "outcomes").read_text().splitlines())
    found: dict[str, Any] = next(one for one in outcomes if one["name"] == name)
    return found


@cache
def captured(job: Path, name: str) -> list[Frame]:
    """The frames of a scenario."""
    return list(read(job / f"{name}.pcap"))


def of(frames: list[Frame], kind: int, subtype: int) -> list[Frame]:
    return [frame for frame in frames if frame.kind == (kind, subtype)]


def is_full(frame: Frame) -> bool:
    """Whether the frame carries a datagram of iperf3."""
    return frame.is_data and len(frame.octets) > PAYLOAD_B


def mbit_per_s(frames: list[Frame], sender: str, window_s: float, tid: int | None = None) -> float:
    """Acknowledged UDP payload of a sender in the last `window_s` seconds."""
    until_ns = max(frame.ns for frame in frames if is_full(frame))
    own = [
        frame
        for one in exchanges(frames)
        for frame in one.mpdus
        if is_full(frame) and frame.sender == sender and frame.ns > until_ns - window_s * 1e9
    ]
    return sum(tid in (None, frame.tid) for frame in own) * PAYLOAD_B * 8 / window_s / 1e6


def closed_form(name: str) -> dict[str, Any]:
    """The closed form of a saturated station, without beacons."""
    cell = make_cell(packet_size=PAYLOAD_B, **{**SATURATED, **MORE_SATURATED}[name][1])
    found: dict[str, Any] = closed_forms(air_scenario(cell, LinkSettings())).values["single_station"]
    return found


@cache
def in_steady_state(job: Path, name: str) -> Steady:
    """The exchanges of the saturated station in its steady state."""
    form = closed_form(name)
    return steady(captured(job, name), STA, form["cycle_us"] - form["backoff_us"])


@pytest.mark.parametrize("name", SATURATED)
def test_a_saturated_station_follows_the_closed_form(job: Path, name: str) -> None:
    assert_follows_the_closed_form(job, name)


@pytest.mark.parametrize("name", SATURATED)
def test_iperf3_measures_the_closed_form(job: Path, name: str) -> None:
    assert_iperf3_measures_the_closed_form(job, name)


@pytest.mark.long
@pytest.mark.parametrize("name", MORE_SATURATED)
def test_more_saturated_stations_follow_the_closed_form(more: Path, name: str) -> None:
    assert_follows_the_closed_form(more, name)
    assert_iperf3_measures_the_closed_form(more, name)


def assert_follows_the_closed_form(job: Path, name: str) -> None:
    form, found = closed_form(name), in_steady_state(job, name)
    assert found.mpdus == {form["mpdus_per_ppdu"]}, "every A-MPDU is full"
    beyond = [slots for slots in found.slots if abs(slots - round(slots)) > 1e-6 or not 0 <= slots <= 15]
    assert not beyond, "every backoff is a number of slots in the contention window"
    mean = sum(found.slots) / len(found.slots)
    assert mean == pytest.approx(MEAN_SLOTS, abs=4 * 4.61 / len(found.slots) ** 0.5), "four standard errors"
    without_chance = found.mbit_per_s_without_chance(PAYLOAD_B)
    assert without_chance == pytest.approx(form["throughput_mbps"], rel=0.001)


def assert_iperf3_measures_the_closed_form(job: Path, name: str) -> None:
    form, found = closed_form(name), in_steady_state(job, name)
    server = json.loads(outcome(job, name)["outputs"][0])
    intervals = [one["sum"] for one in server["intervals"]][2:-2]
    measured = sum(one["bytes"] for one in intervals) * 8 / sum(one["seconds"] for one in intervals) / 1e6
    # The closed form with the backoffs that were drawn and with the beacons.
    drawn = sum(found.slots) / len(found.slots)
    cycle_us = form["cycle_us"] + (drawn - MEAN_SLOTS) * SLOT_US
    expected = (
        form["throughput_mbps"] * form["cycle_us"] / cycle_us * (1 - found.beacon_us / BEACON_INTERVAL_US)
    )
    assert measured == pytest.approx(expected, rel=0.004)


def shortest_spaces_us(frames: list[Frame], sender: str) -> dict[int | None, float]:
    """By TID, the shortest time between an exchange and the TXOP of the sender's datagrams that follows it directly."""
    from_answer_us = {
        (CONTROL, ACK): 8,
        (CONTROL, BLOCK_ACK): 12,
    }  # from its first bit to its end, at 24 Mbit/s
    preamble_us = 36  # of HT, one stream
    spaces_us: dict[int | None, float] = {}
    for before, frame in pairwise(frames):
        if frame.sender == sender and is_full(frame) and before.kind in from_answer_us:
            space_us = (frame.ns - before.ns) / 1e3 - preamble_us - from_answer_us[before.kind]
            if space_us > SIFS_US + 0.1:  # a SIFS separates the exchanges of a TXOP
                spaces_us[frame.tid] = min(space_us, spaces_us.get(frame.tid, space_us))
    return spaces_us


def assert_edca(frames: list[Frame], best_effort: str, voice: str, window_s: float) -> None:
    """The sender of voice (TID 6) and that of best effort (TID 0) contend as IEEE Std 802.11-2020, Table 9-155, says.

    Chance determines their shares: over seeds of the medium, voice has 1.5 to 40 times the share of best effort.
    """
    # In an A-MPDU, a delimiter precedes the first bit of the MPDU by 0.5 us.
    assert shortest_spaces_us(frames, voice)[6] == pytest.approx(SIFS_US + 2 * SLOT_US), "AIFSN 2"
    assert shortest_spaces_us(frames, best_effort)[0] == pytest.approx(SIFS_US + 3 * SLOT_US, abs=0.5), (
        "AIFSN 3"
    )
    assert 0 < mbit_per_s(frames, best_effort, window_s, 0) < mbit_per_s(frames, voice, window_s, 6)


def test_voice_and_best_effort_of_a_station_share_the_air_as_edca_says(job: Path) -> None:
    frames = captured(job, "categories of a station")
    # Linux does not aggregate voice, so voice wins by its accesses to the air, not by the length of its PPDUs.
    assert {len(one.mpdus) for one in exchanges(frames) if one.mpdus[0].tid == 6} == {1}
    assert_edca(frames, STA, STA, 0.6)


def test_voice_and_best_effort_of_two_stations_share_the_air_as_edca_says(job: Path) -> None:
    assert_edca(captured(job, "categories of two stations"), STA, STA2, 2.0)


@pytest.mark.parametrize("name", ["categories of two stations", "hidden", "hidden with rts"])
def test_stations_find_their_access_point_by_their_first_scan(job: Path, name: str) -> None:
    assert outcome(job, name)["joining_ms"] < 1000, "wpa_supplicant repeats a scan after 5 s"


def test_block_acks_name_the_access_category(job: Path) -> None:
    for one in exchanges(captured(job, "categories of a station")):
        if one.answer.kind == (CONTROL, BLOCK_ACK):
            assert int.from_bytes(one.answer.octets[16:18], "little") >> 12 == one.mpdus[0].tid


def test_a_station_in_power_save_gets_its_frames_after_the_beacon(job: Path) -> None:
    name = "power save"
    frames = captured(job, name)
    assert "4 received" in outcome(job, name)["outputs"][1]
    nulls = of(frames, DATA, QOS | NULL)
    asleep_ns = next(frame.ns for frame in nulls if frame.flags & POWER_MANAGEMENT)
    wakes = [frame for frame in nulls if frame.ns > asleep_ns and not frame.flags & POWER_MANAGEMENT]
    assert len(wakes) >= 3
    for woke in wakes:
        told = of([frame for frame in frames if frame.ns < woke.ns], MANAGEMENT, BEACON)[-1]
        assert traffic_indication(told)[1] & 1 << 1, "the TIM has the bit of AID 1"
        data = next(frame for frame in frames if frame.ns > woke.ns and frame.is_data)
        assert (data.sender, data.receiver) == (AP, STA)
        assert data.ns - told.ns < 2e6


def test_group_addressed_frames_wait_for_the_dtim_beacon(job: Path) -> None:
    frames = captured(job, "power save")
    to_all = [frame for frame in frames if frame.is_data and frame.receiver == GROUP and frame.sender == AP]
    to_all = to_all[-3:]
    for frame in to_all:
        told = of([other for other in frames if other.ns < frame.ns], MANAGEMENT, BEACON)[-1]
        count, bitmap = traffic_indication(told)
        assert (count, bitmap & 1) == (0, 1)
        assert frame.ns - told.ns < 1e6


def traffic_indication(beacon: Frame) -> tuple[int, int]:
    """The DTIM count of a beacon, and its traffic indication: bit 0 for group-addressed frames, bit N for AID N."""
    elements = beacon.octets[36:-4]
    while elements[0] != 5:
        elements = elements[2 + elements[1] :]
    count, control, virtual = elements[2], elements[4], elements[5]
    return count, virtual & ~1 | control & 1


def test_an_rts_precedes_every_a_mpdu_above_the_threshold(job: Path) -> None:
    frames = captured(job, "rts")
    at = {frame.ns: number for number, frame in enumerate(frames)}
    full = [one for one in exchanges(frames) if any(map(is_full, one.mpdus))]
    assert len(full) > 20
    for one in full:
        first = at[one.mpdus[0].ns]
        assert [frame.kind for frame in frames[first - 2 : first]] == [(CONTROL, RTS), (CONTROL, CTS)]


def test_linux_forms_no_a_msdus(job: Path) -> None:
    frames = captured(job, "vht80 2 streams")
    assert not any((frame.qos_control or 0) & AMSDU for frame in frames if frame.is_data)


@pytest.mark.parametrize(("name", "least", "most"), [("hidden", 1.0, 1.25), ("hidden with rts", 0.95, 1.05)])
def test_hidden_stations_collide_as_in_lab_sim(job: Path, name: str, least: float, most: float) -> None:
    # Without a threshold, Linux carries more: it sends an RTS before its last retries.
    frames = captured(job, name)
    measured = mbit_per_s(frames, STA, 2.8) + mbit_per_s(frames, STA2, 2.8)
    cell = make_cell(packet_size=PAYLOAD_B, **TWO)
    settings = LinkSettings(beacon_interval=100, rts_threshold=500 if "rts" in name else None)
    scenario = air_scenario(cell, settings, hears=tuple(map(tuple, HIDDEN)), duration=20.0)
    simulated = simulate(scenario).values["throughput_mbps"]
    assert least * simulated < measured < most * simulated
    assert any(frame.flags & RETRY for frame in frames if is_full(frame))
