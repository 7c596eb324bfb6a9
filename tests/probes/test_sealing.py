"""The inference of the place where a station seals its frames."""

from types import SimpleNamespace
from typing import Any

import pytest

from airtoll.cli.doctor import inferred
from airtoll.labs.base import Link
from airtoll.probes import sealing
from airtoll.probes.sealing import SealingLoad


def test_a_cpu_that_had_no_time_to_seal_did_not_seal() -> None:
    # 2 Gbit take 172,652 segments of 1448 octets. At 20 us per segment, sealing takes 3.45 s; the test allows for half.
    slow = SealingLoad(gbit=2.0, busy_s=1.0, seal_us=20.0)
    assert slow.software_s == pytest.approx(1.7265, rel=1e-3)
    assert slow.is_in_hardware
    assert slow.sentence() == (
        "Inferred from a load of 3 s: the card seals the frames (the CPU was busy for 0.50 s per Gbit, and sealing "
        "in software takes at least 0.86 s)."
    )


def test_a_busy_cpu_tells_nothing() -> None:
    fast = SealingLoad(gbit=2.0, busy_s=1.0, seal_us=0.6)
    assert not fast.is_in_hardware
    assert fast.sentence().startswith("A load of 3 s does not tell where frames are sealed (")


def test_the_load_is_measured_on_the_station(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "LOAD_S", 1.0)
    found = sealing.load(link.hosts["sta"], link.hosts["ap"], link.addresses["ap", "ipv4"], "ccmp")
    assert found.gbit > 0
    assert found.busy_s > 0
    assert 0 < found.seal_us < 1000


def test_doctor_says_why_it_cannot_infer(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    def lab(*roles: str, **lacking: list[str]) -> Any:
        machines = SimpleNamespace(
            host=lambda role: SimpleNamespace(name=role, lacking=lambda _: lacking.get(role, [])),
            addresses_of=lambda role: {"ipv4": link.addresses[role, "ipv4"]},
        )
        return SimpleNamespace(inventory=SimpleNamespace(hosts=roles), machines=machines)

    assert inferred(lab("sta", "ap"), "sta", "open") == "The network is open, so no frames are sealed."
    assert "requires a host server or ap" in inferred(lab("sta", "sta2"), "sta", "ccmp")
    assert "requires iperf3 on host ap: apt-get" in inferred(lab("sta", "ap", ap=["iperf3"]), "sta", "ccmp")
    monkeypatch.setattr(sealing, "load", lambda *_: SealingLoad(gbit=1.0, busy_s=1.0, seal_us=0.5))
    assert inferred(lab("sta", "ap"), "sta", "ccmp").startswith("A load of 3 s does not tell ")
