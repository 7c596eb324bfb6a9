"""The statistics of minstrel, the rate control of mac80211, and a fixed rate in its place.

debugfs has a file `rc_stats_csv` per station that a radio sends to, with one row per rate that both ends support. Its
columns are (net/mac80211/rc80211_minstrel_ht_debugfs.c): mode, guard interval, streams, flags of the best rates, name,
index, airtime, and others. The fourth from the end is the total of attempts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airtoll.errors import AirtollError
from airtoll.host import RadioRate
from airtoll.study.cell import Cell
from airtoll.study.phys import PHYS

DEBUG: Final = Path("/sys/kernel/debug/ieee80211")
"""The folder in debugfs with a folder per radio."""

_DSSS_MBPS: Final = (1, 2, 5.5, 11)
_OFDM_MBPS: Final = (6, 9, 12, 18, 24, 36, 48, 54)
_BASIC_MBPS: Final[Mapping[str, Sequence[float]]] = {"2.4": (1, 2), "5": (6, 12, 24)}
"""The basic rates of hostapd by band. With OFDM in the 2.4 GHz band, 5.5 and 11 Mbit/s are basic rates too."""

_DATA_SUBCARRIERS: Final = {20: 52, 40: 108, 80: 234, 160: 468}
"""Data subcarriers by width in MHz (IEEE Std 802.11-2020, Tables 19-6 and 21-5)."""

_BITS_PER_SUBCARRIER: Final = (0.5, 1, 1.5, 2, 3, 4, 4.5, 5, 6, 20 / 3)
"""Data bits per subcarrier and stream by MCS of VHT (IEEE Std 802.11-2020, 21.5). HT has the first eight (19.5)."""

_SYMBOL_US: Final = {"LGI": 4.0, "SGI": 3.6}


@dataclass(frozen=True)
class MinstrelRate:
    """A rate in the words of minstrel's statistics."""

    mode: str  # VHT80, HT40, OFDM, CCK
    guard: str  # LGI, SGI; of CCK the preamble: LP, SP
    streams: int
    name: str  # MCS9/1, MCS7, 54.0M

    @property
    def phy_rate(self) -> RadioRate:
        """The rate with its speed."""
        if self.name.endswith("M"):
            return RadioRate(bit_per_s=float(self.name.removesuffix("M")) * 1e6)
        mcs = int(self.name.removeprefix("MCS").split("/")[0])
        vht = self.mode.startswith("VHT")
        width_mhz = int(self.mode.removeprefix("VHT").removeprefix("HT"))
        bits = self.streams * _BITS_PER_SUBCARRIER[mcs if vht else mcs % 8] * _DATA_SUBCARRIERS[width_mhz]
        bit_per_s = bits / _SYMBOL_US[self.guard] * 1e6
        return RadioRate(bit_per_s=bit_per_s, mcs=mcs, streams=self.streams, width_mhz=width_mhz)


@dataclass(frozen=True)
class MinstrelRow:
    """A row of minstrel's statistics."""

    rate: MinstrelRate
    index: str
    attempts: int


def rows(text: str) -> Iterator[MinstrelRow]:
    """The rows of a file `rc_stats_csv`."""
    for line in text.splitlines():
        mode, guard, streams, _, name, index, *_, attempts, _, _, _ = line.split(",")
        yield MinstrelRow(MinstrelRate(mode, guard, int(streams), name.strip()), index, int(attempts))


def _stations(role: str) -> Iterator[Path]:
    """The folders in debugfs of the peers of the host's radio, which are named by MAC address."""
    yield from sorted(DEBUG.glob(f"{role}/netdev:*/stations/*"))


def _rows(station: Path) -> Iterator[MinstrelRow]:
    return rows((station / "rc_stats_csv").read_text(encoding="ascii"))


def attempts(role: str) -> dict[str, dict[RadioRate, int]]:
    """The transmissions to each peer by MAC address and by rate, without rates that the radio has not used."""
    return {
        station.name: {row.rate.phy_rate: row.attempts for row in _rows(station) if row.attempts}
        for station in _stations(role)
    }


