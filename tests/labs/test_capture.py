"""The capture of a real link is, as read by tshark, the capture of a monitor beside the link."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from observer import since_joining, tshark
from test_offload import transfer
from virtual_time import clock

from airtoll.labs.air import Air
from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings

BEACON, RTS, CTS, BLOCK_ACK, ACK = "0x0008", "0x001b", "0x001c", "0x0019", "0x001d"
DATA, QOS_DATA = "0x0020", "0x0028"
FIELDS = (
    *("wlan.fc.type_subtype", "wlan_radio.data_rate", "wlan_radio.channel", "wlan_radio.short_preamble"),
    *("wlan.fc.retry", "wlan.qos.tid", "wlan_radio.phy", "wlan.ta"),
    *("wlan.fcs.status", "_ws.malformed", "radiotap.dbm_antsignal", "radiotap.dbm_antnoise"),
)
STATION = "02:00:00:00:00:02"

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.virtual_time]


def captured(
    link_cell: Cell, settings: LinkSettings, capture: Path
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """The frames of a transfer over such a link, and the link's counters."""
    air = Air(settings, clock=clock())
    assert air.check(link_cell) is None
    with air.open(link_cell, seed=11, pcap=capture) as link:
        transfer(link, "tcp", "ipv4")
        counters = link.counters()
        facts = link.facts
    rows = tshark(
        capture,
        *since_joining(facts),
        *(word for field in FIELDS for word in ("-e", field)),
        *("-o", "wlan.check_checksum:TRUE"),
        key=facts["temporal_keys"]["sta"],
    )
    frames = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    assert {frame["wlan.fcs.status"] for frame in frames} == {"1"}
    assert {frame["_ws.malformed"] for frame in frames} == {""}
    assert (counters["capture_lost"], counters["open_errors"]) == (0, 0)
    return frames, counters


def of(frames: list[dict[str, str]], *subtypes: str) -> list[dict[str, str]]:
    return [frame for frame in frames if frame["wlan.fc.type_subtype"] in subtypes]


def values(frames: list[dict[str, str]], field: str) -> set[str]:
    return {frame[field] for frame in frames}


@pytest.mark.parametrize("security", ["wep104", pytest.param("tkip", marks=pytest.mark.long)])
def test_dsss_with_its_short_preamble(cell: Callable[..., Cell], tmp_path: Path, security: str) -> None:
    link_cell = cell(phy="dsss", rate="5.5 Mbit/s", security=security)
    frames, _ = captured(link_cell, LinkSettings(preamble="short"), tmp_path / "air.pcap")
    data = of(frames, DATA)
    assert values(data, "wlan_radio.data_rate") == {"5.5"}
    assert values(of(frames, ACK), "wlan_radio.data_rate") == {"2"}
    assert values(frames, "wlan_radio.short_preamble") == {"1"}
    assert values(frames, "wlan_radio.channel") == {"6"}
    # The link may be closed before the Ack of the last frame.
    assert len(of(frames, ACK)) + 1 >= len(data) > 250


def test_protection_and_beacons_of_an_erp_bss(cell: Callable[..., Cell], tmp_path: Path) -> None:
    settings = LinkSettings(protection="cts-to-self", beacon_interval=20, access_category="vi", txop_limit=0)
    link_cell = cell(phy="erp", rate="24 Mbit/s", security="ccmp")
    frames, counters = captured(link_cell, settings, tmp_path / "air.pcap")
    beacons = of(frames, BEACON)
    assert len(beacons) >= counters["elapsed_s"] / 0.02048 - 3
    assert values(beacons, "wlan_radio.data_rate") == {"1"}
    data = of(frames, QOS_DATA)
    assert values(data, "wlan.qos.tid") == {"5"}
    assert values(data, "wlan_radio.phy") == {"6"}, "802.11g"
    assert len(of(frames, CTS)) >= len(data)
    assert values(of(frames, CTS), "wlan_radio.data_rate") == {"2"}, "the highest basic rate of DSSS"


