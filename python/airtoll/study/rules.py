"""Rules between factors. Factors are crossed, so each level must be compatible with all levels of the others."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.study import claims
from airtoll.study.crossing import Crossed, crossed, every_level, replaced
from airtoll.study.factors import FACTORS, level_text
from airtoll.study.probes import PROBES, lacks
from airtoll.study.quantity import one_of, show
from airtoll.study.scenario import read_scenario, unused_processor
from airtoll.study.schema import Factors, MethodTable, QuickFactors, StudyFile
from airtoll.study.security import OF_LINK, READY_MADE, SecurityProfile, faults, undeclared
from airtoll.study.values import RUNS_MAX

_UDP_IPV6_MAX = 1452  # bytes: MTU 1500 minus 40 of IPv6 (RFC 8200, 3) and 8 of UDP (RFC 768)

Problem = tuple[tuple[str | int, ...], str]
"""Location in the file, and the error at that location."""


def problems(study: StudyFile) -> list[Problem]:
    """All errors of a study whose keys are valid separately."""
    if wheres := [*_factors_where(study.factors), *_link_where(study)]:
        return wheres
    every = study.model_copy(update={"factors": _factors_of(study, every_level(study.factors))})
    parts = [
        study.model_copy(update={"factors": _factors_of(study, part)}) for part in crossed(study.factors)
    ]
    profiles = _profiles(every)
    found = [
        *_placed(profiles, study, every),
        *(
            problem
            for part in parts
            for problem in _placed(
                [
                    *([] if profiles else _medium(part)),
                    *([] if study.link.ip_fragments else _datagrams(part.factors)),
                    *_segments(part),
                ],
                study,
                part,
            )
        ),
        *_placed(_stacks(every), study, every),
        *_unused_processors(study, every.factors),
        *_placed(_probes(every), study, every),
        *unmeasured(study),
        *_stopping(study.method, ("method",)),
        *_sessions(study.method),
        *_claims(every),
    ]
    found = list(dict.fromkeys(found))  # parts of the cells have the same errors
    if study.quick is not None:
        found += _quick_levels(every.factors, study.quick.factors)
        quick = study.quick.model_dump(exclude_none=True, exclude={"factors"})
        found += _stopping(study.method.model_copy(update=quick), ("quick",))
    cells = sum(prod(map(len, part.values())) for part in crossed(study.factors))
    runs = cells * (study.method.discard_first + study.method.repeats)
    if runs > RUNS_MAX:
        text = f"{cells} cells make {runs} runs with their repeats; a study may have at most {RUNS_MAX}"
        found.append((("factors",), text))
    return found


def _factors_of(study: StudyFile, levels: Crossed) -> Factors:
    return study.factors.model_copy(update=dict(levels))


def _placed(found: Iterable[Problem], study: StudyFile, made: StudyFile) -> Iterator[Problem]:
    """Problems of a study that was made from `study`, with the places of the levels in the file."""
    for where, text in found:
        match where:
            case ("factors", str(name), int(index)):
                yield _place_of(study.factors, name, getattr(made.factors, name)[index]), text
            case _:
                yield where, text


def _place_of(factors: Factors, name: str, level: Any) -> tuple[str | int, ...]:
    if level in (own := getattr(factors, name)):
        return "factors", name, own.index(level)
    tables = enumerate(map(replaced, factors.where))
    at, levels = next((at, of[name]) for at, of in tables if level in of.get(name, ()))
    return "factors", "where", at, name, levels.index(level)


def _factors_where(factors: Factors) -> Iterator[Problem]:
    """Errors of the tables [[factors.where]]."""
    replacing = {name for table in factors.where for name in replaced(table)}
    for at, table in enumerate(factors.where):
        where = ("factors", "where", at)
        if not replaced(table):
            yield (
                where,
                "names no levels: give the levels of a factor in these cells, such as rate = ['mcs7']",
            )
        for name in _conditions(table):
            if name == "security":
                text = "security cannot select the cells, because its levels are measured together in a block"
                yield (*where, "levels", name), text
            elif name in replacing:
                text = (
                    f"{name} cannot select the cells, because a table [[factors.where]] replaces its levels"
                )
                yield (*where, "levels", name), text
        yield from _unknown_conditions(where, table, {name: getattr(factors, name) for name in FACTORS})


def _link_where(study: StudyFile) -> Iterator[Problem]:
    """Errors of the tables [[link.where]]."""
    for at, table in enumerate(study.link.where):
        where = ("link", "where", at)
        if table.given().keys() == {"levels"}:
            yield where, "names no setting of the link"
        yield from _unknown_conditions(where, table, every_level(study.factors))


def _conditions(table: Any) -> dict[str, Any]:
    given: dict[str, Any] = table.levels.given()
    return given


def _unknown_conditions(where: tuple[str | int, ...], table: Any, levels: Crossed) -> Iterator[Problem]:
    if not _conditions(table):
        yield (*where, "levels"), "names no level: select the cells by the level of a factor"
    for name, level in _conditions(table).items():
        if level not in levels[name]:
            known = one_of([level_text(name, each) for each in levels[name]])
            text = f"{show(level_text(name, level))} is not a level of factors.{name}; use {known}"
            yield (*where, "levels", name), text


def _unused_processors(study: StudyFile, every: Factors) -> Iterator[Problem]:
    places: list[tuple[tuple[str | int, ...], dict[str, Any]]] = [(("link",), study.link.given())]
    places += [(("link", "where", at), table.given()) for at, table in enumerate(study.link.where)]
    for where, given in places:
        for word, text in unused_processor(given, every.crypto_at):
            yield (*where, word), text


_SUITS: Final = {
    **dict.fromkeys(("security", "rate", "bandwidth", "gi", "streams"), "phy"),
    "stations": "topology",
}
"""Factors to check against the levels of another factor. Only the medium knows the compatible levels."""


def _medium(study: StudyFile) -> list[Problem]:
    """Combinations of levels that the medium refuses, with its own messages."""
    fallback = study.link.legacy_fallback
    found: list[Problem] = []
    for name, beside in _SUITS.items():
        for index, level in enumerate(getattr(study.factors, name)):
            others = getattr(study.factors, beside)
            spoken = _spoken(study, name, level)
            refusals = {other: _refusal({name: spoken, beside: other}, fallback) for other in others}
            for other, refusal in refusals.items():
                if refusal is None:
                    continue
                text = refusal.removeprefix(f"{name}: ")
                if f"{beside} {other}" not in text:
                    text = f"with {beside} {other}: {text}"
                suiting = [each for each in others if refusals[each] is None]
                found.append(
                    (("factors", name, index), "; ".join([text, *_ways_out(name, spoken, other, suiting)]))
                )
    return found


def _spoken(study: StudyFile, name: str, level: Any) -> Any:
    """The level in the words of a scenario: the cipher of a profile of the study. `_profiles` checks its other keys."""
    own = name == "security" and level not in READY_MADE
    return study.security[level].cipher if own else level


def _ways_out(name: str, level: Any, other: str, suiting: Sequence[str]) -> Iterator[str]:
    """Suggestions for a valid study. `suiting` are the study's levels of the other factor that are compatible."""
    beside = _SUITS[name]
    allowed = [each for each in FACTORS[name].choices() if _refusal({name: each, beside: other}) is None]
    if allowed:
        yield f"use {one_of([level_text(name, each) for each in allowed])}"
    if suiting:
        yield (
            f"every {name} is combined with every {beside}: a table [[factors.where]] gives {beside} {other} a {name} "
            f"of its own; or measure {other} and {suiting[0]} in two studies"
        )
    elif beside == "phy":
        have = [each for each in FACTORS[beside].choices() if _refusal({name: level, beside: each}) is None]
        if have:
            yield f"{name} {level_text(name, level)} requires {beside} {one_of(have)}"


