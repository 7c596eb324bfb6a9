"""Tools on real hosts: their measurements, and the messages if they fail."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from airtoll.errors import AirtollError, UsageError
from airtoll.host import Host, machine_lacks
from airtoll.labs.base import Link
from airtoll.probes import PROBES, Measurement, ftp, probes_of, process
from airtoll.probes.base import Probe
from airtoll.probes.flows import flows_of
from airtoll.probes.ftp import Ftp
from airtoll.probes.iperf3 import Throughput, offered_loads_bit_per_s
from airtoll.probes.iperf3_report import OVERLOAD
from airtoll.probes.irtt import Irtt
from airtoll.probes.rtt import Rtt
from airtoll.probes.sockperf import Sockperf
from airtoll.study.cell import Cell, Method

ATTEMPTS = 5
RECORDED = Path(__file__).parent / "recorded"
MakeCell = Callable[..., Cell]
LinkWith = Callable[[str, str], Link]


def squatter(port: int, kind: str) -> list[str]:
    """The command of a program that occupies the port."""
    listen = "s.listen();" if kind == "SOCK_STREAM" else ""
    reuse = "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1);"  # left by an earlier test
    take = f"s = socket.socket(socket.AF_INET, socket.{kind}); {reuse} s.bind(('', {port}));"
    return ["python3", "-c", f"import socket, time; {take} {listen} time.sleep(60)"]


def needs(*commands: str) -> pytest.MarkDecorator:
    absent = [command for command in commands if which(command) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


def measured(probe: Probe, link: Link, cell: Cell, method: Method) -> Measurement:
    """A measurement without faults. A busy machine causes some, and a study answers them with a repeat, too."""
    for _ in range(ATTEMPTS):
        measurement = probe.measure(link, cell, method)
        if not measurement.faults:
            break
    assert list(measurement.faults) == []
    return measurement


def values(measurement: Measurement, metric: str, endpoint: str) -> list[float]:
    return [
        sample.value
        for sample in measurement.samples
        if (sample.metric, sample.endpoint, sample.phase) == (metric, endpoint, "measure")
        and sample.value is not None
    ]


@needs("iperf3", "timeout")
class TestThroughput:
    """iperf3 between two namespaces."""

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    def test_udp_arrives_as_offered_with_every_figure(
        self, link: Link, cell: MakeCell, method: Method, ip: str
    ) -> None:
        measurement = measured(Throughput(), link, cell(transport="udp", ip=ip), method)
        offered = measurement.facts["offered_bit_per_s"]
        assert offered == round(OVERLOAD * link.known.capacity_open_bit_per_s)
        assert len(values(measurement, "throughput", "ap")) == 5
        # From the beginning: after a delay by a busy machine, iperf3 sends the missing datagrams at once.
        arrived = [s.value for s in measurement.samples if (s.metric, s.endpoint) == ("throughput", "ap")]
        assert sum(value or 0.0 for value in arrived) / len(arrived) == pytest.approx(offered, rel=0.1)
        assert len(values(measurement, "jitter", "ap")) == 5
        sent, lost = (sum(values(measurement, f"datagrams_{what}", "ap")) for what in ("sent", "lost"))
        assert 0 <= lost <= sent
        received_bit_per_s = sum(values(measurement, "throughput", "ap")) / 5
        assert sent - lost == pytest.approx(0.5 * received_bit_per_s / 1408 / 8, rel=0.01)
        assert values(measurement, "cpu_emulator", "link") == [pytest.approx(50)]
        assert values(measurement, "cpu_crypto", "link") == [pytest.approx(5)]
        # On a busy machine, the window and therefore its last interval last longer.
        system = [(s.t_ns, s.t_ns + s.dur_ns) for s in measurement.samples if s.metric == "cpu_system"]
        assert len(system) >= 2
        assert all(before[1] == after[0] for before, after in pairwise(system))
        assert system[-1][1] - system[0][0] >= 0.49e9
        assert values(measurement, "airtime", "link") == [pytest.approx(75)]
        assert values(measurement, "retries", "link") == [pytest.approx(20)]
        assert values(measurement, "phy_rate", "link") == [54e6]
        assert set(measurement.raw) == {"iperf3-server.json", "iperf3-client.json"}

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    def test_a_stalled_receiver_is_a_fault_of_the_host(
        self, link_with: LinkWith, cell: MakeCell, method: Method, ip: str
    ) -> None:
        iperf3 = f'{which("iperf3")} "$@"'
        stalls = (
            f'test "$1" = -s || exec {iperf3}; {iperf3} & server=$!; trap "kill $server" TERM; '
            "sleep 0.5; kill -STOP $server; sleep 0.5; kill -CONT $server; wait $server"
        )
        link = link_with("iperf3", stalls)
        measurement = Throughput().measure(link, cell(transport="udp", ip=ip, packet_size=128), method)
        (fault,) = [fault for fault in measurement.faults if "fetched" in fault]
        assert "the receiving host, not the link, sets the result" in fault

    @pytest.mark.parametrize(
        ("levels", "load", "offered_bit_per_s"),
        [({"offered": 4.0}, "overload", 4e6), ({}, 6.0, 6e6), ({"offered": 4.0}, 6.0, 4e6)],
    )
    def test_udp_load_follows_the_study(
        self, link: Link, cell: MakeCell, method: Method, levels: Any, load: Any, offered_bit_per_s: float
    ) -> None:
        unknown = Link(link.hosts, link.addresses, {}, link.counters)  # the link's capacity is not used
        asked = method.model_copy(update={"udp_load": load})
        measurement = measured(Throughput(), unknown, cell(transport="udp", **levels), asked)
        assert measurement.facts["offered_bit_per_s"] == offered_bit_per_s
        arrived = [s.value for s in measurement.samples if (s.metric, s.endpoint) == ("throughput", "ap")]
        assert sum(value or 0.0 for value in arrived) / len(arrived) == pytest.approx(
            offered_bit_per_s, rel=0.1
        )

    def test_a_load_of_both_directions_is_divided_but_a_load_per_sender_is_not(
        self, link: Link, cell: MakeCell, method: Method
    ) -> None:
        both = cell(transport="udp", direction="both")
        loads = [
            offered_loads_bit_per_s(link, one, asked, flows_of(link, one))
            for one, asked in (
                (both, method.model_copy(update={"udp_load": 9.0})),
                (both.model_copy(update={"offered": 4.0}), method),
            )
        ]
        assert loads == [[4_500_000, 4_500_000], [4_000_000, 4_000_000]]

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    def test_a_packet_size_can_be_the_payload_of_tcp_segments(
        self, link: Link, cell: MakeCell, method: Method, ip: str
    ) -> None:
        asked = cell(transport="tcp", ip=ip, packet_size=512, tcp_size="mss")
        measurement = measured(Throughput(), link, asked, method)
        assert measurement.facts["tcp_segment_bytes"] == 512
        assert "-l" not in measurement.facts["client"]

    def test_the_hosts_stack_is_set_as_the_link_says(
        self, link: Link, cell: MakeCell, method: Method
    ) -> None:
        known = replace(link.known, tcp_window_bytes=65536, congestion_control="reno")
        told = replace(link, known=known)
        measurement = Throughput().measure(told, cell(transport="tcp"), method)
        assert measurement.facts["tcp_congestion"] == "reno"
        assert measurement.facts["client"][-4:] == ["-w", "65536", "-C", "reno"]
        assert measurement.facts["tcp_segment_bytes"] == 1448

    def test_a_buffer_that_the_kernel_refuses_is_reported(
        self, link: Link, cell: MakeCell, method: Method
    ) -> None:
        told = replace(link, known=replace(link.known, udp_buffer_bytes=500_000_000))
        with pytest.raises(
            AirtollError, match=r"^iperf3: the kernel grants no socket buffer of 500000000 B$"
        ):
            Throughput().measure(told, cell(transport="udp"), method)

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    def test_tcp_uses_cubic_and_reports_its_statistics(
        self, link: Link, cell: MakeCell, method: Method, ip: str
    ) -> None:
        measurement = measured(Throughput(), link, cell(transport="tcp", ip=ip, packet_size=128), method)
        assert measurement.facts["tcp_congestion"] == "cubic"
        assert "-u" not in measurement.facts["client"]
        assert min(values(measurement, "throughput", "ap")) > 0
        assert min(values(measurement, "tcp_srtt", "sta")) > 0
        assert len(values(measurement, "retransmits", "sta")) == 5
        assert values(measurement, "datagrams_lost", "ap") == []

    def test_a_smaller_socket_buffer_is_requested_if_the_kernel_refuses_the_large_one(
        self, link_with: LinkWith, cell: MakeCell, method: Method, writable_by_all: Path
    ) -> None:
        asked = writable_by_all / "asked"
        link = link_with(
            "iperf3",
            f'case "$*" in *" -w 2M"*) echo asked >> {asked}; '
            f"cat {RECORDED}/iperf3-buffer-refused-client.json;;"
            f' *) exec {which("iperf3")} "$@";; esac',
        )
        probe = Throughput()
        for _ in range(2):
            measurement = probe.measure(link, cell(transport="udp"), method)
            assert measurement.facts["socket_buffer"] == "400K"
        assert asked.read_text() == "asked\n"  # the second run does not ask again

    def test_a_port_in_use_is_reported(self, link: Link, cell: MakeCell, method: Method) -> None:
        other = process.serving(
            link.hosts["ap"], ["iperf3", "-s", "-p", "5201"], "tcp", 5201, "another server"
        )
        with other, pytest.raises(AirtollError, match=r"^iperf3 server on ap: port 5201 is in use$"):
            Throughput().measure(link, cell(transport="tcp"), method)

    def test_a_cut_off_report_fails_the_run(
        self, link_with: LinkWith, cell: MakeCell, method: Method
    ) -> None:
        link = link_with(
            "iperf3",
            f'case "$1" in -s) exec {which("iperf3")} "$@";; esac; '
            f"head -c 4000 {RECORDED}/iperf3-udp-ipv4-client.json",
        )
        with pytest.raises(
            AirtollError, match=r"^iperf3 client on sta: its output of 4000 bytes is truncated"
        ):
            Throughput().measure(link, cell(), method)

    def test_a_client_that_hangs_is_killed(
        self, link_with: LinkWith, cell: MakeCell, method: Method, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "GRACE_S", 0.2)
        link = link_with(
            "iperf3", f'case "$1" in -s) exec {which("iperf3")} "$@";; esac; trap "" INT; exec sleep 60'
        )
        began_s = time.monotonic()
        with pytest.raises(AirtollError, match="iperf3 client on sta: it printed nothing"):
            Throughput().measure(link, cell(), method)
        assert time.monotonic() - began_s < 30

    def test_a_host_that_does_not_answer_times_out(
        self, link_with: LinkWith, cell: MakeCell, method: Method, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "GRACE_S", 0.2)
        with pytest.raises(AirtollError, match=r"^'ss' on sta did not end within 0\.2 s$"):
            Throughput().measure(link_with("ss", "exec sleep 60"), cell(transport="tcp"), method)

    def test_a_server_that_cannot_start_is_reported(
        self, link_with: LinkWith, cell: MakeCell, method: Method
    ) -> None:
        link = link_with("iperf3", "echo 'iperf3: cannot map library' >&2; exit 127")
        with pytest.raises(AirtollError, match=r"^iperf3 server on ap: iperf3: cannot map library$"):
            Throughput().measure(link, cell(), method)

    def test_udp_load_requires_the_capacity_of_the_open_link(
        self, link: Link, cell: MakeCell, method: Method
    ) -> None:
        unknown = Link(link.hosts, link.addresses, {}, link.counters)
        with pytest.raises(AirtollError, match="no UDP load can be chosen"):
            Throughput().measure(unknown, cell(transport="udp"), method)


class TestRtt:
    """Ping-pong between two namespaces."""

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    @pytest.mark.parametrize("transport", ["tcp", "udp"])
    def test_one_tool_measures_every_cell(
        self, link: Link, cell: MakeCell, method: Method, transport: str, ip: str
    ) -> None:
        measurement = Rtt().measure(link, cell(transport=transport, ip=ip), method)
        check_round_trips(measurement, "rtt", "pingpong")
        assert values(measurement, "datagrams_lost", "sta") == ([0] if transport == "udp" else [])

    def test_a_message_without_room_for_a_number_is_refused(
        self, link: Link, cell: MakeCell, method: Method
    ) -> None:
        with pytest.raises(
            AirtollError, match=r"^pingpong client on sta: a message of 7 octets is out of range"
        ):
            Rtt().measure(link, cell(packet_size=7), method)


@needs("sockperf")
class TestSockperf:
    """sockperf between two namespaces."""

    @pytest.mark.parametrize("transport", ["tcp", "udp"])
    def test_it_measures_ipv4_under_a_metric_of_its_own(
        self, link: Link, cell: MakeCell, method: Method, transport: str
    ) -> None:
        measurement = Sockperf().measure(link, cell(transport=transport, ip="ipv4"), method)
        check_round_trips(measurement, "rtt_sockperf", "sockperf")
        assert values(measurement, "rtt", "sta") == []

    def test_a_lost_datagram_leaves_no_value_and_the_reason(
        self, link_with: LinkWith, cell: MakeCell, method: Method
    ) -> None:
        replay = f'test "$1" = server && exec {which("sockperf")} "$@"; cat {RECORDED}/sockperf-udp-lost.txt'
        measurement = Sockperf().measure(
            link_with("sockperf", replay), cell(transport="udp", ip="ipv4"), method
        )
        assert values(measurement, "rtt_sockperf", "sta") == []
        assert values(measurement, "datagrams_lost", "sta") == [1]
        assert measurement.faults == ()
        (reason,) = measurement.facts["faults"]
        assert "sockperf waits indefinitely for a lost datagram" in reason


def check_round_trips(measurement: Measurement, metric: str, tool: str) -> None:
    assert list(measurement.faults) == []
    assert measurement.facts["tool"] == tool
    assert measurement.facts["version"].startswith(tool)
    assert {sample.probe for sample in measurement.samples} == {tool}
    rtts_ms = values(measurement, metric, "sta")
    assert len(rtts_ms) > 10
    assert min(rtts_ms) > 0


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize(
    ("probe", "tool", "port"), [(Sockperf(), "sockperf", 11111), (Rtt(), "pingpong", 11112)]
)
def test_a_port_of_round_trips_in_use_is_reported(
    link: Link, cell: MakeCell, method: Method, probe: Any, tool: str, port: int, transport: Any
) -> None:
    if (missing := probe.missing(machine_lacks)) is not None:
        pytest.skip(missing)
    command = squatter(port, "SOCK_STREAM" if transport == "tcp" else "SOCK_DGRAM")
    other = process.serving(link.hosts["ap"], command, transport, port, "another server")
    with other, pytest.raises(AirtollError, match=f"^{tool} server on ap: port {port} is in use$"):
        probe.measure(link, cell(transport=transport), method)


@needs("irtt")
class TestIrtt:
    """irtt between two namespaces."""

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    def test_each_direction_is_measured(self, link: Link, cell: MakeCell, method: Method, ip: str) -> None:
        measurement = measured(Irtt(), link, cell(ip=ip), method)
        assert measurement.facts["version"].startswith("irtt ")
        assert measurement.facts["clocks"] == "shared"
        assert measurement.facts["packet_bytes"] == 1408
        assert {sample.probe for sample in measurement.samples} == {"irtt"}
        assert len(values(measurement, "rtt", "sta")) > 25
        for metric in ("delay_idle", "ipdv"):
            assert len(values(measurement, metric, "ap")) > 25
            assert len(values(measurement, metric, "sta")) > 25
        assert min(values(measurement, "delay_idle", "ap")) > 0
        assert values(measurement, "datagrams_lost", "ap") == [0]
        assert set(measurement.raw) == {"irtt.json"}

    def test_a_port_in_use_is_reported(self, link: Link, cell: MakeCell, method: Method) -> None:
        other = process.serving(link.hosts["ap"], squatter(2112, "SOCK_DGRAM"), "udp", 2112, "another server")
        with other, pytest.raises(AirtollError, match=r"^irtt server on ap: port 2112 is in use$"):
            Irtt().measure(link, cell(), method)

    def test_a_server_that_cannot_start_is_reported(
        self, link_with: LinkWith, cell: MakeCell, method: Method
    ) -> None:
        link = link_with(
            "irtt", "echo 'Error: listen udp4: bind: cannot assign requested address' >&2; exit 1"
        )
        words = r"^irtt server on ap: listen udp4: bind: cannot assign requested address$"
        with pytest.raises(AirtollError, match=words):
            Irtt().measure(link, cell(), method)

    def test_a_cut_off_report_fails_the_run(
        self, link_with: LinkWith, cell: MakeCell, method: Method
    ) -> None:
        link = link_with(
            "irtt",
            f'case "$1" in server) exec {which("irtt")} "$@";; esac; head -c 4000 {RECORDED}/irtt-ipv4.json',
        )
        with pytest.raises(AirtollError, match=r"^irtt client on sta: its output of 4000 bytes is truncated"):
            Irtt().measure(link, cell(), method)


@pytest.mark.skipif(Ftp().missing(machine_lacks) is not None, reason=str(Ftp().missing(machine_lacks)))
class TestFtp:
    """A file transfer between two namespaces."""

    @pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
    @pytest.mark.parametrize(("direction", "receiver"), [("up", "ap"), ("down", "sta")])
    def test_a_file_is_transferred_for_the_whole_window(
        self, link: Link, cell: MakeCell, method: Method, direction: str, receiver: str, ip: str
    ) -> None:
        measurement = measured(Ftp(), link, cell(transport="tcp", direction=direction, ip=ip), method)
        (whole,) = values(measurement, "ftp_rate", "sta")
        steady = values(measurement, "ftp_rate_steady", receiver)
        assert len(steady) >= 3
        assert min(steady) > 0
        assert 0.2 * whole < max(steady) < 5 * whole  # the speed of a veth pair depends on the machine
        assert set(measurement.raw) == {f"ftp-{direction}-client.json", f"ftp-{direction}-server.json"}
        assert measurement.facts["version"].startswith("curl ")

    def test_both_directions_run_at_the_same_time(
        self, link: Link, cell: MakeCell, method: Method, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ftp, "BEGIN_SPREAD_S", 0.5)
        measurement = measured(Ftp(), link, cell(transport="tcp", direction="both"), method)
        up, down = (
            {(s.t_ns, s.t_ns + s.dur_ns) for s in measurement.samples if (s.metric, s.direction) == what}
            for what in (("ftp_rate", "up"), ("ftp_rate", "down"))
        )
        assert max(start for start, _ in up | down) < min(end for _, end in up | down)

    def test_there_is_one_file_and_no_way_to_another(self, link: Link) -> None:
        server = link.hosts["ap"]
        transfer = ftp.Transfer("down", link.hosts["sta"], server, link.addresses["ap", "ipv4"], 2121, None)
        argv, (*client, url) = ftp.commands(transfer, "ipv4", 5.0)
        client[client.index("/dev/null")] = "-"
        for path in ("etc/passwd", "%2Fetc/passwd", "../etc/passwd", "payload/../etc/passwd"):
            with process.serving(server, argv, "tcp", 2121, "ftp"):
                asked = [*client, "--path-as-is", url.replace("payload", path)]
                said = transfer.client.run(asked, 10)
                assert b"root:" not in said.stdout
                assert b'"size_download":0' in said.stdout

    def test_a_port_in_use_is_reported(self, link: Link, cell: MakeCell, method: Method) -> None:
        other = process.serving(
            link.hosts["ap"], squatter(2121, "SOCK_STREAM"), "tcp", 2121, "another server"
        )
        with other, pytest.raises(AirtollError, match=r"^ftp server on ap: port 2121 is in use$"):
            Ftp().measure(link, cell(transport="tcp"), method)

    def test_a_failed_client_is_reported(self, link_with: LinkWith, cell: MakeCell, method: Method) -> None:
        link = link_with("curl", f"cat {RECORDED}/ftp-refused-client.json; exit 7")
        with pytest.raises(AirtollError, match=r"^ftp client on sta: Failed to connect .* \(curl 7\)$"):
            Ftp().measure(link, cell(transport="tcp"), method)


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = {probe.name: probe.missing(machine_lacks) for probe in probes_of(PROBES)}
    assert said == {
        "throughput": "the commands 'iperf3', 'timeout', 'ss' are missing: apt-get install iperf3 coreutils iproute2",
        "rtt": None,  # rtt, responsiveness, video and engine are programs of the agent
        "sockperf": "the command 'sockperf' is missing: apt-get install sockperf",
        "responsiveness": None,
        "irtt": "the command 'irtt' is missing: apt-get install irtt",
        "ftp": "the commands 'curl', 'timeout' are missing: apt-get install curl coreutils",
        "video": None,
        "engine": None,
    }


def test_probes_are_found_by_name() -> None:
    for lab in ("air", "sim"):
        assert [probe.name for probe in probes_of(lab=lab)] == ["throughput", "rtt"]
        assert [probe.name for probe in probes_of(["ftp", "irtt"], lab)] == ["ftp", "irtt"]
        with pytest.raises(
            UsageError,
            match=r"^probe 'ftpd' is not one of throughput, rtt, (sockperf, responsiveness, )?irtt, ftp",
        ):
            probes_of(["ftpd"], lab)


def test_a_hung_process_is_killed_and_its_last_line_is_reported(here: Host) -> None:
    with here.popen(["sh", "-c", "echo thinking; exec sleep 60"]) as hung:
        with pytest.raises(AirtollError, match=r"^the tool did not end within 0\.5 s: thinking$"):
            process.finish(hung, 0.5, "the tool")
        assert hung.wait() == -9
