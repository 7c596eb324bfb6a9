"""Reports of both ends of an FTP transfer become rates: checked by their own arithmetic, truncated, damaged."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.probes import ftp
from airtoll.probes.window import Window

Recorded = Callable[[str], bytes]

WINDOW = Window(opens_s=0.1, closes_s=0.4)
RECORDED = Path(__file__).parent / "recorded"
CLIENTS = sorted(file.name for file in RECORDED.glob("ftp-*-client.json"))
SERVERS = sorted(file.name for file in RECORDED.glob("ftp-*-server.json"))


def client(output: bytes) -> ftp.ClientReport:
    return ftp.parse_client(output, b"", "ftp client on sta")


def server(output: bytes) -> ftp.ServerReport:
    return ftp.parse_server(output, b"", "ftp server on ap")


def edited(output: bytes, **values: Any) -> bytes:
    return json.dumps({**json.loads(output), **values}).encode()


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_rate_is_the_clients_over_the_whole_transfer(recorded: Recorded, way: Any) -> None:
    said = json.loads(recorded(f"ftp-{way}-client.json"))
    (sample,) = ftp.client_samples(client(recorded(f"ftp-{way}-client.json")), way, began_s=0.0)
    octets = said["size_upload"] + said["size_download"]
    assert (sample.unit, sample.endpoint, sample.direction) == ("byte/s", "sta", way)
    assert sample.value is not None
    assert sample.value * sample.dur_ns / 1e9 == pytest.approx(octets, rel=1e-6)
    # the time of curl's own figure includes the login
    own = said["speed_upload"] + said["speed_download"]
    assert own <= sample.value < 1.02 * own
    assert 1e6 < sample.value < 54e6 / 8


@pytest.mark.parametrize(("way", "endpoint"), [("up", "ap"), ("down", "sta")])
def test_the_steady_rate_counts_octets_received_within_the_window(
    recorded: Recorded, way: str, endpoint: str
) -> None:
    report = server(recorded(f"ftp-{way}-server.json"))
    samples = ftp.server_samples(report, WINDOW, 0.0, endpoint)
    assert {(s.metric, s.unit, s.endpoint, s.direction) for s in samples} == {
        ("ftp_rate_steady", "byte/s", endpoint, way)
    }
    assert samples[0].t_ns == 0
    assert samples[0].phase == "warmup"
    for earlier, later in pairwise(samples):
        assert earlier.t_ns + earlier.dur_ns == later.t_ns
    arrived = sum(s.value * s.dur_ns / 1e9 for s in samples if s.value is not None)
    end_ns = samples[-1].t_ns + samples[-1].dur_ns
    assert arrived == pytest.approx(next(octets for t_ns, octets in report.trace if t_ns == end_ns), rel=1e-6)


def test_a_transfer_that_began_later_than_the_first_is_later_on_the_common_clock(recorded: Recorded) -> None:
    report = server(recorded("ftp-up-server.json"))
    alone, later = (ftp.server_samples(report, Window(0.0, 9.0), began_s) for began_s in (0.0, 0.25))
    assert [s.t_ns for s in later] == [pytest.approx(s.t_ns + 250_000_000, abs=1) for s in alone]
    assert [s.value for s in later] == [pytest.approx(s.value) for s in alone]


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_good_transfer_has_no_fault(recorded: Recorded, way: str) -> None:
    ends = client(recorded(f"ftp-{way}-client.json")), server(recorded(f"ftp-{way}-server.json"))
    assert ftp.faults(*ends, WINDOW, 0.0, alone=True) == []


class TestFaults:
    """Faults that make a run invalid although both ends gave a report."""

    def faults(
        self, recorded: Recorded, window: Window = WINDOW, *, alone: bool = True, **values: Any
    ) -> list[str]:
        ends = (
            client(recorded("ftp-up-client.json")),
            server(edited(recorded("ftp-up-server.json"), **values)),
        )
        return ftp.faults(*ends, window, 0.0, alone=alone)

    def test_an_aborted_transfer(self, recorded: Recorded) -> None:
        assert self.faults(recorded, complete=False) == ["ftp: the transfer did not complete"]

    def test_lost_bytes(self, recorded: Recorded) -> None:
        sent = json.loads(recorded("ftp-up-client.json"))["size_upload"]
        assert self.faults(recorded, octets=sent - 1) == [
            f"ftp: the client sent {sent} bytes, and the server received {sent - 1}"
        ]

    def test_a_window_that_is_not_covered(self, recorded: Recorded) -> None:
        (fault,) = self.faults(recorded, Window(0.1, 2.1))
        assert fault.startswith("ftp: short window: 0.")
        assert fault.endswith(" s of 2.00 s were measured")

    def test_a_mostly_stalled_transfer_is_a_fault(self, recorded: Recorded) -> None:
        trace = [(100_000_000, 1000), (200_000_000, 2000), (300_000_000, 2000), (400_000_000, 2000)]
        assert self.faults(recorded, trace=trace) == ["ftp: nothing arrived in 2 of 3 intervals"]
        assert self.faults(recorded, trace=trace, alone=False) == []  # another station used the air
        trace[-1] = (400_000_000, 3000)  # a retransmission comes after a round trip of a full queue
        assert self.faults(recorded, trace=trace) == []


def test_a_failure_has_the_message_of_curl(recorded: Recorded) -> None:
    with pytest.raises(AirtollError) as caught:
        client(recorded("ftp-refused-client.json"))
    assert str(caught.value) == (
        "ftp client on sta: Failed to connect to 127.0.0.1 port 2121 after 0 ms: Couldn't connect to server (curl 7)"
    )


def test_without_a_report_the_error_is_the_last_line_of_stderr() -> None:
    with pytest.raises(
        AirtollError, match=r"^ftp server on ap: port 2121 of 192\.0\.2\.1: Address already in use$"
    ):
        ftp.parse_server(b"", b"port 2121 of 192.0.2.1: Address already in use\n", "ftp server on ap")


def test_a_trace_that_runs_backwards_is_refused(recorded: Recorded) -> None:
    output = edited(recorded("ftp-up-server.json"), trace=[(100, 50), (200, 40)])
    with pytest.raises(AirtollError, match="its trace runs backwards"):
        server(output)


@given(st.sampled_from([*CLIENTS, *SERVERS]), st.floats(0, 1))
def test_a_report_truncated_anywhere_is_refused(name: str, part: float) -> None:
    output = (RECORDED / name).read_bytes().rstrip()
    with pytest.raises(AirtollError):
        (client if "client" in name else server)(output[: int(part * (len(output) - 1))])


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A real report with a few stretches replaced by noise."""
    output = bytearray((RECORDED / draw(st.sampled_from([*CLIENTS, *SERVERS]))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        noise = draw(st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"9" * 15, b"NaN", b"{", b"]"]))
        output[at : at + draw(st.integers(0, 12))] = noise
    return bytes(output)


@given(st.binary() | _damaged(), st.binary(max_size=40), st.booleans())
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(
    output: bytes, stderr: bytes, from_client: bool
) -> None:
    try:
        if from_client:
            samples = ftp.client_samples(ftp.parse_client(output, stderr, "ftp"), "up", 0.0)
        else:
            samples = ftp.server_samples(ftp.parse_server(output, stderr, "ftp"), WINDOW, 0.0)
    except AirtollError as error:
        refused = str(error)
        samples = None
    if samples is None:
        assert "\n" not in refused
        return
    for sample in samples:
        assert 0 <= sample.t_ns < 2**63
        assert 0 <= sample.dur_ns < 2**63