def _refusal(words: Mapping[str, Any], fallback: bool | None = None) -> str | None:
    """Return why the medium refuses these levels with all levels of other factors, or None if it does not."""
    scenario = read_scenario(words).model_copy(update={"legacy_fallback": fallback})
    # The valid rates also depend on width and streams.
    return _rust.refusal(scenario.to_json(), "rate" in words)


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
_MSS_MOST_B = {"ipv4": 1460, "ipv6": 1440}  # an MTU of 1500 B minus IP (RFC 791, RFC 8200) and TCP
_TIMESTAMPS_B = 12  # RFC 7323, per segment


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
            f"{show(name)} has no table [stack.{name}]; known stacks: {', '.join(sorted(known))}",
        )
        for index, name in enumerate(study.factors.stack)
        if name not in known
    ]
    if "default" in study.stack:
        found.append((("stack", "default"), "is reserved for the hosts' own stack; use another name"))
    found += [
        (("stack", name), "no level of factors.stack has this name")
        for name in study.stack
        if name not in (*study.factors.stack, "default")
    ]
    return found


_NAME_MAX = 40  # characters: the level is part of a run's name


def _profiles(study: StudyFile) -> list[Problem]:
    """Levels of security without a profile, and profiles that no network can have."""
    found: list[Problem] = [
        (("factors", "security", index), undeclared(name, study.security))
        for index, name in enumerate(study.factors.security)
        if name not in READY_MADE and name not in study.security
    ]
    for name, profile in study.security.items():
        where = ("security", name)
        if name in READY_MADE:
            found.append((where, "is a ready-made level; use another name"))
        elif len(name) > _NAME_MAX:
            found.append((where, f"is longer than {_NAME_MAX} characters"))
        elif name not in study.factors.security:
            found.append((where, "no level of factors.security has this name"))
        faulty = [
            ((*where, *([] if key is None else [key])), text) for key, text in faults(profile, study.link)
        ]
        found += faulty or _refused(profile, study, where)
    return found


