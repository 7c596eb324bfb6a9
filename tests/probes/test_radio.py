"""The radio's activity in a window, from the cell, the link's known facts and its counters."""

from collections.abc import Callable
from typing import Any

import pytest

from airtoll.labs.base import Known, PeerStatistics, RadioRate
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


def test_radios_report_about_each_peer_in_each_interval(cell: MakeCell) -> None:
    fast, slow = RadioRate(bit_per_s=300e6, mcs=15, streams=2, width_mhz=40), RadioRate(bit_per_s=54e6)

    def peers(retries: int, attempts: int) -> dict[tuple[str, str], PeerStatistics]:
        own = PeerStatistics(
            signal_dbm=-40,
            tx_rate=fast,
            rx_rate=slow,
            tx_retries=retries,
            tx_airtime_us=100 * retries,
            attempts={fast: attempts, slow: 5},
        )
        return {("ap", "sta1"): PeerStatistics(signal_dbm=-50), ("ap", "sta2"): own, ("sta1", "ap"): own}

    snapshots = [
        Snapshot(second * SECOND_NS, {}, {}, peers(retries, attempts))
        for second, (retries, attempts) in enumerate([(10, 100), (13, 101), (13, 103)])
    ]
    found = radio.samples(cell(), Known(), snapshots, t_ns=5)
    of_station = {(sample.metric, sample.t_ns): sample.value for sample in found if sample.endpoint == "sta1"}
    first_ns, second_ns = 5, 5 + SECOND_NS
    assert of_station["tx_retries", first_ns] == 3
    assert of_station["tx_retries", second_ns] == 0
    assert {metric: value for (metric, t_ns), value in of_station.items() if t_ns == first_ns} == {
        "signal": -40,
        "tx_rate": 300e6,
        "tx_mcs": 15,
        "tx_streams": 2,
        "tx_width": 40,
        "rx_rate": 54e6,
        "tx_retries": 3,
        "tx_airtime": 300,
    }
    assert {sample.endpoint for sample in found} == {"link", "ap/sta1", "ap/sta2", "sta1"}
    name = "300 Mbit/s, mcs15, streams 2, 40 MHz"
    assert radio.rates(snapshots) == {"ap/sta2": {name: 3}, "sta1": {name: 3}}


def test_the_phy_rate_is_the_mean_of_all_transmissions_if_the_link_has_no_rate(cell: MakeCell) -> None:
    fast, slow = RadioRate(bit_per_s=54e6), RadioRate(bit_per_s=6e6)
    before = {("sta", "ap"): PeerStatistics(attempts={slow: 7})}
    after = {("sta", "ap"): PeerStatistics(attempts={slow: 8, fast: 3})}
    snapshots = [Snapshot(0, {}, {}, before), Snapshot(SECOND_NS, {}, {}, after)]

    def phy_rates(known: Known) -> list[float | None]:
        found = radio.samples(cell(), known, snapshots, t_ns=0)
        return [sample.value for sample in found if sample.metric == "phy_rate"]

    assert phy_rates(Known()) == [42e6]
    assert phy_rates(Known(rate_kbit_per_s=54_000)) == [54e6]
