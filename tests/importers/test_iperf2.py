"""Reports of iperf 2 and JPerf become runs with the figures that the tool printed."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from recorded_files import LEVELS, RECORDED, Import, by_run, numbers

from airtoll.errors import UsageError
from airtoll.store import Result
from airtoll.store.importers import Given, files, import_files
from airtoll.store.importers.files import Document
from airtoll.store.importers.formats import format_of
from airtoll.store.importers.reading import Asked

VERSIONS = ("2.0.5", "2.0.13", "2.1.8", "2.2.1")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_RATE = re.compile(r"(\d+(?:\.\d+)?) ([KMG]?)bits/sec")


def lines(name: str) -> list[str]:
    return (RECORDED / "iperf2" / name).read_text().splitlines()


def printed_bit_per_s(line: str) -> float:
    found = _RATE.search(line)
    assert found is not None
    return float(found[1]) * _UNITS[found[2]]


def received(line: str) -> tuple[float, int, int]:
    """Jitter in ms, lost and sent datagrams."""
    found = re.search(r"(\d+\.\d+) ms +(\d+)/ *(\d+)", line)
    assert found is not None
    return float(found[1]), int(found[2]), int(found[3])


def imports(tmp_path: Path, text: str | bytes, **levels: Any) -> Result:
    file = tmp_path / "report.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    import_files([Given(file, {**LEVELS, **levels})], tmp_path / "result", "Imported")
    return Result.open(tmp_path / "result")


def refusal(tmp_path: Path, text: str | bytes, **levels: Any) -> str:
    with pytest.raises(UsageError) as caught:
        imports(tmp_path, text, **levels)
    assert not (tmp_path / "result").exists()
    return str(caught.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_throughput_of_tcp_is_that_of_the_server(imported: Import, version: str) -> None:
    name = f"{version}-tcp-server.txt"
    result = imported(f"iperf2/{name}", packet_size=1408)
    found = numbers(result)
    assert [record.verdict.valid for record in result.records()] == [True]
    assert found["throughput"] == pytest.approx(printed_bit_per_s(lines(name)[-1]), rel=0.01)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_of_tcp_counts_the_data_it_wrote(imported: Import, version: str) -> None:
    name = f"{version}-tcp-client.txt"
    result = imported(f"iperf2/{name}", packet_size=1408)
    assert numbers(result)["throughput"] == printed_bit_per_s(lines(name)[-1])
    assert next(iter(result.records())).verdict.valid


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("end", ["client", "server"])
def test_the_receiver_of_datagrams_counts(imported: Import, version: str, end: str) -> None:
    name = f"{version}-udp-{end}.txt"
    total = [line for line in lines(name) if " ms " in line and "sec" in line][-1]
    jitter_ms, lost, sent = received(total)
    result = imported(f"iperf2/{name}", packet_size=1408)
    found = numbers(result)
    assert [record.verdict.valid for record in result.records()] == [True]
    assert found["loss"] == lost / sent
    # Without intervals of the server, its total counts, which may contain the wait for the last datagram.
    assert found["throughput"] == pytest.approx(29.2e6, rel=0.005 if end == "server" else 0.1)
    if end == "client":
        assert found["jitter"] == jitter_ms
        assert found["throughput"] == printed_bit_per_s(total)


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("2.0.5-udp-client.txt", {"transport": "udp", "packet_size": 1408, "direction": "up", "ip": "ipv4"}),
        ("2.1.8-udp-client.txt", {"packet_size": 1408, "offered": 34.6}),
        ("2.1.8-udp-p2-client.txt", {"packet_size": 1470, "offered": 20.97}),
        ("2.1.8-tcp-e-client.txt", {"transport": "tcp", "packet_size": 1408}),
        ("jperf-tcp-client.txt", {"transport": "tcp", "packet_size": 8192}),
        ("2.0.5-udp-csv-client.txt", {"transport": "udp", "packet_size": 1408}),
        ("2.0.13-udp-csv-server.txt", {"packet_size": 1408, "direction": "up"}),
        ("2.1.8-udp-e-csv-server.txt", {"packet_size": 512}),
        ("2.2.1-udp-e-csv-server.txt", {"transport": "udp", "packet_size": 512}),
        ("2.1.8-udp-full-server.txt", {"direction": "both", "packet_size": 99}),
    ],
)
def test_the_cell_has_the_levels_of_the_file(imported: Import, name: str, levels: dict[str, Any]) -> None:
    given = {"packet_size": 99} if levels.get("packet_size") == 99 else {}
    (run,) = imported(f"iperf2/{name}", **given).plan.runs
    assert {factor: getattr(run.cell, factor) for factor in levels} == levels


def test_the_load_of_a_client_is_recorded_for_the_model(imported: Import) -> None:
    (record,) = imported("iperf2/2.0.5-udp-client.txt").records()
    assert record.probes["throughput"]["offered_bit_per_s"] == 33.0e6


def test_ipv6_is_known_by_the_addresses(imported: Import) -> None:
    (run,) = imported("iperf2/2.1.8-tcp-6-client.txt", packet_size=1408).plan.runs
    assert run.cell.ip == "ipv6"


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("2.0.13-tcp-r-client.txt", ["up", "down"]),
        ("2.0.13-tcp-r-server.txt", ["up", "down"]),
        ("2.0.5-udp-r-client.txt", ["up", "down"]),
        ("2.0.5-udp-r-csv-server.txt", ["up", "down"]),
        ("2.1.8-tcp-r-server.txt", ["up", "down"]),
        ("2.1.8-udp-r-client.txt", ["up", "down"]),
        ("2.0.13-tcp-d-client.txt", ["both"]),
        ("2.1.8-tcp-d-server.txt", ["both"]),
        ("2.0.5-tcp-d-csv-client.txt", ["both"]),
        ("2.1.8-tcp-full-client.txt", ["both"]),
        ("2.2.1-tcp-full-server.txt", ["both"]),
        ("2.2.1-tcp-d-server.txt", ["both"]),
        ("2.2.1-tcp-full-e-key-client.txt", ["both"]),
        ("2.1.8-tcp-rev-client.txt", ["down"]),
        ("2.1.8-tcp-rev-server.txt", ["down"]),
        ("2.1.8-udp-rev-client.txt", ["down"]),
    ],
)
def test_successive_tests_are_runs_and_simultaneous_ones_are_not(
    imported: Import, name: str, ways: list[str]
) -> None:
    says_size = ("2.0.5-udp-r-client.txt", "2.1.8-udp-r-client.txt", "2.2.1-tcp-full-e-key-client.txt")
    given = {} if name in says_size else {"packet_size": 1470}
    result = imported(f"iperf2/{name}", **given)
    assert [run.cell.direction for run in result.plan.runs] == ways
    tests = [record.link.get("test") for record in result.records()]
    assert tests == ([None] if len(ways) == 1 else list(range(1, len(ways) + 1)))


@pytest.mark.parametrize("version", ["2.0.5", "2.1.8"])
def test_the_log_of_a_server_contains_several_tests(tmp_path: Path, version: str) -> None:
    log = lines(f"{version}-server-log.txt")
    assert "have the same cell, but parallel is 2 and 1" in refusal(
        tmp_path, "\n".join(log), packet_size=1408
    )
    names = "[  5]", "[  4] local 10.7.0.2 port 5001 connected with 10.7.0.1 port 36586", "[SUM]"
    second = names if version == "2.0.5" else ("[  2]", "[  3]", "[SUM]")
    start = next(at for at, line in enumerate(log) if line.startswith(second[0]))
    end = next(
        at
        for at, line in enumerate(log)
        if line.startswith("[SUM]  0.0- 2" if version == "2.0.5" else "[SUM] 0.0000-2")
    )
    result = imports(tmp_path, "\n".join(log[:start] + log[end + 1 :]), packet_size=1408)
    totals = [printed_bit_per_s(line) for line in log if re.match(r"\[  [146]\] +0\.0+- ?2\.[123]", line)]
    assert by_run(result, "throughput") == pytest.approx(totals, rel=0.01)


def test_parallel_streams_are_added(imported: Import) -> None:
    name = "2.0.5-tcp-p2-server.txt"
    (total,) = [line for line in lines(name)[-1:] if line.startswith("[SUM]")]
    assert numbers(imported(f"iperf2/{name}", packet_size=1408))["throughput"] == pytest.approx(
        printed_bit_per_s(total), rel=0.01
    )


def test_both_directions_of_a_test_are_added(imported: Import) -> None:
    found = numbers(imported("iperf2/2.1.8-tcp-d-server.txt", packet_size=1408))
    assert found["throughput"] == pytest.approx(56.0e6, rel=0.02)  # [SUM] of the report


@pytest.mark.parametrize("name", ["2.1.8-tcp-e-histograms-client.txt", "2.2.1-udp-isochronous-client.txt"])
def test_histograms_and_errors_of_a_schedule_are_not_counted(imported: Import, name: str) -> None:
    given = {"packet_size": 1470} if "udp" in name else {}
    total = [line for line in lines(name) if line.startswith("[  1] 0.0000-1.") and "PDF" not in line][-1]
    assert numbers(imported(f"iperf2/{name}", **given))["throughput"] == printed_bit_per_s(total)


def test_csv_has_the_exact_figures(imported: Import) -> None:
    rows = [line.split(",") for line in lines("2.0.13-udp-csv-server.txt") if line[0] in "0123456789"]
    result = imported("iperf2/2.0.13-udp-csv-server.txt")
    (samples,) = result.samples()
    rates = samples.value[samples.metric.equal("throughput")].tolist()
    assert rates == [float(row[8]) for row in rows[:-1]]
    assert numbers(result)["loss"] == int(rows[-1][10]) / int(rows[-1][11])


def test_csv_of_iperf_2_2_names_its_fields(imported: Import) -> None:
    server = lines("2.2.1-tcp-e-p2-csv-server.txt")
    totals = [line.split(",") for line in server if ",0.0,2." in line and ",-1," not in line]
    result = imported("iperf2/2.2.1-tcp-e-p2-csv-server.txt", packet_size=1408)
    assert numbers(result)["throughput"] == sum(int(row[9]) for row in totals)
    (record,) = result.records()
    assert record.probes["throughput"]["time_zone"] == "UTC"


def test_csv_of_iperf_2_1_9_has_a_time_zone(tmp_path: Path) -> None:
    rows = [
        f"+0200:2024090813303{second}.128,192.0.2.3,58256,192.0.2.4,5001,1,{interval},{octets},{8 * octets}"
        ",-1,-1,-1,-1,0,0"
        for second, interval, octets in ((6, "0.0-1.0", 3_000_000), (7, "1.0-2.0", 3_200_000))
    ]
    rows.append(rows[1].replace("1.0-2.0,3200000,25600000", "0.0-2.0,6200000,24800000"))
    result = imports(tmp_path, "\n".join(rows), packet_size=1408)
    assert numbers(result)["throughput"] == 24.8e6
    (record,) = result.records()
    assert record.started == datetime(2024, 9, 8, 11, 30, 35, tzinfo=UTC)


def test_csv_says_when_without_time_zone(imported: Import) -> None:
    (record,) = imported("iperf2/2.0.5-tcp-csv-server.txt", packet_size=1408).records()
    assert record.started == datetime(2026, 11, 26, 3, 28, 38, tzinfo=UTC)
    assert record.probes["throughput"]["time_zone"] == "unknown, taken as UTC"


def test_a_text_without_time_is_as_old_as_its_file(tmp_path: Path) -> None:
    result = imports(tmp_path, (RECORDED / "iperf2" / "2.0.5-tcp-server.txt").read_bytes(), packet_size=1408)
    (record,) = result.records()
    assert record.link["time"] == "modification of the file"
    modified = (tmp_path / "report.txt").stat().st_mtime
    assert record.started.timestamp() == pytest.approx(modified, abs=1)


def test_enhanced_reports_contain_time_and_retransmits(imported: Import) -> None:
    result = imported("iperf2/2.1.8-tcp-e-client.txt")
    (record,) = result.records()
    assert record.started == datetime(2026, 11, 26, 3, 28, 56, tzinfo=UTC)
    (samples,) = result.samples()
    rows = lines("2.1.8-tcp-e-client.txt")[-5:-1]
    printed = [int(found[1]) for row in rows if (found := re.search(r"\d+/0 +(\d+) ", row))]
    assert samples.value[samples.metric.equal("retransmits")].tolist() == printed


def test_the_window_of_jperf_contains_replicates(imported: Import) -> None:
    result = imported("iperf2/jperf-udp-client.txt")
    answers = [line for line in lines("jperf-udp-client.txt") if " ms " in line]
    assert [run.replicate for run in result.plan.runs] == [1, 2, 3]
    assert by_run(result, "throughput") == [printed_bit_per_s(line) for line in answers]
    assert by_run(result, "loss") == [lost / sent for _, lost, sent in map(received, answers)]


def test_iperf_1_7_on_windows_has_large_identifiers_and_small_ports(tmp_path: Path) -> None:
    text = """\
