"""Which levels go together: factors are crossed, so each level must suit every level of the other factors."""

from math import prod

from airtoll.study.quantity import OFDM_RATE, one_of, show
from airtoll.study.schema import FACTORS, HT_MCS, Factors, QuickFactors, StudyFile, level_text

RUNS_MAX = 9999  # a run's name has four digits for its place in the order

_UDP_IPV6_MAX = 1452  # bytes: MTU 1500 less 40 of IPv6 (RFC 8200, 3) and 8 of UDP (RFC 768)

Problem = tuple[tuple[str | int, ...], str]
"""Where in the file, and what is wrong there."""


def problems(study: StudyFile) -> list[Problem]:
    """All that is wrong with a study whose every key is right by itself."""
    factors = study.factors
    found = _security_phy(factors) + _rate_phy(factors) + _ofdm_only(factors) + _datagrams(factors)
    if study.quick is not None:
        found += _quick_levels(factors, study.quick.factors)
    cells = prod(len(getattr(factors, name)) for name in FACTORS)
    runs = cells * (study.method.discard_first + study.method.repeats)
    if runs > RUNS_MAX:
        text = f"{cells} cells make {runs} runs with their repeats; a study may have {RUNS_MAX}"
        found.append((("factors",), text))
    return found


def _security_phy(factors: Factors) -> list[Problem]:
    # mac80211 (ieee80211_mgd_assoc) and hostapd keep the same rule by turning HT off: what is then measured,
    # silently, is 802.11a without aggregation.
    reasons = {
        "tkip": "between HT stations TKIP is no choice of pairwise cipher (IEEE 802.11-2016, 12.6.3)",
        "wep40": "no RSNA has WEP as pairwise cipher (IEEE 802.11-2016, 9.4.2.25.2), and WEP turns HT off",
    }
    reasons["wep104"] = reasons["wep40"]
    return [
        (
            ("factors", "security", index),
            f"{security} with phy ht is impossible: {reasons[security]}; "
            "measure it with phy ofdm, or take ccmp or gcmp with ht",
        )
        for index, security in enumerate(factors.security)
        if security in reasons and "ht" in factors.phy
    ]


def _rate_phy(factors: Factors) -> list[Problem]:
    rates = {"ofdm": f"{one_of([str(v) for v in OFDM_RATE.values])} {OFDM_RATE.unit}", "ht": "mcs0 to mcs31"}
    found: list[Problem] = []
    for index, rate in enumerate(factors.rate):
        owner = "ht" if rate in HT_MCS else "ofdm"
        for phy in factors.phy:
            if phy == owner:
                continue
            text = f"{show(rate)} is not a rate of phy {phy}, which has {rates[phy]}"
            if owner in factors.phy:
                text += "; every rate is combined with every phy, so measure ofdm and ht in two studies"
            found.append((("factors", "rate", index), text))
    return found


def _ofdm_only(factors: Factors) -> list[Problem]:
    if "ofdm" not in factors.phy:
        return []
    came = "with phy ofdm is impossible: it came with ht (IEEE 802.11-2016, clause 19)"
    remedy = "or measure ht in a study of its own" if "ht" in factors.phy else "or phy ht"
    wide: list[Problem] = [
        (("factors", "bandwidth", index), f"{mhz} MHz {came}; use 20 MHz {remedy}")
        for index, mhz in enumerate(factors.bandwidth)
        if mhz != 20
    ]
    short: list[Problem] = [
        (("factors", "gi", index), f"{gi} {came}; use long {remedy}")
        for index, gi in enumerate(factors.gi)
        if gi != "long"
    ]
    return wide + short


def _datagrams(factors: Factors) -> list[Problem]:
    if "udp" not in factors.transport or "ipv6" not in factors.ip:
        return []
    return [
        (
            ("factors", "packet_size", index),
            f"{size} B with udp and ipv6 is impossible without fragments at an MTU of 1500 B; "
            f"at most {_UDP_IPV6_MAX} B fit",
        )
        for index, size in enumerate(factors.packet_size)
        if size > _UDP_IPV6_MAX
    ]


def _quick_levels(factors: Factors, quick: QuickFactors) -> list[Problem]:
    return [
        (
            ("quick", "factors", name, index),
            f"{show(level_text(name, level))} is not a level of factors.{name}; keep some of "
            + one_of([level_text(name, known) for known in getattr(factors, name)]),
        )
        for name in FACTORS
        for index, level in enumerate(getattr(quick, name) or ())
        if level not in getattr(factors, name)
    ]