def test_a_bss_with_802_11b_stations_sends_its_protection_in_cck(
    cell: Callable[..., Cell], tmp_path: Path
) -> None:
    settings = LinkSettings(dot11b_stations=True, protection="rts-cts", beacon_interval=20)
    link_cell = cell(phy="erp", rate="54 Mbit/s", security="ccmp")
    frames, _ = captured(link_cell, settings, tmp_path / "air.pcap")
    protection = of(frames, RTS, CTS)
    assert values(protection, "wlan_radio.data_rate") == {"11"}, "the highest basic rate of DSSS"
    assert len(of(frames, RTS)) >= len(of(frames, DATA))
    assert values(of(frames, ACK), "wlan_radio.data_rate") == {"24"}, "answers to OFDM are OFDM"
    assert values(frames, "radiotap.dbm_antsignal") == {""}, "a medium without a channel"


def test_every_frame_has_the_signal_of_its_fading(cell: Callable[..., Cell], tmp_path: Path) -> None:
    path_loss = {"model": "tgn-b", "distance_m": 5.0}
    settings = LinkSettings.model_validate(
        {"path_loss": path_loss, "fading": "rayleigh", "coherence_time": "2 ms", "error_model": "none"}
    )
    link_cell = cell(phy="ht", rate="mcs0", security="ccmp")
    frames, counters = captured(link_cell, settings, tmp_path / "air.pcap")
    assert values(frames, "radiotap.dbm_antnoise") == {"-94"}
    seen = Counter(
        int(frame["radiotap.dbm_antsignal"]) for frame in of(frames, QOS_DATA) if frame["wlan.ta"] == STATION
    )
    assert len(seen) > 8
    # 16 dBm less free space to 5 m (46.73 + 13.98 dB). The median of Rayleigh fading is 1.6 dB below its mean.
    assert median(seen.elements()) == pytest.approx(-44.7 - 1.6, abs=4)
    received = {float(dbm): ppdus for dbm, ppdus in counters["ap"]["received"]["power_dbm"].items()}
    assert {round(dbm) for dbm in received} >= set(seen) - {min(seen), max(seen)}
    assert sum(received.values()) >= 20


def test_long_frames_of_ht_in_the_2_4_ghz_band_begin_with_an_rts(
    cell: Callable[..., Cell], tmp_path: Path
) -> None:
    link_cell = cell(phy="ht", rate="mcs3", security="gcmp")
    settings = LinkSettings(band="2.4 GHz", rts_threshold=1000)
    frames, _ = captured(link_cell, settings, tmp_path / "air.pcap")
    assert values(frames, "wlan_radio.channel") == {"6"}
    assert values(of(frames, QOS_DATA), "wlan_radio.phy") == {"7"}, "802.11n"
    assert {STATION} == values(of(frames, RTS), "wlan.ta"), "acknowledgements of TCP are short"
    assert len(of(frames, CTS)) == len(of(frames, RTS)) > 0
    assert of(frames, BLOCK_ACK)


def test_noise_and_rate_control(cell: Callable[..., Cell], tmp_path: Path) -> None:
    settings = LinkSettings(error_model="yans", rate_control="minstrel")
    link_cell = cell(phy="vht", rate="mcs8", snr=17.0, security="ccmp256")
    frames, counters = captured(link_cell, settings, tmp_path / "air.pcap")
    data = of(frames, QOS_DATA)
    rates = Counter(frame["wlan_radio.data_rate"] for frame in data if frame["wlan.ta"] == STATION)
    assert len(rates) > 2
    assert rates["78"] < rates.total() / 4, "at 17 dB the fastest rate loses everything"
    again = [frame for frame in data if frame["wlan.fc.retry"] == "1"]
    retries = counters["sta"]["retries"] + counters["ap"]["retries"]
    assert 0 < len(again) <= retries
    assert len(data) > counters["sta"]["mpdus"], "the monitor reads what its receiver could not"


def test_dropped_mpdus_do_not_delay_later_mpdus(cell: Callable[..., Cell], tmp_path: Path) -> None:
    settings = LinkSettings(error_model="nist", retry_limit=2)
    link_cell = cell(phy="ht", rate="mcs7", snr=23.4, security="ccmp")
    frames, counters = captured(link_cell, settings, tmp_path / "air.pcap")
    assert counters["sta"]["drops_retry"] > 0
    assert values(of(frames, QOS_DATA), "wlan.fc.retry") == {"0", "1"}


def test_a_setting_that_needs_other_frames_is_refused(cell: Callable[..., Cell]) -> None:
    reason = Air(LinkSettings(amsdu=3839), clock=clock()).check(cell(phy="ht", rate="mcs7"))
    assert reason == "link.amsdu: lab air cannot set it; lab sim can"
