"""Exports of Wireshark and tshark become jitter, loss and throughput of a stream at its receiver."""

import re
from pathlib import Path

import pytest
from recorded_files import RECORDED, Import, numbers

from airtoll.errors import UsageError

FOLDER = RECORDED / "wireshark"


def of_tshark() -> tuple[float, int, int]:
    """Mean jitter in ms, packets and lost packets of the stream in `streams.txt`."""
    found = re.search(r"(\d+) +(\d+) \([\d.]+%\)(.*) X", (FOLDER / "streams.txt").read_text())
    assert found is not None
    return float(found[3].split()[4]), int(found[1]), int(found[2])


@pytest.mark.parametrize("name", ["fields.csv", "analysis.csv", "analysis-old.csv", "streams.txt"])
def test_jitter_and_loss_are_those_of_tshark(imported: Import, name: str) -> None:
    jitter_ms, packets, lost = of_tshark()
    found = numbers(imported(f"wireshark/{name}", packet_size=1328, ip="ipv4"))
    assert found["jitter"] == pytest.approx(jitter_ms, abs=0.0011)
    assert found["loss"] == lost / (packets + lost)


@pytest.mark.parametrize(
    "name", ["fields.csv", "frames.csv", "fields-ipv6.tsv", "analysis.csv", "streams.txt"]
)
def test_a_short_stream_is_valid(imported: Import, name: str) -> None:
    given = {} if name.startswith("f") else {"packet_size": 1328, "ip": "ipv4"}
    (record,) = imported(f"wireshark/{name}", **given).records()
    assert record.verdict.valid, record.verdict.reasons


def test_throughput_is_the_payload_of_udp(imported: Import) -> None:
    result = imported("wireshark/fields.csv")
    rows = [line.split(",") for line in (FOLDER / "fields.csv").read_text().splitlines()[1:]]
    start_s = float(rows[0][0])
    first_second = [int(row[2]) - 8 for row in rows if float(row[0]) - start_s < 1]
    assert numbers(result)["throughput"] == 8 * sum(first_second)
    (run,) = result.plan.runs
    assert (run.cell.transport, run.cell.ip, run.cell.packet_size) == ("udp", "ipv4", 1328)


def test_times_and_lengths_are_enough_for_throughput(imported: Import) -> None:
    assert set(numbers(imported("wireshark/frames.csv"))) == {"throughput"}


def test_a_dynamic_payload_type_has_no_known_clock(imported: Import) -> None:
    result = imported("wireshark/fields-ipv6.tsv")
    assert "jitter" not in numbers(result)
    assert numbers(result)["loss"] == 140 / 442  # of tshark, in streams-two.txt
    (run,) = result.plan.runs
    assert run.cell.ip == "ipv6"


def test_one_stream_per_file(imported: Import) -> None:
    with pytest.raises(UsageError, match="line 4: expected one stream"):
        imported("wireshark/streams-two.txt", packet_size=1328)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("frame.time_epoch", "frame.number", "is not a file that airtoll imports"),
        ("\n1", "\nx1", "line 2: expected a number of seconds as frame.time_epoch"),
        (",1336,", ",7,", "line 2: expected udp.length of at least 8"),
        (",1336,", ',"1336,1336",', "line 2: expected one whole number as udp.length"),
        (",1336,", ",1336,1,", "line 2: expected 8 fields, as in line 1"),
        ("0x0000cafe", "0x0000beef", "expected packets of one stream"),
        ("\n1", "\n0", "expected a time after that of the first packet, by at most 100000 s"),
    ],
)
def test_a_wrong_field_is_refused_with_its_line(
    tmp_path: Path, imported: Import, old: str, new: str, words: str
) -> None:
    file = tmp_path / "fields.csv"
    file.write_text((FOLDER / "fields.csv").read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=words):
        imported(str(file))


def test_fields_that_airtoll_does_not_read_are_ignored(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "fields.csv"
    file.write_text((FOLDER / "fields.csv").read_text().replace("rtp.seq", "rtp.ext", 1))
    assert "loss" not in numbers(imported(str(file)))
