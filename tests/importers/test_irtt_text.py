"""The text of irtt gives the figures of its own summary, with the printed digits."""

import gzip
import json
import re
from pathlib import Path

import pytest
from recorded_files import LEVELS, RECORDED, by_run, numbers

from airtoll.errors import UsageError
from airtoll.store import Result
from airtoll.store.importers import Given, import_files

TRIPS = """\
seq=0 rtt=1.5ms rd=900µs sd=600µs ipdv=n/a
seq=1 rtt=2.5ms rd=1.4ms sd=1.1ms ipdv=1ms
seq=3 rtt=1.1ms rd=500µs sd=600µs ipdv=n/a (LATE)
DUP! seq=3
"""


def report(
    trips: str = TRIPS, address: str = "192.0.2.2:2112", length: str = "172 bytes", sent: int = 4
) -> str:
    """A test of 4 datagrams every 100 ms: one is lost upwards, one answer comes twice."""
    return f"""\
[Connecting] connecting to {address}
[{address}] [Connected] connection established
{trips}[{address}] [WaitForPackets] waiting 7.5ms for final packets

                        Min    Mean  Median     Max  Stddev
                        ---    ----  ------     ---  ------
                RTT   1.1ms   1.7ms   1.5ms   2.5ms   720µs
         send delay   600µs   767µs   600µs   1.1ms   288µs
      receive delay   500µs   933µs   900µs   1.4ms   450µs

      IPDV (jitter)     1ms     1ms     1ms     1ms      0s
          send IPDV   450µs   500µs   505µs   550µs    50µs
       receive IPDV   440µs   510µs   505µs   560µs    60µs

     send call time    21µs  63.9µs          90.8µs  28.4µs
        timer error   250µs   287µs           381µs  63.2µs

                duration: 307.5ms (wait 7.5ms)
   packets sent/received: {sent}/4 (25.00% loss)
 server packets received: 3/{sent} (25.00%/0.00% loss up/down)
          *** DUPLICATES: 1 (25.00%)
late (out-of-order) pkts: 1 (25.00%)
     bytes sent/received: {172 * sent}/688
       send/receive rate: 18.3 Kbps / 13.8 Kbps
           packet length: {length}
             timer stats: 0/{sent} (0.00%) missed, 0.29% error
"""


BROKEN_OFF = "\n".join(report().splitlines()[:4])


def imported(directory: Path, text: str, *, shared_clocks: bool = False) -> Result:
    file = directory / "irtt.txt"
    file.write_text(text)
    import_files([Given(file, LEVELS)], directory / "result", "irtt", shared_clocks=shared_clocks)
    return Result.open(directory / "result")


def test_each_datagram_is_a_round_trip(tmp_path: Path) -> None:
    result = imported(tmp_path, report())
    (record,) = result.records()
    assert record.verdict.valid
    (samples,) = result.samples()
    trips = samples.metric.equal("rtt")
    assert samples.value[trips].tolist() == [1.5, 2.5, 1.1]
    assert samples.t_ns[trips].tolist() == [0, 100_000_000, 300_000_000]
    found = numbers(result)
    assert (found["ipdv_up"], found["ipdv_down"]) == (0.5, 0.51)
    assert (found["loss_idle_up"], found["loss_idle_down"]) == (0.25, 0.0)
    assert samples.value[samples.metric.equal("datagrams_late")].tolist() == [1.0]
    cell = record.run.cell
    assert (cell.transport, cell.ip, cell.packet_size) == ("udp", "ipv4", 172)


@pytest.mark.parametrize("name", ["client.txt", "quiet-6.txt", "interrupted.txt"])
def test_the_median_is_that_of_the_summary(tmp_path: Path, name: str) -> None:
    text = (RECORDED / "irtt" / name).read_text()
    result = imported(tmp_path, text)
    found = re.search(r"^ +RTT +\S+ +\S+ +([\d.]+)µs", text, re.MULTILINE)
    assert found is not None
    assert numbers(result)["rtt"] == pytest.approx(float(found[1]) / 1e3, rel=0.005)
    (record,) = result.records()
    assert record.verdict.valid
    interval_ms = {"client.txt": 20, "quiet-6.txt": 20, "interrupted.txt": 100}[name]
    assert record.probes["irtt"]["interval_ms"] == pytest.approx(interval_ms, rel=0.04)


