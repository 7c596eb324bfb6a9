"""The sentences of a report about its subject, method and verdicts."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from airtoll.condition import mixture
from airtoll.probes.iperf3_report import OVERLOAD
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.parts import card, round_trips
from airtoll.study.cell import Method
from airtoll.study.probes import PROBES


def lede(data: ReportData) -> Iterator[str]:
    """The security levels, the flows and the runs: what a reader must know about the first sentences."""
    yield subject(data)
    yield run_counts(data)
    yield from (f"Warning: {warning}." for warning in warnings(data))
    yield from told_once(data)


def warnings(data: ReportData) -> Iterator[str]:
    """Why the figures may not be those of one measurement: damaged files, runs of several origins."""
    if data.damage is not None:
        yield f"this result is {data.damage}"
    yield from mixture(run.record for run in data.runs if run.record is not None)


def table_note(data: ReportData) -> str:
    """How to read the table."""
    note = f"Mean over {data.units} \N{PLUS-MINUS SIGN} half of the 95 % confidence interval (Student's t)."
    if len(data.comparison.levels) > 1:
        baseline = text.level(data.comparison.baseline or "")
        note += f" Differences and changes are means over pairs of {data.units} within blocks, against {baseline}."
    return note


def subject(data: ReportData) -> str:
    """One sentence about the security levels and the flows."""
    if not data.runs:
        return "No runs are planned."
    levels = text.levels(data.compared.levels)
    fixed = ", ".join(word for name, word in data.fixed.items() if name not in (*text.IN_FLOW, "security"))
    count = len({run.run.cell.model_copy(update={"security": "open"}) for run in data.runs})
    flows = f"{text.counted(count, 'flow')} ({fixed})" if fixed else text.counted(count, "flow")
    return f"Security: {levels}, each on {flows}."


def told_once(data: ReportData) -> Iterator[str]:
    """Why some levels are shown once: lab sim cannot tell them apart."""
    others: dict[str, dict[Any, None]] = defaultdict(dict)
    for cell, first in data.duplicates.items():
        for name, level in first.model_dump(exclude={"security"}).items():
            if level != (own := getattr(cell, name)):
                others[name] |= {level: None, own: None}
    for name, levels in others.items():
        words = text.listing(text.factor(name, level) for level in levels)
        yield f"Lab sim cannot tell {words} apart: they are one experiment, shown once."
    for level in data.comparison.levels:
        same = data.same_as(level)
        if len(same) > 1:
            on_hosts = all(cell.sealed_at == "host" for cell in data.duplicates if cell.security in same)
            why = (
                "it has no host CPU"
                if on_hosts
                else "their frames are equally long and take equally long to seal"
            )
            yield (
                f"Lab sim cannot tell {text.levels(same)} apart, because {why}: they are one experiment, shown as "
                f"{text.level(level)}."
            )


def run_counts(data: ReportData) -> str:
    """The number of runs planned and counted, and the reasons why the others are not counted."""
    left_out = text.reasons(data.comparison.left_out)
    planned = len(data.plan.runs)
    parts = [f"{text.counted(planned, 'run')} planned, {len(data.counting)} counted"]
    parts += [f"left out: {left_out}"] if left_out else []
    parts += (
        [text.counted(repeats, "repeat") + " of invalid runs"]
        if (repeats := len(data.runs) - planned)
        else []
    )
    parts += [f"{unneeded} not needed"] if (unneeded := data.counts.get("not needed", 0)) else []
    return f"{'; '.join(parts)}."


def method(data: ReportData) -> list[str]:
    """How the figures were obtained and computed: what the runs of this result did, in its lab."""
    lines = [
        *(_imported(data) if data.is_imported else _planned(data)),
        f"{_unit(data)} Intervals and equivalence verdicts apply to each change separately; they are not adjusted for "
        "the number of comparisons. p-values are adjusted by Holm's method over all changes of a metric, which share "
        "one figure.",
        "Changes in percent are geometric means of ratios within blocks; their intervals are computed on "
        "logarithms.",
        "Invalid and discarded runs are stored, but no figure includes them.",
    ]
    if data.quick:
        lines.append("The study was shortened by its [quick] table.")
    return lines


def _unit(data: ReportData) -> str:
    """The unit of replication."""
    if data.in_sessions:
        return (
            "The session is the unit of replication, because the runs of a session are not independent of each other: "
            "each metric has the mean of the runs as its value in the session, and intervals are over sessions."
        )
    return "The run is the unit of replication: each run gives one value per metric, and intervals are over runs."


def _planned(data: ReportData) -> Iterator[str]:
    """The procedure of a study that airtoll ran."""
    m = data.method
    if data.in_sessions:
        yield (
            f"The runs of each setting of the access point are in {text.counted(m.sessions, 'session')}. Each block "
            "contains one session of every setting, in the reverse order of the block before (ABBA), so that a steady "
            "drift affects all settings alike. The cells of a session are in random order."
        )
    elif data.is_simulated:
        yield (
            "Each block contains one run of every security level of an otherwise equal cell. The runs of a block share "
            "a seed, and so draw the same backoffs."
        )
    else:
        yield (
            "Each block contains one run of every security level of an otherwise equal cell, in random order, so "
            "that the runs of a pair are close in time."
        )
    yield _replicates(m)
    if (reason := data.plan.clock_reason) is not None:
        yield f"airtoll selected the clock: {reason}."
    done = {name for run in data.runs if run.record for name in run.record.probes}
    probes = [name for name in m.probes if name in done] or m.probes
    if data.is_simulated:
        yield (
            "The medium, the hosts and their traffic are simulated in virtual time: "
            f"{text.listing(map(_measured, probes))}. Each probe simulates {m.duration:g} s after a warm-up of "
            f"{m.warmup:g} s that is not counted."
        )
    else:
        yield (
            f"Probes, in this order: {text.listing(map(_measured, probes))}. Each probe "
            f"runs for {m.duration:g} s after a warm-up of {m.warmup:g} s that is not counted."
        )
    yield from round_trips.tool_sentences(data)
    if (of_card := card.sentence(data)) is not None:
        yield of_card
    yield from _loads(data)
    yield from _profiles(data)
    yield from _stacks(data)
    seeds = "the backoffs" if data.is_simulated else "the order of runs"
    yield f"Seed {m.seed} determines {seeds}."


def _imported(data: ReportData) -> Iterator[str]:
    """The origin of imported runs, whose order and offered load airtoll did not choose."""
    discarded = data.counts["discarded"]
    yield (
        f"{text.counted(len(data.runs), 'test')} recorded by other tools, one per run"
        f"{f'; {discarded} of the tests are discarded as warm-up' if discarded else ''}. The order of the runs, their "
        "warm-up and their load are those of the measurement. The runs of a block are compared with each other."
    )
    unknown = dict.fromkeys(name for run in data.runs for name in run.run.cell.unknown)
    if unknown:
        yield (
            f"Neither the files nor their owner told the levels of {', '.join(unknown)}. The model predicts only cells "
            "whose levels are all known."
        )


def _measured(probe: str) -> str:
    """A phrase for the measurements of the probe of that name."""
    return (probe in PROBES and PROBES[probe].measures) or probe


def _replicates(m: Method) -> str:
    kept = f", after {text.counted(m.discard_first, 'discarded replicate')}" if m.discard_first else ""
    if m.stop == "fixed":
        return f"{text.counted(m.repeats, 'replicate')} of each cell{kept}."
    until = (
        f"the {m.confidence:g} % interval of its mean extends at most {m.within:g} % of the mean to each side"
        if m.stop == "precision"
        else f"its last two replicates differ by at most {m.within:g} % of the larger"
    )
    return (
        f"Each cell is repeated until {until}, with {m.least_repeats} to {m.repeats} replicates{kept}. The first "
        "metric of the cell decides. All levels of a block continue until each has enough replicates; further runs "
        "are not needed."
    )


def _loads(data: ReportData) -> Iterator[str]:
    """The offered load of UDP, and the meaning of packet size over TCP. Only a probe of throughput has either."""
    if not {"throughput", "ftp"} & set(data.method.probes):
        return
    cells = {run.run.cell for run in data.runs}
    offered = {cell.offered for cell in cells if cell.transport == "udp"}
    if "max" in offered:
        yield _most_load(data)
    if loads := sorted(load for load in offered if load != "max"):
        shown = text.listing(f"{load:g}" for load in loads)
        yield f"Each sender offers {shown} Mbit/s of UDP payload."
    if data.is_simulated and any(cell.transport == "tcp" for cell in cells):
        yield "TCP always has data to send and fills its segments: the packet size has no effect on it."
        return
    for size in sorted({cell.tcp_size for cell in cells if cell.transport == "tcp"}, reverse=True):
        yield (
            "For TCP, the packet size is the size of one write to the socket; TCP chooses the length of segments."
            if size == "write"
            else "For TCP, the packet size is the payload of a segment (MSS)."
        )


def _most_load(data: ReportData) -> str:
    """The load of the UDP senders that the study asks to offer the most, with the loads that their runs recorded."""
    if data.method.udp_load == "tcp":
        return "UDP offers the mean TCP throughput of the same cell, whose runs come first."
    if data.is_simulated:
        return "UDP senders are saturated: a datagram is always waiting."
    loads = sorted(
        load / 1e6
        for run in data.runs
        if run.run.cell.transport == "udp" and run.run.cell.offered == "max" and run.record is not None
        if isinstance(load := run.record.probes.get("throughput", {}).get("offered_bit_per_s"), int | float)
    )
    ends = [text.number(load, 1) for load in (loads[0], loads[-1])] if loads else []
    said = f" ({' to '.join(dict.fromkeys(ends))} Mbit/s per sender)" if ends else ""
    times = f"{OVERLOAD:g} times the capacity of the open link{said}"
    return f"UDP offers {times}, the same load for every level of a block."


def _profiles(data: ReportData) -> Iterator[str]:
    """The security profiles of the study's own tables, with the keys that [link] and hostapd's rules supply."""
    link, profiles = data.plan.link, data.plan.profiles
    if not profiles:
        return
    each = (
        f"{name}{f' ({profile.title})' if profile.title else ''}: {profile.on(link).words()}"
        for name, profile in profiles.items()
    )
    yield f"Security profiles of the study, in hostapd's words. {'; '.join(each)}."


def _stacks(data: ReportData) -> Iterator[str]:
    """Which operating systems the stack settings imitate, and the limits of that imitation."""
    stacks = data.plan.stacks
    if not stacks:
        return
    systems = "; ".join(f"{name}: {stack.system}" for name, stack in stacks.items())
    yield (
        "Operating systems are imitated by settings of the hosts' TCP/IP stack; other differences between the systems "
        f"are not imitated. {systems}."
    )


def verdicts(data: ReportData) -> list[str]:
    """The number of runs by outcome, all invalid runs, and metrics of valid runs that do not count, with reasons."""
    return [
        run_counts(data),
        *(f"{run.run.id}: {'; '.join(run.outcome.reasons)}" for run in data.runs if run.is_invalid),
        *(
            f"{run.run.id}: {metric} does not count: {why}"
            for run in data.runs
            if run.record is not None
            for metric, why in run.record.verdict.spoiled.items()
        ),
    ]
