"""Importing any file gives runs or one error line; nothing is written if the file cannot be read."""

import contextlib
import gzip
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from odd_json import ODD, RANDOM, changed

from airtoll.errors import UsageError
from airtoll.store import verify
from airtoll.store.importers import FORMATS, Given, files, import_files, read_table
from airtoll.store.importers.formats import format_of
from airtoll.store.importers.reading import Asked

RECORDED = Path(__file__).parent / "recorded"
LEVELS: dict[str, Any] = {
    "security": "open",
    "topology": "wired-ap",
    "phy": "ofdm",
    "rate": "54 Mbit/s",
}
OFTEN_UNSAID = {"transport": "udp", "packet_size": 1000, "ip": "ipv4"}
"""Factors that some files contain and others do not."""

NAMES = ("iperf3-tcp-client.json", "iperf3-udp-bidir-client.json", "irtt.json.gz", "tcp_download.flent.gz")
SETTINGS = settings(
    max_examples=max(60, settings.default.max_examples),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def refusal(file: Path) -> str:
    """The error line for a file, after checking exit status 2 and that there is no result."""
    out = file.with_name("result")
    with pytest.raises(UsageError) as caught:
        import_files([Given(file, LEVELS)], out, "None")
    assert not out.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b'{"throughput": 5', "is truncated or not JSON"),
        (
            b"throughput: 5\n",
            "is not a file that airtoll imports: expected output of one of iperf3, iperf 2,",
        ),
        (b"[1, 2]", "is not a file that airtoll imports"),
        (b"PING\n" + b":" * 20_000, "line 2: is longer than 16384 characters"),
        (b"::" * 5_000 + b"=1ms TTL=\n", "is not a file that airtoll imports"),
        (b"/" * 10_000 + b"\n", "is not a file that airtoll imports"),
        (b"PING\n\x00\x01\x02", "line 2: contains binary data"),
        (bytes.fromhex("0a0d0d0a1c000000"), "is a capture: export its fields with tshark"),
        (b'{"start": {}, "intervals": [], "end": {}}', "start.version: is missing"),
        (b"[" * 100_000, "line 1: is longer than 16384 characters"),
        (b'{"event":"start","data":{}}\n{"event":"inter', "line 2: is truncated or not JSON"),
        (
            b'{"version": 5, "metadata": {}, "results": {}, "x_values": []}',
            "flent file format 5: expected 1 to 4",
        ),
        (b"\x1f\x8b\x08\x00 no gzip", "cannot be unpacked"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-4], "cannot be unpacked"),
        (b"BZh9 no bzip2", "cannot be unpacked"),
    ],
)
def test_a_foreign_file_is_refused_in_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)
    assert words in refusal(file)


def test_a_failed_test_is_refused_with_the_message_of_iperf3(tmp_path: Path) -> None:
    file = tmp_path / "refused.json"
    file.write_bytes((RECORDED / "iperf3-refused-client.json").read_bytes())
    assert "unable to connect to server: Connection refused" in refusal(file)


def test_missing_directories_and_files_are_named(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "none.json")


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(b" " * (1 << 22)))
    assert "longer than 1 MiB after unpacking" in refusal(file)
    (tmp_path / "long").write_bytes(b" " * ((1 << 20) + 1))
    assert "is longer than 1 MiB" in refusal(tmp_path / "long")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(b" " * (17 << 20), 1))
    assert "is longer than 16 MiB after unpacking, over 100 times its size" in refusal(file)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}\n" * 10_000, "contains more than 9999 tests"),
        (b"[" + b"{}," * 10_000 + b"{}]\n", "contains more than 9999 tests"),
        (b"ab\r\n" * 2_000_001, "has 2000001 lines: expected at most 2000000"),
        (b'{"start": [' + b"{}," * 4_000_000 + b"{}]}", "contains more than 4000000 JSON values"),
    ],
    ids=["objects", "array", "lines", "values"],
)
def test_a_file_of_too_many_parts_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert words in refusal(file)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_report_has_at_most_as_many_streams_as_iperf3(tmp_path: Path, pack: Any) -> None:
    """Each stream takes more than a hundred times the memory of its three bytes."""
    report = json.loads((RECORDED / "iperf3-tcp-client.json").read_text())
    file = tmp_path / "file.json"
    report["start"]["connected"] *= 256
    file.write_bytes(pack(json.dumps(report).encode()))
    import_files([Given(file, LEVELS)], tmp_path / "imported", "None")
    report["start"]["connected"] = [{}] * 200_000
    file.write_bytes(pack(json.dumps(report).encode()))
    assert refusal(file).endswith("start.connected: expected at most 256 entries")


def test_a_small_packed_file_has_at_most_half_a_million_values(tmp_path: Path) -> None:
    report = json.loads((RECORDED / "iperf3-tcp-client.json").read_text())
    report["start"]["connected"] = [{}] * 500_000
    content = json.dumps(report).encode()
    file = tmp_path / "file.json"
    file.write_bytes(gzip.compress(content))
    assert refusal(file).endswith("contains more than 500000 JSON values")


