"""The tables and the omni output of netperf become runs with the figures that netperf printed."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from recorded_files import RECORDED, Import, by_run, numbers

from airtoll.errors import UsageError


def text(name: str) -> str:
    return (RECORDED / "netperf" / name).read_text()


def keyword(name: str, key: str) -> float:
    found = re.search(rf"^{key}=(.*)$", text(name), re.MULTILINE)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("tcp_stream.txt", {"transport": "tcp", "direction": "up", "packet_size": 16384, "ip": "ipv4"}),
        ("tcp_stream_1408.txt", {"packet_size": 1408}),
        ("tcp_stream_6.txt", {"ip": "ipv6"}),
        ("tcp_maerts.txt", {"transport": "tcp", "direction": "down", "packet_size": 16384}),
        ("omni_tcp_maerts_all.txt", {"direction": "down", "packet_size": 16384}),
        ("udp_stream.txt", {"transport": "udp", "direction": "up", "packet_size": 1408}),
        ("omni_udp_stream_loss.csv", {"transport": "udp", "packet_size": 1408}),
        ("tcp_rr.txt", {"transport": "tcp", "packet_size": 1}),
        ("udp_rr.txt", {"transport": "udp", "packet_size": 64}),
        ("udp_rr_6.txt", {"ip": "ipv6"}),
        ("udp_rr_j.csv", {"transport": "udp", "packet_size": 64}),
    ],
)
def test_the_cell_has_the_levels_of_the_file(imported: Import, name: str, levels: dict[str, Any]) -> None:
    (run,) = imported(f"netperf/{name}").plan.runs
    assert {factor: getattr(run.cell, factor) for factor in levels} == levels


@pytest.mark.parametrize(
    ("name", "bit_per_s"),
    [
        ("tcp_stream.txt", 28.75e6),
        ("tcp_stream_cpu.txt", 28.76e6),
        ("tcp_stream_ci.txt", 28.70e6),
        ("tcp_stream_D.txt", 28.75e6),
        ("tcp_stream_k.txt", 28737.18e3),
        ("tcp_stream_KB.txt", 3508.20 * 1024 * 8),
        ("tcp_maerts.txt", 28.70e6),
        ("udp_stream_cpu.txt", 29.6e6),
        ("udp_stream_loss.txt", 29.41e6),
        ("omni_tcp_stream.txt", 28.66e6),
        ("omni_tcp_stream.csv", 25.78e6),
        ("omni_udp_stream_loss.csv", 29.50e6),
    ],
)
def test_throughput_has_the_printed_unit(imported: Import, name: str, bit_per_s: float) -> None:
    assert numbers(imported(f"netperf/{name}"))["throughput"] == pytest.approx(bit_per_s)


@pytest.mark.parametrize("name", ["omni_udp_stream_all_loss.txt", "omni_tcp_stream_all.txt"])
def test_throughput_is_that_of_the_receiver(imported: Import, name: str) -> None:
    found = numbers(imported(f"netperf/{name}"))["throughput"]
    assert found == pytest.approx(1e6 * keyword(name, "REMOTE_RECV_THROUGHPUT"))


def test_datagrams_that_the_receiver_did_not_count_are_lost(imported: Import) -> None:
    assert numbers(imported("netperf/udp_stream_loss.txt"))["loss"] == 1 - 5233 / 154996


def test_the_title_of_netperf_2_4_is_known(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "old.txt"
    file.write_text(
        text("udp_stream_loss.txt").replace("MIGRATED UDP STREAM TEST", "UDP UNIDIRECTIONAL SEND TEST")
    )
    assert numbers(imported(str(file)))["loss"] == 1 - 5233 / 154996


@pytest.mark.parametrize("name", ["omni_udp_stream_all_loss.txt", "omni_udp_stream_all_loss.csv"])
def test_omni_counts_datagrams_too(imported: Import, name: str) -> None:
    if name.endswith("csv"):
        _, names, values = text(name).splitlines()
        row = dict(zip(next(csv.reader([names])), next(csv.reader([values])), strict=True))
        received, sent = int(row["Remote Recv Calls"]), int(row["Local Send Calls"])
    else:
        received, sent = keyword(name, "REMOTE_RECV_CALLS"), keyword(name, "LOCAL_SEND_CALLS")
    assert numbers(imported(f"netperf/{name}"))["loss"] == pytest.approx(1 - received / sent)


def test_loss_is_unknown_without_counts(imported: Import) -> None:
    assert "loss" not in numbers(imported("netperf/omni_udp_stream_loss.csv"))


@pytest.mark.parametrize(("name", "per_s"), [("tcp_rr.txt", 19977.76), ("udp_rr.txt", 30512.55)])
def test_a_transaction_is_a_round_trip(imported: Import, name: str, per_s: float) -> None:
    result = imported(f"netperf/{name}")
    assert numbers(result)["rtt"] == pytest.approx(1e3 / per_s)
    (record,) = result.records()
    assert record.verdict.valid
    assert record.probes["rtt"]["round_trip"] == "mean: 1 / transactions per second"


def test_the_histogram_of_netperf_has_the_median(imported: Import) -> None:
    found = numbers(imported("netperf/udp_rr_j.txt"))
    assert found["rtt"] == keyword("udp_rr_j.txt", "P50_LATENCY") / 1e3
    assert found["rtt_p99"] == keyword("udp_rr_j.txt", "P99_LATENCY") / 1e3


def test_a_median_and_a_mean_are_no_replicates(imported: Import) -> None:
    with pytest.raises(UsageError, match="have the same cell, but round_trip is"):
        imported("netperf/udp_rr.txt", "netperf/udp_rr_j.txt")


def test_several_transactions_at_a_time_make_the_run_invalid(imported: Import) -> None:
    (record,) = imported("netperf/udp_rr_burst.txt").records()
    assert "5 transactions at a time" in record.verdict.reasons[0]


@pytest.mark.parametrize(
    ("name", "metric", "values"),
    [
        ("tcp_stream_three.txt", "throughput", [28.76e6, 28.62e6, 27.71e6]),
        ("udp_stream_three.txt", "throughput", [29.34e6, 29.33e6, 29.51e6]),
        ("tcp_rr_two.txt", "rtt", [1e3 / 14336.77, 1e3 / 12349.19]),
    ],
)
def test_a_file_contains_several_tests(imported: Import, name: str, metric: str, values: list[float]) -> None:
    assert by_run(imported(f"netperf/{name}"), metric) == pytest.approx(values)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused.txt", "line 1: the test failed: are you sure there is a netserver listening"),
        ("tcp_stream_P0.txt", "contains results of netperf without their names, which -P 0 omits"),
        (
            "omni_default.txt",
            r"line 6: expected keywords \(-k\) or CSV \(-o\), because the columns of -O vary",
        ),
        ("omni_udp_stream_only.txt", "line 2: expected results of netperf with a value of ELAPSED_TIME"),
    ],
)
def test_an_incomplete_file_is_refused(imported: Import, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        imported(f"netperf/{name}")


STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    2.00       28.70
"""
RR = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       2.00     500.00
16384  131072
"""
DETAILS = """
Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs
Local  Remote  Local  Remote  Xfered   Per                 Per
Send   Recv    Send   Recv             Send (avg)          Recv (avg)
    8       8      0       0 7.17e+06  16384.00       438   2896.00   2477

