"""Video streams between two namespaces: measurements, and messages if an end fails."""

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from airtoll.errors import AirtollError
from airtoll.labs.base import Known, Link
from airtoll.probes import Measurement, process, video
from airtoll.probes.video import Video
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Ip

MakeCell = Callable[..., Cell]


def values(measurement: Measurement, metric: str) -> list[float]:
    return [
        sample.value
        for sample in measurement.samples
        if (sample.metric, sample.phase) == (metric, "measure") and sample.value is not None
    ]


@pytest.mark.parametrize("pacing", ["smooth", "burst"])
@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
def test_a_stream_of_the_requested_rate_arrives(
    link: Link, cell: MakeCell, method: Method, ip: Ip, pacing: video.Pacing
) -> None:
    measured = Video(pacing).measure(link, cell(ip=ip, offered=8.0), method)
    assert [fault for fault in measured.faults if "its host, not the link" not in fault] == []
    assert {sample.probe for sample in measured.samples} == {"video", "cpu", "radio"}
    # The window contains the whole clip, so the rate is exact.
    assert measured.facts["sent_bit_per_s"] == pytest.approx(8e6, rel=1e-3)
    assert measured.facts["clocks"] == "shared"
    assert sum(values(measured, "throughput")) / 5 == pytest.approx(8e6, rel=0.3)
    assert values(measured, "frames_sent") == [15]
    for nothing in ("loss", "datagrams_lost"):
        assert values(measured, nothing) == [0]
    # A smoothly paced frame arrives after one frame interval; a veth pair adds almost no delay.
    spread = 25 if pacing == "smooth" else 0
    delays = sorted(values(measured, "frame_delay"))
    assert spread < delays[0]
    assert delays[7] < spread + 15
    assert len(values(measured, "video_rtt")) == 15
    assert 0 < values(measured, "delay")[0] <= values(measured, "delay_p99")[0]
    assert values(measured, "delay")[0] < 5
    assert values(measured, "cpu_emulator") == [pytest.approx(50)]


def test_runs_of_one_seed_send_the_same_frames(link: Link, cell: MakeCell, method: Method) -> None:
    def sizes(of: Link, seed: int) -> list[tuple[int, int]]:
        of_seed = method.model_copy(update={"seed": seed})
        raw = Video().measure(of, cell(offered=8.0), of_seed).raw["video-sender.json"]
        return [(packets, octets) for _, packets, octets, _, _ in video.parse_sent(raw, b"", "sender").frames]

    first = sizes(link, 1)
    assert first == sizes(link, 1) != sizes(link, 2)
    # The lab's seed takes precedence over the study's.
    assert first == sizes(replace(link, known=Known(seed=1)), 2)


def test_a_receiver_that_cannot_start_is_reported(link: Link, cell: MakeCell, method: Method) -> None:
    elsewhere = replace(link, addresses={**link.addresses, ("ap", "ipv4"): "198.51.100.1"})
    with pytest.raises(
        AirtollError, match=r"^video receiver on ap exited before a sender connected: listening on 198"
    ):
        Video().measure(elsewhere, cell(offered=8.0), method)


def test_a_port_in_use_is_reported(link: Link, cell: MakeCell, method: Method) -> None:
    take = f"import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', {video.PORT})); "
    other = process.serving(
        link.hosts["ap"],
        [sys.executable, "-c", f"{take} time.sleep(60)"],
        "udp",
        video.PORT,
        "another",
    )
    with other, pytest.raises(AirtollError, match=r"^video receiver on ap: port 5004 is in use$"):
        Video().measure(link, cell(offered=8.0), method)


def test_packets_too_small_for_a_picture_are_refused(link: Link, cell: MakeCell, method: Method) -> None:
    with pytest.raises(
        AirtollError, match=r"^video sender on sta: RTP packets of 36 octets of UDP payload: must exceed"
    ):
        Video().measure(link, cell(offered=8.0, packet_size=36), method)
