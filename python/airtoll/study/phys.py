"""The PHYs, as the medium declares them: Rust alone knows their words, rates, widths and limits.

The levels of the factors `phy`, `rate`, `bandwidth`, `gi` and `streams`, their texts and their errors derive from here.
A new PHY is one file in `crates/wlan-air/src/phy` and one line in its table `PHYS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from airtoll import _rust

PHYS: Final[Mapping[str, _rust.Phy]] = {phy.word: phy for phy in _rust.phys()}
"""Every PHY by its word, in the order of the standard's clauses."""

ALIASES: Final[Mapping[str, str]] = {
    name: word
    for word, phy in PHYS.items()
    for name in (phy.amendment, phy.amendment.removeprefix("802.11"), phy.generation)
    if name
}
"""Users' names of the PHYs: "802.11ac", "ac", "wifi5"."""

MCS: Final[Sequence[str]] = max((phy.rates for phy in PHYS.values() if phy.has_mcs), key=len)
"""The MCSs of the PHY that has the most."""

STREAMS_MAX: Final = max(phy.max_streams for phy in PHYS.values())


def mbps(rate: str) -> float:
    """A non-HT rate as a number: 5.5 for "5.5 Mbit/s"."""
    number = float(rate.removesuffix(" Mbit/s"))
    return int(number) if number.is_integer() else number


def meanings(mbps: float) -> str:
    """The settings with MCSs whose data rate is `mbps`: "mcs9 with phy vht, bandwidth 80, gi short and streams 2"."""
    return "; or ".join(
        f"{rate} with phy {phy}, bandwidth {bandwidth}, gi {gi} and streams {streams}"
        for phy, rate, bandwidth, gi, streams in _rust.modes_at(mbps)
    )


def _union(of: Callable[[_rust.Phy], Iterable[float]]) -> tuple[float, ...]:
    return tuple(sorted({value for phy in PHYS.values() for value in of(phy)}))


NON_HT_RATES_MBPS: Final = _union(lambda phy: () if phy.has_mcs else map(mbps, phy.rates))
BANDWIDTHS_MHZ: Final = _union(lambda phy: phy.bandwidths_mhz)


def names() -> str:
    """The PHYs with their amendments: "dsss is 802.11b, ofdm 802.11a"."""
    first, *rest = PHYS.values()
    return ", ".join([f"{first.word} is {first.amendment}", *(f"{phy.word} {phy.amendment}" for phy in rest)])


def usual_rates() -> str:
    """The default rate of every PHY: "11, 54 Mbit/s, mcs7"."""
    non_ht = [f"{mbps(phy.usual_rate):g}" for phy in PHYS.values() if not phy.has_mcs]
    return ", ".join([f"{', '.join(non_ht)} Mbit/s", *(phy.usual_rate for phy in _with_mcs())])


def non_ht_names(*, with_rates: bool) -> str:
    """The PHYs with non-HT rates: "dsss (1, 2, 5.5, 11) and ofdm (6, 9)", or "dsss and ofdm"."""
    same: dict[tuple[str, ...], list[str]] = {}
    for phy in PHYS.values():
        if not phy.has_mcs:
            same.setdefault(tuple(phy.rates), []).append(phy.word)
    if not with_rates:
        return _and([word for words in same.values() for word in words])
    return ", ".join(
        f"{_and(words)} ({', '.join(f'{mbps(rate):g}' for rate in rates)})" for rates, words in same.items()
    )


def mcs_ranges(separator: str = ", ", template: str = "{rates} for {phy}") -> str:
    """The MCSs of every PHY: "mcs0 to mcs31 for ht, mcs0 to mcs9 for vht"."""
    ranges = ((f"{phy.rates[0]} to {phy.rates[-1]}", phy.word) for phy in _with_mcs())
    return separator.join(template.format(rates=rates, phy=word) for rates, word in ranges)


def widths_with_requirements() -> str:
    """The widths that only some PHYs have: "40 MHz requires phy ht or vht, 80 and 160 MHz require vht"."""
    needs: dict[tuple[str, ...], list[int]] = {}
    for width in BANDWIDTHS_MHZ:
        having = tuple(word for word, phy in PHYS.items() if width in phy.bandwidths_mhz)
        if len(having) < len(PHYS):
            needs.setdefault(having, []).append(int(width))
    clauses: list[str] = []
    for having, widths in needs.items():
        phy = "" if clauses else "phy "
        verb = "requires" if len(widths) == 1 else "require"
        clauses.append(f"{_and([str(width) for width in widths])} MHz {verb} {phy}{' or '.join(having)}")
    return ", ".join(clauses)


def with_short_gi() -> str:
    """The PHYs that have the short guard interval: "ht or vht"."""
    return " or ".join(word for word, phy in PHYS.items() if "short" in phy.guard_intervals)


def streams_limits() -> str:
    """The PHYs with several streams but fewer than the most: "at most 4 for ht, whose rates ... imply their number"."""
    limits = []
    for phy in PHYS.values():
        if 1 < phy.max_streams < STREAMS_MAX:
            limit = f"at most {phy.max_streams} for {phy.word}"
            if phy.mcs_per_stream is not None:
                implying = f"{phy.rates[phy.mcs_per_stream]} to {phy.rates[-1]}"
                limit += f", whose rates {implying} imply their number"
            limits.append(limit)
    return ", ".join(limits)


def newest_non_ht(phy: str, band: str) -> str:
    """The newest PHY with non-HT rates that the PHY's stations support in a band: "erp" for ht at 2.4 GHz."""
    _, word, _ = PHYS[phy].non_ht[band][-1]
    return word


def is_implying_streams(phy: str, rate: str) -> bool:
    """Whether the rate is an MCS of several streams, so that it implies their number."""
    per_stream = PHYS[phy].mcs_per_stream
    return per_stream is not None and rate not in MCS[:per_stream]


def _with_mcs() -> Iterable[_rust.Phy]:
    return (phy for phy in PHYS.values() if phy.has_mcs)


def _and(words: Sequence[Any]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else str(last)