def test_the_quiet_report_has_the_median(tmp_path: Path) -> None:
    result = imported(tmp_path, report(trips="", address="[2001:db8::2]:2112"))
    (record,) = result.records()
    assert record.verdict.valid
    assert numbers(result)["rtt"] == 1.5
    assert record.run.cell.ip == "ipv6"


def test_the_size_is_computed_if_only_the_octets_are_printed(tmp_path: Path) -> None:
    text = report()
    result = imported(tmp_path, text[: text.index("           packet length")])
    assert result.plan.runs[0].cell.packet_size == 172


def test_one_way_delays_need_a_shared_clock(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    assert "delay_idle_up" not in numbers(imported(tmp_path, report()))
    found = numbers(imported(tmp_path / "shared", report(), shared_clocks=True))
    assert (found["delay_idle_up"], found["delay_idle_down"]) == (0.6, 0.9)


@pytest.mark.parametrize("micro", ["u", "\u03bc", "\u00c2\u00b5", "\u252c\u2561"])
def test_the_micro_sign_may_have_another_encoding(tmp_path: Path, micro: str) -> None:
    result = imported(tmp_path, report().replace("µ", micro), shared_clocks=True)
    assert numbers(result)["delay_idle_down"] == 0.9


def test_a_file_contains_several_tests(tmp_path: Path) -> None:
    second = report().replace("rtt=1.5ms", "rtt=1m0.5s")
    assert by_run(imported(tmp_path, report() + "\n" + second), "rtt") == [1.5, 2.5]


def test_the_report_of_a_stored_result_is_read(tmp_path: Path) -> None:
    text = report(trips="")
    result = imported(tmp_path, text[text.index("                        Min") :])
    assert numbers(result)["rtt"] == 1.5


def test_json_and_text_of_one_test_are_one_run(tmp_path: Path) -> None:
    document = gzip.decompress((RECORDED / "irtt.json.gz").read_bytes()).decode()
    assert len(imported(tmp_path, report() + document).records()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BROKEN_OFF, "is truncated: expected the summary of irtt client, which -s does not print"),
        (BROKEN_OFF + "\n" + report(), "expected the summary of the test before this line"),
        (
            "[Connecting] connecting to 192.0.2.2\n[OpenTimeout] no reply\n",
            "line 2: the test failed: no reply",
        ),
        ("[Connecting] connecting to 192.0.2.2\nError: refused\n", "line 2: the test failed: refused"),
        (report().replace("1.5ms", "1.5 ms"), "expected a round trip as irtt prints it"),
        (
            report().replace("rtt=1.5ms", "rtt=1.5q"),
            "expected times such as 1.5ms in the lines before, got '1.5q'",
        ),
        (report().replace("sent/received: 4/4", "sent/received: 0/0"), "expected at least one datagram"),
    ],
)
def test_an_incomplete_report_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        imported(tmp_path, text)
    assert words in str(caught.value)
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (report().replace("seq=1 ", "x"), "the file has 2 round trips, but its summary says 3"),
        (
            report().replace("0/4 (0.00%) missed", "1/4 (25.00%) missed"),
            "25.0 % of the send times were missed",
        ),
        (
            report(trips="").replace("4/4 (25.00%", "4/0 (100.00%").replace("DUPLICATES", "x"),
            "no datagram came back",
        ),
    ],
)
def test_an_unreliable_report_makes_the_run_invalid(tmp_path: Path, text: str, words: str) -> None:
    (record,) = imported(tmp_path, text).records()
    assert words in "; ".join(record.verdict.reasons)


def test_irtt_0_9_1_records_both_clocks_at_the_start(tmp_path: Path) -> None:
    document = json.loads(gzip.decompress((RECORDED / "irtt.json.gz").read_bytes()))
    document["stats"]["start_time"] = {"wall": 1_700_000_000_500_000_000, "monotonic": 22_210_666}
    (record,) = imported(tmp_path, json.dumps(document)).records()
    assert record.started.timestamp() == 1_700_000_000.5
