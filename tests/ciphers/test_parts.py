"""Times of the parts of a frame. Assertions about speed hold despite the noise of the machine."""

import json
import subprocess
from collections.abc import Sequence

import pytest

from airtoll.agent import binary
from airtoll.ciphers import speed
from airtoll.ciphers.peers import Peers, program

ENGINE = [str(binary.local()), "engine"]


def measured(suite: str, payload_b: int = 1436) -> dict[str, float]:
    """Microseconds per frame by part. If the clock was unsteady, a part has no figure and is measured for longer."""
    for within_s in (0.2, 2, 20):
        command = [*ENGINE, suite, str(payload_b), str(within_s)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        found = {one["part"]: one["us"] for one in json.loads(done.stdout)["parts"]}
        if len(found) == 4:
            return found
    pytest.skip("this machine has a clock that is never steady")


@pytest.mark.parametrize("suite", ["wep104", "tkip", "ccmp", "gcmp256", "enhanced4"])
def test_sealing_takes_as_long_as_airtoll_ciphers_says(suite: str) -> None:
    one_by_one = [
        speed.BenchmarkCase(suite, 1436, way)
        for way in speed.WAYS
        if (way.batch, way.operation) == (1, "seal")
    ]
    own = steady(one_by_one)
    assert own.implementation == "airtoll"
    by_ciphers_us = 8 * 1436 / own.gbit_per_s / 1e3
    found = measured(suite)
    assert found["seal"] == pytest.approx(by_ciphers_us, rel=1.0)
    assert found["open"] == pytest.approx(by_ciphers_us, rel=2.0)
    # Neither half is free, and except for noise, neither half takes longer than both together.
    assert max(found["mic"], found["cipher"]) < 1.5 * found["seal"]


def steady(case: Sequence[speed.BenchmarkCase]) -> speed.SpeedMeasurement:
    """The engine's speed. While other work changes the clock of the CPU, there is no result, and it is repeated."""
    with Peers(program()) as peers:
        for _attempt in range(10):
            ((_, speeds),) = speed.measure(peers, case, speed.choose_backend())
            if speeds:
                return speeds[0]
    raise AssertionError("the clock of the CPU was never steady")


@pytest.mark.skipif(
    speed.choose_backend() == "portable",
    reason="this CPU has no AES instructions: the portable engine computes all lanes at once",
)
def test_lanes_shorten_the_mic_chain() -> None:
    one, eight = (measured(f"enhanced{lanes}")["mic"] for lanes in (1, 8))
    # 92 blocks in a row against 12. Eight lanes fill the AES unit, so another thread of the same core delays them; a
    # single chain leaves the unit idle, so the other thread does not delay the chain.
    assert one > 1.25 * eight


@pytest.mark.parametrize(
    "arguments", [["open", "100", "0.1"], ["ccmp", "many", "0.1"], ["ccmp", "100", "-1"], ["ccmp"]]
)
def test_an_impossible_measurement_fails_with_one_line(arguments: list[str]) -> None:
    done = subprocess.run([*ENGINE, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("engine: ")
    assert done.stderr.count("\n") == 1