def fix(role: str, cell: Cell) -> None:
    """Make the host's radio use the cell's rate for every Data frame."""
    wanted = rate_of(cell)
    for station in _stations(role):
        index = next((row.index for row in _rows(station) if row.rate == wanted), None)
        if index is None:
            raise AirtollError(f"lab linux: {role} does not support the rate {wanted.phy_rate}")
        (DEBUG / role / "rc" / "fixed_rate_idx").write_text(index, encoding="ascii")


def only(cell: Cell, channel_mhz: int) -> list[str]:
    """The cell's rate, as arguments of `iw dev INTERFACE set bitrates`.

    The kernel refuses rates without a basic rate. A legacy rate that is not basic comes with the highest basic rate
    below it, which minstrel then uses only if the cell's rate fails.
    """
    rate, band = rate_of(cell), _band(channel_mhz)
    if not PHYS[cell.phy].is_ht:
        mbps = rate.phy_rate.bit_per_s / 1e6
        basic = max(each for each in _BASIC_MBPS[band] if each <= mbps)
        return [f"legacy-{band}", *(f"{each:g}" for each in sorted({basic, mbps}))]
    guard = f"{rate.guard.lower()}-{band}"
    mcs = str(rate.phy_rate.mcs)
    return [f"{cell.phy}-mcs-{band}", f"{rate.streams}:{mcs}" if cell.phy == "vht" else mcs, guard]


def up_to(cell: Cell, channel_mhz: int) -> list[str]:
    """The rates that do not exceed the cell's rate and streams, as arguments of `iw dev INTERFACE set bitrates`."""
    band = _band(channel_mhz)
    highest = rate_of(cell)
    if not PHYS[cell.phy].is_ht:
        mbps = highest.phy_rate.bit_per_s / 1e6
        # The kernel refuses rates without a basic rate, and those of the 2.4 GHz band are DSSS rates.
        rates = (
            _OFDM_MBPS if band == "5" else _DSSS_MBPS if cell.phy == "dsss" else (*_DSSS_MBPS, *_OFDM_MBPS)
        )
        return [f"legacy-{band}", *(f"{rate:g}" for rate in rates if rate <= mbps)]
    mcs = highest.phy_rate.mcs or 0
    most = highest.streams * _BITS_PER_SUBCARRIER[mcs if cell.phy == "vht" else mcs % 8]
    of_ht = 8 if cell.phy == "ht" else len(_BITS_PER_SUBCARRIER)
    allowed = {
        streams: [index for index, bits in enumerate(_BITS_PER_SUBCARRIER[:of_ht]) if streams * bits <= most]
        for streams in range(1, highest.streams + 1)
    }
    guard = f"{highest.guard.lower()}-{band}"
    if cell.phy == "vht":
        return [f"vht-mcs-{band}", *(f"{s}:0-{indices[-1]}" for s, indices in allowed.items()), guard]
    return [
        f"ht-mcs-{band}",
        *(str(8 * (s - 1) + index) for s, of_s in allowed.items() for index in of_s),
        guard,
    ]


def _band(channel_mhz: int) -> str:
    """The band of the channel, as iw spells it."""
    return "5" if channel_mhz > 5000 else "2.4"


def rate_of(cell: Cell) -> MinstrelRate:
    """The rate of a cell."""
    guard = "SGI" if cell.gi == "short" else "LGI"
    rate = str(cell.rate)
    if cell.phy == "vht":
        mcs = rate.removeprefix("mcs")
        return MinstrelRate(f"VHT{cell.bandwidth}", guard, cell.streams, f"MCS{mcs}/{cell.streams}")
    if cell.phy == "ht":
        index = int(rate.removeprefix("mcs"))
        streams = max(cell.streams, index // 8 + 1)
        return MinstrelRate(f"HT{cell.bandwidth}", guard, streams, f"MCS{index % 8 + 8 * (streams - 1)}")
    mbps = float(rate.removesuffix(" Mbit/s"))
    if mbps in _DSSS_MBPS:
        return MinstrelRate("CCK", "LP", 1, f"{mbps:.1f}M")
    return MinstrelRate("OFDM", "", 1, f"{mbps:.1f}M")