Maximum
Segment
Size (bytes)
  1448

Histogram of time spent in send() call.
UNIT_USEC     :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
HIST_TOTAL:      438
"""
CSV = (
    "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n"
    "  28.10,10^6bits/s,1.000,1795663586.378\n"
    "Local Send Size,Elapsed Time (sec),Throughput,Throughput Units\n16384,2.00,28.70,10^6bits/s\n"
    "  28.20,10^6bits/s,1.000,1795663589.378\n16384,2.00,28.90,10^6bits/s\n"
)
KEYS = (
    "NETPERF_INTERIM_RESULT[0]=28.10\nNETPERF_UNITS[0]=10^6bits/s\nNETPERF_INTERVAL[0]=1.000\n"
    "NETPERF_ENDING[0]=1795663586.378\nPROTOCOL=TCP\nDIRECTION=Send\nELAPSED_TIME=2.00\n"
    "THROUGHPUT=28.70\nTHROUGHPUT_UNITS=10^6bits/s\n"
)


def written(directory: Path, text: str) -> str:
    file = directory / "written.txt"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("text", "mbps"),
    [
        (STREAM + DETAILS + STREAM.replace("28.70", "28.90"), [28.7, 28.9]),
        (STREAM.replace("10^6bits", "10^0bits").replace("28.70", "28700000.00"), [28.7]),
        (STREAM.replace("10^6bits", "Bytes").replace("28.70", "3587500.00"), [28.7]),
        (CSV, [28.7, 28.9]),
        (KEYS + KEYS, [28.7, 28.7]),
    ],
)
def test_details_and_interim_results_are_no_results(
    tmp_path: Path, imported: Import, text: str, mbps: list[float]
) -> None:
    found = by_run(imported(written(tmp_path, text)), "throughput")
    assert [bit_per_s / 1e6 for bit_per_s in found] == pytest.approx(mbps)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STREAM.splitlines()[0] + "\n28.70\n", r"line 2: expected a table \(without -v 0\)"),
        (STREAM + "Next\n12 MiB\n", "line 9: expected the title, the head or the results of a netperf test"),
        (
            RR.replace("Trans.", "").replace("Rate", "Throughput").replace("per sec", "10^6bits/s"),
            r"expected a rate of transactions \(without -f\)",
        ),
        (
            RR.replace("REQUEST/RESPONSE", "Connect/Request/Response"),
            "line 1: expected a test that is one of TCP",
        ),
        (
            RR.replace("Trans.", "").replace("per sec", "Usec/sec"),
            r"line 5: expected a rate in bits.*\(without -f u\)",
        ),
        ("12 MiB in 2 s\n" + STREAM, "line 1: expected the title, the head or the results of a netperf test"),
        ("16384,2.00,28.70,10^6bits/s\n", "which -P 0 omits"),
        ("212992    1408   2.00         5233      0      29.57\n", "which -P 0 omits"),
    ],
)
def test_another_output_is_refused_with_the_option_to_change(
    tmp_path: Path, imported: Import, text: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        imported(written(tmp_path, text))
