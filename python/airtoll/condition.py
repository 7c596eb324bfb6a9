"""The condition of a stored result: complete or not, unchanged or not, of one origin or of several."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airtoll.course import unneeded
from airtoll.errors import AirtollError, UsageError
from airtoll.store import Result, RunRecord, verify


@dataclass(frozen=True)
class RunCounts:
    """The planned runs of a result by state."""

    planned: int
    finished: int
    valid: int
    invalid: int  # also after all repeats
    repeated: int  # repeats of invalid runs
    not_needed: int  # a stopping rule ended their cells
    remaining: int

    @classmethod
    def of(cls, result: Result, records: Iterable[RunRecord]) -> "RunCounts":
        """Count the runs of a result with these records."""
        verdicts = [record.verdict.valid for record in records]
        finished, valid = len(result.finished()), sum(verdicts)
        not_needed = len(unneeded(result))
        return cls(
            planned=len(result.plan.runs),
            finished=finished,
            valid=valid,
            invalid=finished - valid,
            repeated=len(verdicts) - finished,
            not_needed=not_needed,
            remaining=len(result.pending()) - not_needed,
        )


def mixture(records: Iterable[RunRecord]) -> list[str]:
    """One line per kind of origin (version of airtoll, machines) in which the runs differ, with the number of runs."""
    records = list(records)
    kinds = {
        "versions of airtoll": Counter(record.versions.airtoll or "unknown" for record in records),
        "sets of machines": Counter(_machines(record.hosts) for record in records),
    }
    return [
        f"the runs are of {len(found)} {kind}: "
        + "; ".join(f"{name} ({count} run{'s' if count > 1 else ''})" for name, count in found.most_common())
        for kind, found in kinds.items()
        if len(found) > 1
    ]


def _machines(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    found = {
        f"{facts.get('processor') or 'unknown processor'}, kernel {facts.get('kernel') or 'unknown'}"
        for facts in hosts.values()
    }
    return " and ".join(sorted(found))


def damage(directory: Path) -> str | None:
    """How many stored files are missing or were changed, with the first of them; None for an intact result."""
    problems = verify(directory)
    if not problems:
        return None
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"damaged: {problems[0]}{more}; `airtoll verify {directory}` lists them"


def read_complete(directory: Path, *, allow_incomplete: bool) -> Result:
    """Open a result whose figures decide something.

    Raises UsageError if it cannot be read, is damaged, or lacks runs and `allow_incomplete` is false.
    """
    try:
        result = Result.open(directory)
        if (found := damage(directory)) is not None:
            raise UsageError(f"{directory}: {found}")
        runs = RunCounts.of(result, result.records())
    except AirtollError as error:
        raise UsageError(str(error)) from error
    if runs.remaining and not allow_incomplete:
        raise UsageError(
            f"{directory}: {runs.finished} of {runs.planned} runs are finished: perform the others with "
            f"`airtoll run --resume {directory}`, or use --allow-incomplete"
        )
    return result
