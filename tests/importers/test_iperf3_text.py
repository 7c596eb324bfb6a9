"""The text of iperf3 gives the figures of its own totals, with the printed digits."""

import re
from pathlib import Path

import pytest
from recorded_files import RECORDED, numbers
from test_cases import by_way, imported

from airtoll.errors import UsageError

TEXTS = RECORDED / "iperf3-text"
CLIENTS = ["tcp", "tcp-rev", "tcp-bidir", "tcp-V", "tcp-ts", "udp", "udp-rev", "udp-bidir", "udp-V"]


def told(name: str) -> float:
    """The received data of all flows by the totals of a report, in Mbit/s."""
    lines = re.findall(r"\[ *\d+\].* ([\d.]+) Mbits/sec.*receiver", (TEXTS / f"{name}.txt").read_text())
    return sum(map(float, lines))


@pytest.mark.parametrize("name", CLIENTS)
def test_the_received_data_of_a_client_counts(tmp_path: Path, name: str) -> None:
    result = imported(tmp_path, TEXTS / f"{name}-client.txt")
    (record,) = result.records()
    assert record.verdict.valid
    assert numbers(result)["throughput"] / 1e6 == pytest.approx(told(f"{name}-client"), rel=0.02)
    ways = {"rev": {"down"}, "bidir": {"up", "down"}}.get(name.partition("-")[2], {"up"})
    assert set(by_way(result)) == ways
    assert record.run.cell.transport == name[:3]
    if name.startswith("udp"):
        assert numbers(result)["loss"] == 0


@pytest.mark.parametrize("name", ["tcp", "udp"])
def test_the_intervals_of_a_server_count(tmp_path: Path, name: str) -> None:
    result = imported(tmp_path, TEXTS / f"{name}-server.txt")
    assert numbers(result)["throughput"] / 1e6 == pytest.approx(told(f"{name}-server"), rel=0.02)
    assert result.records()[0].probes["throughput"]["reported_by"] == "server"


@pytest.mark.parametrize("name", ["tcp-rev", "tcp-bidir", "udp-rev", "udp-bidir"])
def test_a_server_does_not_know_the_data_received_from_it(tmp_path: Path, name: str) -> None:
    (record,) = imported(tmp_path, TEXTS / f"{name}-server.txt").records()
    assert "the data sent down but not the data received" in record.verdict.reasons[0]


def test_a_verbose_report_says_size_time_and_omitted_seconds(tmp_path: Path) -> None:
    (record,) = imported(tmp_path, TEXTS / "tcp-V-client.txt").records()
    assert record.run.cell.packet_size == 131072
    assert record.started.year == 2026
    assert record.versions.tools == {"throughput": "iperf 3.12"}


def test_several_tests_of_a_server_are_several_runs(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text(2 * (TEXTS / "tcp-server.txt").read_text())
    assert len(imported(tmp_path, file).records()) == 2


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("- - - -", "is truncated: expected the totals of iperf3"),
        ("[  6]   1.00", "is truncated: expected the totals of iperf3"),
    ],
)
def test_a_report_without_totals_is_refused(tmp_path: Path, cut: str, words: str) -> None:
    text = (TEXTS / "tcp-client.txt").read_text()
    file = tmp_path / "cut.txt"
    file.write_text(text[: text.index(cut)])
    with pytest.raises(UsageError, match=words):
        imported(tmp_path, file)


def test_a_failed_test_is_refused_with_the_message_of_iperf3(tmp_path: Path) -> None:
    file = tmp_path / "failed.txt"
    head = (TEXTS / "tcp-client.txt").read_text().splitlines()[:2]
    file.write_text("\n".join([*head, "iperf3: error - control socket has closed unexpectedly"]))
    with pytest.raises(UsageError, match="the test failed: control socket has closed unexpectedly"):
        imported(tmp_path, file)


def test_datagrams_out_of_order_are_no_failure(tmp_path: Path) -> None:
    text = (TEXTS / "udp-server.txt").read_text()
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if "sec " in line)
    lines.insert(first + 1, "iperf3: OUT OF ORDER - incoming packet = 7 and received packet = 9 AND SP = 5")
    total = next(at for at, line in enumerate(lines) if "receiver" in line)
    lines.insert(total + 1, "[  5]  0.0-2.0 sec  2 datagrams received out-of-order")
    file = tmp_path / "reordered.txt"
    file.write_text("\n".join(lines))
    (tmp_path / "plain").mkdir()
    plain = imported(tmp_path / "plain", TEXTS / "udp-server.txt")
    assert numbers(imported(tmp_path, file)) == numbers(plain)


def test_the_output_of_the_server_is_no_second_test(tmp_path: Path) -> None:
    client, server = ((TEXTS / f"tcp-{end}.txt").read_text() for end in ("client", "server"))
    head, done = client.split("iperf Done.")
    server = server[server.index("Accepted connection") :]
    file = tmp_path / "both.txt"
    file.write_text(2 * f"{head}Server output:\n{server}\n\niperf Done.{done}\n")
    assert [record.probes["throughput"]["reported_by"] for record in imported(tmp_path, file).records()] == [
        "client",
        "client",
    ]


def test_the_time_until_the_last_data_arrived_is_not_part_of_the_duration(tmp_path: Path) -> None:
    text = (TEXTS / "tcp-client.txt").read_text()
    late = re.sub(r"0\.00-2\.0\d( +sec.*receiver)", r"0.00-3.60\1", text)
    assert late != text
    file = tmp_path / "late.txt"
    file.write_text(text + late)
    assert [len(record.run.cell.transport) for record in imported(tmp_path, file).records()] == [3, 3]


def test_a_terminal_shows_ctrl_c_in_front_of_a_line(tmp_path: Path) -> None:
    text = (TEXTS / "tcp-client.txt").read_text()
    file = tmp_path / "interrupted.txt"
    file.write_text(text.replace("\n- - -", "\n^C- - -"))
    (tmp_path / "plain").mkdir()
    plain = imported(tmp_path / "plain", TEXTS / "tcp-client.txt")
    assert numbers(imported(tmp_path, file)) == numbers(plain)


def test_a_test_without_received_data_says_so(tmp_path: Path) -> None:
    text = (TEXTS / "tcp-client.txt").read_text()
    nothing = re.sub(r"[\d.]+ MBytes +[\d.]+ Mbits/sec( +receiver)", r"0.00 Bytes  0.00 bits/sec\1", text)
    assert nothing != text
    file = tmp_path / "nothing.txt"
    file.write_text(nothing)
    (record,) = imported(tmp_path, file).records()
    assert "no data arrived up, or the test was interrupted" in record.verdict.reasons[0]
