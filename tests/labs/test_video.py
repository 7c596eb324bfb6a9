"""HD video over both labs: tshark reads the stream as RTP, and every metric shows an overload."""

import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from shutil import which

import pytest
from observer import tshark

from airtoll.labs.air import Air
from airtoll.labs.sim import Sim
from airtoll.probes import Measurement, video
from airtoll.probes.simulated import SimulatedVideo
from airtoll.probes.video import Video
from airtoll.stats import per_run
from airtoll.store import Samples
from airtoll.study.cell import Cell, Method

MakeCell = Callable[..., Cell]
METHOD = Method(repeats=1, discard_first=0, duration=1.0, warmup=0.3, seed=4)


def numbers(measured: Measurement) -> dict[str, float]:
    """The numbers of a run in a report."""
    return {metric: value for _, metric, value in per_run([Samples.of("r", measured.samples)])}


def faults(measured: Measurement) -> list[str]:
    """Faults, except the fault of a machine with other load."""
    return [fault for fault in measured.faults if "its host, not the link" not in fault]


@pytest.mark.skipif(which("tshark") is None, reason="not installed: tshark")
def test_tshark_sees_the_same_stream(lab: Air, cell: MakeCell, tmp_path: Path) -> None:
    capture = tmp_path / "air.pcap"
    of = cell(offered=6.0)
    with lab.open(of, seed=1, pcap=capture) as link:
        measured = Video().measure(link, of, METHOD)
    assert faults(measured) == []
    received = video.parse_received(measured.raw["video-receiver.json"], b"", "receiver")
    sent = video.parse_sent(measured.raw["video-sender.json"], b"", "sender")
    as_rtp = ("-d", f"udp.port=={video.PORT},rtp")
    streams = subprocess.run(
        ["tshark", "-n", "-r", str(capture), *as_rtp, "-q", "-z", "rtp,streams"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    ssrc = f"0x{sent.ssrc:08X}"
    counts = [words[words.index(ssrc) + 1 :][:3] for words in map(str.split, streams) if ssrc in words]
    # The stream, and the answers to the last packets of its frames.
    assert ["RTPType-96", str(received.packets), "0"] in counts
    assert sorted(int(count[1]) for count in counts) == [len(sent.frames), received.expected]
    assert received.packets == received.expected == sum(frame[1] for frame in sent.frames)

    fields = ("frame.time_epoch", "rtp.marker", "rtp.timestamp", "udp.length")
    there = f"udp.dstport == {video.PORT} && rtp.version == 2"
    rows = tshark(capture, *as_rtp, "-Y", there, *(word for field in fields for word in ("-e", field)))
    markers = [row for row in rows if row[1] in ("1", "True")]
    assert len(markers) == len(sent.frames)
    steps = {(int(later[2]) - int(former[2])) % 2**32 for former, later in pairwise(markers)}
    assert steps == {90_000 // video.FRAMES_PER_S}
    octets = sum(int(row[3]) - 8 - measured.facts["header_bytes"] for row in rows)
    assert octets == sum(frame[2] for frame in sent.frames)
    # RFC 3550, 6.4.1, from RTP time stamps and the air's times; the receiving program gets packets slightly later.
    jitter_s, total_s = 0.0, 0.0
    for former, later in pairwise(rows):
        stamped_s = (int(later[2]) - int(former[2])) % 2**32 / 90_000
        jitter_s += (abs(float(later[0]) - float(former[0]) - stamped_s) - jitter_s) / 16
        total_s += jitter_s
    assert received.rtp_jitter_mean_ns / 1e9 == pytest.approx(total_s / len(rows), rel=0.1)
    # Most of this jitter is the sender's spreading of its frames, not the link's.
    assert numbers(measured)["jitter"] < 0.5e3 * total_s / len(rows)


@pytest.mark.virtual_time  # on a busy machine, programs wake up milliseconds late in real time
def test_an_overload_is_late_in_both_labs_and_a_light_load_in_neither(lab: Air, cell: MakeCell) -> None:
    # 54 Mbit/s carry about 29 Mbit/s of payload, or half of that if packets cross the air twice.
    light = cell(offered=4.0, security="ccmp", topology="through-ap")
    heavy = cell(offered=30.0, security="ccmp", topology="through-ap")
    found = {}
    for of in (light, heavy):
        with lab.open(of, seed=1) as link:
            in_air = Video().measure(link, of, METHOD)
        with Sim().open(of, seed=1) as simulated:
            in_sim = SimulatedVideo().measure(simulated, of, METHOD)
        assert faults(in_air) == []
        found[of.offered] = numbers(in_air), numbers(in_sim)
    for air, sim in (found[4.0], found[30.0]):
        metrics = {
            "throughput",
            "delay",
            "delay_p99",
            "delay_mean",
            "video_rtt",
            "jitter",
            "loss",
            "late_frames",
        }
        assert metrics <= air.keys()
        assert metrics <= sim.keys()
    for air in found[4.0]:
        assert air["loss"] == 0
        assert air["late_frames"] < 0.1
        assert air["throughput"] == pytest.approx(4e6, rel=0.15)
        assert air["delay"] < 10
    for air in found[30.0]:
        assert air["loss"] > 0.2
        assert air["late_frames"] > 0.5
        assert 11e6 < air["throughput"] < 17e6
    light_air, light_sim = found[4.0]
    # Without a guest, in real time, programs wake up slightly late.
    assert 0.8 * light_sim["video_rtt"] < light_air["video_rtt"] < light_sim["video_rtt"] + 5


def test_several_stations_play_at_the_same_time(lab: Air, cell: MakeCell) -> None:
    of = cell(offered=3.0, topology="through-ap", stations=2, security="ccmp")
    with lab.open(of, seed=1) as link:
        measured = Video().measure(link, of, METHOD)
    assert faults(measured) == []
    each = {s.endpoint for s in measured.samples if s.metric == "throughput_station"}
    assert each == {"ap/sta1", "ap/sta3"}
    assert len(measured.raw) == 4
    assert numbers(measured)["throughput"] == pytest.approx(6e6, rel=0.15)
    senders = [
        video.parse_sent(raw, b"", name)
        for name, raw in measured.raw.items()
        if name.endswith("-sender.json")
    ]
    assert senders[0].ssrc != senders[1].ssrc
    assert senders[0].frames[0][0] != senders[1].frames[0][0]


def test_both_ways_are_played(lab: Air, cell: MakeCell) -> None:
    of = cell(offered=3.0, direction="both")
    with lab.open(of, seed=1) as link:
        measured = Video().measure(link, of, METHOD)
    assert faults(measured) == []
    assert {(s.endpoint, s.direction) for s in measured.samples if s.metric == "throughput"} == {
        ("ap", "up"),
        ("sta", "down"),
    }
    assert {(s.endpoint, s.direction) for s in measured.samples if s.metric == "loss"} == {("link", "both")}
    assert numbers(measured)["throughput"] == pytest.approx(6e6, rel=0.15)