@pytest.mark.parametrize(
    "name",
    [
        "ping/iputils.txt",
        "netperf/tcp_stream.txt",
        "iperf2/2.1.8-tcp-client.txt",
        "iperf3-text/tcp-client.txt",
        "iperf3-tcp-client.json",
    ],
)
def test_a_file_has_at_most_as_many_tests_as_a_result_has_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(files, "MOST_RUNS", 2)
    file = tmp_path / "file"
    file.write_bytes((RECORDED / name).read_bytes() * 3)
    assert "contains more than 2 tests" in refusal(file)


def test_each_report_of_an_array_has_its_own_text(tmp_path: Path) -> None:
    file = tmp_path / "array.json"
    file.write_text('[{"a": 1}, {"b": 2, "b": 3},\n{"c": [4]}\n]\n')
    found = files.read_file(file)
    assert [document.text for document in found.documents] == ['{"a": 1}', '{"b": 2, "b": 3}', '{"c": [4]}']
    assert [document.repeated for document in found.documents] == [set(), {"b"}, set()]
    assert found.rest is None
    file.write_text('[{"a": 1}, {"b": 2}')
    assert "line 1: is truncated or not JSON" in refusal(file)


FLENT, IRTT = (gzip.decompress((RECORDED / name).read_bytes()) for name in (NAMES[3], NAMES[2]))
STREAM = "Packet,Sequence,Delta (ms),Jitter (ms)\n1,1,0,0\n2,2,999999999999,0\n3,3,999999999999,0\n"
PING = """64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1 ms
64 bytes from 192.0.2.1: icmp_seq=30000 ttl=64 time=1 ms
2 packets transmitted, 2 received, 0% packet loss, time 999999999999ms
"""


@pytest.mark.parametrize(
    "content",
    [
        STREAM.encode(),
        PING.encode(),
        re.sub(rb'("TIME": ")[^"]*', rb"\g<1>0001-01-01T00:00:00+14:00", FLENT),
        re.sub(rb'("TIME": ")[^"]*', rb"\g<1>9999-12-31T23:59:59Z", FLENT),
        re.sub(rb'("start_time": ")[^"]*', rb"\g<1>0001-01-01T00:00:00+14:00", IRTT),
    ],
    ids=["RTP", "ping", "flent first year", "flent last year", "irtt"],
)
def test_times_that_a_result_cannot_store_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert "contains a time out of range: expected at most 1e+06 s per test" in refusal(file)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, name: str, part: float) -> None:
    content = (RECORDED / name).read_bytes()
    file = tmp_path / name
    file.write_bytes(content[: int(part * len(content))])
    assert name in refusal(file)


def imports_or_refuses(content: bytes, directory: Path) -> None:
    file = directory / "file"
    file.write_bytes(content)
    out = directory / "result"
    shutil.rmtree(out, ignore_errors=True)
    line = ""
    for levels in (LEVELS, {**OFTEN_UNSAID, **LEVELS}):
        try:
            import_files([Given(file, levels)], out, "Fuzz", shared_clocks=True)
        except UsageError as error:
            line = str(error)
        else:
            assert verify(out) == []
            return
    assert "\n" not in line
    assert not out.exists()


TEXTS = {path.name: path.read_bytes() for path in sorted(RECORDED.glob("*/*")) if path.is_file()}


@SETTINGS
@given(name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 10_000), length=st.integers(0, 2_000))
def test_any_part_of_a_text_is_imported_or_refused(tmp_path: Path, name: str, at: int, length: int) -> None:
    content = TEXTS[name]
    at %= len(content)
    imports_or_refuses(content[:at] + content[at + length :], tmp_path)


@SETTINGS
@given(name=st.sampled_from(sorted(TEXTS)), other=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 10_000))
def test_any_mixture_of_texts_is_imported_or_refused(tmp_path: Path, name: str, other: str, at: int) -> None:
    first, second = TEXTS[name], TEXTS[other]
    cut = first.rfind(b"\n", 0, at % len(first)) + 1
    imports_or_refuses(first[:cut] + second + first[cut:], tmp_path)


@SETTINGS
@given(name=st.sampled_from(sorted(TEXTS)), at=st.randoms(use_true_random=False), count=st.integers(1, 5))
def test_any_order_of_lines_is_imported_or_refused(tmp_path: Path, name: str, at: Any, count: int) -> None:
    """Lines are repeated, removed or moved, as in the output of several programs in one terminal."""
    lines = TEXTS[name].splitlines(keepends=True)
    for _ in range(count):
        begin = at.randrange(len(lines))
        part = lines[begin : begin + at.randint(1, 8)]
        if at.random() < 0.5:
            del lines[begin : begin + len(part)]
        to = at.randint(0, len(lines))
        lines[to:to] = part
    imports_or_refuses(b"".join(lines), tmp_path)


