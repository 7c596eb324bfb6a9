"""iperf3's reports become samples: checked by their own arithmetic, truncated, damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.probes import iperf3_report as iperf3
from airtoll.probes.base import Sample
from airtoll.probes.window import Window
from airtoll.study.cell import Cell

Recorded = Callable[[str], bytes]

WINDOW = Window(opens_s=0.2, closes_s=1.2)
RECORDED = Path(__file__).parent / "recorded"
REPORTS = sorted(file.name for file in RECORDED.glob("iperf3-???-*.json"))


def measured(samples: list[Sample], metric: str) -> list[Sample]:
    return [sample for sample in samples if sample.metric == metric and sample.phase == "measure"]


def samples_of(output: bytes, end: str, transport: Any) -> list[Sample]:
    report = iperf3.parse(output, b"", "iperf3")
    samples = iperf3.server_samples if end == "server" else iperf3.client_samples
    return samples(report, transport, WINDOW)


def edited(output: bytes, edit: Callable[[dict[str, Any]], object]) -> bytes:
    report = json.loads(output)
    edit(report)
    return json.dumps(report).encode()


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_throughput_counts_data_received_within_the_window(
    recorded: Recorded, transport: str, ip: str
) -> None:
    output = recorded(f"iperf3-{transport}-{ip}-server.json")
    found = measured(samples_of(output, "server", transport), "throughput")
    rows = [interval["sum"] for interval in json.loads(output)["intervals"][2:12]]
    assert len(found) == 10
    assert {(sample.endpoint, sample.direction, sample.unit) for sample in found} == {("ap", "up", "bit/s")}
    bits = sum(sample.value * sample.dur_ns / 1e9 for sample in found if sample.value is not None)
    assert bits == pytest.approx(sum(8 * row["bytes"] for row in rows), rel=1e-4)
    # 30 Mbit/s at the token bucket, minus the headers of Ethernet, IP and the transport
    assert 0.9 * 30e6 < bits < 30e6


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
def test_received_payload_is_sent_minus_lost_datagrams(recorded: Recorded, ip: str) -> None:
    samples = samples_of(recorded(f"iperf3-udp-{ip}-server.json"), "server", "udp")
    columns = [
        measured(samples, metric) for metric in ("datagrams_sent", "datagrams_lost", "throughput", "jitter")
    ]
    for sent, lost, throughput, jitter in zip(*columns, strict=True):
        assert sent.value is not None
        assert lost.value is not None
        assert throughput.value is not None
        arrived_bits = (sent.value - lost.value) * 1408 * 8
        assert arrived_bits == pytest.approx(throughput.value * throughput.dur_ns / 1e9, rel=1e-3)
        assert jitter.value is not None
        assert 0 < jitter.value < 5
    lost_share = sum(s.value or 0 for s in columns[1]) / sum(s.value or 0 for s in columns[0])
    assert 0.08 < lost_share < 0.16  # 33 Mbit/s of payload offered to a capacity of about 29 Mbit/s


def test_warm_up_is_labelled_and_intervals_after_the_window_are_dropped(recorded: Recorded) -> None:
    samples = samples_of(recorded("iperf3-udp-ipv4-server.json"), "server", "udp")
    phases = [sample.phase for sample in samples if sample.metric == "throughput"]
    assert phases == ["warmup"] * 2 + ["measure"] * 10


def test_the_client_reports_retransmissions_window_and_rtt_of_tcp(recorded: Recorded) -> None:
    output = recorded("iperf3-tcp-ipv4-client.json")
    samples = samples_of(output, "client", "tcp")
    rows = json.loads(output)["intervals"][2:12]
    assert [s.value for s in measured(samples, "retransmits")] == [r["sum"]["retransmits"] for r in rows]
    assert [s.value for s in measured(samples, "tcp_srtt")] == [r["streams"][0]["rtt"] / 1e3 for r in rows]
    assert [s.value for s in measured(samples, "tcp_cwnd")] == [r["streams"][0]["snd_cwnd"] for r in rows]
    assert {s.endpoint for s in samples} == {"sta"}


def test_each_end_gives_its_own_cpu_figure(recorded: Recorded) -> None:
    for end, endpoint in (("server", "ap"), ("client", "sta")):
        output = recorded(f"iperf3-tcp-ipv4-{end}.json")
        (load,) = measured(samples_of(output, end, "tcp"), "cpu_process")
        assert load.value == json.loads(output)["end"]["cpu_utilization_percent"]["host_total"]
        assert load.endpoint == endpoint


def test_a_test_that_was_not_interrupted_is_read_alike(recorded: Recorded) -> None:
    samples = samples_of(recorded("iperf3-udp-whole-server.json"), "server", "udp")
    assert len(measured(samples, "throughput")) == 8


def test_values_missing_from_iperf3_are_missing_not_zero(recorded: Recorded) -> None:
    def edit(report: dict[str, Any]) -> None:
        row = report["intervals"][5]["sum"]
        row["bits_per_second"] = None  # cJSON's output for a value that is not a number
        del row["jitter_ms"]

    samples = samples_of(edited(recorded("iperf3-udp-ipv4-server.json"), edit), "server", "udp")
    assert [s.value is None for s in measured(samples, "throughput")] == [i == 3 for i in range(10)]
    assert [s.value is None for s in measured(samples, "jitter")] == [i == 3 for i in range(10)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("iperf3-refused.json", "iperf3 client on sta: unable to connect to server: Connection refused"),
        ("iperf3-port-in-use.json", "iperf3 client on sta: port 5201 is in use"),
        (
            "iperf3-congestion-unknown.json",
            "iperf3 client on sta: unable to set TCP_CONGESTION: Supplied congestion control algorithm not "
            "supported on this host",
        ),
        (
            "iperf3-buffer-refused-client.json",
            "iperf3 client on sta: socket buffer size not set correctly",
        ),
        ("iperf3-buffer-refused-server.json", "iperf3 client on sta: the test ended before it began"),
        ("iperf3-server-killed.json", "iperf3 client on sta: control socket has closed unexpectedly"),
    ],
)
def test_a_failure_has_the_message_of_iperf3(recorded: Recorded, name: str, words: str) -> None:
    with pytest.raises(AirtollError) as caught:
        iperf3.parse(recorded(name), b"", "iperf3 client on sta")
    assert str(caught.value) == words


def test_without_a_report_the_error_is_the_last_line_of_stderr() -> None:
    with pytest.raises(AirtollError, match=r"^iperf3: nsenter: failed to execute iperf3: No such file$"):
        iperf3.parse(b"", b"warning\nnsenter: failed to execute iperf3: No such file\n", "iperf3")
    with pytest.raises(AirtollError, match=r"^iperf3: it printed nothing$"):
        iperf3.parse(b"\n", b"", "iperf3")


@given(st.sampled_from(REPORTS), st.floats(0, 1))
def test_a_report_truncated_anywhere_is_refused(name: str, part: float) -> None:
    output = (RECORDED / name).read_bytes().rstrip()
    with pytest.raises(AirtollError):
        iperf3.parse(output[: int(part * (len(output) - 1))], b"", "iperf3")


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A real report with a few stretches replaced by noise."""
    output = bytearray((RECORDED / draw(st.sampled_from(REPORTS))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        noise = draw(
            st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"1e308", b"9" * 30, b"NaN", b"{", b"]"])
        )
        output[at : at + draw(st.integers(0, 12))] = noise
    return bytes(output)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["start", "intervals", "end", "sum", "streams", "error", "bytes", "seconds"]),
            inner,
        )
    ),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode())


