"""The radio's activity in a window, from the cell, the link's known facts and its counters."""

from typing import Any

import pytest

from airtoll.host import ChannelTimes, HostEvent, HostReading, PeerStatistics, RadioRate
from airtoll.labs.base import Known
from airtoll.probes import radio
from airtoll.probes.watch import Totals, Watched

SECOND_NS = 1_000_000_000


def values(facts: dict[str, float], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    watched = Watched(Totals(7, before), Totals(7 + SECOND_NS, after))
    found = radio.samples(Known(**facts), watched, t_ns=5)
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


def test_retries_and_airtime_are_shares_of_all_senders_in_the_window() -> None:
    before = counters(10.0, 2.0, ap=(1000, 500, 3), sta=(7, 7, 0))
    after = counters(12.0, 3.5, ap=(1060, 510, 3), sta=(27, 16, 1))
    assert values({"rate_kbit_per_s": 54_000}, before, after) == {
        ("phy_rate", "bit/s"): 54e6,
        ("retries", "%"): pytest.approx(100 * 19 / (80 + 19 + 1)),
        ("airtime", "%"): pytest.approx(75),
    }


def received(snr_db: dict[str, int], noise_dbm: float = -93.99) -> dict[str, Any]:
    """The signals of a station, as the emulator and lab sim report them."""
    return {
        "snr_db": snr_db,
        "power_dbm": {f"{noise_dbm + float(value):.2f}": ppdus for value, ppdus in snr_db.items()},
        "noise_dbm": {f"{noise_dbm:.2f}": sum(snr_db.values())},
    }


def test_a_link_without_a_channel_has_no_signals() -> None:
    assert list(radio.of_signals({})) == []
    assert values({}, {}, {"ap": {"mpdus": 3}}) == {}


def test_signals_are_those_of_the_ppdus_in_the_window() -> None:
    def reading(ap: dict[str, int], sta: dict[str, int]) -> dict[str, Any]:
        return {"ap": {"received": received(ap)}, "sta": {"received": received(sta)}, "slips": 0}

    before = reading({"24.00": 100}, {"20.00": 7})
    after = reading({"24.00": 190, "21.50": 10}, {"20.00": 7})
    watched = Watched(Totals(0, before), Totals(SECOND_NS, after))
    found = {(s.metric, s.unit, s.endpoint): s.value for s in radio.samples(Known(), watched, t_ns=0)}
    assert found == {
        ("snr", "dB", "link"): pytest.approx((90 * 24 + 10 * 21.5) / 100),
        ("snr_p5", "dB", "link"): 21.5,
        ("snr_p95", "dB", "link"): 24.0,
        ("noise", "dBm", "link"): -93.99,
        ("rssi", "dBm", "ap"): pytest.approx(-93.99 + 23.75),
    }


def test_the_first_reading_of_a_link_that_has_received_nothing_counts_as_zero() -> None:
    after = {"sta": {"received": received({"12.34": 3})}}
    watched = Watched(Totals(0, {"sta": {"mpdus": 0}}), Totals(SECOND_NS, after))
    found = {s.metric: s.value for s in radio.samples(Known(), watched, t_ns=0)}
    assert found["snr"] == 12.34


@pytest.mark.parametrize("snr_db", [-20.0, 0.01, 12.34, 33.33, 40.0, 99.99])
def test_a_constant_signal_has_its_value_as_mean_and_percentiles(snr_db: float) -> None:
    found = {
        metric: value
        for metric, _, _, value in radio.of_signals({"ap": received({f"{snr_db:.2f}": 1_234_567}, -90.98)})
    }
    assert [found[name] for name in ("snr", "snr_p5", "snr_p95")] == [snr_db] * 3
    assert found["noise"] == -90.98


def test_counters_that_a_link_lacks_have_no_samples() -> None:
    idle = counters(1.0, 0.1, sta=(5, 1, 0))
    assert ("retries", "%") not in values({}, idle, idle)
    assert ("airtime", "%") not in values({}, idle, idle)  # no time elapsed
    assert values({}, {}, {"elapsed_s": 1.0, "air_busy_s": 0.5}) == {}


MACS = {"02:00:00:00:00:00": "ap", "02:00:00:00:00:01": "sta1", "02:00:00:00:00:02": "sta2"}
AP, STA1, STA2 = MACS


def test_radios_report_about_each_peer_in_each_interval() -> None:
    fast, slow = RadioRate(bit_per_s=300e6, mcs=15, streams=2, width_mhz=40), RadioRate(bit_per_s=54e6)

    def own(retries: int) -> PeerStatistics:
        rates = {"tx_rate": fast, "rx_rate": slow}
        return PeerStatistics(signal_dbm=-40, tx_retries=retries, tx_airtime_us=100 * retries, **rates)

    def readings(peers: Any, first_ns: int) -> list[HostReading]:
        return [
            HostReading(at_ns=first_ns + second * SECOND_NS, peers={"wlan0": peers(retries)})
            for second, retries in enumerate((10, 13, 13))
        ]

    def attempts(fast_attempts: int) -> Any:
        active = {ends: {fast: fast_attempts, slow: 5} for ends in (("ap", "sta2"), ("sta1", "ap"))}
        return {("ap", "sta1"): {slow: 5}, **active}

    radios = {  # hosts do not share a clock
        "ap": readings(lambda retries: {STA1: PeerStatistics(signal_dbm=-50), STA2: own(retries)}, 77),
        "sta1": readings(lambda retries: {AP: own(retries)}, 99 * SECOND_NS),
    }
    before, after = (Totals(ns, {}, attempts(of)) for ns, of in ((0, 100), (2 * SECOND_NS, 103)))
    watched = Watched(before, after, radios=radios, macs=MACS)
    found = radio.samples(Known(), watched, t_ns=5)
    of_station = {
        (sample.metric, sample.t_ns): sample.value
        for sample in found
        if sample.endpoint == "sta1" and sample.metric != "link_events"
    }
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
    assert {sample.endpoint for sample in found} == {"link", "ap", "ap/sta1", "ap/sta2", "sta1"}
    name = "300 Mbit/s, mcs15, streams 2, 40 MHz"
    assert radio.rates(watched) == {"ap/sta2": {name: 3}, "sta1": {name: 3}}


def test_the_phy_rate_is_the_mean_of_all_transmissions_if_the_link_has_no_rate() -> None:
    fast, slow = RadioRate(bit_per_s=54e6), RadioRate(bit_per_s=6e6)
    before = {("sta", "ap"): {slow: 7}}
    after = {("sta", "ap"): {slow: 8, fast: 3}}
    watched = Watched(Totals(0, {}, before), Totals(SECOND_NS, {}, after))

    def phy_rates(known: Known) -> list[float | None]:
        found = radio.samples(known, watched, t_ns=0)
        return [sample.value for sample in found if sample.metric == "phy_rate"]

    assert phy_rates(Known()) == [42e6]
    assert phy_rates(Known(rate_kbit_per_s=54_000)) == [54e6]


def of_radio(*readings: HostReading) -> dict[str, float | None]:
    watched = Watched(Totals(0, {}), Totals(SECOND_NS, {}), radios={"sta": readings}, macs=MACS)
    return {s.metric: s.value for s in radio.samples(Known(), watched, t_ns=0) if s.endpoint == "sta"}


def test_the_channel_is_busy_for_a_share_of_the_time_on_it() -> None:
    def reading(mhz: int, active_ms: int | None, busy_ms: int | None) -> HostReading:
        channel = ChannelTimes(frequency_mhz=mhz, active_ms=active_ms, busy_ms=busy_ms)
        return HostReading(at_ns=0, channels={"wlan0": channel})

    first = reading(5180, 1000, 100)
    assert of_radio(first, reading(5180, 1500, 220)) == {"channel_busy": pytest.approx(24)}
    # a driver that does not count, another channel, counters that were reset
    for other in (reading(5180, None, None), reading(5200, 1500, 220), reading(5180, 10, 5), first):
        assert of_radio(first, other) == {}


def test_events_of_a_link_are_counted() -> None:
    def reading(at_ns: int, *events: HostEvent) -> HostReading:
        return HostReading(at_ns=at_ns, peers={"wlan0": {}}, events=events)

    left = HostEvent(event="disconnected", interface="wlan0", reason=3, t_ns=9 * SECOND_NS // 2)
    country = HostEvent(event="regulatory domain changed", country="US", t_ns=4 * SECOND_NS)
    readings = reading(4 * SECOND_NS, left), reading(5 * SECOND_NS, left, country)
    assert of_radio(*readings) == {"link_events": 1}  # the first reading has those from before the window
    assert of_radio(readings[0]) == {"link_events": 0}