bin/iperf.exe -c 192.0.2.2 -u -P 1 -i 1 -p 5001 -w 8.0K -l 1460.0B -f k -b 60.0M -t 2 -T 1
------------------------------------------------------------
Client connecting to 192.0.2.2, UDP port 5001
Sending 1460 byte datagrams
UDP buffer size: 8.00 KByte
------------------------------------------------------------
[1916] local 192.0.2.3 port 1101 connected with 192.0.2.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[1916]  0.0- 1.0 sec  7310 KBytes  59883 Kbits/sec
[1916]  1.0- 2.0 sec  7322 KBytes  59982 Kbits/sec
[1916]  0.0- 2.0 sec  14633 KBytes  59928 Kbits/sec
[1916] Server Report:
[1916]  0.0- 2.0 sec  14217 KBytes  58224 Kbits/sec  1.254 ms  292/10264 (2.8%)
[1916] Sent 10264 datagrams
Done.
"""
    result = imports(tmp_path, text.replace("\n", "\r\n"))
    found = numbers(result)
    assert (found["throughput"], found["jitter"], found["loss"]) == (58.224e6, 1.254, 292 / 10264)
    assert result.plan.runs[0].cell.packet_size == 1460
    (record,) = result.records()
    assert record.verdict.valid
    assert record.probes["throughput"]["-b"] == "60.0M"


def test_a_server_that_counts_too_long_makes_the_run_invalid(imported: Import) -> None:
    verdicts = [record.verdict for record in imported("iperf2/2.0.5-udp-late-client.txt").records()]
    assert [verdict.valid for verdict in verdicts] == [True, False, False]
    assert "the server counted 6.4 s of a test of 3 s" in verdicts[1].reasons[0]


@pytest.mark.parametrize(
    "name", ["2.1.8-udp-csv-client.txt", "2.1.8-udp-full-client.txt", "2.1.8-udp-rev-server.txt"]
)
def test_datagrams_without_the_counts_of_the_receiver_are_invalid(imported: Import, name: str) -> None:
    given = {"packet_size": 1470} if name != "2.1.8-udp-csv-client.txt" else {"packet_size": 1408}
    (record,) = imported(f"iperf2/{name}", **given).records()
    assert any("but not the data received" in reason for reason in record.verdict.reasons)


@pytest.mark.parametrize("test", ["2.0.5-tcp", "2.0.13-udp", "2.1.8-tcp-e", "2.1.8-udp"])
def test_both_ends_of_a_test_are_one_test(imported: Import, test: str) -> None:
    names = [f"iperf2/{test}-{end}.txt" for end in ("client", "server")]
    with pytest.raises(UsageError, match="report the same test"):
        imported(*names, packet_size=1408)


def test_a_client_on_the_access_points_side_sends_down(imported: Import) -> None:
    result = imported("iperf2/2.0.5-udp-client.txt", direction="down")
    assert result.plan.runs[0].cell.direction == "down"
    assert numbers(result)["throughput"] > 29e6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("2.0.5-refused-client.txt", "line 1: the test failed: Connection refused"),
        (
            "2.0.5-tcp-d-failed-client.txt",
            "line 11: expected a connection, an interval or a total of iperf 2",
        ),
        ("2.1.8-broken-client.txt", "line 9: expected a total over at least 0.45 s"),
        ("2.2.1-bounceback-client.txt", "line 3: is a bounce-back test"),
        ("2.1.8-tcp-sum-only-server.txt", "has only the sums of all streams"),
        ("2.1.8-tcp-full-csv-client.txt", "line 1: expected one direction"),
        ("2.2.1-tcp-full-e-csv-server.txt", "line 4: expected one direction"),
        ("2.1.8-tcp-d-csv-client.txt", "line 2: expected the time of each row, to tell parallel streams"),
    ],
)
def test_a_test_without_the_needed_figures_is_refused(imported: Import, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        imported(f"iperf2/{name}", packet_size=1408)


def test_a_report_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    text = "\n".join(lines("2.0.5-tcp-server.txt")[:-1])
    assert "line 5: stream [4] has no total" in refusal(tmp_path, text, packet_size=1408)
    table = "\n".join(lines("2.0.5-tcp-csv-server.txt")[:-1])
    assert "stream [4] has no total" in refusal(tmp_path, table, packet_size=1408)
    half = table[: table.rindex("\n") + 30]
    assert "line 3: expected 9, 14 or 15 fields of iperf -y C" in refusal(tmp_path, half, packet_size=1408)


def test_a_test_shorter_than_its_command_is_refused(tmp_path: Path) -> None:
    text = "\n".join(lines("jperf-tcp-client.txt")).replace("-t 3", "-t 30")
    assert "expected a total over at least 27 s" in refusal(tmp_path, text)


def test_two_tools_in_one_file_are_refused(tmp_path: Path) -> None:
    ping = (RECORDED / "ping" / "iputils.txt").read_text()
    text = "\n".join(lines("2.0.5-tcp-server.txt")) + "\n" + ping
    expected = "contains the output of iperf 2, JPerf and ping: expected one tool per file"
    assert expected in refusal(tmp_path, text, packet_size=1408)


def test_the_loads_of_replicates_must_be_equal(tmp_path: Path) -> None:
    text = "\n".join(lines("jperf-udp-client.txt"))
    second = text.index("iperf -c", 10)
    text = text[:second] + text[second:].replace("-b 35.0M", "-b 10.0M", 1)
    assert "have the same cell, but -b is 10.0M and 35.0M" in refusal(tmp_path, text)


def table_row(port: int, start_s: int, end_s: int, time: int = 20261126040000) -> str:
    return f"{time},192.0.2.1,{port},192.0.2.2,5001,3,{start_s}.0-{end_s}.0,1250000,1000000"


def test_a_table_has_at_most_as_many_tests_as_a_result_has_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_RUNS", 2)
    rows = [table_row(5002 + test, 0, 10, 20261126040000 + 20 * test) for test in range(3)]
    assert "contains more than 2 tests" in refusal(tmp_path, "\n".join(rows))


HEAD = "Client connecting to 192.0.2.2, TCP port 5001"
CONNECTED = "[{:3}] local 192.0.2.1 port 5002 connected with 192.0.2.2 port 5001"
TOTAL = "[{:3}]  0.0-10.0 sec  1.25 MBytes  1.00 Mbits/sec"


def overlapping_streams(form: str, count: int) -> str:
    """A test in which each stream ends after the next one begins, so that one is always open."""
    if form == "text":
        firsts = [HEAD, *map(CONNECTED.format, range(count))]
        lasts = ["", *map(TOTAL.format, range(count))]
    else:
        firsts = [table_row(5002 + number, 1, 2) for number in range(count)]
        lasts = [table_row(5002 + number, 0, 10) for number in range(count)]
    pairs = zip(firsts[1:], lasts, strict=False)
    return "\n".join([firsts[0], *(line for pair in pairs for line in pair), lasts[-1]])


@pytest.mark.parametrize("form", ["text", "table"])
def test_the_time_to_read_streams_is_linear(form: str) -> None:
    def fastest_s(count: int) -> float:
        document = Document("report", overlapping_streams(form, count))
        reader = format_of(document)
        took_s = []
        for _ in range(2):
            began_s = time.process_time()
            assert len(reader.read(document, Asked())) == 1
            took_s.append(time.process_time() - began_s)
        return min(took_s)

    assert fastest_s(6000) < 8 * fastest_s(1500)  # of 4 in linear and 16 in quadratic time


FULL_DUPLEX = """\
Client connecting to 192.0.2.2, TCP port 5001 with pid 1 (1 flows)
Write buffer size: 1408 Byte
[{own}] local 192.0.2.3 port 40000 connected with 192.0.2.2 port 5001 (full-duplex) on 2026-11-29 07:00:00 (UTC)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[{own}] 0.0000-1.0000 sec   125 KBytes  1.02 Mbits/sec  3/0          0     1151K/885(1390) us  889
[{other}] 0.0000-1.0000 sec   250 KBytes  2.05 Mbits/sec  4=1:0:0:0:0:0:0:3
[FD1] 0.0000-1.0000 sec   375 KBytes  3.07 Mbits/sec
[{own}] 0.0000-1.0000 sec W8-PDF: bin(w=100us):cnt(0) (5.00/95.00/99.7%=0/0/0,Outliers=0,obl/obu=0/0)
[{own}] Isoch schedule errors (mean/min/max/stdev) = 0.6/0.1/1.0/0.2 ms
[{own}] Client traffic to start in 1 seconds at 2026-11-29 07:00:00
[{own}] 0.0000-1.0000 trip-time (3WHS done->fin+finack) = 1.0000 sec
"""


@pytest.mark.parametrize(("own", "other"), [("  1", " *1"), ("key(1)", "key(*1)")])
def test_sums_and_notes_of_streams_are_not_counted(tmp_path: Path, own: str, other: str) -> None:
    result = imports(tmp_path, FULL_DUPLEX.format(own=own, other=other))
    assert result.plan.runs[0].cell.direction == "both"
    assert numbers(result)["throughput"] == pytest.approx(3.07e6)


def test_a_terminal_shows_ctrl_c_in_front_of_the_total(tmp_path: Path) -> None:
    text = "\n".join(lines("2.0.5-tcp-client.txt"))
    total = text.rindex("\n[") + 1
    result = imports(tmp_path, text[:total] + "^C" + text[total:], packet_size=1408)
    assert numbers(result)["throughput"] == printed_bit_per_s(lines("2.0.5-tcp-client.txt")[-1])


_ENDS = "192.0.2.3,40000,192.0.2.2,5001"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Client connecting to 192.0.2.2, TCP port 5001\nBounce-back test (size= 100 Byte)\n",
            "line 2: is a bounce-back test, whose rate is that of its requests",
        ),
        (
            "Server listening on TCP port 5001\n[ ID] Burst (start-end)  Transfer     Bandwidth\n",
            "line 2: has bursts (--burst-period) in place of intervals: import the client's file",
        ),
        (
            "Client connecting to 192.0.2.2, TCP port 5001\nTCP three-way-handshake (3WHS) only\n",
            "line 2: is a test without data (--connect-only)",
        ),
        (
            "Client connecting to 192.0.2.2, TCP port 5001\n[SUM-2] 0.0000-1.0000 sec   768 KBytes  6.3 Mbits/sec\n",
            "has only the sums of all streams: repeat the test without --sum-only",
        ),
        (
            f"20261129080021,{_ENDS},1,0.0-1.0,125000,1000000\n"
            "20261129080021,192.0.2.2,5001,192.0.2.3,40000,1,0.0-1.0,250000,2000000\n",
            "line 2: expected one direction: import the text output of --full-duplex",
        ),
        (
            f"20261129080021,{_ENDS},1,0.0-1.0,125000,1000000\n"
            "20261129080021,192.0.2.2,5001,,0,1,0.0-1.0,250000,2000000\n",
            "line 2: expected one direction: import the text output of --full-duplex",
        ),
        (
            f"20261129080021,{_ENDS},1,0.0-1.0,125000,1000000 0.07 0.55\n",
            "line 1: expected the field speed of iperf -y C, got '1000000 0.07 0.55'",
        ),
        (
            "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,bbcnt,bbavg\n"
            f"20261129080021,{_ENDS},1,0.0,1.0,125000,1000000,10,0.4\n",
            "line 1: expected a test of throughput, not a bounce-back test",
        ),
        (
            "[  3]  0.0- 1.0 sec  2.25 MBytes  18.9 Mbits/sec\n[  3]  0.0- 1.0 sec  2.25 MBytes  18.9 Mbits/sec\n",
            "contains rows of iperf without the lines that name the two hosts: import its complete output",
        ),
    ],
)
def test_an_output_without_the_needed_figures_is_refused(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path, text)
