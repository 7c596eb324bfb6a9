"""Measure how often the intervals of `airtoll.stats` cover the true value, in simulated experiments.

Every number comes from the functions that reports use. Seeds are fixed: the page is the same on every machine, up to
rounding. The tests call `simulated` with fewer experiments.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from page import publish

from airtoll.stats import (
    Agreement,
    Fixed,
    Interval,
    Precision,
    RunNumber,
    StoppingRule,
    aligned,
    by_unit,
    describe_all,
    enough,
    fit,
    independent_difference,
    interaction_ratio,
    matched_ratio,
    paired_differences,
    paired_ratios,
)
from airtoll.stats.equivalence import LogMean, equivalences
from airtoll.stats.paired import Pairs
from airtoll.study import Study, expand
from airtoll.study.cell import Run

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

EXPERIMENTS = 10_000
SIZES = (3, 5, 20, 40)
MEAN = 30.0  # for example Mbit/s
COST = 0.97
"""Ratio of the secured level's mean to the open level's mean."""
BLOCK_CV = 0.10
"""Coefficient of variation of the drift between blocks, which both runs of a pair share."""
CELLS = 4
"""Pairs of cells of a matched ratio and of an interaction."""
SESSIONS = (3, 4, 6, 10)
"""Sessions of each setting of the access point."""
RUNS = 5
"""Runs of each cell in a session."""
SESSION_CV = 0.03
"""Coefficient of variation of the effect of a session, which all its runs share."""
DRIFT = 0.10
"""Change of the mean from the first to the last run of a study in sessions, as a share of the mean."""
NOMINAL, LOW, HIGH = 95.0, 93.0, 97.0


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Factors of mean 1, coefficient of variation 3 %."""
    return random.normal(1.0, 0.03, shape)


def lognormal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Factors with the same mean and variation whose logarithms are normal."""
    sigma = np.sqrt(np.log1p(0.03**2))
    return random.lognormal(-(sigma**2) / 2, sigma, shape)


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Factors with the same mean and variation and skewness -1 (gamma), like rates that stall occasionally."""
    return 1.0 - 0.03 * (random.gamma(4.0, 1.0, shape) - 4.0) / 2.0


DISTRIBUTIONS: dict[str, Draw] = {"normal": normal, "lognormal": lognormal, "skewed": skewed}


@dataclass(frozen=True)
class Coverage:
    """How many of the intervals cover the true value; experiments without an interval do not count."""

    covered: int
    of: int

    @property
    def percent(self) -> float:
        """The covered share."""
        return 100 * self.covered / self.of


def coverage(intervals: Iterable[Interval | None], truths: float | Iterable[float]) -> Coverage | None:
    """Count the intervals; None if there are none."""
    known = list(intervals)
    each = [truths] * len(known) if isinstance(truths, float) else list(truths)
    hits = [ci.contains(truth) for ci, truth in zip(known, each, strict=True) if ci is not None]
    return Coverage(sum(hits), len(hits)) if hits else None


def simulated(draw: Draw, n: int, experiments: int, *, bca: bool = True) -> dict[str, Coverage | None]:
    """The coverage of each kind of interval with n runs, by the name of the interval."""
    random = np.random.default_rng([n, experiments])
    result: dict[str, Coverage | None] = {}
    summaries = describe_all(list(MEAN * draw(random, (experiments, n))))
    result["mean, t"] = coverage((s.ci95_t for s in summaries), MEAN)
    if bca:
        result["mean, BCa"] = coverage((s.ci95_bca for s in summaries), MEAN)

    block = 1 + BLOCK_CV * random.standard_normal((experiments, n)).clip(-3, 3)
    a, b = MEAN * block * draw(random, (experiments, n)), COST * MEAN * block * draw(random, (experiments, n))
    pairs = [(x.tolist(), y.tolist()) for x, y in zip(a, b, strict=True)]
    truth = (COST - 1) * MEAN
    result["paired difference"] = coverage((d.ci95_t for d in paired_differences(pairs)), truth)
    ratios = paired_ratios(pairs)
    result["paired ratio, t"] = coverage((r.ci95_t for r in ratios), COST)
    if bca:
        result["paired ratio, BCa"] = coverage((r.ci95_bca for r in ratios), COST)

    a, b = (
        MEAN * draw(random, (experiments, n)),
        COST * MEAN * (1 + 2 * (draw(random, (experiments, n + 2)) - 1)),
    )
    welch = (independent_difference(x, y) for x, y in zip(a, b, strict=True))
    result["Welch"] = coverage((w.ci95_t for w in welch), truth)

    x = np.linspace(6.0, 54.0, n)
    true = (2.0, 0.6, -0.003) if n > 3 else (2.0, 0.6)
    y = np.polynomial.polynomial.polyval(x, true) + MEAN * (draw(random, (experiments, n)) - 1)
    fits = (fit(x.tolist(), one.tolist(), len(true) - 1) for one in y)
    result["polynomial"] = coverage((f.ci95[-1] if f.ci95 else None for f in fits), true[-1])

    shape = (experiments, CELLS, 2, n)  # pairs of cells at two levels of a second factor, by round
    block = 1 + BLOCK_CV * random.standard_normal(shape).clip(-3, 3)
    spread = np.linspace(0.5, 2.0, CELLS).reshape(1, CELLS, 1, 1)  # which differs between the cells
    levels = np.array([COST, COST**2]).reshape(1, 1, 2, 1)
    a = MEAN * block * (1 + spread * (draw(random, shape) - 1))
    b = MEAN * block * levels * (1 + spread * (draw(random, shape) - 1))
    pairs_of = [
        [
            [(x.tolist(), y.tolist()) for x, y in zip(*of_cell, strict=True)]
            for of_cell in zip(*one, strict=True)
        ]
        for one in zip(a, b, strict=True)
    ]
    result["matched ratio"] = coverage(
        (matched_ratio([first for first, _ in one]).ci95_t for one in pairs_of), COST
    )
    result["interaction"] = coverage(
        (interaction_ratio([(second, [first]) for first, second in one]).ci95_t for one in pairs_of), COST
    )
    return result


