"""The statistics that nl80211 has of the peers of a host's radio, as iw(8) prints them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from airtoll.labs.base import Host, PeerStatistics, RadioRate, succeed

_TIMEOUT_S: Final = 10.0
_T = TypeVar("_T")


def peers(host: Host, interface: str) -> dict[str, PeerStatistics]:
    """The statistics by the peer's MAC address. Raises AirtollError with the last words of iw if it fails."""
    return parse(_iw(host, interface, "station", "dump").decode(errors="replace"))


def channel(host: Host, interface: str) -> tuple[int, int] | None:
    """The centre of the primary channel and the width of the channel in MHz; None without a channel."""
    text = _iw(host, interface, "info").decode(errors="replace")
    found = re.search(r"^\tchannel \d+ \((\d+) MHz\), width: (\d+) MHz", text, re.MULTILINE)
    return None if found is None else (int(found[1]), int(found[2]))


def protects_management(host: Host, interface: str) -> bool | None:
    """Whether a station protects management frames with its access point; None if it has none."""
    text = _iw(host, interface, "station", "dump").decode(errors="replace")
    found = re.search(r"^\tMFP:\s+(yes|no)$", text, re.MULTILINE)
    return None if found is None else found[1] == "yes"


def allow_rates(host: Host, interface: str, words: Sequence[str]) -> None:
    """Allow the host's radio only these rates for Data frames: the arguments of `iw dev INTERFACE set bitrates`.

    Raises AirtollError if the kernel refuses them.
    """
    _iw(host, interface, "set", "bitrates", *words)


def _iw(host: Host, interface: str, *words: str) -> bytes:
    return succeed(host, ["iw", "dev", interface, *words], _TIMEOUT_S, f"iw on {host.name}")


def parse(text: str) -> dict[str, PeerStatistics]:
    """The statistics in the output of `iw dev INTERFACE station dump`, by MAC address."""
    found = {}
    for block in re.split(r"^Station ", text, flags=re.MULTILINE)[1:]:
        address, _, lines = block.partition(" ")
        pairs = (line.split(":", 1) for line in lines.splitlines() if ":" in line)
        values = {name.strip(): value.strip() for name, value in pairs}
        found[address] = PeerStatistics(
            signal_dbm=_read(values, "signal", _number),
            tx_rate=_read(values, "tx bitrate", _rate),
            rx_rate=_read(values, "rx bitrate", _rate),
            tx_packets=_read(values, "tx packets", int),
            tx_retries=_read(values, "tx retries", int),
            tx_failed=_read(values, "tx failed", int),
            tx_airtime_us=_read(values, "tx duration", _airtime_us),
            rx_airtime_us=_read(values, "rx duration", _airtime_us),
        )
    return found


def _read(values: Mapping[str, str], name: str, read: Callable[[str], _T | None]) -> _T | None:
    return read(values[name]) if name in values else None


def _number(value: str) -> float:
    return float(value.split(maxsplit=1)[0])


def _airtime_us(value: str) -> int | None:
    """A total of airtime; None for 0, which Linux reports if the driver does not measure airtime."""
    return int(value.split(maxsplit=1)[0]) or None


def _rate(value: str) -> RadioRate | None:
    """A rate such as "325.0 MBit/s VHT-MCS 7 80MHz short GI VHT-NSS 1"; None if the radio has not sent or received."""
    if (speed := re.match(r"([\d.]+) MBit/s", value)) is None:
        return None
    mcs, streams, width_mhz = (
        None if (told := re.search(pattern, value)) is None else int(told[1])
        for pattern in (r"\bMCS (\d+)", r"NSS (\d+)", r"\b(\d+)MHz")
    )
    if mcs is not None:
        # An MCS of HT implies its streams, and iw omits a width of 20 MHz.
        streams, width_mhz = streams or mcs // 8 + 1, width_mhz or 20
    return RadioRate(bit_per_s=float(speed[1]) * 1e6, mcs=mcs, streams=streams, width_mhz=width_mhz)
