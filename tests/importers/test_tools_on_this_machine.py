"""Output that the installed tools print now is imported with their own figures."""

import re
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from socket import socket
from statistics import median

import pytest
from recorded_files import by_run, numbers

from airtoll.store import Result
from airtoll.store.importers import Given, import_files


def needs(*tools: str) -> pytest.MarkDecorator:
    absent = [tool for tool in tools if which(tool) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


def printed(*command: str) -> bytes:
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(directory: Path, output: bytes, **levels: object) -> Result:
    file = directory / "output.txt"
    file.write_bytes(output)
    import_files([Given(file, {"security": "open", **levels})], directory / "result", "Imported")
    return Result.open(directory / "result")


def is_free(port: int) -> bool:
    """Whether nothing listens on a port."""
    with socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) != 0


@contextmanager
def iperf_server(transport: str) -> Iterator[int]:
    """The port of an iperf server on loopback, which ends with the block."""
    port = next(port for port in range(15_001, 15_500) if is_free(port))
    command = ["iperf", "-s", "-B", "127.0.0.1", "-p", str(port), *(["-u"] if transport == "udp" else [])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            until = time.monotonic() + 20
            while f":{port:04X} " not in Path(f"/proc/net/{transport}").read_text():
                assert running.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            yield port
        finally:
            running.kill()


_PREFIX = {b"": 1.0, b"K": 1e3, b"M": 1e6, b"G": 1e9}


@needs("iperf")
@pytest.mark.parametrize("options", [(), ("-y", "C"), ("-e",)], ids=["text", "csv", "enhanced"])
def test_tcp_of_iperf(tmp_path: Path, options: tuple[str, ...]) -> None:
    with iperf_server("tcp") as port:
        output = printed("iperf", "-c", "127.0.0.1", "-p", str(port), "-t", "1", "-i", "0.5", *options)
    result = imported(tmp_path, output, packet_size=131072)
    if "-y" in options:
        last = float(output.split(b",")[-1])
    else:
        rate, prefix = re.findall(rb"([\d.]+) ([KMG]?)bits/sec", output)[-1]
        last = float(rate) * _PREFIX[prefix]
    assert by_run(result, "throughput") == [pytest.approx(last)]
    (record,) = result.records()
    assert record.verdict.valid


@needs("iperf")
def test_udp_of_iperf(tmp_path: Path) -> None:
    with iperf_server("udp") as port:
        output = printed(
            "iperf", "-c", "127.0.0.1", "-p", str(port), "-u", "-b", "5M", "-l", "512", "-t", "1"
        )
    found = re.findall(rb"([\d.]+) Mbits/sec +([\d.]+) ms +(\d+)/ *(\d+)", output)
    assert found, output
    mbps, jitter_ms, lost, sent = found[-1]
    result = imported(tmp_path, output)
    assert result.plan.runs[0].cell.packet_size == 512
    assert numbers(result) == pytest.approx(
        {"throughput": float(mbps) * 1e6, "jitter": float(jitter_ms), "loss": int(lost) / int(sent)}
    )


@needs("ping")
def test_ping(tmp_path: Path) -> None:
    output = printed("ping", "-c", "4", "-i", "0.2", "-s", "100", "127.0.0.1")
    result = imported(tmp_path, output, transport="udp")
    assert result.plan.runs[0].cell.packet_size == 100
    assert numbers(result)["rtt"] == pytest.approx(median(map(float, re.findall(rb"time=([\d.]+)", output))))


def rtp_capture() -> bytes:
    """A capture (pcap, Ethernet) of RTP with a clock of 90 kHz: some packets are late, lost or reordered."""
    packets = []
    for number in range(400):
        due_us = 40_000 * (number // 8) + 900 * (number % 8)
        late_us = 7_000 * (number * number % 11) // 10
        packets.append((due_us + late_us, number))
    kept = sorted(packet for packet in packets if packet[1] % 29 != 5)
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)]
    for time_us, number in kept:
        rtp = struct.pack("!BBHII", 0x80, 33, (65_400 + number) % 65_536, 3_600 * (number // 8), 7) + bytes(
            188
        )
        udp = struct.pack("!HHHH", 5004, 5004, 8 + len(rtp), 0) + rtp
        ip = struct.pack(
            "!BBHHHBBH4s4s",
            0x45,
            0,
            20 + len(udp),
            0,
            0,
            64,
            17,
            0,
            bytes((10, 0, 0, 1)),
            bytes((10, 0, 0, 2)),
        )
        frame = bytes(12) + b"\x08\x00" + ip + udp
        seconds, us = divmod(1_700_000_000_000_000 + time_us, 1_000_000)
        records.append(struct.pack("<IIII", seconds, us, len(frame), len(frame)) + frame)
    return b"".join(records)


_FIELDS = ("frame.time_epoch", "ip.src", "udp.length", "rtp.seq", "rtp.timestamp", "rtp.p_type", "rtp.ssrc")


@needs("tshark")
@pytest.mark.parametrize("separator", [",", "/t"])
def test_fields_and_streams_of_tshark_agree(tmp_path: Path, separator: str) -> None:
    capture = tmp_path / "rtp.pcap"
    capture.write_bytes(rtp_capture())
    tshark = ("tshark", "-r", str(capture), "-d", "udp.port==5004,rtp")
    fields = [word for name in _FIELDS for word in ("-e", name)]
    rows = printed(*tshark, "-T", "fields", "-E", "header=y", "-E", f"separator={separator}", *fields)
    ours, theirs = tmp_path / "fields", tmp_path / "streams"
    ours.mkdir()
    theirs.mkdir()
    by_airtoll = numbers(imported(ours, rows))
    by_tshark = numbers(imported(theirs, printed(*tshark, "-q", "-z", "rtp,streams"), packet_size=200))
    assert by_airtoll["loss"] == by_tshark["loss"] > 0
    assert by_airtoll["jitter"] == pytest.approx(by_tshark["jitter"], abs=0.0006)
