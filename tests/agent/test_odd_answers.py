"""A call of the controller ends in time, with a value or with one line, for every answer of a host."""

import json
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_json import DEEP, ODD, RANDOM, changed
from pydantic import ValidationError

from airtoll import _rust
from airtoll.agent import processes, sampling
from airtoll.agent.connection import Connection, Head, LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs import joining

GREETING = {"agent": _rust.AGENT_VERSION, "pid": 7, "program": "/airtoll-agent"}
FACTS = {
    "boot_id": "1",
    "kernel": "6.1",
    "architecture": "x86_64",
    "os": "Debian",
    "processor": "CPU",
    "cores": 2,
    "memory_bytes": 2**31,
    "cpu_governor": None,
}
RATE = {"bit_per_s": 65_000_000, "format": "ht", "mcs": 7, "streams": 1, "width_mhz": 20, "guard_ns": 800}
PEER = {"signal_dbm": -40, "tx_rate": RATE, "tx_bytes": 7, "links": {"0": {"rx_bytes": 9}}}
ROW = {
    "t_ns": 10**9,
    "idle_s": [1.5, 2.5],
    "energy_uj": [7, None],
    "carrier": {"wlan0": True},
    "radios": {
        "wlan0": {"peers": {"02:00:00:00:00:01": PEER}, "channel": {"active_ms": 4, "noise_dbm": -90}}
    },
    "events": [{"event": "disconnected", "t_ns": 10**9, "interface": "wlan0", "reason": 3}],
}


def sample(host: AgentHost) -> None:
    with host.sampling(10, ["wlan0"]) as sampled:
        pass
    for reading in sampled.readings:
        for peers in reading.peers.values():
            assert all(str(peer.tx_rate).isprintable() for peer in peers.values())


def run(host: AgentHost) -> None:
    status = host.run(["true"], 0.2).returncode
    assert isinstance(status, int)


def event(**words: Any) -> dict[str, Any]:
    return {"process": 1, **words}


ENDS = [event(stream=name, end=True) for name in ("stdout", "stderr")]
CALLS: dict[str, tuple[Callable[[AgentHost], object], list[dict[str, Any]]]] = {
    "facts": (AgentHost.facts, [{"id": 1, "ok": FACTS}]),
    "lacking": (lambda host: host.lacking(["iw"]), [{"id": 1, "ok": ["iw"]}]),
    "texts": (lambda host: [*host.texts("a", "b")], [{"id": 1, "ok": ["text", None]}]),
    "listens": (lambda host: host.listens("tcp", 1), [{"id": 1, "ok": {"waiting": 1, "connected": 0}}]),
    "drops": (AgentHost.dropped_datagrams, [{"id": 1, "ok": 7}]),
    "clock": (
        AgentHost.clock,
        [{"id": number, "ok": {"arrived_ns": 5, "realtime_ns": 9, "sent_ns": 6}} for number in range(1, 51)],
    ),
    "at_end": (lambda host: host.at_end(["true"]), [{"id": 1, "ok": "/dev/shm/x"}]),  # noqa: S108
    "run": (run, [{"id": 2, "ok": {"pid": 5}}, *ENDS, event(exit=0), {"id": 3, "ok": None}]),
    "sample": (sample, [{"id": 2, "ok": None}, {"sampler": 1, "rows": [ROW]}, {"id": 3, "ok": None}]),
}


def frame(head: bytes) -> bytes:
    return struct.pack(">II", len(head), 0) + head


def answered(folder: Path, call: Callable[[AgentHost], object], heads: list[bytes]) -> None:
    """Call a host that has sent these heads before it was asked, and that ends then."""
    (folder / "frames").write_bytes(b"".join(map(frame, heads)))
    # The answers must not arrive before the requests.
    script = (
        f"head -c {len(frame(heads[0]))} $0; head -c 1 >/dev/null; tail -c +{len(frame(heads[0])) + 1} $0"
    )
    said = "one line"
    try:
        with Connection("board", ["sh", "-c", script, str(folder / "frames")], timeout_s=5) as connection:
            call(AgentHost(connection))
    except AirtollError as error:
        said = str(error)
    assert said.isprintable()


