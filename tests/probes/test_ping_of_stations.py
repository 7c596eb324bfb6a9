"""Round-trip times of the ping of macOS and Windows, from recorded output."""

from pathlib import Path

import pytest

from airtoll.probes.ping import INTERVAL_S, command, parse
from airtoll.probes.window import Window

RECORDED = Path(__file__).parents[1] / "importers" / "recorded" / "ping"


@pytest.mark.parametrize(
    ("file", "replies"),
    [
        ("macos.txt", {0: 2.431, 1: 3.118, 3: 2.877}),
        ("windows.txt", {0: 0.5, 1: 3.0, 2: 12.0}),
        ("windows-german.txt", {0: 2.0, 1: 0.5, 2: 4.0}),
    ],
)
def test_each_reply_is_a_sample_at_its_time(file: str, replies: dict[int, float]) -> None:
    samples = parse((RECORDED / file).read_text(errors="replace"), 1.0, Window(1.0, 60.0))
    assert {sample.t_ns // 10**9: sample.value for sample in samples} == replies
    assert [sample.phase for sample in samples] == ["warmup", *["measure"] * (len(replies) - 1)]


def test_a_lost_reply_keeps_the_times_of_the_others() -> None:
    lines = ["64 bytes from 192.0.2.1: icmp_seq=0 ttl=64 time=1.5 ms", "Request timeout for icmp_seq 1"]
    lines += ["64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=2.5 ms"] * 2  # a duplicate
    samples = parse("\n".join(lines), 0.1, Window(0.0, 1.0))
    assert [(sample.t_ns, sample.dur_ns, sample.value) for sample in samples] == [
        (0, 100_000_000, 1.5),
        (200_000_000, 100_000_000, 2.5),
    ]


def test_the_commands_of_the_systems() -> None:
    assert INTERVAL_S["windows"] == 1.0
    assert command("macos", "192.0.2.1", "ipv4", 1408, 50) == [
        *("ping", "-n", "-c", "50", "-i", "0.1", "-s", "1408", "192.0.2.1")
    ]
    assert command("macos", "2001:db8::1", "ipv6", 64, 5)[0] == "ping6"
    assert command("windows", "2001:db8::1", "ipv6", 64, 5) == [
        *("ping", "-6", "-n", "5", "-l", "64", "-w", "1000", "2001:db8::1")
    ]
