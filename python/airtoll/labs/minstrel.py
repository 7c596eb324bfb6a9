"""The statistics of minstrel, the rate control of mac80211, and a fixed rate in its place.

debugfs has a file `rc_stats_csv` per station that a radio sends to, with one row per rate that both ends support. Its
columns are (net/mac80211/rc80211_minstrel_ht_debugfs.c): mode, guard interval, streams, flags of the best rates, name,
index, airtime, and others. The fourth from the end is the total of attempts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.host import RadioRate
from airtoll.labs.network import band_of
from airtoll.study.cell import Cell
from airtoll.study.phys import PHYS, mbps

DEBUG: Final = Path("/sys/kernel/debug/ieee80211")
"""The folder in debugfs with a folder per radio."""

_BY_LABEL: Final = {phy.label: phy for phy in PHYS.values()}

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
        label = self.mode.rstrip("0123456789")
        phy, width_mhz = _BY_LABEL[label], int(self.mode.removeprefix(label))
        bits = self.streams * _bits(phy, mcs) * phy.data_subcarriers[width_mhz]
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
    rate, phy, band = rate_of(cell), PHYS[cell.phy], band_of(channel_mhz)
    if not phy.has_mcs:
        mbps = rate.phy_rate.bit_per_s / 1e6
        _, oldest, _ = phy.non_ht[band][0]
        basic = max(
            rate for rate, of, is_basic in phy.non_ht[band] if of == oldest and is_basic and rate <= mbps
        )
        return [f"legacy-{_spelled(band)}", *(f"{each:g}" for each in sorted({basic, mbps}))]
    mcs = str(rate.phy_rate.mcs)
    return _allowed(phy, band, rate, [f"{rate.streams}:{mcs}" if phy.mcs_per_stream is None else mcs])


def up_to(cell: Cell, channel_mhz: int) -> list[str]:
    """The rates that do not exceed the cell's rate and streams, as arguments of `iw dev INTERFACE set bitrates`."""
    highest, phy, band = rate_of(cell), PHYS[cell.phy], band_of(channel_mhz)
    if not phy.has_mcs:
        mbps = highest.phy_rate.bit_per_s / 1e6
        # The kernel refuses rates without a basic rate, and those of the 2.4 GHz band are DSSS rates.
        rates = (rate for rate, _, _ in phy.non_ht[band] if rate <= mbps)
        return [f"legacy-{_spelled(band)}", *(f"{rate:g}" for rate in rates)]
    most = highest.streams * _bits(phy, highest.phy_rate.mcs or 0)
    every = range(len(phy.bits_per_subcarrier))
    allowed = {
        streams: [mcs for mcs in every if streams * _bits(phy, mcs) <= most]
        for streams in range(1, highest.streams + 1)
    }
    if (per_stream := phy.mcs_per_stream) is None:
        return _allowed(phy, band, highest, [f"{streams}:0-{mcss[-1]}" for streams, mcss in allowed.items()])
    with_streams = [per_stream * (streams - 1) + mcs for streams, mcss in allowed.items() for mcs in mcss]
    return _allowed(phy, band, highest, [str(mcs) for mcs in with_streams])


def _allowed(phy: _rust.Phy, band: str, rate: MinstrelRate, mcss: Sequence[str]) -> list[str]:
    spelled = _spelled(band)
    return [f"{phy.label.lower()}-mcs-{spelled}", *mcss, f"{rate.guard.lower()}-{spelled}"]


def _bits(phy: _rust.Phy, mcs: int) -> float:
    """The data bits per subcarrier and stream of an MCS, which may imply the streams."""
    bits, of = phy.bits_per_subcarrier[mcs % len(phy.bits_per_subcarrier)]
    return bits / of


def _spelled(band: str) -> str:
    """The band as iw spells it: "2.4"."""
    return band.removesuffix(" GHz")


def rate_of(cell: Cell) -> MinstrelRate:
    """The rate of a cell."""
    guard = "SGI" if cell.gi == "short" else "LGI"
    rate, phy = str(cell.rate), PHYS[cell.phy]
    if phy.has_mcs:
        mcs, streams = int(rate.removeprefix("mcs")), cell.streams
        if (per_stream := phy.mcs_per_stream) is None:
            name = f"MCS{mcs}/{streams}"
        else:
            streams = max(streams, mcs // per_stream + 1)
            name = f"MCS{mcs % per_stream + per_stream * (streams - 1)}"
        return MinstrelRate(f"{phy.label}{cell.bandwidth}", guard, streams, name)
    name = f"{mbps(rate):.1f}M"
    is_dsss = any(rate in of.rates for of in PHYS.values() if of.is_dsss)
    return MinstrelRate("CCK", "LP", 1, name) if is_dsss else MinstrelRate("OFDM", "", 1, name)
