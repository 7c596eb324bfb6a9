"""`airtoll decrypt` has the output of airdecap-ng, counts the other frames, and reports faults of a file."""

import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from cli_command import AIRTOLL, IN_OWN_MOUNTS, Airtoll, one_line

from airtoll.ciphers import parse_ssid, shown_ssid

CAPTURES = Path(__file__).parents[2] / "crates/wlan-decrypt/tests/captures"
WEP40, WEP104 = "1f2e3d4c5b", "746869727465656e2d63686172"
PSK = ("--psk", "correct-horse")
"""Passphrase of tkip.pcap, which has a beacon and a handshake, in DATA_AT octets, and eight frames."""
DATA_AT = 816

MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D

Record = tuple[int, bytes]
"""Time in nanoseconds, octets."""


ETHERNET, IEEE802_11 = 1, 105


def records(capture: bytes, link_type: int = ETHERNET) -> list[Record]:
    """The records of a classic capture, little-endian, of this link type."""
    magic, *_, found_type = struct.unpack_from("<IHHiIII", capture)
    assert found_type == link_type
    found, at = [], 24
    while at < len(capture):
        seconds, fraction, kept = struct.unpack_from("<III", capture, at)
        ns = fraction * (1000 if magic == MICROSECONDS else 1)
        found.append((seconds * 10**9 + ns, capture[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return found


def remade(
    name: str, order: str = "<", magic: int = MICROSECONDS, link_type: int = 105, header: bytes = b""
) -> bytes:
    """One of the tests' captures in another byte order, resolution or link type."""
    capture = (CAPTURES / name).read_bytes()
    out, at = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type), 24
    while at < len(capture):
        seconds, us, kept, _ = struct.unpack_from("<IIII", capture, at)
        frame = header + capture[at + 16 : at + 16 + kept]
        fraction = us * (1000 if magic == NANOSECONDS else 1)
        out += struct.pack(f"{order}IIII", seconds, fraction, len(frame), len(frame)) + frame
        at += 16 + kept
    return out


def airdecap(capture: Path, *options: str) -> list[Record]:
    """The records that airdecap-ng decrypts from a capture."""
    if shutil.which("airdecap-ng") is None:
        pytest.skip("needs airdecap-ng: apt-get install aircrack-ng")
    out = capture.with_name("airdecap.pcap")
    subprocess.run(["airdecap-ng", *options, "-o", out, capture], check=True, capture_output=True)
    return records(out.read_bytes())


@pytest.fixture
def wep40(tmp_path: Path) -> Path:
    return Path(shutil.copy(CAPTURES / "wep40.pcap", tmp_path))


PRISM = struct.pack("<II", 0x44, 144) + bytes(136)
PPI = struct.pack("<BBHI", 0, 0, 8, 105)


@pytest.mark.parametrize(
    ("capture", "key"),
    [
        ((CAPTURES / "wep40.pcap").read_bytes(), WEP40),
        ((CAPTURES / "wep104.pcap").read_bytes(), WEP104),
        (remade("wep40.pcap", order=">"), "1F:2E:3D:4C:5B"),
        (remade("wep40.pcap", link_type=119, header=PRISM), WEP40),
        (remade("wep40.pcap", link_type=192, header=PPI), WEP40),
    ],
    ids=["802.11", "radiotap", "big-endian", "prism", "ppi"],
)
def test_decrypted_packets_equal_those_of_airdecap(
    airtoll: Airtoll, tmp_path: Path, capture: bytes, key: str
) -> None:
    path = tmp_path / "some.cap"
    path.write_bytes(capture)
    done = airtoll("decrypt", "some.cap", "--key", key)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "some-dec.pcap: 8 Ethernet frames" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"some.cap", "some-dec.pcap"}
    decrypted = records((tmp_path / "some-dec.pcap").read_bytes())
    assert len(decrypted) == 8
    expected = airdecap(path, "-w", key)
    if capture[:1] == b"\xa1":
        # airdecap-ng does not convert the byte order of the times of such a file.
        decrypted, expected = ([(0, octets) for _, octets in some] for some in (decrypted, expected))
    assert decrypted == expected


def test_nanoseconds_and_pcapng_give_the_same_packets(airtoll: Airtoll, tmp_path: Path, wep40: Path) -> None:
    (tmp_path / "ns.pcap").write_bytes(remade("wep40.pcap", order=">", magic=NANOSECONDS))
    names = ["wep40", "ns"]
    if shutil.which("editcap") is not None:
        subprocess.run(["editcap", "-F", "pcapng", wep40, tmp_path / "ng.pcap"], check=True)
        names.append("ng")
    for name in names:
        assert airtoll("decrypt", f"{name}.pcap", "--key", WEP40).returncode == 0
    outputs = [(tmp_path / f"{name}-dec.pcap").read_bytes() for name in names]
    assert len(records(outputs[0])) == 8
    assert outputs == [outputs[0]] * len(names)


def test_only_a_named_output_may_be_a_link(airtoll: Airtoll, tmp_path: Path, wep40: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    beside = tmp_path / "wep40-dec.pcap"
    for target in ("mine", "missing"):
        beside.symlink_to(target)
        done = airtoll("decrypt", wep40, "--key", WEP40)
        assert (done.returncode, one_line(done)) == (2, f"{beside}: is a link: give --out FILE")
        beside.unlink()
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "missing").exists()
    beside.symlink_to("mine")
    assert airtoll("decrypt", wep40, "--key", WEP40, "--out", beside).returncode == 0
    assert len(records((tmp_path / "mine").read_bytes())) == 8


def test_a_link_that_another_user_exchanges_is_not_followed(
    airtoll: Airtoll, tmp_path: Path, wep40: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux lets root read, but not follow, the link of another user in /tmp."""
    mine, out = tmp_path / "mine", tmp_path / "out.pcap"
    mine.write_text("mine")
    out.write_text("theirs")
    resolve = Path.resolve

    def while_it_is_a_link(path: Path, strict: bool = False) -> Path:
        if path != out:
            return resolve(path, strict)
        out.unlink()
        out.symlink_to(mine)
        found = resolve(path, strict)
        out.unlink()
        out.write_text("theirs")
        return found

    monkeypatch.setattr(Path, "resolve", while_it_is_a_link)
    assert airtoll("decrypt", wep40, "--key", WEP40, "--out", out).returncode == 0
    assert mine.read_text() == "mine"
    assert len(records(out.read_bytes())) == 8


@pytest.mark.parametrize("command", ["gzip", "zstd"])
def test_a_compressed_capture_gives_the_same_packets(
    airtoll: Airtoll, tmp_path: Path, wep40: Path, command: str
) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"needs {command}: apt-get install {command}")
    compressed = subprocess.run([command, "-c", wep40], check=True, capture_output=True).stdout
    (tmp_path / "compressed.pcap.gz").write_bytes(compressed)
    assert airtoll("decrypt", "compressed.pcap.gz", "--key", WEP40).returncode == 0
    assert airtoll("decrypt", wep40, "--key", WEP40).returncode == 0
    outputs = [(tmp_path / f"{name}-dec.pcap").read_bytes() for name in ("compressed", "wep40")]
    assert outputs[0] == outputs[1]

    (tmp_path / "cut.pcap.gz").write_bytes(compressed[:-20])
    done = airtoll("decrypt", "cut.pcap.gz", "--key", WEP40, "--out", "cut.pcap")
    assert done.returncode == 2
    assert one_line(done).endswith(" data is damaged or truncated")
    complete = records(outputs[0])
    decrypted = records((tmp_path / "cut.pcap").read_bytes()) if (tmp_path / "cut.pcap").exists() else []
    assert decrypted == complete[: len(decrypted)]


AMPDU, FRAGMENT = "ampdu-retransmission.pcap", "fragment-lost.pcap"
IN_CASES = ("--ssid", "test", "--psk", "12345678")


@pytest.mark.parametrize(
    ("name", "secret", "decrypted", "reasons"),
    [
        (AMPDU, IN_CASES, 6, {"retransmission": 1}),
        (FRAGMENT, IN_CASES, 2, {"incomplete_fragment": 1}),
        ("ccmp.pcap.gz", IN_CASES, 7, {}),
        ("sae-ext-key.pcap", ("--pmk", bytes(range(32)).hex()), 7, {}),
    ],
)
def test_the_frames_of_a_capture_have_these_outcomes(
    airtoll: Airtoll, name: str, secret: tuple[str, ...], decrypted: int, reasons: dict[str, int]
) -> None:
    """A retransmission after five other frames of its A-MPDU; a fragment whose others never came; AKM 24."""
    done = airtoll("decrypt", CAPTURES / name, *secret, "--json", "--out", "out.pcap")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    outcomes = {reason: count for reason, count in counts["not_decrypted"].items() if count}
    assert counts["decrypted"] == decrypted
    assert {reason: outcomes.pop(reason, 0) for reason in reasons} == reasons
    assert outcomes.keys() <= {"not_data", "not_encrypted"}
    columns = ("decrypted", "without_key", "wrong_key", "other")
    in_rows = sum(
        row[column] for row in (*counts["stations"], counts["other_stations"]) for column in columns
    )
    assert in_rows == decrypted + sum(reasons.values())


@pytest.mark.parametrize(
    "ssid", [b"airtoll", "caf\u00e9".encode(), b"\x00\xff", b'a\\b "c"', b"\n\r\t\x1b\x7f"]
)
def test_an_ssid_is_read_as_it_is_shown(ssid: bytes) -> None:
    shown = shown_ssid(ssid)
    assert shown.isprintable()
    assert parse_ssid(shown.encode()) == ssid


def test_every_frame_is_counted_as_decrypted_or_with_its_reason(airtoll: Airtoll, wep40: Path) -> None:
    done = airtoll("decrypt", wep40, "--key", WEP40, "--json", "--out", "out.pcap")
    counts = json.loads(done.stdout)
    reasons = {reason: count for reason, count in counts.pop("not_decrypted").items() if count}
    assert reasons == {"not_data": 1, "not_encrypted": 1, "retransmission": 1, "wrong_key": 1}
    assert counts == {
        "capture": str(wep40),
        "out": "out.pcap",
        "frames": 12,
        "data_frames": 11,
        "decrypted": 8,
        "ethernet_frames": 8,
        "broken": None,
    }
    table = [line.split(maxsplit=1) for line in airtoll("decrypt", wep40, "--key", WEP40).stdout.splitlines()]
    assert [count for count, _ in table[:7]] == ["12", "11", "8", "1", "1", "1", "1"]
    assert [words.strip() for _, words in table[:3]] == ["frames", "data frames", "decrypted"]


def test_several_keys_are_tried(airtoll: Airtoll, wep40: Path) -> None:
    done = airtoll("decrypt", wep40, "--key", WEP104, "--key", WEP40, "--json")
    assert json.loads(done.stdout)["decrypted"] == 8


def test_with_the_wrong_key_there_is_no_output_and_exit_status_1(airtoll: Airtoll, wep40: Path) -> None:
    older = wep40.with_name("wep40-dec.pcap")
    older.write_text("older")
    done = airtoll("decrypt", wep40, "--key", "00:00:00:00:00")
    assert done.returncode == 1
    assert one_line(done) == f"{wep40}: nothing decrypted; no output is written"
    assert "10  wrong ICV or MIC" in done.stdout
    assert older.read_text() == "older"


def test_other_ciphers_are_counted_as_such(airtoll: Airtoll) -> None:
    done = airtoll("decrypt", CAPTURES / "tkip.pcap", "--key", WEP40, "--json", "--out", "out.pcap")
    assert done.returncode == 1
    counts = json.loads(done.stdout)
    assert (counts["not_decrypted"]["other_cipher"], counts["not_decrypted"]["not_encrypted"]) == (8, 4)
    assert counts["out"] is None


def test_a_truncated_capture_is_decrypted_to_its_end_with_exit_status_2(
    airtoll: Airtoll, tmp_path: Path, wep40: Path
) -> None:
    whole = wep40.read_bytes()
    wep40.write_bytes(whole[:1000])
    done = airtoll("decrypt", wep40, "--key", WEP40)
    assert done.returncode == 2
    words = one_line(done)
    assert words == f"{wep40}: capture cut short: record 6 at octet 732 requires 1090 octets, 268 are left"
    assert len(records((tmp_path / "wep40-dec.pcap").read_bytes())) == 4
    assert "\n4  decrypted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.pcap", "--key", WEP40], "none.pcap: No such file or directory"),
        ([".", "--key", WEP40], ".: Is a directory"),
        (["/", "--key", WEP40, "--out", "out"], "/: Is a directory"),
        (["empty.pcap", "--key", WEP40], "empty.pcap: the file is empty"),
        (["page.pcap", "--key", WEP40], "page.pcap: not a pcap capture: it starts with [3c, 68, 74, 6d]"),
        (["short.pcap", "--key", WEP40], "short.pcap: not a pcap capture: 20 octets"),
        (["ethernet.pcap", "--key", WEP40], "ethernet.pcap: link type 1 (Ethernet), not 802.11 frames"),
        (["wep40.pcap", "--key", WEP40, "--out", "wep40.pcap"], "the output would replace the capture"),
        (["wep40.pcap", "--key", WEP40, "--out", "/dev/null"], "/dev/null: not a regular file"),
        (["wep40.pcap", "--key", WEP40, "--out", "no/out.pcap"], "no/out.pcap: No such file or directory"),
        (["wep40.pcap", "--key", WEP40, "--out", "/proc/out.pcap"], "/proc/out.pcap: "),
        (["/dev/null", "--key", WEP40], "/dev/null: not a regular file, so --out FILE is required"),
        (["wep40.pcap", "--key", "1f2e3d4c"], "--key: 4 octets; a WEP key has 5 (WEP-40, 10 digits) or 13"),
        (["wep40.pcap", "--key", "weak!"], "--key: expected pairs of hexadecimal digits"),
        (["wep40.pcap", "--key", "1f2e3d4c5"], "--key: expected pairs of hexadecimal digits"),
        (["wep40.pcap", "--key", "1f::2e:3d:4c:5b"], "--key: expected pairs of hexadecimal digits"),
        (["wep40.pcap", "--key", ""], "--key: expected pairs of hexadecimal digits"),
        (["wep40.pcap"], "--key HEX"),
        (["wep40.pcap", "--psk", "seven77"], "--psk: a passphrase has 8 to 63 characters, not 7"),
        (["wep40.pcap", "--psk", "x" * 64], "--psk: 64 characters must be the hexadecimal digits of a PSK"),
        (["wep40.pcap", "--psk", "x" * 65], "--psk: a passphrase has 8 to 63 characters, not 65"),
        (
            ["wep40.pcap", "--psk", "tabs\tare not allowed"],
            "--psk: octet 5 of the passphrase is a control character",
        ),
        (["wep40.pcap", "--psk-file", "none.txt"], "none.txt: No such file or directory"),
        (
            ["wep40.pcap", "--psk-file", "empty.pcap"],
            "empty.pcap: a passphrase has 8 to 63 characters, not 0",
        ),
        (["wep40.pcap", "--psk-file", "."], ".: Is a directory"),
        (["wep40.pcap", "--psk-file", "wep40.pcap"], "wep40.pcap: "),
        (
            ["wep40.pcap", "--psk", "password", "--psk-file", "x"],
            "--psk and --psk-file are mutually exclusive",
        ),
        (
            ["wep40.pcap", "--psk", "password", "--ssid", "x" * 33],
            "--ssid: an SSID has 1 to 32 octets, not 33",
        ),
        (["wep40.pcap", "--psk", "password", "--ssid", ""], "--ssid: an SSID has 1 to 32 octets, not 0"),
        (["wep40.pcap", "--psk", "password", "--ssid", r"a\x2"], r"--ssid: unknown escape \x; use \\ for a"),
        (["cut.pcap.gz", "--key", WEP40], "cut.pcap.gz: the gzip data is damaged or truncated"),
        (["cut.pcap.zst", "--key", WEP40], "cut.pcap.zst: the Zstandard data is damaged or truncated"),
        (["wep40.pcap", "--key", WEP40, "--ssid", "x"], "use --psk or --psk-file"),
        (["wep40.pcap", "--pmk", "1234"], "--pmk: 2 octets; a PMK has 32"),
        (["wep40.pcap", "--pmk", "pmk"], "--pmk: expected pairs of hexadecimal digits"),
        (["empty.pcap", "--psk", "password"], "empty.pcap: the file is empty"),
        (["page.pcap", "--psk", "password"], "page.pcap: not a pcap capture"),
        (["wep40.pcap", "--psk", "password", "--out", "wep40.pcap"], "the output would replace the capture"),
    ],
)
@pytest.mark.usefixtures("wep40")
def test_invalid_input_exits_2_with_one_line(
    airtoll: Airtoll, tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "empty.pcap").touch()
    (tmp_path / "page.pcap").write_text("<html></html>")
    (tmp_path / "short.pcap").write_bytes(remade("wep40.pcap")[:20])
    (tmp_path / "ethernet.pcap").write_bytes(remade("wep40.pcap", link_type=1))
    (tmp_path / "cut.pcap.gz").write_bytes(gzip.compress(b"")[:-4])
    (tmp_path / "cut.pcap.zst").write_bytes(bytes.fromhex("28b52ffd"))
    before = set(tmp_path.iterdir())
    done = airtoll("decrypt", *arguments)
    assert done.returncode == 2
    assert words in one_line(done)
    assert done.stdout == ""
    assert set(tmp_path.iterdir()) == before


def long_capture(name: str, times: int = 600) -> bytes:
    """One of the tests' captures with its frames repeated `times` times, usually longer than one read or write."""
    capture = (CAPTURES / name).read_bytes()
    return capture + capture[DATA_AT if name == "tkip.pcap" else 24 :] * times


@pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root, so cannot mount a small disk")
@pytest.mark.parametrize(("name", "secret"), [("wep40.pcap", ("--key", WEP40)), ("tkip.pcap", PSK)])
def test_a_full_disk_leaves_no_partial_file(
    airtoll: Airtoll, tmp_path: Path, name: str, secret: tuple[str, str]
) -> None:
    (tmp_path / "long.pcap").write_bytes(long_capture(name))
    disk = tmp_path / "disk"
    disk.mkdir()
    small = (
        f"mount -t tmpfs -o size=256k none {disk}; status=0; "
        f'"$0" "$@" || status=$?; ls -A {disk} > {tmp_path}/left; exit $status'
    )
    arguments = ("decrypt", "long.pcap", *secret, "--out", disk / "out.pcap")
    done = airtoll(*arguments, prefix=(*IN_OWN_MOUNTS, small))
    assert done.returncode == 2
    assert one_line(done) == f"{disk}/out.pcap: No space left on device"
    assert (tmp_path / "left").read_text() == ""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.parametrize("denied", ["wep40.pcap", "folder", "psk.txt"])
def test_files_without_permission_are_named(
    airtoll: Airtoll, tmp_path: Path, wep40: Path, denied: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "psk.txt").write_text("a toll on the air")
    (tmp_path / denied).chmod(0o500 if denied == "folder" else 0)
    # Root ignores file permissions, unless these capabilities are dropped.
    plain_root = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
    prefix = plain_root if os.geteuid() == 0 else ()
    secrets = ("--key", WEP40, "--psk-file", "psk.txt")
    done = airtoll("decrypt", wep40, *secrets, "--out", "folder/out.pcap", prefix=prefix)
    assert done.returncode == 2
    named = {"wep40.pcap": wep40, "folder": "folder/out.pcap", "psk.txt": "psk.txt"}[denied]
    assert one_line(done) == f"{named}: Permission denied"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("octets", [None, 0, 1000])
def test_a_signal_is_one_line_and_leaves_no_files(
    tmp_path: Path, wep40: Path, stop: signal.Signals, octets: int | None
) -> None:
    """The capture is a pipe that stalls: it has no writer yet, or the writer stops after this many octets."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [AIRTOLL, "decrypt", pipe, "--key", WEP40, "--out", tmp_path / "out.pcap"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        nullcontext() if octets is None else pipe.open("wb") as writer,
    ):
        if writer:
            writer.write(wep40.read_bytes()[:octets])
            writer.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".tmp-*")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(stop)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (stdout, stderr) == ("", "airtoll: interrupted; no output is written\n")
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "wep40.pcap"}


def test_a_killed_command_leaves_no_output_file(airtoll: Airtoll, tmp_path: Path) -> None:
    """A file left under its temporary name does not disturb later commands."""
    capture, pipe = long_capture("tkip.pcap"), tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [AIRTOLL, "decrypt", pipe, *PSK, "--out", tmp_path / "out.pcap"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process, pipe.open("wb") as writer:
        writer.write(capture[: len(capture) // 2])
        writer.flush()
        deadline = time.monotonic() + 60
        while not any(part.stat().st_size for part in tmp_path.glob(".tmp-*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    assert not (tmp_path / "out.pcap").exists()
    (tmp_path / "whole.pcap").write_bytes(capture)
    done = airtoll("decrypt", "whole.pcap", *PSK, "--out", "out.pcap")
    assert done.returncode == 0, done.stderr
    assert len(records((tmp_path / "out.pcap").read_bytes())) == 8 * 601


# A small process, so that the peak is the command's, not that of the process that forked it.
PEAK_KIB = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_ten_times_the_capture_takes_no_more_memory(airtoll: Airtoll, tmp_path: Path) -> None:
    peaks_kib = []
    for times in (1500, 15000):
        capture = tmp_path / "long.pcap"
        capture.write_bytes(long_capture("tkip.pcap", times))
        done = airtoll("decrypt", capture, *PSK, prefix=(sys.executable, "-c", PEAK_KIB))
        assert done.returncode == 0, done.stderr
        peaks_kib.append(int(done.stdout))
    # Peaks for 5 MB and for 55 MB.
    assert peaks_kib[1] < peaks_kib[0] + 8 * 1024


def test_a_file_name_that_is_invalid_utf_8_is_printed_unchanged(tmp_path: Path, wep40: Path) -> None:
    capture = os.fsencode(tmp_path) + b"/caf\xe9.pcap"
    shutil.copy(wep40, capture)
    done = subprocess.run([AIRTOLL, "decrypt", capture, "--key", WEP40], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"/caf\xe9-dec.pcap: 8 Ethernet frames" in done.stdout


def test_a_capture_can_come_through_a_pipe(airtoll: Airtoll, tmp_path: Path) -> None:
    from_pipe = ("sh", "-c", 'cat wep40.pcap | "$0" "$@"')
    shutil.copy(CAPTURES / "wep40.pcap", tmp_path)
    done = airtoll("decrypt", "/dev/stdin", "--key", WEP40, "--out", "out.pcap", prefix=from_pipe)
    assert done.returncode == 0, done.stderr
    assert len(records((tmp_path / "out.pcap").read_bytes())) == 8


@pytest.mark.skipif("AIRTOLL_CAPTURES" not in os.environ, reason="AIRTOLL_CAPTURES names no folder")
def test_a_capture_of_aircrack_ng_decrypts_as_airdecap_does(airtoll: Airtoll, tmp_path: Path) -> None:
    folder = Path(os.environ["AIRTOLL_CAPTURES"])
    capture = Path(shutil.copy(folder / "wep_64_ptw.cap", tmp_path))
    counts = json.loads(airtoll("decrypt", capture, "--key", "1F1F1F1F1F", "--json").stdout)
    assert (counts["frames"], counts["decrypted"]) == (65282, 30630)
    assert records((tmp_path / "wep_64_ptw-dec.pcap").read_bytes()) == airdecap(capture, "-w", "1F1F1F1F1F")
    wpa = Path(shutil.copy(folder / "wpa2-psk-linksys.cap", tmp_path))
    done = airtoll("decrypt", wpa, "--key", WEP40, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["not_decrypted"]["other_cipher"] > 0


def test_without_a_handshake_that_is_said_with_exit_status_1(airtoll: Airtoll, tmp_path: Path) -> None:
    capture = Path(shutil.copy(CAPTURES / "wep40.pcap", tmp_path))
    done = airtoll("decrypt", capture, "--psk", "a toll on the air")
    assert done.returncode == 1
    assert one_line(done) == f"{capture}: no 4-way handshake in the capture; no output is written"


def test_a_passphrase_decrypts_from_the_option_and_from_a_file(airtoll: Airtoll, tmp_path: Path) -> None:
    """tkip.pcap begins with the handshake."""
    capture = Path(shutil.copy(CAPTURES / "tkip.pcap", tmp_path))
    (tmp_path / "psk.txt").write_text("correct-horse\r\n")
    outputs = []
    for option in (("--psk", "correct-horse"), ("--psk-file", "psk.txt")):
        done = airtoll("decrypt", capture, *option, "--ssid", "airtoll", "--json")
        assert done.returncode == 0, done.stderr
        counts = json.loads(done.stdout)
        assert counts["decrypted"] == 8
        [learned] = [one for one in counts["stations"] if one["finding"] == "learned"]
        assert (learned["cipher"], learned["akm"], learned["ssid"]) == ("tkip", "wpa-psk", "airtoll")
        outputs.append((tmp_path / "tkip-dec.pcap").read_bytes())
    assert outputs[0] == outputs[1]
    done = airtoll("decrypt", capture, "--psk", "incorrect-horse", "--ssid", "airtoll", "--out", "no.pcap")
    assert done.returncode == 1
    assert 'wrong SSID "airtoll" or passphrase: MIC mismatch in the handshake of ' in one_line(done)
    assert not (tmp_path / "no.pcap").exists()


def test_a_truncated_capture_is_decrypted_to_its_end_with_a_passphrase(
    airtoll: Airtoll, tmp_path: Path
) -> None:
    capture = tmp_path / "tkip.pcap"
    capture.write_bytes((CAPTURES / "tkip.pcap").read_bytes()[:-10])
    done = airtoll("decrypt", capture, "--psk", "correct-horse", "--ssid", "airtoll")
    assert done.returncode == 2
    assert "capture cut short" in one_line(done)
    assert len(records((tmp_path / "tkip-dec.pcap").read_bytes())) == 7


@pytest.mark.parametrize(
    ("octets", "messages", "finding"),
    [(200, [0, 0, 0, 0], None), (400, [1, 0, 0, 0], "half_handshake"), (600, [1, 1, 0, 0], "learned")],
)
def test_a_capture_with_a_partial_handshake_names_the_last_message(
    airtoll: Airtoll, tmp_path: Path, octets: int, messages: list[int], finding: str | None
) -> None:
    capture = tmp_path / "tkip.pcap"
    capture.write_bytes((CAPTURES / "tkip.pcap").read_bytes()[:octets])
    done = airtoll("decrypt", capture, *PSK, "--json")
    assert done.returncode == 2
    assert one_line(done).startswith(f"{capture}: capture cut short: record ")
    assert {path.name for path in tmp_path.iterdir()} == {"tkip.pcap"}
    counts = json.loads(done.stdout)
    assert counts["out"] is None
    stations = [(one["messages"], one["finding"]) for one in counts["stations"]]
    assert stations == ([(messages, finding)] if finding else [])


@pytest.mark.skipif("AIRTOLL_CAPTURES" not in os.environ, reason="AIRTOLL_CAPTURES names no folder")
@pytest.mark.parametrize(
    ("name", "ours", "theirs"), [("wpa-psk-linksys", 57, 53), ("wpa2-psk-linksys", 26, 25)]
)
def test_captures_of_aircrack_ng_decrypt_as_airdecap_does_and_group_frames_too(
    airtoll: Airtoll, tmp_path: Path, name: str, ours: int, theirs: int
) -> None:
    capture = Path(shutil.copy(Path(os.environ["AIRTOLL_CAPTURES"]) / f"{name}.cap", tmp_path))
    done = airtoll("decrypt", capture, "--psk", "dictionary")
    assert done.returncode == 0, done.stderr
    decrypted = records((tmp_path / f"{name}-dec.pcap").read_bytes())
    assert len(decrypted) == ours
    expected = airdecap(capture, "-e", "linksys", "-p", "dictionary")
    assert len(expected) == theirs
    # airdecap-ng has no group keys: only frames from the access point (From DS) to a group address are missing.
    to_group_ns = {
        ns
        for ns, mpdu in records(capture.read_bytes(), IEEE802_11)
        if len(mpdu) > 4 and mpdu[1] & 3 == 2 and mpdu[4] & 1
    }
    assert [(ns, frame) for ns, frame in decrypted if ns not in to_group_ns] == expected
    assert all(frame[0] & 1 for ns, frame in decrypted if ns in to_group_ns)