def _refused(profile: SecurityProfile, study: StudyFile, where: tuple[str, ...]) -> list[Problem]:
    """The error of the medium, if the words of a profile contradict each other."""
    words = {"beacon_interval": 100, **study.link.model_dump(include=set(OF_LINK), exclude_none=True)}
    refusal = _refusal({**words, "security": profile.cipher, **profile.of_link()})
    if refusal is None:
        return []
    key, colon, text = refusal.partition(": ")
    return [((*where, key), text) if colon and key in SecurityProfile.model_fields else (where, refusal)]


def _probes(study: StudyFile) -> list[Problem]:
    factors, names = study.factors, study.method.probes
    probes = {name: PROBES[name] for name in names}
    found: list[Problem] = [
        (
            ("method", "probes", index),
            f"{name} requires transport {probes[name].transport}, which is not a level of the study",
        )
        for index, name in enumerate(names)
        if probes[name].transport not in (None, *factors.transport)
    ]
    found += [
        (
            ("method", "probes", index),
            f"{name} requires ip {probes[name].ip}, which is not a level of the study",
        )
        for index, name in enumerate(names)
        if probes[name].ip not in (None, *factors.ip)
    ]
    everywhere = [probe for probe in probes.values() if not probe.real_time]
    found += [
        (
            ("factors", "transport", index),
            f"no probe of the study measures {transport}: add throughput to method.probes",
        )
        for index, transport in enumerate(factors.transport)
        if all(probe.transport not in (None, transport) for probe in everywhere)
    ]
    paced = [name for name in names if probes[name].paced]
    if paced and "throughput" in probes and "udp" in factors.transport:
        text = f"{paced[0]} and throughput both measure throughput over udp: use only one of them"
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
        text = f"probe {paced[0]} requires a data rate per sender, such as '20 Mbit/s'"
        found.append((("factors", "offered"), text))
    if study.method.udp_load == "tcp" and len(factors.transport) < 2:
        found.append((("method", "udp_load"), "tcp requires both transports, tcp and udp, in the study"))
    if study.method.udp_load == "tcp" and "throughput" not in probes:
        found.append((("method", "udp_load"), "tcp requires the probe throughput"))
    return found


def unmeasured(study: StudyFile, lab: str = "hosts", clock: Clock = "real") -> Iterator[Problem]:
    """The metrics of the study's report that none of its probes can measure in this lab, by this clock.

    The defaults leave out no probe.
    """
    named = [
        *([] if study.primary is None else [(("primary",), study.primary)]),
        *((("claim", index, "metric"), claim.metric) for index, claim in enumerate(study.claim)),
    ]
    for where, metric in named:
        if (text := lacks(metric, study.method.probes, lab, clock)) is not None:
            yield where, text


def _claims(study: StudyFile) -> list[Problem]:
    levels = {name: getattr(study.factors, name) for name in FACTORS}
    ids = [claim.id for claim in study.claim]
    return [
        (("claim", index, *where), text)
        for index, claim in enumerate(study.claim)
        for where, text in (*claims.faults(claim, levels), *_duplicate_id(claim.id, ids[:index]))
    ]


def _duplicate_id(name: str | None, earlier: Collection[str | None]) -> Iterator[Problem]:
    if name is not None and name in earlier:
        yield ("id",), f"{show(name)} is a duplicate; ids must be unique"


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


def _sessions(method: MethodTable) -> list[Problem]:
    if method.switching == "block":
        return []
    found: list[Problem] = []
    if method.stop != "fixed":
        text = f"session is not allowed with stop {method.stop}: the number of sessions is fixed"
        found.append((("method", "switching"), text))
    if method.sessions > method.repeats:
        text = f"{method.sessions} sessions cannot share {method.repeats} repeats; give at most one session per repeat"
        found.append((("method", "sessions"), text))
    return found


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