def session_runs(sessions: int) -> tuple[Run, ...]:
    """The runs of a study of open and CCMP with `CELLS` packet sizes in sessions."""
    factors = {
        "security": ["open", "ccmp"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": [128 * (1 + size) for size in range(CELLS)],
        "phy": ["ofdm"],
        "rate": [54],
    }
    method = {"repeats": RUNS * sessions, "duration": 1, "switching": "session", "sessions": sessions}
    made = {"name": "made", "text": "", "path": Path("made.toml"), "title": "Made", "factors": factors}
    return expand(Study.model_validate({**made, "method": method})).runs


def in_sessions(
    draw: Draw, sessions: int, experiments: int, *, drift: float = 0.0
) -> dict[str, Coverage | None]:
    """The coverage of each kind of interval with sessions, by the name of the interval.

    An interval "over runs" is that of the same values if each run counts as a unit. `drift` is the steady change of all
    values from the first to the last run, as a share of the mean.
    """
    runs = session_runs(sessions)
    random = np.random.default_rng([sessions, experiments])
    means = MEAN * np.array([COST if run.cell.security == "ccmp" else 1.0 for run in runs])
    means *= 1 + drift * np.linspace(-0.5, 0.5, len(runs))
    session = np.array([run.session for run in runs]) - 1
    units: dict[str, Callable[[Run], int]] = {
        "sessions": lambda run: run.round,
        "runs": lambda run: run.replicate,
    }
    cells = sorted(
        {run.cell for run in runs if run.cell.security == "ccmp"}, key=lambda cell: cell.packet_size
    )
    baselines = [cell.model_copy(update={"security": "open"}) for cell in cells]
    sets: dict[str, list[list[Pairs]]] = {name: [] for name in units}
    for _ in range(experiments):
        effects = 1 + SESSION_CV * random.standard_normal(2 * sessions)
        drawn = (means * effects[session] * draw(random, (len(runs),))).tolist()
        numbers = [RunNumber(run.id, "throughput", value) for run, value in zip(runs, drawn, strict=True)]
        for name, unit in units.items():
            found = by_unit(numbers, runs, unit)["throughput"]
            sets[name].append(aligned((found[a], found[b]) for a, b in zip(baselines, cells, strict=True)))
    result: dict[str, Coverage | None] = {}
    for name, of_name in sets.items():
        pairs = [of_cells[0] for of_cells in of_name]
        difference = (COST - 1) * MEAN
        opens = describe_all([a for a, _ in pairs])
        welch = (independent_difference(a, b) for a, b in pairs)
        matched = (matched_ratio(of_cells, in_sessions=name == "sessions") for of_cells in of_name)
        result |= {
            f"mean, over {name}": coverage((s.ci95_t for s in opens), MEAN),
            f"paired difference, over {name}": coverage(
                (d.ci95_t for d in paired_differences(pairs)), difference
            ),
            f"paired ratio, over {name}": coverage((r.ci95_t for r in paired_ratios(pairs)), COST),
            f"Welch, over {name}": coverage((w.ci95_t for w in welch), difference),
            f"matched ratio, over {name}": coverage((m.ci95_t for m in matched), COST),
        }
    return result


def stopped(
    rule: StoppingRule, draw: Draw, experiments: int, extra: int = 0
) -> tuple[Coverage | None, float, tuple[int, int]]:
    """Coverage of the mean's t interval after the rule has stopped; mean, lowest and highest number of runs.

    `extra` more runs are taken after the rule has stopped.
    """
    random = np.random.default_rng(experiments)
    sets = []
    for values in (MEAN * draw(random, (experiments, rule.most + extra))).tolist():
        n = next(n for n in range(1, rule.most + 1) if enough(rule, values[:n]))
        sets.append(values[: n + extra])
    sizes = [len(values) for values in sets]
    found = coverage((s.ci95_t for s in describe_all(sets)), MEAN)
    return found, sum(sizes) / len(sizes), (min(sizes), max(sizes))


def wider(draw: Draw, factor: float) -> Draw:
    """The distribution with its coefficient of variation multiplied by `factor`."""
    return lambda random, shape: 1 + factor * (draw(random, shape) - 1)


def verdicts(n: int, ratio: float, experiments: int) -> dict[str, float]:
    """Percent of experiments by verdict of the equivalence test, for true ratio `ratio` and a spread of 1 %."""
    random = np.random.default_rng([n, experiments])
    logs = np.log(ratio) + 0.01 * np.sqrt(2) * random.standard_normal((experiments, n))
    means = [
        LogMean(m, s / np.sqrt(n), n - 1)
        for m, s in zip(logs.mean(axis=1), logs.std(axis=1, ddof=1), strict=True)
    ]
    found = [e.verdict for e in equivalences(means, 1.0)]
    return {
        name: 100 * found.count(name) / experiments
        for name in ("equivalent", "both", "different", "undecided")
    }


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines: Iterator[Sequence[str]] = iter((head, ["---"] * len(head), *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def word(found: Coverage | None) -> str:
    """Coverage in percent, bold if it is outside 93 to 97 %."""
    if found is None:
        return "-"
    return f"{found.percent:.1f}" if LOW <= found.percent <= HIGH else f"**{found.percent:.1f}**"


INTRODUCTION = """\
# Coverage of the statistics

t intervals reach their nominal coverage from three runs on, and bootstrap intervals are too narrow with
few runs. A stopping rule that looks at the runs too early stops too early.

This page measures by simulation how often the intervals and tests of airtoll are right.
[Statistics](../explanation/statistics.md) lists the methods. Made by
`make bench-coverage WRITE=docs/measurements/coverage.md`; seeds are fixed."""


def intervals() -> str:
    """Coverage with a fixed number of runs."""
    parts = []
    for name, draw in DISTRIBUTIONS.items():
        columns = {n: simulated(draw, n, EXPERIMENTS) for n in SIZES}
        rows = [(kind, *(word(columns[n][kind]) for n in SIZES)) for kind in columns[SIZES[0]]]
        parts.append(f"### {name.capitalize()}\n\n" + table(("interval", *(f"n = {n}" for n in SIZES)), rows))
    head = f"""\
## Coverage of the 95 % intervals

Percent of {EXPERIMENTS:,} simulated experiments of n runs whose interval covers the true value. Values outside 93
to 97 % are **bold**. Chance alone changes a figure by up to 0.4.

- The runs have a standard deviation of 3 % of the mean. Their distribution is normal, lognormal or skewed (gamma with
  skewness -1, like rates that stall occasionally).
- Both runs of a pair also share the drift of their block, 10 %.
- Welch compares n runs with n + 2 runs of twice the spread.
- The matched ratio is the mean over four pairs of cells, whose spreads are 0.5 to 2 times the usual one. The
  interaction is the ratio of their costs at two levels of a second factor.
- The polynomial has degree 2 (degree 1 for n = 3) over 6 to 54 Mbit/s. Its last coefficient is evaluated."""
    tail = """\
The t, Welch, matched and polynomial intervals reach their nominal coverage, even if the runs are not normal. Reports
therefore show t intervals. BCa intervals do not reach it: they cover 82 to 84 % with 5 runs, 92 % with 20 runs and 94 %
with 40 runs. Reports do not show BCa intervals. The CSV file has them as a distribution-free check, useful from about
40 runs. With 3 runs there is no BCa interval.

The true ratio is the ratio of geometric means. If the spreads of the two levels differ, it deviates from the ratio of
arithmetic means by half the difference of their variances: 0.05 % for spreads of 3 % and 4.3 %."""
    return "\n\n".join((head, *parts, tail))


def switching() -> str:
    """Coverage if the access point is switched by session."""
    columns = {n: in_sessions(normal, n, EXPERIMENTS) for n in SESSIONS}
    drifting = {n: in_sessions(normal, n, EXPERIMENTS, drift=DRIFT) for n in SESSIONS}
    compared = "paired ratio, over sessions"
    rows = [(name, *(word(columns[n][name]) for n in SESSIONS)) for name in columns[SESSIONS[0]]]
    rows.append((f"{compared}, with a drift", *(word(drifting[n][compared]) for n in SESSIONS)))
    head = ("interval", *(f"{n} sessions" for n in SESSIONS))
    return f"""\
## Coverage with sessions

With `method.switching = "session"`, the runs of a session share the effect of the session, such as another channel or
another association. The table shows the percent of {EXPERIMENTS:,} experiments whose interval covers the true value, by
the number of sessions of each level. Each session has {RUNS} runs of each of {CELLS} cells. Sessions and runs have
standard deviations of {100 * SESSION_CV:.0f} % and 3 % of the mean. The matched ratio is the mean over the cells. The
drift is a steady rise of {100 * DRIFT:.0f} % from the first run to the last.

{table(head, rows)}

Intervals over sessions reach their nominal coverage. If every run counted as a unit, the intervals would be too narrow.
The mean over several cells would be worst, because all cells share the sessions. A steady drift cancels in the mean of
an even number of blocks, but widens the interval."""


def stopping() -> str:
    """Coverage with stopping rules, whose number of runs depends on the values."""
    rules: dict[str, StoppingRule] = {"fixed, 10 runs": Fixed(10)}
    rules |= {f"precision 5 %, from {least} runs": Precision(5.0, 95.0, least, 30) for least in (3, 5, 10)}
    rules["agreement 10 %, from 5 runs"] = Agreement()
    rows = []
    for name, rule in rules.items():
        for extra in (0, 2) if isinstance(rule, Precision) else (0,):
            row = [name + (f", then {extra} more" if extra else "")]
            for draw, factor in ((normal, 1.0), (normal, 2.0), (normal, 4.0), (skewed, 2.0)):
                found, mean, _ = stopped(rule, wider(draw, factor), EXPERIMENTS, extra)
                row.append(f"{word(found)} ({mean:.1f})")
            rows.append(row)
    head = ("rule", "normal, 3 %", "normal, 6 %", "normal, 12 %", "skewed, 6 %")
    return f"""\
## Coverage with stopping rules

A rule that stops as soon as the interval is narrow stops too early if the first runs happen to be close together. The
table shows the percent of {EXPERIMENTS:,} experiments whose final 95 % t interval covers the mean, by the spread of the
runs. The mean number of runs is in brackets (at most 30; for agreement at most 20).

{table(head, rows)}

- From 3 runs, netperf's minimum, the interval covers 90 to 91 %, which is too low. From 5 runs it covers 92 to 95 %,
  and from 10 runs 93 to 95 %, one point less than with a fixed number. The default minimum of `Precision` is therefore
  10 runs; studies set it with `method.least_repeats`.
- Two more runs after the rule has stopped are a correction known from sequential analysis. They gain two points with a
  minimum of 3 runs, and almost none with 10. A larger minimum has the same effect and is simpler, so no correction is
  applied.
- The agreement rule hardly depends on the spread. It therefore neither biases the interval nor makes it narrower.
  Agreement of two runs says little: with a spread of 6 %, three in four pairs of runs are within 10 %."""


def no_cost() -> str:
    """Power of the equivalence test."""
    rows = []
    for ratio in (1.0, 0.995, 0.99, 0.97):
        for n in (5, 20, 40):
            found = verdicts(n, ratio, EXPERIMENTS)
            rows.append(
                (f"{100 * (ratio - 1):+.1f} %", str(n), *(f"{share:.1f}" for share in found.values()))
            )
    head = ("true change", "n", "equivalent", "both", "different", "undecided")
    return f"""\
## "No cost within 1 %"

Percent of {EXPERIMENTS:,} experiments by verdict, with a spread of 1 %. "Both" is a resolved difference that is smaller
than the margin. At a true change of -1.0 %, which equals the margin, at most 5 % may be equivalent or both. Five pairs
decide little; about 20 pairs are required to show that there is no cost.

{table(head, rows)}"""


if __name__ == "__main__":
    publish(__doc__.splitlines()[0], INTRODUCTION, (intervals, switching, stopping, no_cost))
