"""The radio's activity in a window, from the cell, the link's known facts and its counters."""

from collections.abc import Callable
from typing import Any

import pytest

from airtoll.labs.base import Known
from airtoll.probes import radio
from airtoll.probes.cpu import Snapshot
from airtoll.study.cell import Cell

MakeCell = Callable[..., Cell]
SECOND_NS = 1_000_000_000


def values(
    cell: Cell, facts: dict[str, float], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    snapshots = [Snapshot(7, {}, before), Snapshot(7 + SECOND_NS, {}, after)]
    found = radio.samples(cell, Known(**facts), snapshots, t_ns=5)
    assert {(s.probe, s.endpoint, s.direction, s.t_ns, s.dur_ns, s.phase) for s in found} <= {
        ("radio", "link", "", 5, SECOND_NS, "measure")
    }
    return {(sample.metric, sample.unit): sample.value for sample in found}


def counters(elapsed_s: float, busy_s: float, **senders: tuple[int, int, int]) -> dict[str, Any]:
    own = {
        name: {"mpdus": mpdus, "retries": retries, "drops_retry": drops}
        for name, (mpdus, retries, drops) in senders.items()
    }
    return {"elapsed_s": elapsed_s, "air_busy_s": busy_s, "slips": 3, **own}


def test_retries_and_airtime_are_shares_of_all_senders_in_the_window(cell: MakeCell) -> None:
    before = counters(10.0, 2.0, ap=(1000, 500, 3), sta=(7, 7, 0))
    after = counters(12.0, 3.5, ap=(1060, 510, 3), sta=(27, 16, 1))
    assert values(cell(), {"rate_kbit_per_s": 54_000}, before, after) == {
        ("phy_rate", "bit/s"): 54e6,
        ("retries", "%"): pytest.approx(100 * 19 / (80 + 19 + 1)),
        ("airtime", "%"): pytest.approx(75),
    }


def test_a_link_without_noise_has_no_snr_and_no_noise_metric(cell: MakeCell) -> None:
    assert values(cell(snr="none"), {}, {}, {}) == {}


@pytest.mark.parametrize(
    ("levels", "noise_dbm"),
    [
        # -174 dBm/Hz + 10 log10 B + 7 dB: the noise floors that ns-3's defaults give
        ({"bandwidth": 20}, -93.99),
        ({"phy": "ht", "bandwidth": 40}, -90.98),
        ({"phy": "vht", "bandwidth": 80}, -87.97),
        ({"phy": "dsss"}, -93.58),  # over 22 MHz (IEEE Std 802.11-2020, 15.4.5.5)
    ],
)
def test_noise_is_thermal_over_the_width_of_the_channel(
    cell: MakeCell, levels: dict[str, Any], noise_dbm: float
) -> None:
    found = values(cell(snr=21.5, **levels), {}, {}, {})
    assert found["snr", "dB"] == 21.5
    assert found["noise", "dBm"] == pytest.approx(noise_dbm, abs=0.005)


def test_counters_that_a_link_lacks_have_no_samples(cell: MakeCell) -> None:
    idle = counters(1.0, 0.1, sta=(5, 1, 0))
    assert ("retries", "%") not in values(cell(), {}, idle, idle)
    assert ("airtime", "%") not in values(cell(), {}, idle, idle)  # no time elapsed
    assert values(cell(), {}, {}, {"elapsed_s": 1.0, "air_busy_s": 0.5}) == {}
