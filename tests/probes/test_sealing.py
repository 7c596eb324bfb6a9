"""The inference of the place where a station seals its frames."""

import pytest

from airtoll.labs.base import Link
from airtoll.probes import sealing
from airtoll.probes.sealing import SealingLoad


def test_a_cpu_that_had_no_time_to_seal_did_not_seal() -> None:
    # 1 Gbit is 86,326 segments of 1448 octets; 20 us each are 1.73 s, of which a half is certain.
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