@given(
    st.binary() | _damaged() | _JSON,
    st.binary(max_size=40),
    st.sampled_from(["tcp", "udp"]),
    st.none() | st.just(9),
)
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(
    output: bytes, stderr: bytes, transport: Any, offered: int | None
) -> None:
    try:
        report = iperf3.parse(output, stderr, "iperf3")
    except AirtollError as error:
        refused = str(error)
        report = None
    if report is None:
        assert "\n" not in refused
        return
    samples = [
        *iperf3.server_samples(report, transport, WINDOW),
        *iperf3.client_samples(report, transport, WINDOW),
    ]
    for sample in samples:
        assert 0 <= sample.t_ns < 2**63
        assert 0 <= sample.dur_ns < 2**63
    iperf3.faults(report, report, WINDOW, offered)


class TestFaults:
    """Faults that make a run invalid although both ends gave a report."""

    @pytest.fixture
    def both(self, recorded: Recorded) -> tuple[bytes, bytes]:
        return recorded("iperf3-udp-ipv4-client.json"), recorded("iperf3-udp-ipv4-server.json")

    def faults(self, client: bytes, server: bytes, offered_bit_per_s: int = 33_000_000) -> list[str]:
        reports = [iperf3.parse(output, b"", "iperf3") for output in (client, server)]
        return iperf3.faults(reports[0], reports[1], WINDOW, offered_bit_per_s)

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    @pytest.mark.parametrize("transport", ["tcp", "udp"])
    def test_a_good_run_has_no_reason_against_it(self, recorded: Recorded, transport: str, ip: str) -> None:
        client, server = (recorded(f"iperf3-{transport}-{ip}-{end}.json") for end in ("client", "server"))
        assert self.faults(client, server, offered_bit_per_s=1) == []

    def test_reports_of_two_tests(self, both: tuple[bytes, bytes], recorded: Recorded) -> None:
        found = self.faults(both[0], recorded("iperf3-udp-ipv6-server.json"))
        assert "iperf3: client and server report different tests" in found

    def test_more_received_than_sent(self, both: tuple[bytes, bytes]) -> None:
        server = edited(both[1], lambda report: report["intervals"][0]["sum"].update(bytes=10**9))
        (fault,) = self.faults(both[0], server)
        sent_b = sum(interval["sum"]["bytes"] for interval in json.loads(both[0])["intervals"])
        assert fault.endswith(f"bytes had arrived when only {sent_b} had been sent")

    def test_an_interval_without_received_data(self, both: tuple[bytes, bytes]) -> None:
        server = edited(both[1], lambda report: report["intervals"][7]["sum"].update(bytes=0))
        assert self.faults(both[0], server) == ["iperf3: nothing arrived in 1 of 10 intervals"]

    def test_a_window_that_is_not_covered(self, both: tuple[bytes, bytes]) -> None:
        server = edited(both[1], lambda report: report.update(intervals=report["intervals"][:9]))
        assert self.faults(both[0], server) == [
            "iperf3: short window: 0.70 s of 1.00 s were measured",
        ]

    def test_a_client_that_could_not_offer_the_load(self, both: tuple[bytes, bytes]) -> None:
        (fault,) = self.faults(*both, offered_bit_per_s=50_000_000)
        assert fault.startswith("iperf3: the client sent 3")
        assert fault.endswith("Mbit/s instead of 50.00, less than the open link carries")

    def test_a_client_that_fell_short_of_the_load_that_the_study_names(
        self, both: tuple[bytes, bytes]
    ) -> None:
        client, server = (iperf3.parse(output, b"", "iperf3") for output in both)  # 33 Mbit/s
        assert iperf3.faults(client, server, WINDOW, 33_500_000, sent_least=0.95) == []
        (fault,) = iperf3.faults(client, server, WINDOW, 36_000_000, sent_least=0.95)
        assert fault.endswith("Mbit/s instead of 36.00")


def test_segments_of_another_size_are_a_fault(cell: Callable[..., Cell]) -> None:
    asked = cell(transport="tcp", packet_size=1460, ip="ipv6", tcp_size="mss")
    assert iperf3.segment_fault(asked, 1460) == []
    assert iperf3.segment_fault(asked, 1428) == [
        "iperf3: the payload of TCP segments is 1428 B, expected 1460 B"
    ]
    assert iperf3.segment_fault(asked, None) == [
        "iperf3: the payload of TCP segments is unknown, expected 1460 B"
    ]
    assert iperf3.segment_fault(cell(transport="tcp", packet_size=128), 1448) == []
