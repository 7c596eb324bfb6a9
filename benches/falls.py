"""Compare the figures of a page of measurements with the stored ones: `falls.py STORED MEASURED`.

A ratio is a number in a column of a table whose heading matches `RATIO`. The machine has little effect on the ratios of
one run, so a lower one is a change of the program. CPU time depends on the machine, so only a large rise counts. Prints
each ratio that fell and each CPU time that rose; the exit status is then 1.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

RATIO: Final = re.compile(r"\bratio\b|relative to|compared with|% of limit")
TOLERANCE: Final = 0.1
"""Relative difference of a ratio between runs of the same program."""
CPU: Final = re.compile(r"^CPU s$")
RISE: Final = 0.25
"""Relative difference of a CPU time between runs and machines, unless a page has its own."""
LEAST_S: Final = 5
"""Smaller differences of a CPU time do not count."""

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")

Ratios = dict[tuple[str, ...], list[float]]
"""Numbers of a cell by section, row and column."""


def ratios(page: str, column: re.Pattern[str] = RATIO) -> Ratios:
    """The ratios of a page in Markdown, or the figures of its other columns with a matching heading."""
    found: Ratios = {}
    section = ""
    for block in page.split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        if lines and lines[0].startswith("#"):
            section = lines[0].lstrip("# ")
        table = [_cells(line) for line in lines if line.startswith("|")]
        if len(table) > 2:  # the heading, a line of dashes, rows
            found |= {(section, *key): numbers for key, numbers in _of_table(table[0], table[2:], column)}
    return found


def falls(stored: str, measured: str) -> list[str]:
    """A sentence per ratio of both pages that fell by more than `TOLERANCE`."""
    before, after = ratios(stored), ratios(measured)
    return [
        f"{', '.join(filter(None, key))}: {now:g}, stored {then:g} ({now / then - 1:+.0%})"
        for key in before
        for then, now in zip(before[key], after.get(key, []), strict=False)
        if now < then * (1 - TOLERANCE)
    ]


def rises(stored: str, measured: str, rise: float = RISE) -> list[str]:
    """A sentence per CPU time of both pages that rose by more than a fraction and `LEAST_S`."""
    before, after = ratios(stored, CPU), ratios(measured, CPU)
    return [
        f"{', '.join(filter(None, key))}: {now:g}, stored {then:g} ({now - then:+g})"
        for key in before
        for then, now in zip(before[key], after.get(key, []), strict=False)
        if now > then * (1 + rise) and now > then + LEAST_S
    ]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _of_table(
    heading: list[str], rows: list[list[str]], wanted: re.Pattern[str]
) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """The name of each figure, and its numbers. The first cells of a row that are unique in the table name the row."""
    widths = range(1, len(heading) + 1)
    named = next((n for n in widths if len({tuple(row[:n]) for row in rows}) == len(rows)), len(heading))
    for row in rows:
        for column, cell in zip(heading, row, strict=False):
            if wanted.search(column) and (numbers := _NUMBER.findall(cell)):
                yield (*row[:named], column), [float(number) for number in numbers]


def main() -> None:
    """Compare two files."""
    stored, measured = (Path(name).read_text(encoding="utf-8") for name in sys.argv[1:3])
    worse = [*falls(stored, measured), *rises(stored, measured)]
    print(*(worse or ["no ratio fell, and no CPU time rose"]), sep="\n")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
