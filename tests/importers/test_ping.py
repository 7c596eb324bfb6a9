# ruff: noqa: RUF001
"""The output of ping of several systems becomes round-trip times."""

import re
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pytest
from recorded_files import RECORDED, Import, numbers

from airtoll.probes.base import Measurement
from airtoll.store.importers.files import read_file
from airtoll.store.importers.formats import format_of
from airtoll.store.importers.reading import Asked

UNIX = (
    "iputils",
    "iputils-1400",
    "iputils-6",
    "iputils-D",
    "iputils-A",
    "busybox",
    "inetutils",
    "macos",
    "macos-6",
)


def text(name: str) -> str:
    return (RECORDED / "ping" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", UNIX)
def test_every_round_trip_is_a_sample(imported: Import, name: str) -> None:
    result = imported(f"ping/{name}.txt", transport="udp")
    (samples,) = result.samples()
    printed = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", text(name))]
    assert samples.value.tolist() == printed
    assert numbers(result)["rtt"] == pytest.approx(median(printed))
    mean = re.search(r"min/avg/max\S* = [\d.]+/([\d.]+)/", text(name))
    assert mean is not None
    assert sum(printed) / len(printed) == pytest.approx(float(mean[1]), abs=0.001)
    (record,) = result.records()
    assert record.verdict.valid


@pytest.mark.parametrize(
    ("name", "ip", "packet_size"),
    [
        ("iputils", "ipv4", 56),
        ("iputils-1400", "ipv4", 1400),
        ("iputils-6", "ipv6", 56),
        ("iputils-q", "ipv4", 56),
        ("macos-6", "ipv6", 8),
        ("windows", "ipv4", 32),
        ("windows-german", "ipv4", 32),
        ("windows-french", "ipv4", 32),
    ],
)
def test_address_and_size_are_in_the_file(imported: Import, name: str, ip: str, packet_size: int) -> None:
    (run,) = imported(f"ping/{name}.txt", transport="udp").plan.runs
    assert (run.cell.ip, run.cell.packet_size) == (ip, packet_size)


@pytest.mark.parametrize(
    ("name", "round_trips_ms"),
    [
        ("windows", [0.5, 3, 12]),
        ("windows-german", [2, 0.5, 4]),
        ("windows-french", [2, 0.5, 4]),
    ],
)
def test_windows_prints_whole_milliseconds_in_any_language(
    imported: Import, name: str, round_trips_ms: list[float]
) -> None:
    result = imported(f"ping/{name}.txt", transport="udp")
    (samples,) = result.samples()
    assert samples.value.tolist() == round_trips_ms
    (record,) = result.records()
    assert record.probes["rtt"]["below_resolution"] == 1


def test_lost_pings_are_counted(imported: Import) -> None:
    (record,) = imported("ping/windows.txt", transport="udp").records()
    assert (record.probes["rtt"]["sent"], record.probes["rtt"]["received"]) == (4, 3)


def test_a_ping_without_a_reply_is_invalid(imported: Import) -> None:
    (record,) = imported("ping/iputils-unreachable.txt", transport="udp").records()
    assert record.verdict.reasons == ("no sample: rtt has no value in the measured window",)


def test_a_quiet_ping_has_only_the_mean(imported: Import) -> None:
    result = imported("ping/iputils-q.txt", transport="udp")
    assert numbers(result)["rtt"] == 0.057
    (record,) = result.records()
    assert record.probes["rtt"]["round_trip"] == "mean of all pings"
    assert record.verdict.valid


def test_time_stamps_say_when(imported: Import) -> None:
    (record,) = imported("ping/iputils-D.txt", transport="udp").records()
    assert record.started == datetime(2026, 11, 26, 3, 44, 34, 755069, tzinfo=UTC)


def test_ping_has_no_transport(imported: Import) -> None:
    (run,) = imported("ping/iputils.txt").plan.runs
    assert run.cell.transport == "unknown"


LANGUAGES = {
    "de": (
        "Antwort von {}: Bytes=32 Zeit{}ms TTL=64",
        "Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1",
        "cp850",
    ),
    "fr": (
        "Réponse de {} : octets=32 temps{} ms TTL=64",
        "Paquets : envoyés = 4, reçus = 3, perdus = 1",
        "cp850",
    ),
    "es": (
        "Respuesta desde {}: bytes=32 tiempo{}m TTL=64",
        "Paquetes: enviados = 4, recibidos = 3, perdidos = 1",
        "cp1252",
    ),
    "ru": (
        "Ответ от {}: число байт=32 время{}мс TTL=64",
        "Пакетов: отправлено = 4, получено = 3, потеряно = 1",
        "cp866",
    ),
    "uk": (
        "Відповідь від {}: байт=32 час{}мс TTL=64",
        "Пакети: надіслано = 4, отримано = 3, втрачено = 1",
        "cp1251",
    ),
    "ja": (
        "{} からの応答: バイト数 =32 時間 {}ms TTL=64",
        "パケット数: 送信 = 4、受信 = 3、損失 = 1",
        "cp932",
    ),
    "zh-CN": ("来自 {} 的回复: 字节=32 时间{}ms TTL=64", "数据包: 已发送 = 4，已接收 = 3，丢失 = 1", "cp936"),
    "zh-TW": ("回覆自 {}: 位元組=32 時間{}ms TTL=64", "封包: 已傳送 = 4，已收到 = 3, 已遺失 = 1", "cp950"),
    "ko": ("{}의 응답: 바이트=32 시간{}ms TTL=64", "패킷: 보냄 = 4, 받음 = 3, 손실 = 1", "cp949"),
    "pl": (
        "Odpowiedź z {}: bajtów=32 czas{}ms TTL=64",
        "Pakiety: Wysłane = 4, Odebrane = 3, Utracone = 1",
        "cp852",
    ),
    "cs": (
        "Odpověď od {}: bajty=32 čas {}ms TTL=64",
        "Pakety: Odeslané = 4, Přijaté = 3, Ztracené = 1",
        "cp852",
    ),
    "tr": ("{} cevabı: bayt=32 süre{}ms TTL=64", "Paket: Giden = 4, Gelen = 3, Kaybolan = 1", "cp857"),
    "el": (
        "Απάντηση από: {}: bytes=32 χρόνος{}ms TTL=64",
        "Πακέτα: Απεσταλμένα = 4, Ληφθέντα = 3, Απολεσθέντα = 1",
        "cp737",
    ),
    "en": ("Reply from {}: bytes=32 time{}ms TTL=64", "Packets: Sent = 4, Received = 3, Lost = 1", "cp437"),
}
"""A reply and the statistics of Windows, and the code page of its console, by language."""


def output_of_windows(reply: str, statistics: str) -> str:
    replies = [reply.format("192.0.2.1", trip) for trip in ("=2", "<1", "=3")]
    return "\r\n".join(["", *replies, "", "192.0.2.1:", f"    {statistics} (25%),", "    0ms, 3ms, 1ms", ""])


@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_windows_is_read_in_every_language_and_encoding(tmp_path: Path, language: str, encoding: str) -> None:
    reply, statistics, code_page = LANGUAGES[language]
    file = tmp_path / "open.txt"
    file.write_bytes(output_of_windows(reply, statistics).encode(encoding or code_page))
    (document,) = read_file(file).documents
    (reading,) = format_of(document).read(document, Asked())
    measured = reading.measurements["rtt"]
    assert [sample.value for sample in measured.samples] == [2.0, 0.5, 3.0]
    assert (measured.facts["sent"], measured.facts["received"], measured.faults) == (4, 3, ())
    assert reading.levels == {"ip": "ipv4", "packet_size": 32}


def read_text(tmp_path: Path, content: str) -> Measurement:
    file = tmp_path / "open.txt"
    file.write_text(content)
    (document,) = read_file(file).documents
    (reading,) = format_of(document).read(document, Asked())
    return reading.measurements["rtt"]


def test_windows_over_ipv6_has_no_size_and_no_ttl(tmp_path: Path) -> None:
    lines = ["Respuesta desde fe80::1%12: tiempo<1m", "Respuesta desde fe80::1%12: tiempo=2ms"]
    statistics = "    Paquetes: enviados = 2, recibidos = 2, perdidos = 0"
    measured = read_text(tmp_path, "\n".join([*lines, statistics, ""]))
    assert [sample.value for sample in measured.samples] == [0.5, 2.0]


def test_messages_of_routers_that_windows_counts_are_no_replies(tmp_path: Path) -> None:
    lines = [
        "Reply from 192.0.2.1: bytes=32 time=2ms TTL=64",
        "Reply from 192.0.2.9: Destination host unreachable.",
    ]
    measured = read_text(
        tmp_path, "\n".join([*lines, "    Packets: Sent = 2, Received = 2, Lost = 0 (0% loss),", ""])
    )
    assert measured.facts["received"] == 1
    assert measured.faults == ()


def reply(number: int, host: str = "192.0.2.2") -> str:
    return f"64 bytes from {host}: icmp_seq={number} ttl=64 time=1.00 ms"


@pytest.mark.parametrize(
    ("lines", "received", "count", "fault"),
    [
        ([reply(1), reply(1), reply(2)], 2, 2, ""),  # a duplicate without its mark
        ([reply(65534), reply(65535), reply(0), reply(1)], 4, 4, ""),  # 16 bits
        ([reply(1), reply(2)], 3, 2, "the file has 2 replies, but its statistics say 3"),
        ([reply(1), reply(1, "192.0.2.3"), reply(2)], 2, 2, "2 hosts answered"),  # broadcast
        ([reply(1)], 1, 1, ""),
    ],
)
def test_each_ping_counts_once(
    tmp_path: Path, lines: list[str], received: int, count: int, fault: str
) -> None:
    measured = read_text(
        tmp_path,
        "\n".join([*lines, f"5 packets transmitted, {received} received, 20% packet loss, time 4000ms", ""]),
    )
    assert len(measured.samples) == count
    assert fault in "".join(measured.faults)
    assert bool(fault) == bool(measured.faults)


def test_pasted_text_may_have_prompts_fences_and_quotation(tmp_path: Path) -> None:
    for margin in ("", "> ", "    ", "\t"):
        pasted = [
            "```console",
            "me@host:~$ ping -c 2 192.0.2.2",
            reply(1),
            reply(2),
            "2 packets transmitted, 2 received",
            "```",
        ]
        measured = read_text(tmp_path, "\n".join(margin + line for line in pasted))
        assert len(measured.samples) == 2
