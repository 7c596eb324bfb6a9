"""Which levels go together: factors are crossed, so each level must suit every level of the other factors."""

from math import prod

from airtoll.study.factors import FACTORS, level_text
from airtoll.study.probes import PROBES
from airtoll.study.quantity import DSSS_RATES, OFDM_RATES, RATE, one_of, show
from airtoll.study.schema import Factors, MethodTable, QuickFactors, StudyFile
from airtoll.study.values import HT_MCS, VHT_MCS

RUNS_MAX = 9999  # a run's name has four digits for its place in the order

_UDP_IPV6_MAX = 1452  # bytes: MTU 1500 less 40 of IPv6 (RFC 8200, 3) and 8 of UDP (RFC 768)

Problem = tuple[tuple[str | int, ...], str]
"""Where in the file, and what is wrong there."""


def problems(study: StudyFile) -> list[Problem]:
    """All that is wrong with a study whose every key is right by itself."""
    factors = study.factors
    found = [
        *([] if study.link.legacy_fallback else _security_phy(factors)),
        *_rate_phy(factors),
        *_lacking(factors),
        *_topology(factors),
        *([] if study.link.ip_fragments else _datagrams(factors)),
        *_segments(study),
        *_stacks(study),
        *_probes(study),
        *_stopping(study.method, ("method",)),
    ]
    if study.quick is not None:
        found += _quick_levels(factors, study.quick.factors)
        quick = study.quick.model_dump(exclude_none=True, exclude={"factors"})
        found += _stopping(study.method.model_copy(update=quick), ("quick",))
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
    fast = [phy for phy in factors.phy if phy in ("ht", "vht")]  # a VHT station is an HT station (4.3.14)
    return [
        (
            ("factors", "security", index),
            f"{security} with phy {fast[0]} is impossible: {reasons[security]}; "
            f"measure it with phy ofdm, or take ccmp or gcmp with {fast[0]}; "
            "link.legacy_fallback = true lets its stations fall back to legacy rates, as real ones do",
        )
        for index, security in enumerate(factors.security)
        if fast and security in reasons
    ]


_IN_MBIT_S = {
    phy: tuple(RATE.text(rate) for rate in rates)
    for phy, rates in (("dsss", DSSS_RATES), ("ofdm", OFDM_RATES), ("erp", OFDM_RATES))
}
_RATES: dict[str, tuple[str, ...]] = {**_IN_MBIT_S, "ht": HT_MCS, "vht": VHT_MCS}
"""The rates of each PHY. The medium knows which of them need what width and how many streams."""


def _rates(phy: str) -> str:
    if phy in _IN_MBIT_S:
        return one_of([rate.removesuffix(f" {RATE.unit}") for rate in _RATES[phy]]) + f" {RATE.unit}"
    return f"{_RATES[phy][0]} to {_RATES[phy][-1]}"


def _rate_phy(factors: Factors) -> list[Problem]:
    found: list[Problem] = []
    for index, rate in enumerate(factors.rate):
        for phy in factors.phy:
            if rate in _RATES[phy]:
                continue
            text = f"{show(rate)} is not a rate of phy {phy}, which has {_rates(phy)}"
            owners = [owner for owner in factors.phy if rate in _RATES[owner]]
            if owners:
                text += (
                    "; every rate is combined with every phy, so measure "
                    f"{' and '.join(p for p in factors.phy if p in (phy, owners[0]))} in two studies"
                )
            found.append((("factors", "rate", index), text))
    return found


_HAVE: dict[str, dict[str, tuple[object, ...]]] = {
    "bandwidth": {
        **dict.fromkeys(_IN_MBIT_S, (20,)),
        "ht": (20, 40),
        "vht": (20, 40, 80, 160),
    },
    "gi": {**dict.fromkeys(_IN_MBIT_S, ("long",)), **dict.fromkeys(("ht", "vht"), ("long", "short"))},
    "streams": {
        **dict.fromkeys(_IN_MBIT_S, (1,)),
        "ht": tuple(range(1, 5)),
        "vht": tuple(range(1, 9)),
    },
}
"""The levels that each PHY has of what came with HT and VHT."""

_CAME = {"ht": "clause 19", "vht": "clause 21"}


def _lacking(factors: Factors) -> list[Problem]:
    """Levels that came with a later PHY than one of the study's."""
    found: list[Problem] = []
    for name, levels_of in _HAVE.items():
        for index, level in enumerate(getattr(factors, name)):
            lacking = [phy for phy in factors.phy if level not in levels_of[phy]]
            if not lacking:
                continue
            since = next(phy for phy in _CAME if level in levels_of[phy])
            usual = level_text(name, levels_of[lacking[0]][0])  # type: ignore[arg-type]
            several = since in factors.phy
            remedy = f"or measure {since} in a study of its own" if several else f"or phy {since}"
            words = f"{level} streams" if name == "streams" else level_text(name, level)
            text = (
                f"{words} with phy {lacking[0]} is impossible: it came with {since} "
                f"(IEEE 802.11-2016, {_CAME[since]}); use {usual} {remedy}"
            )
            found.append((("factors", name, index), text))
    return found