@given(st.sampled_from(sorted(CALLS)), RANDOM, ODD)
def test_any_answer_is_a_value_or_one_line(name: str, at: Random, odd: object) -> None:
    call, heads = CALLS[name]
    every = changed([GREETING, *heads], at, odd)
    if not isinstance(every, list) or not every:
        return
    with TemporaryDirectory() as folder:
        answered(Path(folder), call, [json.dumps(head).encode() for head in every])


@pytest.mark.parametrize(
    "rows",
    [[0] * 5000, [{**ROW, "idle_s": ["x"] * 5000}], [{**ROW, "events": [0] * 5000}]],
    ids=["rows", "times", "events"],
)
def test_a_list_ends_at_its_first_fault(rows: list[Any]) -> None:
    """Pydantic keeps some 500 octets per fault, and a head may have 4 MiB."""
    with pytest.raises(ValidationError) as caught:
        sampling._ROWS.validate_python(Head.model_validate_json(json.dumps({"rows": rows})).rows)
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("name", ["facts", "run"])
def test_deep_nesting_is_one_line(name: str, tmp_path: Path) -> None:
    call, heads = CALLS[name]
    greeting = json.dumps(GREETING).encode()
    deep = json.dumps(heads[0]).replace('"ok": ', '"ok": [').encode()
    answered(tmp_path, call, [greeting, DEEP])
    answered(tmp_path, call, [greeting, deep.replace(b"[", DEEP)])


SILENT = """
import json, struct, sys
while True:
    sys.stdout.buffer.write(struct.pack(">II", len(head := sys.argv[1].encode()), 0) + head)
    sys.stdout.flush()
    head_b, body_b = struct.unpack(">II", sys.stdin.buffer.read(8))
    request = json.loads(sys.stdin.buffer.read(head_b + body_b)[:head_b])
    sys.argv[1] = json.dumps({"id": request["id"], "ok": {"pid": 5} if request["do"] == "start" else None})
"""
"""A host that answers every request, but never reports the end of a command."""


@pytest.mark.parametrize(
    "call",
    [lambda host: host.run(["iw", "dev"], 0.1), lambda host: joining.end(host.popen(["hostapd"]))],
    ids=["run", "end"],
)
def test_a_host_that_reports_no_end_of_a_command_is_lost(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[AgentHost], object]
) -> None:
    for module in (processes, joining):
        monkeypatch.setattr(module, "ANSWER_TIMEOUT_S", 0.1)
    argv = [sys.executable, "-c", SILENT, json.dumps(GREETING)]
    with Connection("board", argv) as connection:
        host = AgentHost(connection)
        with suppress(LostError):
            call(host)
        with pytest.raises(LostError, match=r"^host board: '(iw|hostapd)' did not end within 0 s$"):
            host.facts()


def test_ctrl_c_is_not_taken_for_the_loss_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ANSWER_TIMEOUT_S", 0.1)
    argv = [sys.executable, "-c", SILENT, json.dumps(GREETING)]
    with (
        Connection("board", argv) as connection,
        pytest.raises(KeyboardInterrupt),
        AgentHost(connection).popen(["sleep", "60"]),
    ):
        raise KeyboardInterrupt


def test_a_host_that_stops_reading_holds_no_call(tmp_path: Path) -> None:
    (tmp_path / "frames").write_bytes(frame(json.dumps(GREETING).encode()))
    argv = ["sh", "-c", "cat $0; exec sleep 60", str(tmp_path / "frames")]
    began_s = time.monotonic()
    with Connection("board", argv) as connection:
        with pytest.raises(LostError, match=r"^host board: the agent did not answer within 1 s$"):
            connection.ask("put", b"x" * 1_000_000, answer_s=1, path="/x", mode=0o600)
        with suppress(LostError):
            connection.ask("facts")
    assert time.monotonic() - began_s < 30