def test_every_format_is_among_the_recorded_files() -> None:
    """The tests above change valid files of all formats."""
    found = set()
    for file in (*sorted(RECORDED.glob("*/*")), *(RECORDED / name for name in NAMES)):
        with contextlib.suppress(UsageError):
            found |= {
                (each.tool, each.files)
                for document in files.read_file(file).documents
                for each in FORMATS
                if each.recognises(document)
            }
    assert found == {(each.tool, each.files) for each in FORMATS}


ODD_TEXT = st.one_of(
    st.text(max_size=8),
    st.integers(min_value=-(2**70), max_value=2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["0", "-1", "-nan", "1e999", "9" * 400, "0.0", "[", "]", ",", "\t", "=", "%", "\u0663"]),
)


@SETTINGS
@given(name=st.sampled_from(sorted(TEXTS)), at=st.randoms(use_true_random=False), odd=ODD_TEXT)
def test_any_word_anywhere_is_imported_or_refused(tmp_path: Path, name: str, at: Any, odd: str) -> None:
    words = re.split(rb"([A-Za-z]+|[0-9.]+)", TEXTS[name])
    words[at.randrange(1, len(words), 2)] = odd.encode("utf-8", "surrogatepass")
    imports_or_refuses(b"".join(words), tmp_path)


@SETTINGS
@given(content=st.binary(max_size=300))
@example(content=b"\x1f\x8b")
@example(content=b"null")
def test_any_bytes_are_imported_or_refused(tmp_path: Path, content: bytes) -> None:
    imports_or_refuses(content, tmp_path)


def document_of(name: str) -> Any:
    content = (RECORDED / name).read_bytes()
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


DOCUMENTS = {name: document_of(name) for name in NAMES}


@SETTINGS
@given(name=st.sampled_from(NAMES), at=RANDOM, odd=ODD)
def test_any_value_anywhere_is_imported_or_refused(tmp_path: Path, name: str, at: Any, odd: Any) -> None:
    imports_or_refuses(json.dumps(changed(DOCUMENTS[name], at, odd)).encode(), tmp_path)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "line 1: missing column 'file'"),
        ("path,phy\n", "line 1: missing column 'file'"),
        ("file,phi\n", "line 1: 'phi' is not a factor"),
        ("file,phy,phy\n", "line 1: duplicate column"),
        ("file,phy\na,hq\n", "line 2: phy: 'hq' is not allowed"),
        ("file,security\na,wpa2\n", "line 2: security: 'wpa2' is not allowed"),
        ("file,phy\n,ht\n", "line 2: names no file"),
        ("file,phy\na,ht,20\n", "line 2: has 1 more fields than line 1"),
        ("file,block\na,x\n", "line 2: block: 'x' is not a whole number"),
        ("file,lab\na,air\n", "line 2: lab: the lab of an imported result is imported"),
        ("file,packet_size\na,0 B\n", "line 2: packet_size: '0 B' is outside"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path: Path, table: str, words: str) -> None:
    file = tmp_path / "levels.csv"
    file.write_text(table)
    with pytest.raises(UsageError) as caught:
        read_table(file)
    assert words in str(caught.value)


def test_table_of_levels_gives_paths_levels_and_blocks(tmp_path: Path) -> None:
    file = tmp_path / "levels.csv"
    file.write_text(
        "file,security,packet_size,rate,block\nruns/a.json,wep104,128,54,3\n\nb.json,open,,auto,\n"
    )
    first, second = read_table(file)
    assert first.path == tmp_path / "runs" / "a.json"
    assert first.levels == {"security": "wep104", "packet_size": 128, "rate": "54 Mbit/s"}
    assert (first.block, second.block) == (3, None)
    assert second.levels == {"security": "open", "rate": "auto"}


@pytest.mark.parametrize("odd", [b"9" * 400, b"99999999999999", b"0"])
def test_a_number_of_any_size_is_read_or_refused(odd: bytes) -> None:
    for name, text in TEXTS.items():
        found = list(re.finditer(rb"\d+", text[:4_000]))
        for at in found[:: max(1, len(found) // 5)]:
            content = text[: at.start()] + odd + text[at.end() :]
            with contextlib.suppress(UsageError):
                document = files.Document(name, files.decoded(content, name))
                for reading in format_of(document).read(document, Asked()):
                    values = [sample.value for m in reading.measurements.values() for sample in m.samples]
                    assert all(value is None or math.isfinite(value) for value in values)


@SETTINGS
@given(content=st.binary(max_size=200))
@example(content=b'file\n"a')
@example(content=b"file\n\x00\n")
def test_any_table_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "levels.csv"
    file.write_bytes(content)
    line = ""
    try:
        read_table(file)
    except UsageError as error:
        line = str(error)
    assert "\n" not in line