def _topology(factors: Factors) -> list[Problem]:
    if "point-to-point" not in factors.topology:
        return []
    return [
        (
            ("factors", "stations", index),
            f"{stations} stations with topology point-to-point is impossible: it has one; "
            'take topology = ["stations"], which has any number',
        )
        for index, stations in enumerate(factors.stations)
        if stations > 1
    ]


def _datagrams(factors: Factors) -> list[Problem]:
    if "udp" not in factors.transport or "ipv6" not in factors.ip:
        return []
    return [
        (
            ("factors", "packet_size", index),
            f"{size} B with udp and ipv6 is impossible without fragments at an MTU of 1500 B; "
            f"at most {_UDP_IPV6_MAX} B fit; link.ip_fragments = true lets IP fragment them",
        )
        for index, size in enumerate(factors.packet_size)
        if size > _UDP_IPV6_MAX
    ]


_MSS_LEAST_B = 88  # Linux: TCP_MIN_MSS
_MSS_MOST_B = {"ipv4": 1460, "ipv6": 1440}  # an MTU of 1500 B less IP (RFC 791, RFC 8200) and TCP
_TIMESTAMPS_B = 12  # RFC 7323, of every segment


def _segments(study: StudyFile) -> list[Problem]:
    factors = study.factors
    if "tcp" not in factors.transport or "mss" not in factors.tcp_size:
        return []
    stacks = [study.stack[name].timestamps for name in factors.stack if name in study.stack]
    without = study.link.timestamps is False and True not in stacks
    of_options = 0 if without else _TIMESTAMPS_B
    least = _MSS_LEAST_B - of_options
    most = min(_MSS_MOST_B[ip] for ip in factors.ip) - of_options
    return [
        (
            ("factors", "packet_size", index),
            f"{size} B with tcp_size mss is impossible over {one_of(factors.ip)}: "
            f"segments carry {least} to {most} B",
        )
        for index, size in enumerate(factors.packet_size)
        if not least <= size <= most
    ]


def _stacks(study: StudyFile) -> list[Problem]:
    known = {"default", *study.stack}
    found: list[Problem] = [
        (
            ("factors", "stack", index),
            f"{show(name)} has no table [stack.{name}]; there are {', '.join(sorted(known))}",
        )
        for index, name in enumerate(study.factors.stack)
        if name not in known
    ]
    if "default" in study.stack:
        found.append((("stack", "default"), "this is the name of the hosts' own stack; take another"))
    found += [
        (("stack", name), "no level of factors.stack has this name")
        for name in study.stack
        if name not in (*study.factors.stack, "default")
    ]
    return found


def _probes(study: StudyFile) -> list[Problem]:
    factors, names = study.factors, study.method.probes
    probes = {name: PROBES[name] for name in names}
    found: list[Problem] = [
        (
            ("method", "probes", index),
            f"{name} needs transport {probes[name].transport}, which is no level of the study",
        )
        for index, name in enumerate(names)
        if probes[name].transport not in (None, *factors.transport)
    ]
    found += [
        (
            ("factors", "transport", index),
            f"no probe of the study measures {transport}: add throughput to method.probes",
        )
        for index, transport in enumerate(factors.transport)
        if all(probe.of_cpu or probe.transport not in (None, transport) for probe in probes.values())
    ]
    paced = [name for name in names if probes[name].paced]
    if paced and "throughput" in probes and "udp" in factors.transport:
        text = f"{paced[0]} and throughput measure the same of udp: take one of them"
        found.append((("method", "probes"), text))
    found += [
        (
            ("factors", "packet_size", index),
            f"{size} B with probe {name} is impossible: its headers take {probe.least_b} B",
        )
        for name, probe in probes.items()
        for index, size in enumerate(factors.packet_size)
        if size < probe.least_b
    ]
    if paced and "max" in factors.offered:
        text = f"a {paced[0]} has a data rate: give it for each sender, like '20 Mbit/s'"
        found.append((("factors", "offered"), text))
    if study.method.udp_load == "tcp" and len(factors.transport) < 2:
        found.append((("method", "udp_load"), "tcp needs both transports, tcp and udp, in the study"))
    if study.method.udp_load == "tcp" and "throughput" not in probes:
        found.append((("method", "udp_load"), "tcp needs the probe throughput"))
    return found


def _stopping(method: MethodTable, where: tuple[str, ...]) -> list[Problem]:
    if method.stop == "fixed" or 2 <= method.least_repeats <= method.repeats:
        return []
    return [
        (
            (*where, "least_repeats"),
            f"{method.least_repeats} is not allowed with stop {method.stop}; give a whole number from 2 to repeats, "
            f"which is {method.repeats}",
        )
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
